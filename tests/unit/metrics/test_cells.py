"""What a cell holds: sizes, pignistic distributions, scores, and the inputs that are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.cells import (
    Probes,
    Verdicts,
    distinct_rows,
    item_means,
    mean_scores,
    pignistic,
    pignistic_weights,
    scores,
    set_counts,
)


def test_pignistic_splits_a_set_evenly_and_averages_samples(build_verdicts):
    # {1}, {1,2}, {1,2,3,4}: stage 1 gets (1 + 1/2 + 1/4)/3, stage 2 (1/2 + 1/4)/3, others 1/12
    p, present = pignistic(build_verdicts([[[1, (1, 2), (1, 2, 3, 4)], []]]))
    assert p[0, 0] == pytest.approx([7 / 12, 3 / 12, 1 / 12, 1 / 12])
    assert p[0, 1].tolist() == [0, 0, 0, 0]
    assert present.tolist() == [[True, False]]


@given(st.lists(st.integers(1, 2**5 - 1), min_size=1, max_size=30))
@settings(max_examples=50)
def test_pignistic_is_a_distribution_and_agrees_with_its_weights(masks):
    stages = np.array(masks, dtype=np.int64)
    zeros = np.zeros(len(masks), dtype=np.int64)
    verdicts = Verdicts(judge=zeros, item=zeros, stages=stages, n_judges=1, n_items=1, n_stages=5)
    p, _ = pignistic(verdicts)
    assert p.sum() == pytest.approx(1)
    assert p[0, 0] == pytest.approx(pignistic_weights(stages, 5).mean(axis=0))
    # The mean stage of p is the mean score: both split a set evenly.
    assert (p[0, 0] @ np.arange(5)) / 4 == pytest.approx(mean_scores(verdicts).value[0, 0])


def test_scores_put_every_scale_on_zero_to_one(build_verdicts):
    assert scores(build_verdicts([[[1, 2, 4, (1, 4)]]])) == pytest.approx([0, 1 / 3, 1, 0.5])
    assert scores(build_verdicts([[[1, 2, (1, 2)]]], n_stages=2)) == pytest.approx([0, 1, 0.5])


def test_common_items_are_those_every_judge_scored(build_verdicts):
    verdicts = build_verdicts([[[1, 1], [2], []], [[1], [2, 2], [3]]])
    assert verdicts.common_items().tolist() == [True, True, False]
    assert verdicts.common_items(2).tolist() == [False, False, False]


def test_of_judges_renumbers_in_the_order_given(build_verdicts):
    chosen = build_verdicts([[[1]], [[2, 2]], [[3, 3, 3]]]).of_judges([2, 0])
    assert chosen.sizes().tolist() == [[3], [1]]
    assert pignistic(chosen)[0][0, 0].tolist() == [0, 0, 1, 0]


def test_set_counts_keep_only_observed_sets(build_verdicts):
    counted = set_counts(build_verdicts([[[1, (1, 2), (1, 2)]], [[4]]]))
    assert counted.sets.tolist() == [0b1, 0b11, 0b1000]
    assert counted.counts[:, 0].tolist() == [[1, 2, 0], [0, 0, 1]]
    column, seen = counted.column_of(np.array([0b11, 0b10, 0b1111]))
    assert column[0] == 1
    assert seen.tolist() == [True, False, False]


def test_item_means_average_the_judges_present():
    values = np.array([[0.2, 0.0, 0.5], [0.4, 0.0, 9.0]])
    present = np.array([[True, False, True], [True, False, False]])
    means, kept = item_means(values, present)
    assert means == pytest.approx([0.3, 0.5])
    assert kept.tolist() == [True, False, True]


GOOD = {"judge": [0], "item": [0], "stages": [1], "n_judges": 1, "n_items": 1, "n_stages": 4}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"judge": [1]}, "judge: values 1..1, allowed 0..0"),
        ({"item": [-1]}, "item"),
        ({"stages": [0]}, "stages"),  # the empty set is no verdict
        ({"stages": [16]}, "allowed 1..15"),
        ({"stages": [1, 2]}, "different length"),
        ({"n_stages": 1}, "2 to 62"),
    ],
)
def test_verdicts_that_cannot_be_are_refused(change, says):
    given_values = {
        key: np.array(value) if isinstance(value, list) else value
        for key, value in {**GOOD, **change}.items()
    }
    with pytest.raises(ValueError, match=says):
        Verdicts(**given_values)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_outside_the_unit_interval_is_refused(probability):
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="leave a missing probe out"):
        Probes(
            judge=zero, item=zero, stages=one, probability=np.array([probability]),
            n_judges=1, n_items=1,
        )  # fmt: skip


@given(
    st.integers(0, 2**32),
    st.tuples(st.integers(1, 30), st.integers(1, 70)),
    st.integers(1, 30),
    st.sampled_from([[0, 1, 2, 3], [0, 1, 2, 3, -0.25, 0.5, 1e-9]]),
)
@settings(max_examples=300)
def test_distinct_rows_are_those_of_numpy_in_its_order(seed, shape, kinds, values):
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.array(values, dtype=float), (kinds, shape[1]))[
        rng.integers(kinds, size=shape[0])
    ]
    different, kind = distinct_rows(rows)
    expected, place = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(different, expected)
    np.testing.assert_array_equal(kind, place.ravel())
