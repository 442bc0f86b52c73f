"""Belief-function figures over items: by hand, unbiased by enumeration, and what is missing."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.belief import (
    belief_distance,
    conflict,
    item_distances,
    permutation_variances,
    self_conflict,
    stage_support,
    uncertainty_gap,
)
from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.combining import by_rule, conflict_of_all
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.masses import cell_masses

WIDE = [1, 1, (1, 2), 2]
NARROW = [2, (2, 3)]


@pytest.fixture
def two(build_verdicts):
    """Two judges on one item."""
    return cell_masses(build_verdicts([[WIDE], [NARROW]]))


def test_conflict_between_and_within(two):
    # of 8 pairs the two {1} clash with {2} and with {2, 3}: 4
    assert conflict(two).overall.estimate == 0.5
    # of the 6 pairs within WIDE two clash, {1} with {2}; none of NARROW's one pair
    assert self_conflict(two.of_judges([0])).estimate == pytest.approx(1 / 3)
    assert self_conflict(two.of_judges([1])).estimate == 0
    assert self_conflict(two).estimate == pytest.approx(1 / 6)


def test_distance_leaves_self_pairs_out(two):
    # mean Jaccard within WIDE (1 + 1/2 + 1/2 + 0 + 0 + 1/2)/6 = 5/12, within NARROW 1/2,
    # between (1/2 + 1/3 + 1 + 1/2)/8 = 7/24: (5/12 + 1/2)/2 - 7/24 = 1/6
    found = belief_distance(two)
    assert found.overall.estimate == pytest.approx(1 / 6)
    assert found.by_pair[0, 1].estimate == pytest.approx(1 / 6)
    assert Remark(RemarkKind.FEW_ITEMS, 1, 30) in found.overall.remarks


def test_gap_and_support_of_stages(two):
    # WIDE: m({1, 2}) = 1/4, gap 2/4/4; NARROW: m({2, 3}) = 1/2, gap 1/4
    assert uncertainty_gap(two).estimate == pytest.approx((1 / 8 + 1 / 4) / 2)
    second = stage_support(two.of_judges([1]))[1]
    assert second.stage == 2
    assert (second.belief.estimate, second.plausibility.estimate) == (0.5, 1)
    assert second.betp.estimate == 0.75


def enumerated(build_verdicts, first, second):
    """Every outcome of two samples per judge, each an item: means are expectations."""
    outcomes = list(product(first, first, second, second))
    return cell_masses(
        build_verdicts([[[a, b] for a, b, _, _ in outcomes], [[c, d] for _, _, c, d in outcomes]])
    )


def test_identical_judges_have_no_distance_in_expectation(build_verdicts):
    cells = enumerated(build_verdicts, [1, (1, 2), 3], [1, (1, 2), 3])
    assert belief_distance(cells).overall.estimate == pytest.approx(0, abs=1e-12)
    # two independent samples clash in 4 of 9 cases
    assert self_conflict(cells).estimate == pytest.approx(4 / 9)
    assert conflict(cells).overall.estimate == pytest.approx(4 / 9)


def test_expected_distance_is_that_of_the_distributions(build_verdicts):
    # Jaccard within {1}, {1, 2}: (1 + 1 + 2/2)/4 = 3/4; within {2}, {3}: 1/2; between: 1/2 in 4
    cells = enumerated(build_verdicts, [1, (1, 2)], [2, 3])
    expected = (3 / 4 + 1 / 2) / 2 - 1 / 8
    assert belief_distance(cells).overall.estimate == pytest.approx(expected)


@pytest.mark.parametrize("layout", [(2, 2), (3, 2), (2, 2, 3)])
def test_variance_of_dealt_distances_is_that_of_all_deals(build_verdicts, layout):
    samples = [1, (1, 2), 3, 3, (2, 3), 1, 2][: sum(layout)]
    ends = np.cumsum(layout).tolist()
    # Every order of the samples is an item: all deals, each equally often.
    orders = list(permutations(samples))
    judged = [
        [list(order[end - size : end]) for order in orders]
        for size, end in zip(layout, ends, strict=True)
    ]
    cells = cell_masses(build_verdicts(judged))
    pairs = np.triu_indices(len(layout), k=1)
    distances = item_distances(cells)[:, *pairs].mean(axis=1)
    assert distances.mean() == pytest.approx(0, abs=1e-12)
    assert permutation_variances(cells) == pytest.approx(distances.var())


def test_a_distance_is_not_called_negative_when_dealing_gives_as_little(build_verdicts):
    # Both judges gave {1} and {2} once: 0 - 1/2 = -1/2, as 4 of 6 deals do; in the others each has
    # a stage of its own, 1 - 0. Variance (4·1/4 + 2·1)/6 = 1/2. On the fifth item three gave {1}:
    # (1 + 0)/2 - 1/2 = 0, however it is permuted.
    alike = [[1, 2]] * 4
    found = belief_distance(cell_masses(build_verdicts([[*alike, [1, 1]], [*alike, [1, 2]]])))
    by_t = -0.4 + 2.7764 * 0.05**0.5 / 5**0.5
    by_dealing = -0.4 + 1.96 * (4 * 0.5) ** 0.5 / 5
    assert by_t < 0 < by_dealing
    for one in (found.overall, found.by_pair[0, 1]):
        assert one.estimate == pytest.approx(-0.4)
        assert one.upper == pytest.approx(by_dealing, abs=1e-4)
        assert one.lower == pytest.approx(-0.8 - by_t, abs=1e-4)


def test_only_items_of_all_judges_count(build_verdicts):
    table = [[[1, 1], [1, 1], [1, 1]], [[1, 1], [2], []]]
    cells = cell_masses(build_verdicts(table))
    # conflict on items 0 and 1, distance on item 0 alone
    assert (conflict(cells).overall.estimate, conflict(cells).overall.n) == (0.5, 7)
    assert (belief_distance(cells).overall.estimate, belief_distance(cells).overall.n) == (0, 4)


@pytest.mark.parametrize("table", [[[[1, 1], []], [[], [1, 1]]], [[[]], [[]]]])
def test_without_shared_items_every_figure_says_so(build_verdicts, table):
    cells = cell_masses(build_verdicts(table))
    figures = [
        conflict(cells).overall,
        *conflict(cells).by_pair.values(),
        belief_distance(cells).overall,
        self_conflict(cells),
        uncertainty_gap(cells),
        stage_support(cells)[0].betp,
        *conflict_of_all(cells),
        *(one for _, figures in by_rule(cells) for one in figures),
    ]
    for figure in figures:
        assert figure.estimate is None
        assert figure.reason.startswith("not estimable, because no item")


def test_one_judge_and_single_samples_are_too_few(build_verdicts):
    alone = cell_masses(build_verdicts([[[1, 2]]]))
    assert "there is 1" in conflict(alone).overall.reason
    assert "there is 1" in belief_distance(alone).overall.reason
    single = cell_masses(build_verdicts([[[1]], [[2]]]))
    assert "2 scored replicates" in belief_distance(single).overall.reason
    assert "2 scored replicates" in self_conflict(single).reason
    assert conflict(single).overall.estimate == 1


@given(st.integers(0, 2**32 - 1), st.permutations(range(4)))
@settings(max_examples=25)
def test_names_of_stages_order_of_rows_and_of_judges_do_not_matter(seed, order):
    rng = np.random.default_rng(seed)
    judge, item, _ = (part.ravel() for part in np.indices((3, 4, 3)))
    stages = rng.integers(1, 16, judge.size)
    bits = (stages[:, None] >> np.arange(4)) & 1
    renamed = (bits << np.array(order)).sum(axis=1)
    frame = {"judge": judge, "item": item, "n_judges": 3, "n_items": 4, "n_stages": 4}
    plain = Verdicts(stages=stages, **frame)
    other = Verdicts(stages=renamed, **frame).rows(rng.permutation(36)).of_judges([2, 0, 1])
    first, second = cell_masses(plain), cell_masses(other)
    for figure in (self_conflict, uncertainty_gap):
        assert figure(first).estimate == pytest.approx(figure(second).estimate)
    for figure in (conflict, belief_distance):
        one, two = figure(first), figure(second)
        assert one.overall.estimate == pytest.approx(two.overall.estimate)
        # the new judge 1 is the old judge 0, the new 2 the old 1
        assert two.by_pair[1, 2].estimate == pytest.approx(one.by_pair[0, 1].estimate)
