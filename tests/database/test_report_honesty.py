"""What a study cannot say is said: in Postgres, on the page and in the terminal, never as NaN."""

import io
import re
from collections.abc import Callable, Mapping

import pytest
import sqlalchemy as sa
from rich.console import Console
from sqlalchemy.orm import Session

from judge_gym.analysis import registry
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.groups import MIXED
from judge_gym.report.page import Report, read_report, render_page
from judge_gym.report.table import TerminalTable
from judge_gym.store import tables as t
from judge_gym.store.judgement_texts import titles_of_judged_items
from judge_gym.store.results import ResultRow, latest_run, load_results
from support.lab import SWEEP, Lab, labels, rubric

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"
METRICS = set(registry.figures())


@pytest.fixture
def lab(database: str) -> Lab:
    return Lab(database)


def analysed(lab: Lab) -> tuple[list[ResultRow], Report]:
    lab.analyse()
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        return load_results(session, run.id), read_report(session, run.id)


def one_item(lab: Lab) -> None:
    lab.documents([None])
    lab.own(ALPHA, [[1, 2, 1, 1, 2]], probes=[[0.8]], **COMMON)
    lab.own(BETA, [[4, 3, 4, 4, 3]], probes=[[0.6]], **COMMON)


def one_judge(lab: Lab) -> None:
    lab.documents([None] * 4)
    lab.own(ALPHA, [[1, 2, 1], [2, 2, 3], [4, 4, 4], [1, 1, 2]], probes=[[0.8]] * 4, **COMMON)


def no_overlap(lab: Lab) -> None:
    lab.documents([None] * 4)
    nothing = ["abstained"] * 3
    lab.own(ALPHA, [[1, 2, 1], [2, 2, 3], nothing, nothing], **COMMON)
    lab.own(BETA, [nothing, nothing, [4, 4, 3], [3, 3, 4]], **COMMON)


def all_abstained(lab: Lab) -> None:
    lab.documents([None] * 3)
    for model in (ALPHA, BETA):
        lab.own(model, [["abstained"] * 5] * 3, **COMMON)


def all_failed(lab: Lab) -> None:
    lab.documents([None] * 3)
    for model in (ALPHA, BETA):
        lab.own(model, [["failed", "refused", "unparseable"]] * 3, **COMMON)


def constant_verdicts(lab: Lab) -> None:
    lab.documents([0.3] * 12)
    truth = {"source": "an index", "per_item": True}
    for model in (ALPHA, BETA):
        lab.own(
            model, [[2] * 5] * 12, probes=[[0.7]] * 12, task_type="control", ground_truth=truth,
            **COMMON,
        )  # fmt: skip


def nothing_judged(lab: Lab) -> None:
    lab.documents([None] * 3)
    lab.judge(ALPHA, **COMMON)
    lab.judge(BETA, **COMMON)


def judges_on_concepts_of_their_own(lab: Lab) -> None:
    lab.documents([None] * 12)
    spread = [[1 + (item + place) % 3 for place in range(5)] for item in range(12)]
    lab.own(ALPHA, spread, concept="order", **COMMON)
    lab.own(BETA, spread[::-1], concept="chaos", **COMMON)


