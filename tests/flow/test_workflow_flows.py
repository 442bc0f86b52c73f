"""W1 to W6 and the analysis, each run alone by ids, in order; then all of them again."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect import Flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.analysis import analysis
from flows.sweep import sweep
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from flows.w6_critic import w6_critic
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.store import tables as t
from support.flow_runs import (
    artifacts,
    configured,
    flow_run,
    prepared,
    rows_of,
    run_flow,
    task_runs,
)
from support.postgres import temporary_database
from support.simulation import Simulator

QUICK = Path(__file__).parents[2] / "deployments" / "sweeps" / "quick.yaml"
ANALYSIS_TABLES = ("analysis_runs", "analysis_results", "analysis_findings")


def ignored(table: str) -> bool:
    """Runs and analyses are new every time; the figures are compared by value."""
    return table in (*ANALYSIS_TABLES, "sweep_runs")


@dataclass(frozen=True)
class Done:
    """quick.yaml, run flow by flow."""

    url: str
    run: RegisteredSweep
    states: dict[str, State[Any]]

    def count(self, statement: sa.Select[Any]) -> Any:
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with Session(engine) as session:
            return session.scalar(statement)


def flows_in_order(run: RegisteredSweep) -> dict[str, tuple[Flow[..., Any], tuple[Any, ...], dict]]:
    """Name → flow and arguments: ids and small values only."""
    assert run.swap is not None
    return {
        "w1": (w1_evidence, (run.windows, run.views, run.utility_model), {}),
        "w2": (w2_rubric, (run.tags, run.utility_model), {}),
        "w2 sham": (w2_rubric, (run.tags, run.utility_model), {"sham": True}),
        "w3": (w3_scoring, (run.tags,), {}),
        "w4": (w4_swap, (run.tags, run.swap), {}),
        "w5": (w5_probe, (run.tags,), {}),
        "w6": (w6_critic, (run.tags, run.utility_model), {}),
        "analysis": (analysis, (run.name,), {}),
    }


def run_all(run: RegisteredSweep) -> dict[str, State[Any]]:
    return {
        name: run_flow(flow, *arguments, **more)
        for name, (flow, arguments, more) in flows_in_order(run).items()
    }


@pytest.fixture(scope="module")
def done(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("flows")
    with (
        temporary_database(postgres_server, migrated_template) as url,
        configured(
            folder, JUDGE_GYM_DATABASE_URL=url, JUDGE_GYM_SIMULATOR_URL=simulator.url
        ) as patch,
    ):
        patch.setenv("JUDGE_GYM_CHUNK_SIZE", "20")
        run = prepared(QUICK)
        yield Done(url, run, run_all(run))


def test_every_flow_completes_and_says_what_it_did(done: Done) -> None:
    assert {name: state.name for name, state in done.states.items()} == dict.fromkeys(
        done.states, "Completed"
    )
    # 5 articles, cleaned and then neutralized; 3 judges that write one rubric each.
    assert done.states["w1"].message == "10 ready"
    assert done.states["w2"].message == done.states["w2 sham"].message == "3 ready"


def test_every_expected_judgement_is_there_once(done: Done) -> None:
    arms = sa.select(t.Arm.arm, sa.func.count()).join(t.Sample).group_by(t.Arm.arm)
    engine = sa.create_engine(done.url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        samples = dict(connection.execute(arms).all())
    # 5 items x 2 replicates: of 3 judges, of 1 swapped pair, of 3 shams.
    assert samples == {"own": 30, "swap": 10, "sham": 30}
    unprobed = (
        sa.select(sa.func.count(t.Sample.id))
        .outerjoin(t.Probe)
        .where(t.Sample.status == "scored", t.Probe.id.is_(None))
    )
    assert done.count(unprobed) == 0


def test_everything_the_simulator_said_is_marked(done: Done) -> None:
    unmarked = sa.select(sa.func.count()).select_from(t.Call).where(t.Call.simulated.is_not(True))
    assert done.count(unmarked) == 0
    figures = sa.select(sa.func.count()).select_from(t.AnalysisResult)
    assert done.count(figures) > 0
    assert done.count(figures.where(t.AnalysisResult.simulated.is_(False))) == 0


@pytest.mark.slow
def test_a_second_run_asks_nothing_and_changes_no_row(done: Done, simulator: Simulator) -> None:
    rows, asked = rows_of(done.url, without=ignored), simulator.answered()
    states = run_all(done.run)
    again = run_flow(sweep, QUICK)
    assert simulator.answered() == asked
    assert rows_of(done.url, without=ignored) == rows
    assert {state.name for state in states.values()} == {"Completed"}
    assert states["w3"].message == "nothing was missing"
    assert again.is_completed(), again.message
    whole, end = artifacts(again)
    assert (end.key, "cost 0 (simulated)" in str(end.data)) == ("end-quick", True)
    assert "[findings-quick](" in str(end.data)
    assert (whole.key, whole.data) == ("progress-sweep-quick", 100)
    assert "w3-scoring 30 of 30, w4-swap 40 of 40, w5-probe" in str(whole.description)
    assert progress(states["w3"]) == [(100, "No judgements were missing.")]


def progress(state: State[Any]) -> list[tuple[float, str]]:
    """(percent, of what) of a run's progress artifacts."""
    found = [one for one in artifacts(state) if one.type == "progress"]
    assert {one.key for one in found} <= {f"progress-{slug(flow_run(state).name)}"}
    return [(float(one.data), str(one.description)) for one in found]


