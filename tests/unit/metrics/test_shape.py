"""The shape of verdicts: numbers by hand, and what holds for any verdicts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.metrics.polarization import entropy
from judge_gym.metrics.shape import (
    SET_WIDTH,
    Readable,
    is_adjacent,
    jitter,
    shape_shares,
    share_of,
    stage_entropy,
)


def readable(*items: list[int], n_stages: int = 4) -> Readable:
    """Return the samples of one judge, a list of bitmasks per item; 0 is an abstention."""
    return Readable(
        judge=np.zeros(sum(map(len, items)), dtype=np.int64),
        item=np.repeat(np.arange(len(items)), [len(masks) for masks in items]),
        stages=np.array([mask for masks in items for mask in masks], dtype=np.int64),
        n_judges=1,
        n_items=len(items),
        n_stages=n_stages,
    )


def test_shares_are_means_over_items_of_the_samples_they_are_about() -> None:
    # Item 0: abstains, {1}, {2,3}. Item 1: {1,2,4}, {4}.
    samples = readable([0, 0b0001, 0b0110], [0b1011, 0b1000])
    found = {one.metric: one for one in shape_shares(samples)}
    assert found["abstain_share"].estimate == pytest.approx((1 / 3 + 0) / 2)
    assert found["singleton_share"].estimate == pytest.approx(1 / 2)
    assert found["set_size"].estimate == pytest.approx((1.5 + 2) / 2)
    # {2,3} has no gap, {1,2,4} has one.
    assert found["adjacent_share"].estimate == pytest.approx(1 / 2)
    # Means of the sets: 1 and 2.5; 7/3 and 4.
    assert found["expected_stage"].estimate == pytest.approx((1.75 + (7 / 3 + 4) / 2) / 2)
    # Between the ends: 0 and 1; 1/3 and 0.
    assert found["middle_mass"].estimate == pytest.approx((0.5 + 1 / 6) / 2)
    assert [one.n for one in found.values()] == [5, 4, 4, 2, 4, 4]


def test_the_width_of_a_set_does_not_depend_on_the_length_of_the_scale() -> None:
    whole = [share_of(SET_WIDTH, readable([2**size - 1], n_stages=size)) for size in (3, 5, 9)]
    assert [cells.value[0, 0] for cells in whole] == [1, 1, 1]
    assert share_of(SET_WIDTH, readable([0b00011], n_stages=5)).value[0, 0] == 1 / 4


@given(st.integers(1, 2**10 - 1))
def test_a_set_is_adjacent_when_its_stages_follow_each_other(mask: int) -> None:
    stages = [place for place in range(10) if mask >> place & 1]
    assert bool(is_adjacent(np.array([mask]))[0]) == (stages[-1] - stages[0] == len(stages) - 1)


def test_entropy_is_that_of_the_mean_distribution_corrected_by_the_jackknife() -> None:
    # Stages 1, 1, 2: p = (2/3, 1/3). Without one item: (1/2, 1/2) twice, (1, 0) once.
    bits, in_use = stage_entropy(readable([1], [1], [2]).verdicts)
    whole = float(entropy(np.array([2 / 3, 1 / 3])))
    corrected = 3 * whole - 2 * (1 + 1 + 0) / 3
    assert bits.estimate == pytest.approx(corrected / 2)
    assert in_use.estimate == pytest.approx(2**corrected)
    constant, one = stage_entropy(readable([1], [1], [1]).verdicts)
    assert (constant.estimate, one.estimate) == (0, 1)
    assert constant.lower is None
    assert "two items" in stage_entropy(readable([1, 2]).verdicts)[0].reason


def test_the_correction_takes_most_of_the_bias_of_few_items() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    true = float(entropy(p)) / 2
    corrected, plain = [], []
    for _ in range(400):
        drawn = rng.choice(4, size=12, p=p)
        corrected.append(stage_entropy(readable(*[[2**s] for s in drawn]).verdicts)[0].estimate)
        plain.append(float(entropy(np.bincount(drawn, minlength=4) / 12)) / 2)
    assert abs(np.mean(corrected) - true) < abs(np.mean(plain) - true) / 3


@given(st.lists(st.lists(st.integers(1, 15), min_size=1, max_size=5), min_size=1, max_size=4))
def test_jitter_is_the_mean_distance_of_two_replicates(items: list[list[int]]) -> None:
    def mean(mask: int) -> float:
        return float(np.mean([place for place in range(4) if mask >> place & 1]))

    expected = [
        np.mean([abs(mean(a) - mean(b)) for i, a in enumerate(masks) for b in masks[i + 1 :]])
        for masks in items
        if len(masks) > 1
    ]
    found = jitter(readable(*items).verdicts)
    if expected:
        assert found.estimate == pytest.approx(float(np.mean(expected)))
    else:
        assert "two scored replicates" in found.reason


def test_a_judge_that_always_abstains_has_a_share_and_no_shape() -> None:
    found = {one.metric: one for one in shape_shares(readable([0, 0], [0]))}
    assert found["abstain_share"].estimate == 1
    assert {name for name, one in found.items() if one.estimate is None} == {
        *("singleton_share", "set_size", "adjacent_share", "expected_stage", "middle_mass"),
    }
    assert all(one.estimate is None for one in stage_entropy(readable([0], [0]).verdicts))
