"""Figures over wordings: total error, what decides a claim, variance by facet, votes."""

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.facets import ITEM, WORDING, FacetTable, total_error
from judge_gym.report.tables import result_tables
from judge_gym.store import tables as t
from judge_gym.store.results import FindingRow, ResultRow, latest_run, load_findings
from support.lab import SWEEP, Lab, labels, only, rubric

ALPHA, BETA, GAMMA = "recorded/alpha", "recorded/beta", "recorded/gamma"
WORDINGS = ("plain", "strict", "warm")


def over_all(rows: list[ResultRow], metric: str, **scope: str) -> ResultRow:
    """The figure over all wordings."""
    (found,) = (
        row
        for row in rows
        if row.metric == metric and "wording" not in row.scope
        and scope.items() <= row.scope.items()
    )  # fmt: skip
    return found


def stored_findings(lab: Lab) -> list[FindingRow]:
    """The findings of the newest analysis."""
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        return load_findings(session, run.id)


def test_a_mean_over_wordings_has_its_total_error_beside_that_over_items(database: str) -> None:
    confidences = np.array([[0.2, 0.3, 0.7], [0.4, 0.5, 0.8], [0.1, 0.4, 0.4], [0.5, 0.5, 0.9]])
    lab = Lab(database)
    lab.documents([None] * 4)
    for wording, said in zip(WORDINGS, confidences.T, strict=True):
        probes = [[value] for value in said.tolist()]
        lab.own(ALPHA, [[1], [2], [3], [4]], probes=probes, wording=wording)
    rows = lab.analyse()

    found = over_all(rows, "confidence", judge=ALPHA)
    expected = total_error(FacetTable((ITEM, WORDING), confidences))
    assert found.estimate == pytest.approx(confidences.mean())
    assert (found.lower, found.upper) == pytest.approx(expected.interval)
    assert found.df == pytest.approx(expected.df)
    assert found.lower < found.items_lower < found.items_upper < found.upper
    assert (found.n_items, found.n) == (4, 12)
    # each wording keeps its own row, which the tables leave out
    assert {row.scope.get("wording") for row in rows if row.metric == "confidence"} == {
        *WORDINGS,
        None,
    }
    (table,) = (one for one in result_tables(rows) if one.title.startswith("Confidence and"))
    (line,) = table.rows
    assert any("items only [" in cell for cell in line.cells)