STUDIES: Mapping[Callable[[Lab], None], Mapping[str, str]] = {
    one_item: {
        "replicate_icc": "it needs 2 items of 3 scored replicates, and there is 1",
        "swap_sensitivity": "it needs a judge that applied a rival's rubric",
    },
    one_judge: {
        "polarization": "it compares two judges of different families or more, and there is 1",
        "overconfidence": "no other judge scores these items under the same rubric",
        "polarization_pair": "it needs verdicts of two judge families on the same items",
    },
    no_overlap: {
        "polarization_excess": "no item was scored by every judge",
        "brier_score": "no item was scored by, and probed for, every judge",
    },
    all_abstained: {
        "overconfidence": "the judge has no scored verdict",
        "belief_distance": "it compares 2 judges, and there are 0",
    },
    all_failed: {
        "abstention_rate": "there is no sample to count",
        "replicate_variance": "no item has 3 scored replicates of every judge",
    },
    constant_verdicts: {"replicate_icc": "all verdicts of the judge are the same"},
    nothing_judged: {"failed_rate": "there is no sample to count"},
    judges_on_concepts_of_their_own: {
        "overconfidence": "no other judge scores these items under the same rubric",
        "contrast": "it needs two experiments of a judge that differ in one axis alone",
    },
}
"""Studies that cannot say much, and why they cannot give some of their figures."""


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.__name__)
def test_every_metric_of_a_poor_study_has_a_figure_or_a_reason(
    lab: Lab, study: Callable[[Lab], None]
) -> None:
    study(lab)
    rows, report = analysed(lab)
    assert {row.metric.removesuffix(MIXED) for row in rows} == METRICS
    for metric, reason in STUDIES[study].items():
        found = [row for row in rows if row.metric == metric]
        assert found
        assert {row.reason for row in found} == {f"not estimable, because {reason}"}
    lacking = {row.metric for row in rows if row.estimate is None}
    page, printed = render_page(report), in_terminal(report)
    section = page[page.index('id="not-estimable"') :].partition("</section>")[0]
    for metric in lacking:
        assert metric.replace("_", " ") in section
        assert metric.replace("_", " ") in printed
    assert not re.search(r"\b(nan|inf)\b", page + printed, flags=re.IGNORECASE)
    assert not re.search(r">\s*None\s*<", page)


def in_terminal(report: Report) -> str:
    """What the terminal shows of the figures, every name on one line."""
    out = io.StringIO()
    console = Console(file=out, width=4000)
    for table in report.results:
        if table.brief:
            console.print(TerminalTable(table, table.marks))
    return out.getvalue()


@pytest.mark.slow
def test_cells_that_contradict_themselves_are_shown_worst_first(lab: Lab) -> None:
    lab.documents([None] * 4)
    # Apart by 1/3, 1 and 2/3 of the scale; the last document was judged once.
    lab.own(ALPHA, [[2, 3, 2], [1, 4, 4], [1, 1, 3], [1, "abstained"]], **COMMON)
    # {1, 2} and {3, 4} lie half as far apart as the ends do; {1, 4} meets both.
    lab.own(BETA, [[(1, 2), (3, 4), (1, 4)]], scoring_method="subset", **COMMON)
    _, report = analysed(lab)
    cases = report.cases
    assert (cases.flagged, cases.repeated) == (3, 4)
    assert [round(one.apart, 3) for one in cases.divided] == [1, 0.667, 0.667]
    titles = [str(one.title) for one in cases.divided]
    assert titles == ["Document 1", "Document 2", "Document 0"]
    assert [one.outcome for one in cases.divided[0].answers] == [
        "stage 1, Stage 1",
        "stage 4, Stage 4",
        "stage 4, Stage 4",
    ]
    assert cases.divided[2].judge == BETA
    # The arm is each judge's own; the rubric is not.
    under = {one.under for case in cases.divided for one in case.answers}
    assert len(under) == 2, under
    assert not any("own rubric" in one for one in under)
    assert all("provided rubric" in one or "rubric by " in one for one in under)
    page = render_page(report)
    assert "In 3 of 4 cells with two verdicts or more" in page
    assert not cases.moved


