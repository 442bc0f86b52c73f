"""Ordered logit and mixed model: reference data sets, planted values, and fits that fail."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics import regression_checks
from judge_gym.metrics.regression import ECC, Fit, least_squares
from judge_gym.metrics.regression_checks import (
    beside_least_squares,
    check_by_mixed_model,
    check_by_ordered_logit,
    mixed_model,
    ordered_logit,
)
from support.kernels import printed

SHARED = Path(__file__).resolve().parents[4] / "shared"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")


def reference(name):
    cases = {c["id"]: c for c in json.loads((SHARED / "oracles.json").read_text())["cases"]}
    case = cases[name]
    with (SHARED / case["input"]["csv"]).open(newline="") as file:
        return list(csv.DictReader(file)), case["expected"], case["tolerance"]


@needs_shared
def test_ratings_of_wine():
    rows, expected, tolerance = reference("ordered-logit-wine")
    design = np.array([[r["temp"] == "warm", r["contact"] == "yes"] for r in rows], dtype=float)
    stage, judge = (np.array([int(row[name]) for row in rows]) for name in ("rating", "judge"))
    warm, contact = ordered_logit(["warm", "contact"], design, stage, judge)
    assert warm.estimate.estimate == pytest.approx(expected["clm"]["tempwarm"], abs=tolerance)
    assert contact.estimate.estimate == pytest.approx(expected["clm"]["contactyes"], abs=tolerance)
    assert warm.estimate.lower > 0
    assert warm.df == 8


@needs_shared
def test_days_without_sleep():
    rows, expected, tolerance = reference("mixedlm-sleepstudy")
    design = np.array([[1.0, float(row["days"])] for row in rows])
    outcome = np.array([float(row["y"]) for row in rows])
    subject = np.array([int(row["s"]) for row in rows])
    found = mixed_model(["intercept", "days"], design, outcome, {"item": subject}, unit="ms")
    values = {one.name: one.estimate.estimate for one in found}
    assert values["intercept"] == pytest.approx(expected["fixef"][0], abs=tolerance)
    assert values["days"] == pytest.approx(expected["fixef"][1], abs=tolerance)
    assert [one.standard_error for one in found[:2]] == pytest.approx(expected["se"], abs=tolerance)
    # REML's likelihood is flat here: figures of another optimizer agree to six digits
    assert values["variance of item"] == pytest.approx(expected["var_subject"], rel=1e-5)
    assert values["variance of residual"] == pytest.approx(expected["var_resid"], rel=1e-5)


def test_crossed_effects_of_balanced_cells_by_hand():
    # two owners x three items, cell means 0 1 2 / 1 3 2: REML is the ANOVA where all are positive
    # grand 1.5; items 0.5, 2, 2; owners 1, 2; SS items 2*(1+.25+.25) = 3, owners 3*(.25+.25) = 1.5
    # total (2.25+.25+.25+.25+2.25+.25) = 5.5, residual 1 on 2 df: MS 1.5, 1.5, 0.5
    # components: items (1.5-.5)/2 = 0.5, owners (1.5-.5)/3 = 1/3; replicates change nothing
    owner, item, _ = (part.ravel() for part in np.indices((2, 3, 2)))
    cell = np.array([[0, 1, 2], [1, 3, 2.0]])[owner, item]
    outcome = cell + np.tile([-0.1, 0.1], 6)
    found = mixed_model(
        ["intercept"], np.ones((12, 1)), outcome, {"item": item, "rubric owner": owner}
    )
    values = {one.name: one.estimate.estimate for one in found}
    assert values["intercept"] == pytest.approx(1.5)
    assert values["variance of item"] == pytest.approx(0.5, abs=1e-3)
    assert values["variance of rubric owner"] == pytest.approx(1 / 3, abs=1e-3)
    assert values["variance of residual"] == pytest.approx(0.5, abs=1e-3)


def test_two_items_are_enough_for_crossed_effects():
    # cell means 0 3 / 1 6: SS items 16, owners 4, residual 1, each on 1 df
    owner, item = (part.ravel() for part in np.indices((2, 2)))
    outcome = np.array([0.0, 3, 1, 6])
    found = mixed_model(
        ["intercept"], np.ones((4, 1)), outcome, {"item": item, "rubric owner": owner}
    )
    values = [one.estimate.estimate for one in found]
    assert values == pytest.approx([2.5, (16 - 1) / 2, (4 - 1) / 2, 1], abs=1e-3)


@pytest.fixture
def table(rng):
    """Two judges on 20 items x 3: the second judge one logit higher, item readings normal."""
    model, item, _ = (part.ravel() for part in np.indices((2, 20, 3)))
    latent = model + rng.normal(size=20)[item] + rng.logistic(size=120)
    stage = 1 + np.digitize(latent, [-1, 0.5, 2])
    return {
        "item": item,
        "stage": stage,
        "score": (stage - 1) / 3,
        "scale_size": np.full(120, 4),
        "model": np.array(["calm", "high"])[model],
        "concept": np.full(120, "fascism"),
        "task_type": np.full(120, "ecc"),
        "rubric_quality": np.where(model, 0.6, 0.8),
        "rubric_owner": np.array(["calm", "high", "low"])[item % 3],
    }


def test_both_checks_find_the_planted_judge(table):
    logit = {one.name: one.estimate for one in check_by_ordered_logit(ECC, table).coefficients}
    assert list(logit) == ["model[high]", "rubric_quality"]
    assert logit["model[high]"].lower < 1 < logit["model[high]"].upper
    assert logit["rubric_quality"].estimate is None
    mixed = {one.name: one.estimate for one in check_by_mixed_model(ECC, table).coefficients}
    assert mixed["model[high]"].lower > 0
    assert mixed["variance of item"].estimate > 0
    assert mixed["variance of rubric owner"].estimate is not None
    assert "random item, rubric owner" in mixed["model[high]"].method


def test_stages_of_two_scales_are_no_common_order(table):
    table["scale_size"] = np.where(table["item"] < 10, 4, 5)
    (model, _) = check_by_ordered_logit(ECC, table).coefficients
    assert model.estimate.reason == (
        "not estimable, because the samples are on 2 scales, whose stages have no common order"
    )


def test_a_judge_at_one_end_of_the_scale_is_no_log_odds(table):
    high = table["model"] == "high"
    table["stage"] = np.where(high, 4, np.minimum(table["stage"], 3))
    (model, _) = check_by_ordered_logit(ECC, table).coefficients
    assert model.estimate.estimate is None
    assert model.estimate.reason.startswith("not estimable, because ")


def test_constant_outcomes_are_reasons(table):
    table["stage"], table["score"] = np.full(120, 2), np.full(120, 1 / 3)
    for check in (check_by_ordered_logit, check_by_mixed_model):
        reasons = {one.estimate.reason for one in check(ECC, table).coefficients[:1]}
        assert len(reasons) == 1
        assert reasons.pop().startswith("not estimable, because ")


def test_a_check_counts_the_rows_that_it_used(table, monkeypatch):
    many = {name: np.concatenate([column] * 5) for name, column in table.items()}
    many["item"] = np.repeat(np.arange(100), 3).repeat(2)
    mixed = {one.name: one.estimate for one in check_by_mixed_model(ECC, many).coefficients}
    assert (mixed["model[high]"].n, mixed["model[high]"].n_items) == (600, 100)
    assert "over 200 cell means" in mixed["model[high]"].method
    monkeypatch.setattr(regression_checks, "MAX_ROWS", 60)
    (model, _) = check_by_ordered_logit(ECC, table).coefficients
    assert (model.estimate.n, model.estimate.n_items) == (60, 10)
    assert model.estimate.method.endswith("on 10 of 20 items, drawn by seed")


def test_a_model_without_terms_has_no_log_odds():
    stage, item = np.array([1, 2, 1, 2]), np.array([0, 0, 1, 1])
    assert ordered_logit([], np.empty((4, 0)), stage, item) == []


def test_ordinary_draws_have_a_fit_whether_or_not_items_differ():
    # judges x items with an item effect of 0 or small: a variance often ends at its bound
    at_bound = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        judge, item, _ = (part.ravel() for part in np.indices((2, 12, 3)))
        outcome = np.round(3 * rng.random(72).clip(0, 1)) / 3 + 0.05 * rng.normal(size=12)[item]
        design = np.column_stack([np.ones(72), judge])
        fits = mixed_model(["intercept", "judge"], design, outcome, {"item": item})
        assert [one.estimate.estimate for one in fits if one.estimate.estimate is None] == []
        if fits[2].estimate.estimate == 0:
            at_bound += 1
            assert "at its bound: variance of item is 0" in fits[1].estimate.method
            assert fits[2].estimate.reason.endswith("and at its bound")
    assert 10 < at_bound < 70


def test_owners_that_are_one_with_their_judge_have_no_variance_of_their_own(rng):
    # each judge by its own rubric: statsmodels gave the owners' variance its start value
    judge, item, _ = (part.ravel() for part in np.indices((3, 15, 2)))
    outcome = 0.1 * judge + 0.2 * rng.normal(size=15)[item] + 0.1 * rng.normal(size=90)
    design = np.column_stack([np.ones(90), judge == 1, judge == 2]).astype(float)
    names = ["intercept", "second", "third"]
    fits = mixed_model(names, design, outcome, {"item": item, "rubric owner": judge})
    alone = mixed_model(names, design, outcome, {"item": item})
    assert fits[4].estimate.reason == (
        "not estimable, because its levels are one with the fixed terms"
    )
    for one, other in zip(fits[:3], alone[:3], strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_a_term_that_is_undetermined_still_holds_its_part_of_the_outcome():
    # the second concept has items of its own: which of both lifts them by 1 is unknown, but the
    # judge's effect of 0.1 must not take it up
    judge, item, _ = (part.ravel() for part in np.indices((2, 20, 2)))
    kept = (item < 10) | (judge == 1)
    judge, item = judge[kept], item[kept]
    outcome = 0.1 * judge + (item >= 10) + 0.01 * np.sin(np.arange(len(item)))
    design = np.column_stack([np.ones(len(item)), judge, item >= 10, item >= 10]).astype(float)
    fits = mixed_model(["intercept", "judge", "concept", "scale"], design, outcome, {"item": item})
    assert fits[1].estimate.estimate == pytest.approx(0.1, abs=0.01)
    assert fits[2].estimate.reason.endswith("cannot tell it apart from scale")


def test_outcomes_without_a_residual_are_a_reason():
    judge, item = (part.ravel() for part in np.indices((2, 12)))
    design = np.column_stack([np.ones(24), judge])
    fits = mixed_model(["intercept", "judge"], design, 0.2 * judge + 0.01 * item, {"item": item})
    assert {one.estimate.reason for one in fits} == {
        "not estimable, because the random factors leave no residual"
    }


def test_small_and_degenerate_designs_end_in_figures_or_in_reasons():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n, terms = int(rng.integers(3, 60)), int(rng.integers(0, 5))
        item = rng.integers(0, rng.integers(1, 15), n)
        owner = rng.integers(0, rng.integers(1, 5), n)
        columns = [rng.integers(0, 2, n) for _ in range(terms)]
        design = np.column_stack([np.ones(n), *columns]).astype(float)
        if terms > 1:
            design[:, 2] = design[:, 1] if seed % 3 == 0 else rng.normal(size=n)
        stage = rng.integers(0, int(rng.integers(1, 5)) + 1, n) if seed % 5 else item
        names = ["intercept", *(f"x{number}" for number in range(terms))]
        random = {"item": item, "rubric owner": owner}
        found = [
            *mixed_model(names, design, stage / 20, random),
            *ordered_logit(names[1:], design[:, 1:], stage, item),
        ]
        assert len(found) == 2 * len(names) + 2
        assert not [one for one in found if "converge" in one.estimate.reason]


def test_a_sign_that_contradicts_least_squares_is_explained():
    # judge 1 is higher in 29 of 30 items, but lower in the one with 200 times the replicates
    item = np.repeat(np.arange(30), [400, *[2] * 29])
    judge = np.arange(len(item)) % 2
    outcome = 0.5 + np.where(item == 0, -0.3, 0.1) * judge + 0.01 * np.sin(7.0 * item)
    design = np.column_stack([np.ones(len(item)), judge])
    names = ["intercept", "judge"]
    least = Fit("ecc", tuple(least_squares(names, design, outcome, item)), {}, (), ())
    mixed = Fit("ecc", tuple(mixed_model(names, design, outcome, {"item": item})), {}, (), ())
    noted = beside_least_squares(mixed, least)
    assert least.coefficients[1].estimate.estimate < 0 < mixed.coefficients[1].estimate.estimate
    assert "the sign contradicts least squares" in noted.coefficients[1].estimate.method
    assert noted.coefficients[0] == mixed.coefficients[0]


# Items differ less than their replicates let expect, so that the fit ends at a variance of 0.
ENDS_AT_ZERO = """
import json
import numpy as np
from judge_gym.metrics.regression_checks import mixed_model, ordered_logit
outcome = np.random.default_rng(5).integers(0, 2, 36).astype(float)
design = np.column_stack([np.ones(36), np.tile([0.0, 1.0, 0.0], 12)])
item = np.repeat(np.arange(12), 3)
fits = mixed_model(["intercept", "b"], design, outcome, {"item": item})
fits += ordered_logit(["b"], design[:, 1:], outcome.astype(int), item)
print(json.dumps([(one.estimate.estimate, one.standard_error) for one in fits]))
"""


def test_a_fit_at_the_bound_is_the_same_on_every_kernel_and_prints_nothing():
    first, *others = printed(ENDS_AT_ZERO)
    # Cell means: 5 of 12 where b is 0 and where it is 1; with items alike, as by least squares
    (intercept, _), (b, _), (item, _), (residual, _), _ = first
    assert (intercept, b, item) == pytest.approx((5 / 12, 0, 0), abs=1e-12)
    assert residual == pytest.approx(0.2196969697, abs=1e-9)
    for other in others:
        np.testing.assert_allclose(
            np.array(other, dtype=float), np.array(first, dtype=float), rtol=0, atol=1e-9
        )
