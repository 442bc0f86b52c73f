"""Runs and rows: scopes, the simulated flag, determinism, and what is stored."""

from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import registry
from judge_gym.analysis import running as analysis
from judge_gym.errors import StoreError
from judge_gym.store import tables as t
from judge_gym.store.results import ResultRow, latest_run, save_run
from support.lab import SWEEP, Lab, labels, only, rubric
from support.postgres import temporary_database

ALPHA, BETA, GAMMA = "acme/alpha-1", "acme/beta-1", "acme/gamma-1"
COMMON = {"rubric": {"provided": rubric(*labels(4))}}


def varied(lab: Lab, models: Sequence[str], items: Sequence[int] = range(6)) -> None:
    """Judges whose verdicts vary enough for every seeded figure to be at work."""
    lab.documents([None] * 6, keys=[f"d{item}" for item in items])
    for model in models:
        step = ord(model[5])
        outcomes = [[1 + (step * item + turn * turn) % 4 for turn in range(6)] for item in items]
        shown = [("ABCD", [1, 2, 3, 4]), ("BACD", [2, 1, 3, 4]), ("DCBA", [4, 3, 2, 1])] * 2
        lab.own(
            model,
            outcomes,
            probes=[[0.1 * (1 + (step + item) % 7)] for item in items],
            shown=shown,
            **COMMON,
        )


@pytest.mark.slow
def test_a_rerun_gives_the_same_rows_as_does_another_database(
    postgres_server: str, migrated_template: str, database: str
) -> None:
    first = Lab(database)
    varied(first, [ALPHA, BETA, GAMMA])
    rows = first.analyse()
    assert first.analyse() == rows
    # Other ids: judges and items were stored in another order.
    with temporary_database(postgres_server, migrated_template) as url:
        second = Lab(url)
        varied(second, [GAMMA, BETA, ALPHA], [3, 5, 0, 4, 1, 2])
        assert second.analyse() == rows


def test_rows_are_named_by_metric_and_scope(database: str) -> None:
    lab = Lab(database)
    varied(lab, [ALPHA, BETA])
    rows = lab.analyse()
    identities = [(row.metric, row.scope_key) for row in rows]
    assert len(set(identities)) == len(identities)
    with Session(lab.engine) as session:
        stored = session.execute(
            sa.select(t.AnalysisResult.metric, t.AnalysisResult.scope_key).order_by(
                t.AnalysisResult.id
            )
        ).all()
    assert [tuple(row) for row in stored] == identities


def test_every_figure_is_one_of_the_registry(database: str) -> None:
    lab = Lab(database)
    varied(lab, [ALPHA, BETA])
    own = lab.own(ALPHA, [[(1, 2)]], scoring_method="subset")
    lab.samples(lab.arm(own, "swap", BETA), [[1]])
    lab.samples(lab.arm(own, "sham", ALPHA), [[1]])
    truth = {"source": "a made-up index", "value": 0.5}
    for method in ("single", "subset"):
        lab.own(
            BETA, [[1]], task_type="control", ground_truth=truth, scoring_method=method, **COMMON
        )
    metrics = {row.metric.removesuffix("_mixed") for row in lab.analyse()}
    assert metrics <= set(registry.figures())


def test_a_scope_lists_the_axes_that_vary(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], evidence_view="raw")
    lab.own(ALPHA, [[1]], evidence_view="cleaned")
    assert only(lab.analyse(), "polarization_mixed", evidence_view="raw").scope == {
        "concept": "order",
        "country": "Freedonia",
        "window": "spring",
        "rubric": "own",
        "evidence_view": "raw",
    }


def test_judges_share_a_group_whatever_their_replicates(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1] * 5], replicates=5, **COMMON)
    lab.own(BETA, [[4] * 6], replicates=6, **COMMON)
    row = only(lab.analyse(), "polarization")
    assert (row.estimate, row.n) == (1, 11)


