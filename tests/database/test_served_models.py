"""Several served models or configurations behind a judge: in figures, report and views."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.report.facts import read_facts
from judge_gym.report.markdown import run_markdown
from judge_gym.report.page import read_report, render_page
from judge_gym.store import tables as t
from judge_gym.store.results import latest_run, load_results
from judge_gym.store.served import configurations_kept
from support.lab import SWEEP, Lab, labels, rubric

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"
OLD, NEW = "alpha-1-2026-01-01", "alpha-1-2026-07-01"


def two_judges(lab: Lab) -> None:
    lab.documents([None] * 3)
    for model in (ALPHA, BETA):
        lab.own(model, [[1, 2], [3, 3], [4, 4]], **COMMON)
        lab.own(model, [[1, 1], [2, 3], [4, 3]], temperature=0.5, **COMMON)


@pytest.mark.slow
def test_two_served_models_in_a_cell_are_a_caution_of_every_figure_they_are_behind(
    database: str,
) -> None:
    lab = Lab(database)
    two_judges(lab)
    # The second replicate of the first two items: two mixed cells in each of two experiments.
    lab.served(ALPHA, lambda item, replicate: NEW if item < 2 and replicate else OLD)
    lab.served(BETA, lambda item, replicate: "beta-1")
    rows = lab.analyse()

    remarks = {
        (row.metric, row.scope.get("judge", "all"), row.scope.get("temperature", "both")): remark
        for row in rows
        for remark in row.remarks
        if remark.kind is RemarkKind.SERVED_MODELS
    }
    half = Remark(RemarkKind.SERVED_MODELS, 2, names=(ALPHA, OLD, NEW))
    assert remarks["polarization", "all", 0.5] == half
    assert remarks["replicate_variance", ALPHA, 1.0] == half
    # A contrast has both experiments behind it.
    assert remarks["contrast", ALPHA, "both"].number == 4
    assert not any(judge == BETA for _, judge, _ in remarks)

    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        facts, page = read_facts(session, run.id), render_page(read_report(session, run.id))
        text = run_markdown(session, facts, "").text
        counted = sa.text("SELECT count(*) FROM analysis.samples WHERE served_model = :name")
        assert session.scalar(counted, {"name": NEW}) == 4
    [warning] = facts.warnings
    for shown in (warning, page, text):
        assert OLD in shown
        assert "4 cells" in shown
    assert facts.experiments.notes == ()


def test_served_models_that_share_no_cell_are_named_without_cells(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    lab.served(ALPHA, lambda item, replicate: NEW if item == 2 else OLD)
    with Session(lab.engine) as session:
        lab.analyse()
        run = latest_run(session, SWEEP)
        assert run is not None
        [warning] = read_facts(session, run.id).warnings
        figures = load_results(session, run.id)
    assert "cell" not in warning
    assert {remark.number for row in figures for remark in row.remarks if remark.names} >= {0}


def test_several_fingerprints_under_a_rubric_are_a_note_of_the_experiments(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    lab.served(ALPHA, lambda item, replicate: OLD, fingerprint="fp_")
    rows = lab.analyse()
    assert RemarkKind.SERVED_MODELS not in {one.kind for row in rows for one in row.remarks}
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        facts = read_facts(session, run.id)
    assert facts.warnings == ()
    [note] = facts.experiments.notes
    assert note.startswith(f"{ALPHA} answered in 2 configurations")


def test_another_model_than_the_one_asked_for_is_a_caution_of_its_figures(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    lab.served(ALPHA, lambda item, replicate: "another-model")
    lab.served(BETA, lambda item, replicate: "beta-1-2026-07-01")
    rows = lab.analyse()
    cautions = {
        remark for row in rows for remark in row.remarks if remark.kind is RemarkKind.SERVED_MODELS
    }
    assert cautions == {Remark(RemarkKind.SERVED_MODELS, 0, names=(ALPHA, "another-model"))}
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        [warning] = read_facts(session, run.id).warnings
    assert ALPHA in warning
    assert "another-model" in warning


def _answered(*calls: tuple[str, str, str, int], source: int | None = None) -> list[t.Call]:
    """Return calls by (model, served model, fingerprint, the minute it was answered)."""
    return [
        t.Call(
            key=f"{minute} {model}",
            workflow="judges",
            agent="judge",
            provider="acme",
            model=model,
            messages=[],
            template="judge",
            template_hash="0",
            parameters={},
            status="succeeded",
            answer="text",
            served_model=served,
            fingerprint=fingerprint,
            finished_at=datetime(2026, 11, 1, 12, minute, tzinfo=UTC),
            cached_from=source,
        )
        for model, served, fingerprint, minute in calls
    ]


def test_a_configuration_that_took_over_is_told_from_those_that_take_turns(database: str) -> None:
    engine = sa.create_engine(database)
    with Session(engine) as session:

        def kept(*calls: t.Call) -> set[tuple[str, str]]:
            session.add_all(calls)
            session.flush()
            return configurations_kept(session, [call.id for call in calls])

        took_over = [(ALPHA, OLD, "f", 1), (ALPHA, OLD, "g", 2), (ALPHA, NEW, "f", 3)]
        both = {(OLD, "f"), (OLD, "g")}
        assert kept(*_answered(*took_over)) == both
        turns = [(ALPHA, OLD, "f", 11), (ALPHA, OLD, "g", 12), (ALPHA, OLD, "f", 13)]
        first, *others = _answered(*turns)
        assert kept(first, *others) == both
        # Another model of the judge has turns of its own, and one that answers alone is kept.
        assert kept(*_answered((BETA, "beta-1", "f", 21), (ALPHA, OLD, "f", 22))) == {
            ("beta-1", "f"),
            (OLD, "f"),
        }
        # An answer of the cache is as old as the call whose answer it is.
        taken = _answered((ALPHA, OLD, "f", 33), source=first.id)
        assert kept(*_answered((ALPHA, OLD, "g", 32)), *taken) == {(OLD, "f")}
