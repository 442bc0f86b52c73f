"""Least squares by item: cases by hand, a brute-force CR2, real data, and the three models."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.regression import (
    ABLATION,
    ECC,
    MODELS,
    UNCERTAINTY_GAP,
    build_design,
    fit_model,
    least_squares,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"


def brute_force(design, outcome, item, combination):
    """CR2 standard error and Satterthwaite df of one combination, from n x n matrices."""
    n = len(outcome)
    inverse = np.linalg.pinv(design.T @ design)
    hat = design @ inverse @ design.T
    maker = np.eye(n) - hat
    residual = maker @ outcome
    variance, directions = 0.0, []
    for one in np.unique(item):
        rows = item == one
        values, vectors = np.linalg.eigh(np.eye(rows.sum()) - hat[np.ix_(rows, rows)])
        root = np.where(values > 1e-8, np.clip(values, 1e-8, None) ** -0.5, 0)
        adjust = (vectors * root) @ vectors.T
        weight = combination @ inverse @ design[rows].T @ adjust
        variance += (weight @ residual[rows]) ** 2
        directions.append(maker[:, rows] @ weight)
    omega = np.array(directions) @ np.array(directions).T
    return variance**0.5, np.trace(omega) ** 2 / (omega**2).sum()


def test_mean_of_equal_items_is_their_t_interval():
    # item means 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9)/3 = 14/3, error sqrt(14/3/4)
    outcome = np.array([0.0, 2.0, 1.0, 3.0, 2.0, 4.0, 5.0, 7.0])
    (mean,) = least_squares(["mean"], np.ones((8, 1)), outcome, np.repeat([0, 1, 2, 3], 2))
    assert mean.estimate.estimate == pytest.approx(3)
    assert mean.standard_error == pytest.approx((14 / 3 / 4) ** 0.5)
    assert mean.df == pytest.approx(3)
    # t(3) at 97.5% is 3.182446
    assert mean.estimate.upper == pytest.approx(3 + 3.182446 * (14 / 12) ** 0.5, abs=1e-5)
    assert (mean.estimate.n, mean.estimate.n_items) == (8, 4)


def test_two_groups_of_items_are_a_welch_error_with_bell_mccaffrey_df():
    # 2 items in one group (means 1, 3), 4 in the other (0, 2, 4, 6), one sample each:
    # variance 2/2 + (20/3)/4 = 8/3; df for equal errors of the working model
    # (1/2 + 1/4)² / ((1/2)²/1 + (1/4)²/3) = 0.5625 / 0.2708333 = 2.0769
    group = np.array([0, 0, 1, 1, 1, 1.0])
    outcome = np.array([1, 3, 0, 2, 4, 6.0])
    design = np.column_stack([np.ones(6), group])
    _, effect = least_squares(["intercept", "group"], design, outcome, np.arange(6))
    assert effect.estimate.estimate == pytest.approx(1)
    assert effect.standard_error == pytest.approx((8 / 3) ** 0.5)
    assert effect.df == pytest.approx(0.5625 / (0.25 + 0.0625 / 3))
    [few] = effect.estimate.remarks
    assert (few.kind, few.advised) == (RemarkKind.FEW_DEGREES, 4)
    assert few.number == pytest.approx(2.1, abs=0.05)


def test_effect_within_items_is_the_paired_t_test():
    # differences 1, 2, 6 within three items: mean 3, error sqrt(7/3), 2 degrees of freedom
    outcome = np.array([0, 1, 5, 7, 2, 8.0])
    item, after = np.repeat([0, 1, 2], 2), np.tile([0.0, 1.0], 3)
    design = np.column_stack([item == 0, item == 1, item == 2, after]).astype(float)
    effect = least_squares(["a", "b", "c", "after"], design, outcome, item)[-1]
    assert effect.estimate.estimate == pytest.approx(3)
    assert effect.standard_error == pytest.approx((7 / 3) ** 0.5)
    assert effect.df == pytest.approx(2)


@given(st.integers(0, 10_000), st.integers(3, 8), st.integers(1, 4))
@settings(max_examples=25)
def test_matches_the_matrices_it_avoids(seed, items, columns):
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(2, 6, items))
    design = np.column_stack([np.ones(len(item)), rng.normal(size=(len(item), columns))])
    design[:, -1] = item % 2
    outcome = rng.normal(size=len(item)) + rng.normal(size=items)[item]
    names = [f"x{j}" for j in range(columns + 1)]
    for j, one in enumerate(least_squares(names, design, outcome, item)):
        if one.standard_error is not None:
            error, df = brute_force(design, outcome, item, np.eye(columns + 1)[j])
            assert one.standard_error == pytest.approx(error, rel=1e-6)
            assert one.df == pytest.approx(df, rel=1e-6)


def test_what_cannot_be_told_apart_gets_no_coefficient(rng):
    item = np.repeat(np.arange(10), 3)
    high, tall = (rng.integers(0, 2, 30).astype(float) for _ in range(2))
    design = np.column_stack([np.ones(30), high, tall, high, np.zeros(30)])
    names = ["intercept", "high", "tall", "quality", "absent"]
    found = {one.name: one for one in least_squares(names, design, rng.random(30), item)}
    assert found["tall"].estimate.lower is not None
    assert found["high"].estimate.estimate is None
    assert found["high"].estimate.reason == (
        "not estimable, because the design cannot tell it apart from quality"
    )
    assert found["quality"].estimate.reason.endswith("apart from high")
    assert found["absent"].estimate.reason.endswith("no sample differs in it")


def test_the_unit_of_a_covariate_does_not_decide_what_is_singular(rng):
    item = np.repeat(np.arange(12), 2)
    x, outcome = rng.random(24), rng.random(24)
    plain, tiny = (
        least_squares(["one", "x"], np.column_stack([np.ones(24), x * unit]), outcome, item)[1]
        for unit in (1.0, 1e-9)
    )
    assert tiny.estimate.estimate == pytest.approx(plain.estimate.estimate * 1e9)
    assert tiny.df == pytest.approx(plain.df)


@pytest.mark.parametrize(
    ("outcome", "item", "because"),
    [
        ([0.5] * 4, [0, 0, 1, 1], "the outcome is the same in every sample"),
        ([0.1, 0.2, 0.3, 0.5], [7] * 4, "standard errors need 2 items, and there is 1"),
        ([], [], "standard errors need 2 items, and there are 0"),
    ],
)
def test_degenerate_data_are_reasons(outcome, item, because):
    design = np.ones((len(outcome), 1))
    (only,) = least_squares(["x"], design, np.array(outcome, dtype=float), np.array(item))
    assert only.estimate.reason == f"not estimable, because {because}"


def test_a_saturated_design_has_figures_without_intervals():
    # each of two items has a level of its own, and one sample: nothing is left over
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    _, effect = least_squares(["a", "b"], design, np.array([0.2, 0.5]), np.array([0, 1]))
    assert effect.estimate.estimate == pytest.approx(0.3)
    assert effect.estimate.lower is None
    assert "leave no variation" in effect.estimate.reason


def test_faulty_arrays_are_refused():
    with pytest.raises(ValueError, match="2 names"):
        least_squares(["a", "b"], np.ones((3, 1)), np.ones(3), np.arange(3))
    with pytest.raises(ValueError, match="finite"):
        least_squares(["a"], np.ones((3, 1)), np.array([1, np.nan, 2]), np.arange(3))


def test_a_true_null_between_items_is_rejected_at_its_level():
    # 16 items of 5 samples, the concept between items: naive errors reject about 31% of these
    rng = np.random.default_rng(11)
    item = np.repeat(np.arange(16), 5)
    design = np.column_stack([np.ones(80), item % 2]).astype(float)
    rejected = 0
    for _ in range(400):
        outcome = rng.normal(size=16)[item] + rng.normal(size=80)
        effect = least_squares(["one", "concept"], design, outcome, item)[1]
        rejected += effect.estimate.p < 0.05
    # binomial(400, 0.05) has mean 20 and sd 4.4
    assert 5 <= rejected <= 36


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")
def test_petersens_firms_and_years():
    cases = {c["id"]: c for c in json.loads((SHARED / "oracles.json").read_text())["cases"]}
    case = cases["ols-cluster-petersen"]
    with (SHARED / case["input"]["csv"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    outcome = np.array([float(row["y"]) for row in rows])
    design = np.array([[1.0, float(row["x"])] for row in rows])
    for cluster in case["input"]["clusters"]:
        item = np.array([int(row[cluster]) for row in rows])
        fitted = least_squares(["intercept", "x"], design, outcome, item)
        errors = [one.standard_error for one in fitted]
        values = [one.estimate.estimate for one in fitted]
        assert values == pytest.approx(case["expected"]["coef"], abs=1e-9)
        assert errors == pytest.approx(case["expected"][f"cl_{cluster}"], abs=case["tolerance"])


@pytest.fixture
def table(rng):
    """Two judges x two concepts x 12 items x 2 replicates; the second judge scores 0.2 higher."""
    model, concept, item, _ = (part.ravel() for part in np.indices((2, 2, 12, 2)))
    score = 0.3 + 0.2 * model + 0.1 * concept + rng.uniform(-0.05, 0.05, len(model))
    return {
        "item": item,
        "score": score,
        "uncertainty_gap": score / 2,
        "model": np.array(["a/calm", "b/high"])[model],
        "concept": np.array(["backsliding", "fascism"])[concept],
        "scoring_method": np.full(len(item), "single"),
        "scale_size": np.full(len(item), 4),
        "evidence_view": np.full(len(item), "neutralized"),
        "task_type": np.full(len(item), "ecc"),
        "rubric_quality": 0.5 + 0.1 * model + 0.05 * concept * model,
        "rubric_owner": np.array(["a/calm", "b/high"])[model],
    }


def by_name(fit):
    return {one.name: one.estimate for one in fit.coefficients}


def test_levels_are_compared_with_a_stated_reference(table):
    fit = fit_model(ECC, table)
    found = by_name(fit)
    assert list(found) == ["intercept", "model[b/high]", "concept[fascism]", "rubric_quality"]
    assert fit.references == {"model": "a/calm", "concept": "backsliding"}
    assert found["model[b/high]"].estimate == pytest.approx(0.2, abs=0.03)
    assert found["model[b/high]"].lower < 0.2 < found["model[b/high]"].upper
    assert found["concept[fascism]"].estimate == pytest.approx(0.1, abs=0.03)


def test_quality_that_is_one_per_model_and_concept_gets_no_coefficient(table):
    missing = by_name(fit_model(ECC, table))["rubric_quality"]
    assert missing.estimate is None
    assert missing.reason == (
        "not estimable, because it never differs within a model and concept, "
        "so it is one with their interaction"
    )


def test_quality_that_differs_within_them_has_one_with_a_caution(table, rng):
    swapped = table["item"] % 2
    table["rubric_quality"] = np.where(swapped, 0.9, table["rubric_quality"])
    table["score"] = table["score"] + 0.1 * table["rubric_quality"]
    fit = fit_model(ECC, table)
    assert by_name(fit)["rubric_quality"].estimate == pytest.approx(0.1, abs=0.1)
    # 0.5, 0.6, 0.65 and 0.9
    assert fit.notes == (
        "rubric_quality has 4 different values only: few rubrics stand behind its coefficient",
    )


def test_samples_without_the_covariate_are_counted_not_invented(table):
    quality = np.where(table["item"] % 2, 0.9, table["rubric_quality"])
    quality[:7] = np.nan
    fit = fit_model(ECC, {**table, "rubric_quality": quality})
    assert fit.remarks == (Remark(RemarkKind.SAMPLES_LEFT_OUT, 7, names=("rubric_quality",)),)
    assert by_name(fit)["intercept"].n == len(quality) - 7


def test_models_read_their_own_samples(table):
    table["task_type"] = np.where(table["item"] < 4, "control", "ecc")
    table["scoring_method"] = np.where(table["item"] < 6, "single", "subset")
    rows = {spec.name: build_design(spec, table).rows.sum() for spec in MODELS}
    assert rows == {"ecc": 64, "ablation": 96, "uncertainty_gap": 48}
    gap = by_name(fit_model(UNCERTAINTY_GAP, table))["model[b/high]"]
    assert (gap.unit, gap.n) == ("probability", 48)
    assert gap.estimate == pytest.approx(0.1, abs=0.03)


def test_a_scale_used_for_one_concept_only_is_not_told_from_it(table):
    table["scale_size"] = np.where(table["concept"] == "fascism", 2, 10)
    fit = fit_model(ABLATION, table)
    found = by_name(fit)
    assert fit.references["scale_size"] == "2"
    assert found["scale_size[10]"].estimate is None
    assert "concept[fascism]" in found["scale_size[10]"].reason
    assert found["model[b/high]"].estimate is not None


def test_named_references_are_used_and_numbers_keep_their_order(table):
    table["scale_size"] = np.array([10, 4, 5])[table["item"] % 3]
    design = build_design(ABLATION, table)
    assert design.references["scale_size"] == "4"
    assert [name for name in design.names if "scale" in name] == ["scale_size[5]", "scale_size[10]"]
    assert design.matrix[:, 0].tolist() == [1.0] * 96


def test_no_samples_is_a_reason(table):
    table["task_type"] = np.full(96, "benchmark")
    (intercept, quality) = fit_model(ECC, table).coefficients
    assert intercept.estimate.reason.startswith("not estimable, because standard errors need")
    assert quality.estimate.reason == "not estimable, because no sample has it"


def test_a_dataframe_is_a_table_too(table):
    assert fit_model(ECC, pd.DataFrame(table)) == fit_model(ECC, table)


def test_faulty_tables_are_refused(table):
    with pytest.raises(ValueError, match="lies in"):
        build_design(ECC, {**table, "score": table["score"] + 1})
    del table["concept"]
    with pytest.raises(ValueError, match="no column 'concept'"):
        build_design(ECC, table)