def test_a_judges_rubrics_of_another_setting_are_never_compared(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    for model, concept in ((ALPHA, "order"), (BETA, "liberty")):
        lab.own(model, [[1] * 5], concept=concept, **COMMON)
    rows = [row for row in lab.analyse() if row.metric == "polarization"]
    assert [row.scope["concept"] for row in rows] == ["liberty", "order"]
    assert all(row.estimate is None for row in rows)


def test_provided_rubrics_are_told_apart(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    for first in ("Low", "Calm"):
        lab.own(ALPHA, [[1]], scale_size=2, rubric={"provided": rubric(first, "High")})
    rows = lab.analyse()
    named = {row.scope["rubric"] for row in rows if row.metric == "polarization"}
    assert len(named) == 2
    assert all(name.startswith("provided ") for name in named)
    contrast = only(rows, "contrast", axis="rubric")
    assert {contrast.scope["from"], contrast.scope["to"]} == named


def test_settings_that_no_scope_shows_are_told_apart(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    for value in (0.2, 0.8):
        truth = {"source": "a made-up index", "value": value}
        lab.own(ALPHA, [[1]], task_type="control", ground_truth=truth)
    rows = [row for row in lab.analyse() if row.metric == "control_error"]
    assert sorted(row.estimate or 0 for row in rows) == pytest.approx([0.2, 0.8])
    assert all("setting" in row.scope for row in rows)


@pytest.mark.parametrize("simulated", [True, False])
def test_simulated_samples_mark_the_figure(database: str, simulated: bool) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], simulated=simulated, **COMMON)
    rows = lab.analyse()
    assert {row.simulated for row in rows} == {simulated}
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
    assert run is not None
    assert run.simulated is simulated


def test_one_simulated_judge_marks_the_comparison_but_not_the_other_judge(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], simulated=False, **COMMON)
    lab.own("sim/beta-1", [[1]], simulated=True, **COMMON)
    rows = lab.analyse()
    assert only(rows, "polarization").simulated
    assert not only(rows, "replicate_variance", judge=ALPHA).simulated
    assert only(rows, "replicate_variance", judge="sim/beta-1").simulated


@pytest.mark.parametrize("view", ["neutralized", "raw"])
def test_evidence_edited_by_the_simulator_marks_who_reads_it(database: str, view: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.view_by_model("neutralized", simulated=True)
    lab.own(ALPHA, [[1]], simulated=False, evidence_view=view)
    assert only(lab.analyse(), "replicate_variance").simulated is (view == "neutralized")


def test_a_simulated_rubric_marks_who_applies_it(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    alpha = lab.own(ALPHA, [[1]], simulated=False)
    swap = lab.arm(alpha, "swap", "sim/beta-1", simulated=True)
    lab.samples(swap, [[2]], simulated=False)
    rows = lab.analyse()
    assert only(rows, "swap_verdict_shift").simulated
    assert not only(rows, "replicate_variance").simulated


def test_a_sweep_without_a_sample_gives_reasons_only(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.judge(ALPHA)
    rows = lab.analyse()
    assert rows
    assert all(row.estimate is None and row.reason for row in rows)


def test_runs_are_kept_and_the_latest_is_found(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]])
    with Session(lab.engine) as session:
        assert latest_run(session, SWEEP) is None
    runs = [analysis.analyse(lab.engine, SWEEP) for _ in range(2)]
    with Session(lab.engine) as session:
        latest = latest_run(session, SWEEP)
        assert latest is not None
        assert (latest.id, latest.sweep, latest.version) == (runs[1], SWEEP, "0.1.0")
        assert session.scalar(sa.select(sa.func.count()).select_from(t.AnalysisRun)) == 2


def test_an_unknown_sweep_is_named_with_those_known(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.judge(ALPHA)
    with pytest.raises(StoreError, match=r"no sweep 'missing'.*trial"):
        analysis.analyse(lab.engine, "missing")


def test_nothing_of_a_run_is_stored_when_one_row_is_impossible(database: str) -> None:
    lab = Lab(database)
    row = ResultRow(
        metric="m",
        scope={},
        estimate=0.5,
        lower=None,
        upper=None,
        n=1,
        n_items=1,
        floor=None,
        p=2.0,
        p_adjusted=None,
        unit="",
        method="",
        simulated=False,
    )
    with (
        pytest.raises(sa.exc.IntegrityError, match="p_range"),
        Session(lab.engine) as session,
        session.begin(),
    ):
        save_run(session, SWEEP, "1", False, [row])
    with Session(lab.engine) as session:
        assert latest_run(session, SWEEP) is None
