"""Total error and variance by facet: by hand, against REML of a reference, and by simulation."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics.estimate import RemarkKind, t_quantile
from judge_gym.metrics.facets import (
    DRAW,
    HIGHEST_VARIANCE,
    ITEM,
    JUDGE,
    REPLICATE,
    WORDING,
    FacetCells,
    FacetTable,
    complete_table,
    facet_components,
    half_width,
    mean_squares,
    next_steps,
    total_error,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"
NAN = float("nan")


def two_way(rows):
    return FacetTable((ITEM, WORDING), np.array(rows, dtype=float))


def crossed(means, replicates):
    """Cells of these means (an axis per facet), with these deviations of their replicates."""
    means = np.array(means, dtype=float)
    *codes, replicate = (part.ravel() for part in np.indices((*means.shape, len(replicates))))
    names = (ITEM, JUDGE, WORDING)[: means.ndim]
    return FacetCells.of(names, codes, means[tuple(codes)] + np.array(replicates)[replicate])


def test_the_total_error_by_hand():
    # item means 1.5 and 4.5, wording means 2 and 4, residuals ±0.5: mean squares 9, 4 and 1
    table = two_way([[1, 2], [3, 6]])
    squares = {term: (one.value, one.df) for term, one in mean_squares(table).items()}
    assert squares == {(ITEM,): (9, 1), (WORDING,): (4, 1), (ITEM, WORDING): (1, 1)}
    total = total_error(table)
    # (9 + 4 - 1)/4, and 12²/(9² + 4² + 1²) degrees of freedom
    assert total.standard_error == pytest.approx(3**0.5)
    assert total.df == pytest.approx(144 / 98)
    assert total.interval == pytest.approx(
        (3 - 3**0.5 * t_quantile(144 / 98), 3 + 3**0.5 * t_quantile(144 / 98))
    )
    assert total.at_zero == ()


def test_wordings_that_differ_less_than_chance_leave_the_error_over_items():
    # wording means are equal: their mean square 0 is below the residual's, and counts as it
    total = total_error(two_way([[1, 2], [2, 1], [5, 5]]))
    per_item = np.array([1.5, 1.5, 5])
    assert total.standard_error == pytest.approx(per_item.std(ddof=1) / 3**0.5)
    assert total.df == pytest.approx(2)
    assert total.at_zero == ((WORDING,),)


def test_three_facets_by_inclusion_and_exclusion():
    rng = np.random.default_rng(2)
    y = rng.normal(size=(5, 1, 1)) + rng.normal(size=(1, 4, 1)) + rng.normal(size=(1, 1, 3))
    y = y + rng.normal(size=(5, 4, 1)) + rng.normal(size=(5, 1, 3)) + rng.normal(size=(5, 4, 3))
    table = FacetTable((ITEM, WORDING, DRAW), y)
    squares = {term: one.value for term, one in mean_squares(table).items()}
    total = total_error(table)
    if not total.at_zero:
        signed = sum((-1) ** (len(term) + 1) * value for term, value in squares.items())
        assert total.standard_error**2 == pytest.approx(signed / y.size)
    # the squares partition the sum of squares
    sums = sum(one.value * one.df for one in mean_squares(table).values())
    assert sums == pytest.approx(((y - y.mean()) ** 2).sum())


def test_no_total_error_of_one_level_or_no_spread():
    assert total_error(two_way([[1], [2]])) is None
    assert total_error(two_way([[1, 1], [1, 1]])) is None


@pytest.mark.parametrize(
    ("rows", "items", "wordings"),
    [
        ([[1, 2], [3, NAN], [5, 6]], [0, 2], [0, 1]),
        # the second wording lost most of its items: it is left out, not they
        ([[1, NAN, 3], [2, NAN, 4], [3, 4, 5], [4, NAN, 6]], [0, 1, 2, 3], [0, 2]),
        ([[1, 2], [3, 4]], [0, 1], [0, 1]),
        ([[NAN, 2], [3, NAN]], [1], [0]),
    ],
)
def test_an_incomplete_crossing_is_cut_to_a_complete_block(rows, items, wordings):
    block, (kept_items, kept_wordings) = complete_table(two_way(rows))
    assert not np.isnan(block.values).any()
    assert (kept_items.tolist(), kept_wordings.tolist()) == (items, wordings)


@pytest.mark.parametrize("missing", [0.0, 0.02])
@pytest.mark.parametrize(("items", "wordings"), [(16, 5), (16, 8), (30, 5), (30, 8)])
def test_the_total_interval_holds_the_planted_mean(items, wordings, missing):
    # items far more uneven than wordings, and skewed residuals; 400 sets at 95%: 0.92 to 0.98 is
    # within 2.8 standard deviations
    rng = np.random.default_rng(items + wordings)
    held = only_items = 0
    for _ in range(400):
        y = rng.normal(size=(items, 1)) + 0.5 * rng.normal(size=(1, wordings))
        y = y + 0.5 * (rng.exponential(size=(items, wordings)) - 1)
        y = np.where(rng.random(y.shape) < missing, NAN, y)
        block, _ = complete_table(FacetTable((ITEM, WORDING), y))
        low, high = total_error(block).interval
        held += low <= 0 <= high
        per_item = block.values.mean(axis=1)
        half = t_quantile(len(per_item) - 1) * per_item.std(ddof=1) / len(per_item) ** 0.5
        only_items += abs(per_item.mean()) <= half
    assert 0.92 <= held / 400 <= 0.98
    assert only_items < held


def test_components_are_the_anova_by_hand():
    # items x judges: means 0 1 / 1 3 / 2 2, replicates ±0.1. Mean squares: items 2·1.5 = 3 on 2,
    # judges 3·0.5 ... of cell means; within a cell 0.02 over 2 replicates
    estimates, variances = facet_components(crossed([[0, 1], [1, 3], [2, 2]], [-0.1, 0.1]))
    found = {one.metric: one.estimate for one in estimates}
    y = np.array([[0, 1], [1, 3], [2, 2.0]])
    # item means 0.5, 2, 2; judge means 1, 2; grand 1.5
    item, judge = 2 * (1 + 0.25 + 0.25) / 2, 3 * (0.25 + 0.25)
    rest = ((y - y.mean(1, keepdims=True) - y.mean(0) + 1.5) ** 2).sum() / 2
    assert found == pytest.approx(
        {
            "item": (item - rest) / 2,
            "judge": (judge - rest) / 3,
            "item x judge": rest - 0.01,
            REPLICATE: 0.02,
        }
    )
    assert variances.replicate == pytest.approx(0.02)


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")
def test_components_are_those_of_lme4():
    cases = {c["id"]: c for c in json.loads((SHARED / "oracles.json").read_text())["cases"]}
    case = cases["gtheory-varcomp"]
    with (SHARED / case["input"]["csv"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    item = np.unique([row["evidence"] for row in rows], return_inverse=True)[1]
    judge = np.unique([row["model_b"] for row in rows], return_inverse=True)[1]
    score = np.array([float(row["score"]) for row in rows])
    estimates, _ = facet_components(FacetCells.of((ITEM, JUDGE), (item, judge), score))
    expected = case["expected"]
    # REML puts the interaction at its bound, 0, and pools it
    assert [one.estimate for one in estimates] == pytest.approx(
        [expected["evidence"], expected["m"], expected["evidence:m"], expected["Residual"]],
        abs=case["tolerance"],
    )
    assert estimates[2].remarks[0].kind is RemarkKind.AT_ZERO


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")
def test_components_of_sleepstudy_are_those_of_statsmodels():
    # subjects by days, one measurement each: lme4's VarCorr of (1|Subject) + (1|Days) too
    from statsmodels.regression.mixed_linear_model import MixedLM

    with (SHARED / "data" / "sleepstudy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    y = np.array([float(row["y"]) for row in rows])
    subject = np.unique([row["s"] for row in rows], return_inverse=True)[1]
    days = np.array([int(float(row["days"])) for row in rows])
    estimates, _ = facet_components(FacetCells.of((ITEM, WORDING), (subject, days), y))
    scale = y.var()
    design = {"subject": np.eye(subject.max() + 1)[subject], "days": np.eye(days.max() + 1)[days]}
    from statsmodels.regression.mixed_linear_model import VCSpec

    names = [
        list(design),
        [[f"{name}{i}" for i in range(part.shape[1])] for name, part in design.items()],
    ]
    spec = VCSpec(names[0], [[part] for part in names[1]], [[part] for part in design.values()])
    fitted = MixedLM(y, np.ones((len(y), 1)), np.zeros(len(y)), exog_vc=spec).fit(reml=True)
    by_name = dict(zip(names[0], fitted.vcomp, strict=True))
    found = [one.estimate for one in estimates]
    assert found == pytest.approx([by_name["subject"], by_name["days"], fitted.scale], rel=1e-3), (
        scale
    )


def test_a_crossing_that_lost_cells_says_what_it_uses():
    means = np.arange(24.0).reshape(6, 4) % 7
    codes = [part.ravel() for part in np.indices((6, 4))]
    there = ~((codes[0] == 5) & (codes[1] > 0))
    cells = FacetCells.of((ITEM, JUDGE), [code[there] for code in codes], means.ravel()[there])
    estimates, _ = facet_components(cells)
    (remark,) = {
        one for estimate in estimates for one in estimate.remarks if one.kind is RemarkKind.BLOCK
    }
    assert (remark.number, remark.advised, remark.names) == (5, 6, (ITEM,))
    # without repeats, the residual is both
    assert estimates[-1].metric == "item x judge and replicate"


def test_components_of_scores_stay_in_the_range_of_a_variance():
    # two judges at opposite ends: the variance between them is 1/2 by ANOVA, and 1/4 at most
    y = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.9], [0.1, 1.0]])[:, :, None].repeat(2, axis=2)
    y[0, 0, 0] = 0.1
    codes = [part.ravel() for part in np.indices(y.shape)][:2]
    cells = FacetCells.of((ITEM, JUDGE), codes, y.ravel())
    estimates, _ = facet_components(cells, HIGHEST_VARIANCE)
    by_name = {one.metric: one for one in estimates}
    assert (by_name[JUDGE].estimate, by_name[JUDGE].upper) == (0.25, 0.25)
    assert all(0 <= one.lower <= one.estimate <= one.upper <= 0.25 for one in estimates)
    wide = {one.metric: one for one in facet_components(cells)[0]}
    assert wide[JUDGE].estimate > 0.4


def test_one_level_is_no_facet():
    (missing,), variances = facet_components(crossed([[1.0], [2.0]], [0, 0.1]))
    assert variances is None
    assert "1 of judge" in missing.reason


def test_intervals_of_components_hold_the_planted_variances():
    # normal effects; 300 sets at 95%: 0.91 to 0.985 is within 3 standard deviations
    rng = np.random.default_rng(8)
    planted = {"item": 1.0, "judge": 0.25, "item x judge": 0.25, REPLICATE: 1.0}
    held = dict.fromkeys(planted, 0)
    items, judges, replicates = 16, 6, 3
    codes = [part.ravel() for part in np.indices((items, judges, replicates))][:2]
    for _ in range(300):
        y = rng.normal(size=(items, 1, 1)) + 0.5 * rng.normal(size=(1, judges, 1))
        y = (
            y
            + 0.5 * rng.normal(size=(items, judges, 1))
            + rng.normal(size=(items, judges, replicates))
        )
        for one in facet_components(FacetCells.of((ITEM, JUDGE), codes, y.ravel()))[0]:
            held[one.metric] += one.lower <= planted[one.metric] <= one.upper
    assert all(0.91 <= count / 300 <= 0.985 for count in held.values()), held


def test_the_forecast_at_the_present_design_is_the_present_interval():
    rng = np.random.default_rng(4)
    y = 2 * rng.normal(size=(20, 1, 1)) + rng.normal(size=(1, 6, 1)) + rng.normal(size=(20, 6, 2))
    codes = [part.ravel() for part in np.indices(y.shape)][:2]
    _, variances = facet_components(FacetCells.of((ITEM, WORDING), codes, y.ravel()))
    low, high = total_error(FacetTable((ITEM, WORDING), y.mean(axis=2))).interval
    # but for the residual, which is pooled with the replicates here
    assert half_width(variances, variances.sizes, 2) == pytest.approx((high - low) / 2, rel=1e-3)


def test_the_forecast_of_a_larger_design_is_what_it_measures():
    # 200 sets of 16 items x 5 wordings forecast the interval that 200 sets of 32 x 10 then have
    rng = np.random.default_rng(5)

    def scores(items, wordings):
        y = rng.normal(size=(items, 1, 1)) + 0.4 * rng.normal(size=(1, wordings, 1))
        y = y + 0.4 * rng.normal(size=(items, wordings, 1))
        return y + rng.normal(size=(items, wordings, 3))

    forecast, measured = [], []
    for _ in range(200):
        now = scores(16, 5)
        codes = [part.ravel() for part in np.indices(now.shape)][:2]
        _, variances = facet_components(FacetCells.of((ITEM, WORDING), codes, now.ravel()))
        forecast.append(half_width(variances, {ITEM: 32, WORDING: 10}, 3))
        low, high = total_error(FacetTable((ITEM, WORDING), scores(32, 10).mean(axis=2))).interval
        measured.append((high - low) / 2)
    assert np.mean(forecast) == pytest.approx(np.mean(measured), rel=0.05)


def test_the_next_step_is_the_facet_that_holds_the_error_up():
    # variances by hand: wordings alone matter, so no number of items or replicates helps
    rng = np.random.default_rng(6)
    y = 0.01 * rng.normal(size=(10, 1, 1)) + rng.normal(size=(1, 5, 1))
    y = y + 0.01 * rng.normal(size=(10, 5, 2))
    codes = [part.ravel() for part in np.indices(y.shape)][:2]
    _, variances = facet_components(FacetCells.of((ITEM, WORDING), codes, y.ravel()))
    now = half_width(variances, variances.sizes, 2)
    first, *rest = next_steps(variances, 0.8 * now)
    assert first.facet == WORDING
    assert first.share == pytest.approx((first.levels - 5) / 5)
    assert half_width(variances, {ITEM: 10, WORDING: first.levels}, 2) <= 0.8 * now
    assert half_width(variances, {ITEM: 10, WORDING: first.levels - 1}, 2) > 0.8 * now
    assert all(step.levels is None for step in rest)