def slug(name: str) -> str:
    return re.sub(r"\W+", "-", name)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("w1", ["1 of 1 window", "5 of 5 cleaned views", "5 of 5 neutralized views"]),
        ("w2", ["3 of 3 rubrics"]),
        ("w2 sham", ["3 of 3 second rubrics"]),
        ("w3", ["30 of 30 judgements"]),
        ("w4", ["40 of 40 swapped judgements"]),
    ],
)
def test_progress_ends_at_100_and_says_of_what(done: Done, key: str, said: list[str]) -> None:
    assert progress(done.states[key]) == [(100, one) for one in said]


def test_the_analysis_shows_its_findings_marked_as_simulated(done: Done) -> None:
    shown = artifacts(done.states["analysis"])
    assert [one.key for one in shown] == ["findings-quick", "figures-quick"]
    text, table = shown
    assert "**SIMULATED**" in str(text.data)
    assert "`judge-gym analyse figures SWEEP` writes the report" in str(text.data)
    assert re.search(r"## What failed\n\nNothing, in \d+ calls", str(text.data))
    rows = json.loads(str(table.data))
    assert {row["source"] for row in rows} == {"SIMULATED"}
    assert all(re.fullmatch(r"-?[\d.]+ \[-?[\d.]+, -?[\d.]+\]", row["figure"]) for row in rows)
    assert "**SIMULATED**" in str(table.description)


def test_every_analysis_of_the_same_rows_gives_the_same_figures(done: Done) -> None:
    run_flow(analysis, done.run.name)
    engine = sa.create_engine(done.url, poolclass=sa.NullPool)
    unlike = {"id", "run_id"}
    columns = [one for one in t.AnalysisResult.__table__.columns if one.name not in unlike]
    with engine.connect() as connection:
        runs = connection.scalars(sa.select(t.AnalysisRun.id)).all()
        figures = [
            connection.execute(
                sa.select(*columns)
                .where(t.AnalysisResult.run_id == run)
                .order_by(t.AnalysisResult.metric, t.AnalysisResult.scope_key)
            ).all()
            for run in runs
        ]
    assert len(runs) >= 2
    assert all(one == figures[0] for one in figures[1:])


@pytest.mark.parametrize(
    ("key", "flow_name", "run_name"),
    [
        ("w1", "w1-evidence", "evidence of window {window}"),
        ("w2", "w2-rubric", "write rubrics of {first} and 2 more"),
        ("w2 sham", "w2-rubric", "write second rubrics of {first} and 2 more"),
        ("w3", "w3-scoring", "score {first} and 2 more"),
        ("w4", "w4-swap", "swap {first} and 2 more"),
        ("w5", "w5-probe", "probe {first} and 2 more"),
        ("w6", "w6-critic", "mark {first} and 2 more"),
        ("analysis", "analysis", "analyse quick"),
    ],
)
def test_flow_runs_have_names_that_a_person_understands(
    done: Done, key: str, flow_name: str, run_name: str
) -> None:
    flow, _, _ = flows_in_order(done.run)[key]
    assert flow.name == flow_name
    expected = run_name.format(window=done.run.windows[0], first=done.run.tags[0])
    assert flow_run(done.states[key]).name == expected


def test_task_runs_are_named_and_tagged_with_their_provider(done: Done) -> None:
    runs = task_runs(done.states["w3"], 2)
    assert {run.name for run in runs} == {"judgements 1-20 of 30", "judgements 21-30 of 30"}
    assert all("provider:sim" in run.tags for run in runs)


def test_a_chunk_has_at_most_as_many_calls_as_the_setting_says(done: Done) -> None:
    # 30 shams and 10 swaps of one provider, 20 a chunk.
    names = {run.name for run in task_runs(done.states["w4"], 2)}
    assert names == {"swapped judgements 1-20 of 40", "swapped judgements 21-40 of 40"}
