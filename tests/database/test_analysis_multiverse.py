"""Specification curves over the settings of a sweep, from verdicts written down."""

import pytest

from judge_gym.design.experiment import GroundTruth
from support.lab import Lab, labels, only, rubric

ALPHA, BETA = "acme/alpha-1", "zeta/beta-1"
FOUR = {"rubric": {"provided": rubric(*labels(4))}}


def test_a_difference_is_curved_over_the_settings_of_one_question(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    for view, alpha, beta in (
        ("raw", [[4], [3], [2], [3]], [[1], [1], [1], [3]]),
        ("cleaned", [[2], [3], [2], [3]], [[1], [1], [1], [3]]),
    ):
        lab.own(ALPHA, alpha, evidence_view=view, **FOUR)
        lab.own(BETA, beta, evidence_view=view, **FOUR)
    # A judge's own rubric mixes two causes: no cell of the curve.
    lab.own(ALPHA, [[1]] * 4, evidence_view="raw")
    lab.own(BETA, [[4]] * 4, evidence_view="raw")
    rows = lab.analyse()

    pair = f"{ALPHA} and {BETA}"
    cells = [row for row in rows if row.metric == "specification"]
    by_view = {row.scope["evidence_view"]: row.estimate for row in cells}
    # In thirds of the scale: 3 + 2 + 1 + 0 over 4 items, and 1 + 2 + 1 + 0.
    assert by_view == {"raw": pytest.approx(0.5), "cleaned": pytest.approx(1 / 3)}
    median = only(rows, "specification_median")
    assert median.scope == {
        "concept": "order", "country": "Freedonia", "window": "spring",
        "claim": "score", "pair": pair,
    }  # fmt: skip
    assert median.estimate == pytest.approx(5 / 12)
    assert only(rows, "specification_same_sign").estimate == 1.0
    # The signs of three items: one in four exchanges has them all on one side.
    assert median.p == median.p_adjusted == pytest.approx(0.25, abs=0.03)


def test_where_the_truth_is_known_the_claim_is_about_accuracy(database: str) -> None:
    lab = Lab(database)
    lab.documents(["Stage 1", "Stage 2", "Stage 2", "Stage 4"])
    truth = {"task_type": "benchmark", "ground_truth": GroundTruth(source="s", per_item=True)}
    for order in ("rubric_first", "evidence_first"):
        lab.own(ALPHA, [[1], [2], [2], [3]], prompt_order=order, **truth, **FOUR)
        lab.own(BETA, [[1], [3], [3], [3]], prompt_order=order, **truth, **FOUR)
    rows = lab.analyse()
    assert {row.scope["claim"] for row in rows if row.metric == "specification"} == {"accuracy"}
    assert only(rows, "specification_median").estimate == pytest.approx(0.5)


def test_polarization_is_curved_over_cells_of_the_same_judges(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    for view in ("raw", "cleaned"):
        lab.own(ALPHA, [[1, 1, 1, 2, 1]] * 4, evidence_view=view, **FOUR)
        lab.own(BETA, [[4, 4, 3, 4, 4]] * 4, evidence_view=view, **FOUR)
    rows = lab.analyse()
    median = only(rows, "specification_median", claim="polarization")
    cells = [row for row in rows if row.metric == "specification"]
    excess = [row.estimate for row in rows if row.metric == "polarization_excess"]
    assert [row.estimate for row in cells if row.scope["claim"] == "polarization"] == excess
    assert median.p is not None
    assert median.p < 0.01
    assert only(rows, "specification_significant", claim="polarization").estimate == 1.0


def test_a_sweep_of_one_setting_says_what_a_curve_needs(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    for model in (ALPHA, BETA):
        lab.own(model, [[1], [2], [3], [4]], **FOUR)
    row = only(lab.analyse(), "specification_median")
    assert row.estimate is None
    assert "two cells" in row.because