def test_a_mean_over_wordings_counts_the_samples_that_it_uses(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    for number, wording in enumerate(WORDINGS):
        stages = [[1], [2], [3], [4]]
        probes = [
            [0.1 * number + (0.2, 0.3, 0.1, 0.4)[item] * (1 + number % 2)] for item in range(4)
        ]
        if wording == "warm":
            stages[3], probes[3] = ["abstained"], []
        lab.own(ALPHA, stages, probes=probes, wording=wording)
    found = over_all(lab.analyse(), "confidence", judge=ALPHA)
    # 11 probes, of which the fourth item's two are left out
    assert (found.n_items, found.n) == (3, 9)


@pytest.mark.parametrize("replicates", [3, 5])
def test_polarization_is_of_the_samples_of_all_wordings_together(
    database: str, replicates: int
) -> None:
    """Two judges exchange their verdicts with the wording: 1 bit apart in each, and 0 in all."""
    lab = Lab(database)
    lab.documents([None] * 3)
    given = {"rubric": {"provided": rubric(*labels(4))}}
    for wording, (first, second) in {"plain": (1, 4), "strict": (4, 1)}.items():
        lab.own(ALPHA, [[first] * replicates] * 3, family="a", wording=wording, **given)
        lab.own(BETA, [[second] * replicates] * 3, family="b", wording=wording, **given)
    rows = lab.analyse()

    found = over_all(rows, "polarization")
    assert found.estimate == pytest.approx(0)
    assert found.n == 3 * 2 * 2 * replicates
    assert any(remark.kind == RemarkKind.POOLED_FACET for remark in found.remarks)
    # a verdict of one judge and one of the other differ in 2 of the 4 pairs of wordings
    assert over_all(rows, "conflict").estimate == pytest.approx(0.5)
    apart = [
        row.estimate for row in rows if row.metric == "polarization" and "wording" in row.scope
    ]
    assert apart == pytest.approx([1, 1] if replicates == 5 else [None, None])


def test_an_axis_is_compared_at_wordings_that_both_sides_have(database: str) -> None:
    """Verdicts move with the wording alone; one side lacks the wording with the high ones."""
    lab = Lab(database)
    lab.documents([None] * 4)
    for wording, abstain, verdicts in (
        ("plain", False, [[1], [2], [1], [2]]),
        ("strict", False, [[4], [4], [4], [3]]),
        ("plain", True, [[1], [2], [1], [3]]),
    ):
        lab.own(ALPHA, verdicts, wording=wording, abstain=abstain)
    found = only(lab.analyse(), "contrast", axis="abstain")
    assert found.estimate == pytest.approx(1 / 4 / 3)  # one stage of three, of one item of four
    assert Remark(RemarkKind.SHARED_LEVELS, 1, 2, ("wording",)) in found.remarks
    assert not any(remark.kind == RemarkKind.POOLED_FACET for remark in found.remarks)


def test_an_axis_whose_sides_share_no_wording_is_not_compared(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    lab.own(ALPHA, [[1], [2], [1], [2]], wording="warm", abstain=True)
    for wording in ("plain", "strict"):
        lab.own(ALPHA, [[4], [4], [4], [3]], wording=wording, abstain=False)
    found = only(lab.analyse(), "contrast", axis="abstain")
    assert found.estimate is None
    assert "no wording in common" in found.because


def test_judges_are_compared_at_wordings_that_all_have(database: str) -> None:
    """Equal judges of two families, of which one has another wording besides."""
    lab = Lab(database)
    lab.documents([None] * 3)
    given = {"rubric": {"provided": rubric(*labels(4))}}
    for wording in ("plain", "strict"):
        lab.own(ALPHA, [[1] * 5] * 3, family="a", wording=wording, **given)
        lab.own(BETA, [[1] * 5] * 3, family="b", wording=wording, **given)
    lab.own(BETA, [[4] * 5] * 3, family="b", wording="warm", **given)
    rows = lab.analyse()

    found = over_all(rows, "polarization")
    assert (found.estimate, found.n) == (pytest.approx(0), 3 * 2 * 2 * 5)
    # and what is said of one judge is of these wordings, too: figures of a table are alike
    assert over_all(rows, "mean_score", judge=BETA).estimate == pytest.approx(0)
    assert only(rows, "mean_score", judge=BETA, wording="warm").estimate == pytest.approx(1)


def test_judges_without_a_wording_in_common_are_not_compared(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    given = {"rubric": {"provided": rubric(*labels(4))}}
    lab.own(ALPHA, [[1] * 5] * 3, family="a", wording="plain", **given)
    for wording in ("strict", "warm"):
        lab.own(BETA, [[4] * 5] * 3, family="b", wording=wording, **given)
    rows = lab.analyse()
    assert not [
        row.estimate
        for row in rows
        if row.metric == "polarization_excess" and row.estimate is not None
    ]


def test_self_conflict_compares_no_verdicts_of_two_wordings(database: str) -> None:
    """A judge that moves with the wording contradicts itself only within one of them."""
    lab = Lab(database)
    lab.documents([None] * 4)
    lab.own(ALPHA, [[1, 1], [1, 2], [1, 1], [1, 1]], wording="plain")
    lab.own(ALPHA, [[4, 4], [4, 3], [4, 3], [4, 4]], wording="strict")
    found = over_all(lab.analyse(), "self_conflict", judge=ALPHA)
    # Of the two verdicts of each cell: 1 of 4 pairs under one wording, 2 of 4 under the other.
    assert found.estimate == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert (found.n_items, found.n) == (4, 16)


@pytest.mark.parametrize(("abstained", "strict"), [(True, 2 / 4), (False, 4 / 6)])
def test_a_share_over_wordings_says_that_it_counts_items_alike(
    database: str, *, abstained: bool, strict: float
) -> None:
    """Of unequal cells 1/1 and 0/3, then 1/1 and 1/3, the share is 0.25, then 0.5.

    The mean by item and wording, (1 + 0 + 1 + 1/3) / 4, lies above both.
    """
    lab = Lab(database)
    lab.documents(["yes", "no"])
    silent = ["abstained"] * 2 if abstained else [1, 1]
    for wording, second in {"plain": [1, 1, 1], "strict": [2, 1, 1]}.items():
        lab.own(
            ALPHA, [[1, *silent], second], wording=wording, task_type="benchmark", scale_size=2,
            ground_truth={"source": "made up", "per_item": True},
            rubric={"provided": rubric("Yes", "No")},
        )  # fmt: skip
    rows = lab.analyse()

    found = over_all(rows, "accuracy", judge=ALPHA)
    assert found.estimate == pytest.approx((1 + 0 + 1 + 1 / 3) / 4)
    assert only(rows, "accuracy", wording="strict").estimate == pytest.approx(strict)
    assert (Remark(RemarkKind.ITEMS_ALIKE) in found.remarks) == abstained


def test_claims_rest_on_the_total_error(database: str) -> None:
    lab = Lab(database)
    lab.documents(["yes", "no"] * 6)
    truth = [1, 2] * 6
    for wording, wrong in zip(WORDINGS, ([], [0], [0, 1, 2, 3, 4, 5]), strict=True):
        stages = [[3 - stage if item in wrong else stage] for item, stage in enumerate(truth)]
        lab.own(
            ALPHA, stages, wording=wording, task_type="benchmark", scale_size=2,
            ground_truth={"source": "made up", "per_item": True},
            rubric={"provided": rubric("Yes", "No")},
        )  # fmt: skip
    rows = lab.analyse()
    findings = stored_findings(lab)

    (finding,) = (one for one in findings if one.hypothesis == "V3.chance")
    total = over_all(rows, "accuracy", judge=ALPHA)
    assert (finding.lower, finding.upper) == (total.lower, total.upper)
    assert (finding.items_lower, finding.items_upper) == (total.items_lower, total.items_upper)
    # items alone would support it: wordings do not
    assert finding.items_lower > 0.5 > finding.lower
    assert finding.conclusion == "inconclusive"


def test_variance_by_facet_says_what_to_buy(database: str) -> None:
    rng = np.random.default_rng(1)
    lab = Lab(database)
    lab.documents([None] * 8)
    for number, wording in enumerate(WORDINGS):
        for model in (ALPHA, BETA):
            stages = np.clip(rng.integers(1, 3, size=(8, 3)) + number, 1, 4).tolist()
            probes = [[0.5]] * 8
            if (model, wording) == (ALPHA, "plain"):
                stages[0], probes[0] = ["abstained"] * 3, []
            lab.own(
                model, stages, wording=wording, rubric={"provided": rubric(*labels(4))},
                probes=probes,
            )  # fmt: skip
    rows = lab.analyse()

    terms = {row.scope["term"] for row in rows if row.metric == "variance_component"}
    assert {"item", "judge", "wording", "item x judge x wording", "replicate"} <= terms
    largest = max(
        (row for row in rows if row.metric == "variance_component"),
        key=lambda row: row.estimate,
    )
    assert largest.scope["term"] == "wording"
    step = only(rows, "next_step_levels", part="wording")
    assert step.estimate > step.floor == 3
    # 2 judges on 8 items, 3 times: one wording more asks 48 and probes 47/3, though the variances
    # are those of the 7 items that every cell scored.
    assert only(rows, "half_width").n_items == 7
    more = step.estimate - 3
    assert only(rows, "next_step_judgements", part="wording").estimate == pytest.approx(48 * more)
    assert only(rows, "next_step_probes", part="wording").estimate == pytest.approx(47 / 3 * more)
    assert "price" in only(rows, "next_step_cost", part="wording").because


def test_the_price_of_a_step_is_that_of_all_calls_of_these_judges(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    rng = np.random.default_rng(2)
    for number, wording in enumerate(WORDINGS):
        stages = np.clip(rng.integers(1, 3, size=(4, 2)) + number, 1, 4).tolist()
        lab.own(ALPHA, stages, wording=wording, rubric={"provided": rubric(*labels(4))})
    lab.served(ALPHA, lambda position, replicate: "m")
    with Session(lab.engine) as session, session.begin():
        session.execute(sa.update(t.Call).values(cost_usd=0.5))
    rows = lab.analyse()
    judgements = only(rows, "next_step_judgements", part="wording").estimate
    more = only(rows, "next_step_levels", part="wording").estimate - 3
    assert judgements == pytest.approx(8 * more)
    assert only(rows, "next_step_probes", part="wording").estimate == 0
    assert only(rows, "next_step_cost", part="wording").estimate == pytest.approx(4 * more)


def test_votes_of_judges_that_make_the_same_mistakes(database: str) -> None:
    lab = Lab(database)
    lab.documents(["yes", "no"] * 4)
    for model, wrong in ((ALPHA, (0, 1)), (BETA, (0, 1)), (GAMMA, (2, 3))):
        stages = [[2 - item % 2 if item in wrong else 1 + item % 2] for item in range(8)]
        lab.own(
            model, stages, task_type="benchmark", scale_size=2,
            ground_truth={"source": "made up", "per_item": True},
            rubric={"provided": rubric("Yes", "No")},
        )  # fmt: skip
    rows = lab.analyse()

    # errors 1 1 0 0 … twice and 0 0 1 1 …: correlations 1, -1/3 and -1/3
    assert only(rows, "mean_error_correlation").estimate == pytest.approx(1 / 9)
    assert only(rows, "effective_votes").estimate == pytest.approx(3 / (1 + 2 / 9))


def test_without_a_truth_or_families_votes_are_not_estimable(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 5)
    for model in (ALPHA, BETA):
        lab.own(model, [[1], [2], [3], [4], [1]], rubric={"provided": rubric(*labels(4))})
    assert "cannot be told from the items" in only(lab.analyse(), "effective_votes").because