@pytest.mark.slow
def test_the_items_that_a_setting_moves_most_are_cases(lab: Lab) -> None:
    lab.documents([None] * 12)
    raw = [[1]] * 12
    # Moved by 1, by 2/3 (twice, the earlier item first) and by 1/3; on the last a judge is silent.
    lab.own(ALPHA, raw, evidence_view="raw", **COMMON)
    lab.own(ALPHA, [[4], [3], [2], [3], *[[1]] * 7, ["abstained"]], **COMMON)
    # Less than alpha's change on the first item, more than it on the third.
    lab.own(BETA, raw, evidence_view="raw", **COMMON)
    lab.own(BETA, [[2], [1], [4], *[[1]] * 9], **COMMON)
    with Session(lab.engine) as session, session.begin():
        session.execute(sa.update(t.Document).values(title="<script>alert(1)</script>"))
    _, report = analysed(lab)
    moved = report.cases.moved
    assert [round(one.apart, 3) for one in moved] == [1, 1, 0.667, 0.667]
    assert {(one.judge, one.title.document_id) for one in moved[:2]} == {
        (ALPHA, report.evidence[0].documents[0].id),
        (BETA, report.evidence[0].documents[2].id),
    }
    assert {one.what for one in moved} == {"evidence view: raw → neutralized"}
    [of_alpha] = [one for one in moved[:2] if one.judge == ALPHA]
    assert [view.name for view in of_alpha.texts] == ["raw", "neutralized"]
    assert [row.cells[1] for row in of_alpha.verdicts.rows] == [
        "stage 1, Stage 1 (1)",
        "stage 4, Stage 4 (1)",
    ]
    assert [one.outcome[-1] for one in of_alpha.answers] == ["1", "4"]
    page = render_page(report)
    assert "Items that settings move most" in page
    assert "<script>alert(1)" not in page


@pytest.mark.slow
def test_cases_are_ten_at_most_and_either_kind_fills_the_other(lab: Lab) -> None:
    lab.documents([None] * 12)
    lab.own(ALPHA, [[1]] * 12, evidence_view="raw", **COMMON)
    lab.own(ALPHA, [[4]] * 8 + [[1, 4]] * 4, **COMMON)
    _, report = analysed(lab)
    assert (len(report.cases.moved), len(report.cases.divided)) == (6, 4)


def test_imported_judgements_mark_the_figures_that_rest_on_them(lab: Lab) -> None:
    one_item(lab)
    of_alpha = sa.select(t.Arm.id).join(t.Experiment).where(t.Experiment.model == ALPHA)
    with Session(lab.engine) as session, session.begin():
        session.execute(
            sa.update(t.Sample).where(t.Sample.arm_id.in_(of_alpha)).values(imported=True)
        )
    rows, report = analysed(lab)
    by_judge = {row.scope["judge"]: row.imported for row in rows if row.metric == "confidence"}
    assert by_judge == {ALPHA: True, BETA: False}
    assert all(row.imported for row in rows if row.metric == "polarization")
    assert 0 < report.imported < 1
    assert report.findings.imported


def test_a_report_says_what_was_run_and_what_it_took(lab: Lab) -> None:
    one_item(lab)
    _, report = analysed(lab)
    told = dict(row.cells for row in report.facts.provenance.rows)
    assert told["judges"] == f"{ALPHA}, {BETA}"
    assert told["judgements"] == "10"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d .* UTC to .* UTC", told["judged"])
    assert told["LLM calls"] == "none were made here"
    assert told["analysis plan"] == "none: everything explores"
    assert len(told["data digest"]) == 16


def test_items_have_one_order_in_figures_pictures_and_cases(lab: Lab) -> None:
    """The keys of documents are in another order than those of items, which are digests."""
    keys = [f"d{key:02}" for key in (5, 3, 9, 1, 8, 0, 7, 2)]
    lab.documents([int(key[1:]) / 10 for key in keys], keys)
    lab.own(ALPHA, [[1], [2]] * 4, **COMMON)
    with Session(lab.engine) as session:
        figures = load_sweep_data(session, SWEEP)
        titles = [one.title for one in titles_of_judged_items(session, SWEEP)]
    assert figures.truth.value.tolist() == [int(key[1:]) / 10 for key in sorted(keys)]
    assert titles == [f"Document {keys.index(key)}" for key in sorted(keys)]
