"""Accuracy: how a stored truth becomes a stage, and what is made of it."""

import pytest

from judge_gym.store.results import ResultRow
from support.lab import Lab, Truth, labels, only, rubric

ALPHA = "acme/alpha-1"


def truth(**form: object) -> dict[str, object]:
    return {"source": "a made-up index", **form}


def estimated(rows: list[ResultRow]) -> list[ResultRow]:
    """The figures there are; of those that cannot be there is a row that says why."""
    return [row for row in rows if row.estimate is not None]


def test_labels_of_documents_become_stages_whatever_their_case(database: str) -> None:
    lab = Lab(database)
    lab.documents(["yes", "NO ", "Yes"])
    lab.own(
        ALPHA,
        [[1], [2], [2]],
        task_type="benchmark",
        ground_truth=truth(per_item=True),
        scale_size=2,
        rubric={"provided": rubric("Yes", "No")},
    )
    rows = lab.analyse()

    assert only(rows, "accuracy", judge=ALPHA).estimate == pytest.approx(2 / 3)
    # Chance agreement 2/3 · 1/3 + 1/3 · 2/3 = 4/9, so (2/3 - 4/9) / (1 - 4/9).
    assert only(rows, "cohens_kappa", judge=ALPHA).estimate == pytest.approx(0.4)
    assert not [row for row in estimated(rows) if row.metric.startswith("control")]


def test_the_token_probability_of_verdicts_is_compared_with_their_truth(database: str) -> None:
    lab = Lab(database)
    lab.documents(["yes", "no", "no", None])
    lab.own(
        ALPHA,
        [[1, 2], [2, 2], [2, "abstained"], [1, 1]],
        # A judgement without probabilities and an item without a truth are left out.
        chances=[[0.9, 0.6], [0.8, None], [0.7, None], [0.9, 0.9]],
        task_type="benchmark",
        ground_truth=truth(per_item=True),
        scale_size=2,
        rubric={"provided": rubric("Yes", "No")},
        logprobs=True,
    )
    rows = lab.analyse()

    gap = only(rows, "letter_overconfidence", judge=ALPHA)
    # By item: (0.9 - 1 + 0.6 - 0) / 2, 0.8 - 1, 0.7 - 1.
    assert (gap.estimate, gap.n, gap.n_items) == (pytest.approx((0.25 - 0.2 - 0.3) / 3), 4, 3)
    squared = only(rows, "letter_brier_score", judge=ALPHA)
    assert squared.estimate == pytest.approx(((0.01 + 0.36) / 2 + 0.04 + 0.09) / 3)


def test_judges_without_token_probabilities_have_no_calibration_of_them(database: str) -> None:
    lab = Lab(database)
    lab.documents([0.0, 1.0])
    known = {"task_type": "control", "ground_truth": truth(per_item=True)}
    lab.own(ALPHA, [[1], [4]], **known)
    missing = only(lab.analyse(), "letter_brier_score")
    assert (missing.estimate, missing.scope) == (None, {})
    assert "logprobs: true" in (missing.because or "")


def test_an_index_becomes_the_nearest_stage(database: str) -> None:
    lab = Lab(database)
    # On five stages 0, 0.5, 1, 0.25 are stages 1, 3, 5, 2; the last item has no truth.
    lab.documents([0.0, 0.5, 1.0, 0.25, None])
    lab.own(
        ALPHA,
        [[1], [4], [5], [2], [5]],
        task_type="control",
        ground_truth=truth(per_item=True),
        scale_size=5,
    )
    rows = lab.analyse()

    accuracy = only(rows, "accuracy", judge=ALPHA)
    assert (accuracy.estimate, accuracy.n_items) == (pytest.approx(3 / 4), 4)
    # Stage 4 of five is 0.75, a quarter away from 0.5.
    assert only(rows, "control_error", judge=ALPHA).estimate == pytest.approx(0.25 / 4)
    assert only(rows, "control_rank_correlation", judge=ALPHA).estimate == pytest.approx(1)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"value": 0.4}, 2),  # 1 + round(0.4 · 3) = 2
        ({"label": "stage 3"}, 3),
    ],
)
def test_one_truth_may_hold_for_every_item(
    database: str, form: dict[str, object], expected: int
) -> None:
    lab = Lab(database)
    lab.documents([None, None])
    lab.own(ALPHA, [[expected], [1]], task_type="control", ground_truth=truth(**form))
    assert only(lab.analyse(), "accuracy", judge=ALPHA).estimate == pytest.approx(1 / 2)


def test_a_label_has_a_place_on_the_unit_scale(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], task_type="control", ground_truth=truth(label="Stage 3"))
    # Stage 3 of four is 2/3.
    assert only(lab.analyse(), "control_error").estimate == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("truths", "error"),
    [
        ([0.2, 0.6], 0.4),  # the mean of the two, against stage 1
        ([0.2, None], None),
    ],
)
def test_a_bundle_has_the_mean_of_its_documents(
    database: str, truths: list[Truth], error: float | None
) -> None:
    lab = Lab(database)
    lab.documents(truths)
    lab.own(ALPHA, [[1]], task_type="control", ground_truth=truth(per_item=True), bundle_size=2)
    rows = lab.analyse()
    if error is None:
        assert "no item has a truth" in only(rows, "accuracy").reason
    else:
        assert only(rows, "control_error").estimate == pytest.approx(error)


def test_a_label_that_no_stage_has_is_named(database: str) -> None:
    lab = Lab(database)
    lab.documents(["Stage 1", "Stag 2"])
    lab.own(ALPHA, [[1], [2]], task_type="benchmark", ground_truth=truth(per_item=True))
    row = only(lab.analyse(), "accuracy")
    assert row.estimate is None
    assert "no stage of the rubric is labelled 'Stag 2'" in row.reason


def test_sets_of_stages_are_credited_for_holding_the_truth(database: str) -> None:
    lab = Lab(database)
    lab.documents(["Stage 1", "Stage 1"])
    lab.own(
        ALPHA,
        [[(1, 2)], [(3,)]],
        task_type="benchmark",
        ground_truth=truth(per_item=True),
        scoring_method="subset",
    )
    rows = lab.analyse()
    assert only(rows, "coverage").estimate == pytest.approx(1 / 2)
    assert only(rows, "accuracy_discounted").estimate == pytest.approx((1 / 2 + 0) / 2)
    assert only(rows, "accuracy_u65").estimate == pytest.approx(0.65 / 2)
    assert not [row for row in estimated(rows) if row.metric == "accuracy"]


def test_accuracies_of_judges_are_of_the_same_items(database: str) -> None:
    lab = Lab(database)
    lab.documents(["Stage 1", "Stage 2"])
    common = {
        "task_type": "benchmark",
        "ground_truth": truth(per_item=True),
        "rubric": {"provided": rubric(*labels(4))},
    }
    lab.own(ALPHA, [[1], [1]], **common)
    lab.own("acme/beta-1", [[1], ["abstained"]], **common)
    row = only(lab.analyse(), "accuracy", judge=ALPHA)
    assert (row.estimate, row.n_items) == (1, 1)


def test_contested_concepts_have_no_accuracy(database: str) -> None:
    lab = Lab(database)
    lab.documents([0.5])
    lab.own(ALPHA, [[1]])
    rows = estimated(lab.analyse())
    assert not [row for row in rows if row.metric.startswith(("accuracy", "control"))]
