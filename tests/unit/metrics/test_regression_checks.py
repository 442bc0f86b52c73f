"""Ordered logit and mixed model: reference data sets, planted values, and fits that fail."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics import regression_checks
from judge_gym.metrics.regression_checks import (
    check_by_mixed_model,
    check_by_ordered_logit,
    mixed_model,
    ordered_logit,
)
from judge_gym.metrics.regression_design import ECC

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


def test_many_rows_are_bounded_to_whole_items(table, monkeypatch):
    monkeypatch.setattr(regression_checks, "MAX_ROWS", 60)
    (model, _) = check_by_ordered_logit(ECC, table).coefficients
    assert (model.estimate.n, model.estimate.n_items) == (60, 10)
    assert model.estimate.method.endswith("on 10 of 20 items, drawn by seed")
    monkeypatch.setattr(regression_checks, "MAX_MIXED_ITEMS", 8)
    mixed = {one.name: one.estimate for one in check_by_mixed_model(ECC, table).coefficients}
    assert mixed["model[high]"].n_items == 8
    assert mixed["model[high]"].method.endswith("on 8 of 20 items, drawn by seed")


def test_a_model_without_terms_has_no_log_odds():
    stage, item = np.array([1, 2, 1, 2]), np.array([0, 0, 1, 1])
    assert ordered_logit([], np.empty((4, 0)), stage, item) == []


# Items differ less than their replicates let expect, so that the fit ends at a variance of 0.
ENDS_AT_ZERO = """
import numpy as np
from judge_gym.metrics.regression_checks import mixed_model
outcome = np.random.default_rng(5).integers(0, 2, 36).astype(float)
design = np.column_stack([np.ones(36), np.tile([0.0, 1.0, 0.0], 12)])
item = np.repeat(np.arange(12), 3)
fits = mixed_model(["intercept", "b"], design, outcome, {"item": item})
print([one.estimate.estimate is not None for one in fits])
"""


def test_what_a_fit_warns_of_stays_off_the_terminal():
    ended = subprocess.run([sys.executable, "-c", ENDS_AT_ZERO], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("[True, True, True, True]\n", "")
