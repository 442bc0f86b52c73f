"""The three models: which columns they make, and what is left out of them."""

import numpy as np
import pandas as pd
import pytest

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.regression import (
    ABLATION,
    ECC,
    MODELS,
    UNCERTAINTY_GAP,
    build_design,
    fit_model,
)


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
