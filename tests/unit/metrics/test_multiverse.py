"""Specification curves: figures derived by hand, and the null enumerated sign by sign."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import Estimate, t_quantile
from judge_gym.metrics.multiverse import DealtCell, difference_curve, excess_curve
from judge_gym.metrics.polarization import mean_jensen_shannon

RNG = np.random.default_rng


def _curve(differences: np.ndarray, seed: int = 1):
    sizes = [int(n) for n in np.isfinite(differences).sum(axis=0)]
    return difference_curve(differences, sizes, RNG(seed), unit="0-1 scale")


def _significant(column: np.ndarray) -> int:
    """+1 or -1 where the t interval of a mean excludes 0 on that side."""
    half = t_quantile(len(column) - 1) * column.std(ddof=1) / len(column) ** 0.5
    return int(column.mean() > half) - int(column.mean() < -half)


def test_the_figures_of_a_curve_by_hand() -> None:
    # Means of the cells: 0.2, 0.25 and -0.1; only the first is off 0 by its t interval.
    differences = np.array([[0.19, 0.5, -0.3], [0.20, 0.25, 0.3], [0.21, 0.0, -0.3]])
    curve = _curve(differences)
    assert [cell.estimate for cell in curve.cells] == pytest.approx([0.2, 0.25, -0.1])
    assert curve.median.estimate == pytest.approx(0.2)
    assert curve.same_sign.estimate == pytest.approx(2 / 3)
    assert curve.significant.estimate == pytest.approx(1 / 3)
    assert curve.against.estimate == 0.0


def test_the_null_is_that_of_all_exchanges_of_labels_alike_in_every_cell() -> None:
    differences = RNG(5).normal(0.25, 0.4, (8, 4))
    every = [np.array(signs)[:, None] * differences for signs in product((-1, 1), repeat=8)]

    def p_of(figure) -> float:
        observed = figure(differences)
        return float(np.mean([figure(null) >= observed - 1e-9 for null in every]))

    middle = p_of(lambda d: abs(np.median(d.mean(axis=0))))
    one_side = p_of(lambda d: max((d.mean(axis=0) > 0).mean(), (d.mean(axis=0) < 0).mean()))

    def most(d: np.ndarray) -> int:
        sides = [_significant(column) for column in d.T]
        return max(sides.count(1), sides.count(-1))

    curve = _curve(differences)
    # 4,999 random exchanges: their error is below 0.03 with near certainty.
    assert curve.median.p == pytest.approx(middle, abs=0.03)
    assert curve.same_sign.p == pytest.approx(one_side, abs=0.03)
    assert curve.significant.p == pytest.approx(p_of(most), abs=0.03)
    floor = float(np.mean([most(null) for null in every])) / 4
    assert curve.significant.floor == pytest.approx(floor, abs=0.01)


def test_cells_that_repeat_each_other_are_no_more_evidence_than_one() -> None:
    column = RNG(2).normal(0.1, 0.3, (16, 1))
    once, often = _curve(np.tile(column, 2)), _curve(np.tile(column, 12))
    assert often.median.p == pytest.approx(once.median.p, abs=0.02)
    assert (often.median.lower, often.median.upper) == pytest.approx(
        (once.median.lower, once.median.upper), abs=0.01
    )


def test_the_median_of_like_cells_of_few_items_has_the_t_interval_of_one() -> None:
    # With fewer than ten items it is by t, and of equal cells every median is a cell's mean.
    of_one = np.array([0.2, -0.1, 0.4, 0.3, 0.0, 0.5, 0.1])
    median = _curve(np.column_stack([of_one, of_one])).median
    expected = stats.ttest_1samp(of_one, 0).confidence_interval()
    assert (median.lower, median.upper) == pytest.approx((expected.low, expected.high))


def test_a_cell_without_spread_counts_in_the_median_and_is_of_no_sign() -> None:
    """Means -0.0125, 0, 0.0389 and 0.075; the middle two are 0 and 0.0389: 0.01945.

    Two of four are above 0. Cell 2 is 0 on every item, so it has no interval.
    """
    spread = np.array([-0.2, -0.1, 0.1, 0.2])
    differences = np.column_stack([spread - 0.0125, 0 * spread, spread + 0.0389, spread + 0.075])
    curve = _curve(differences)
    assert [cell.lower is None for cell in curve.cells] == [False, True, False, False]
    assert curve.median.estimate == pytest.approx(0.01945)
    # Of 4 items by t: the error is half of that of cell 3, whose variance is 0.1 / 3.
    half = t_quantile(3) * (0.1 / 3 / 4) ** 0.5 / 2
    assert (curve.median.lower, curve.median.upper) == pytest.approx(
        (0.01945 - half, 0.01945 + half)
    )
    assert curve.same_sign.estimate == pytest.approx(2 / 4)
    assert (curve.same_sign.n, curve.significant.estimate) == (4, 0.0)


def test_a_cell_of_one_item_counts_and_is_never_significant() -> None:
    """Means 0.2, 0.3 and 0.9, of one item; only the first two can be off 0."""
    differences = np.array([[0.19, 0.29, 0.9], [0.20, 0.30, np.nan], [0.21, 0.31, np.nan]])
    curve = _curve(differences)
    assert curve.median.estimate == pytest.approx(0.3)
    assert curve.same_sign.estimate == 1.0
    assert curve.significant.estimate == pytest.approx(2 / 3)


def test_where_the_median_is_a_cell_without_spread_it_has_no_interval() -> None:
    spread = np.array([-0.2, -0.1, 0.1, 0.2])
    median = _curve(np.column_stack([spread - 0.1, 0 * spread, spread + 0.1])).median
    assert (median.estimate, median.lower) == (0.0, None)
    assert median.because


def test_exchanging_the_judges_turns_the_curve_over() -> None:
    differences = RNG(3).normal(0.1, 0.3, (12, 5))
    one, other = _curve(differences), _curve(-differences)
    assert one.median.estimate == pytest.approx(-other.median.estimate)
    assert one.median.p == other.median.p
    assert one.same_sign.estimate == other.same_sign.estimate


def test_a_cell_significant_the_other_way_stands_against_the_median() -> None:
    noise = RNG(4).normal(0, 0.01, (10, 3))
    curve = _curve(noise + np.array([0.3, 0.2, -0.2]))
    assert curve.significant.estimate == pytest.approx(2 / 3)
    assert curve.against.estimate == pytest.approx(1 / 3)


def test_items_that_a_cell_lacks_leave_its_mean_alone() -> None:
    differences = np.array([[0.1, np.nan], [0.3, 0.5], [0.2, 0.1], [0.4, 0.3]])
    curve = _curve(differences)
    assert [cell.n_items for cell in curve.cells] == [4, 3]
    assert curve.median.estimate == pytest.approx((0.25 + 0.3) / 2)


@pytest.mark.parametrize("differences", [np.ones((5, 1)) * [[0.1]], np.full((5, 3), 0.2)])
def test_one_cell_with_an_interval_is_no_curve(differences: np.ndarray) -> None:
    curve = _curve(differences)
    assert curve.median.estimate is None
    assert "a curve needs 2 cells" in curve.median.because


def _cell(stages: np.ndarray) -> DealtCell:
    """A cell of stages judges x items x replicates, with an excess that is not read here."""
    judge, item, replicate = (index.ravel() for index in np.indices(stages.shape))
    verdicts = Verdicts(
        judge=judge, item=item, stages=1 << (stages.ravel() - 1),
        n_judges=len(stages), n_items=stages.shape[1], n_stages=4,
    )  # fmt: skip
    observed = Estimate("specification", 0.1, 0.0, 0.2, stages.size, stages.shape[1], unit="bits")
    return DealtCell(verdicts, replicate, observed)


def test_judges_apart_in_every_cell_are_significant_in_every_cell() -> None:
    apart = np.stack([np.full((6, 5), 1), np.full((6, 5), 4)])
    curve = excess_curve([_cell(apart), _cell(apart)], mean_jensen_shannon, RNG(1))
    assert curve.significant.estimate == 1.0
    assert curve.median.p == pytest.approx(1 / 300)
    # Few distinct deals reach the same value, so that fewer than 5% are in the tail.
    assert curve.significant.floor is not None
    assert 0 < curve.significant.floor <= 0.05


def test_a_deal_is_the_same_in_every_cell() -> None:
    stages = RNG(7).integers(1, 5, (2, 8, 5))
    seen: list[float] = []

    def spy(p: np.ndarray) -> np.ndarray:
        seen.append(float(mean_jensen_shannon(p).mean()))
        return mean_jensen_shannon(p)

    excess_curve([_cell(stages), _cell(stages)], spy, RNG(1))
    assert seen[0::2] == seen[1::2]
    assert len(set(seen)) > 100
