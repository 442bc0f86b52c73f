"""A sweep that shares its experiments out: what it launches, and how it ends whatever they do."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ParameterTypeError
from prefect.states import Cancelled, Crashed, Failed

from flows import fanning_out
from flows.endings import PartialFailure
from flows.sweep import sweep
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.design.names import SCORING, WORKFLOWS
from judge_gym.errors import ConfigError
from judge_gym.store import tables as t
from support.command_line import sweep_text
from support.flow_runs import error_of, prepared, run_flow
from support.in_process_worker import Worker, worker_for
from support.simulation import Simulator
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.slow

# Three judges, 4 articles as they are, a rubric given: W3 asks first, 4 times a judge.
MODELS = ("sim/calm-1", "sim/high-1", "sim/low-1")
JUDGEMENTS = 3 * 4
UP_TO_SCORES = WORKFLOWS[:3]


@pytest.fixture(autouse=True)
def _soon(place: pytest.MonkeyPatch) -> None:
    place.setattr(fanning_out, "POLL_S", 0.3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "three-judges.yaml"
    path.write_text(scoring_sweep("three-judges", *MODELS, replicates=1))
    return path


def shared(
    file: Path,
    fate: Callable[[FlowRun], State[Any] | None] = lambda run: None,
    at_once: int = 2,
    pairs: asyncio.Barrier | None = None,
    **more: Any,
) -> tuple[State[Any], Worker]:
    """Run a sweep that shares its experiments out; its end, and the worker that did them."""

    async def run() -> tuple[State[Any], Worker]:
        async with worker_for(w3_scoring, w4_swap, w5_probe, fate=fate, pairs=pairs) as worker:
            return await sweep(file, at_once=at_once, **more, return_state=True), worker

    return asyncio.run(run())


def experiment(run: FlowRun) -> str:
    [tag] = run.parameters["experiments"]
    return str(tag)


def judged(url: str) -> int:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(t.Sample)).scalar_one()


@pytest.mark.usefixtures("place")
def test_each_workflow_is_done_by_a_flow_run_per_experiment_and_only_once(
    simulator: Simulator, tmp_path: Path
) -> None:
    file = tmp_path / "quick.yaml"
    judges = ("[sim/calm-1, sim/high-1, sim/low-1]", "[sim/high-1, sim/low-1]")
    file.write_text(sweep_text("quick.yaml", ("max_documents: 5", "max_documents: 2"), judges))
    pairs = asyncio.Barrier(2)
    state, worker = shared(file, pairs=pairs, settings={"chunk_size": 7}, only=WORKFLOWS)
    assert state.is_completed(), state.message
    asked = simulator.answered()
    for workflow in ("w3-scoring", "w4-swap", "w5-probe"):
        runs = worker.of(workflow)
        assert len({experiment(run) for run in runs}) == len(runs) == 2
        assert all(run.parameters["settings"] == {"chunk_size": 7} for run in runs)
    assert worker.most_at_once == 2
    again, idle = shared(file, only=[SCORING])
    assert again.is_completed()
    assert not idle.taken
    assert simulator.answered() == asked


def test_a_run_that_crashes_is_launched_again_and_what_is_left_is_done_here(
    database: str, simulator: Simulator, file: Path
) -> None:
    unlucky = prepared(file).tags[1]

    def fate(run: FlowRun) -> State[Any] | None:
        return Crashed(message="gone") if experiment(run) == unlucky else None

    before = simulator.answered()
    state, worker = shared(file, fate, only=UP_TO_SCORES)
    assert state.is_completed(), state.message
    launches = Counter(map(experiment, worker.of("w3-scoring")))
    assert launches.pop(unlucky) == fanning_out.LAUNCHES
    assert set(launches.values()) == {1}
    assert judged(database) == JUDGEMENTS
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        calls = connection.scalars(sa.select(t.Call.attempts)).all()
    assert set(calls) == {1}
    assert simulator.answered() - before == len(calls)


def test_a_run_that_is_still_at_work_is_picked_up(database: str, file: Path) -> None:
    tags = prepared(file).tags

    async def run() -> tuple[State[Any], Worker]:
        async with worker_for(w3_scoring, w4_swap, w5_probe) as worker:
            given = {"experiments": [tags[0]]}
            found = worker.id_of("w3-scoring")
            left = await worker.client.create_flow_run_from_deployment(found, parameters=given)
            worker.taken[left.id] = left  # and at work for longer than the sweep needs to ask
            asking = asyncio.create_task(
                sweep(file, at_once=3, only=UP_TO_SCORES, return_state=True)
            )
            while len(worker.of("w3-scoring")) < len(tags):
                await asyncio.sleep(0.1)
            del worker.taken[left.id]
            return await asking, worker

    state, worker = asyncio.run(run())
    assert state.is_completed(), state.message
    assert sorted(map(experiment, worker.of("w3-scoring"))) == sorted(tags)
    assert judged(database) == JUDGEMENTS


def test_a_budget_stops_the_launches_and_ends_the_sweep_as_ever(database: str, file: Path) -> None:
    file.write_text(file.read_text() + "budget: {max_calls: 4}\n")
    state, worker = shared(file, at_once=1)
    error = error_of(state)
    assert isinstance(error, BudgetExceededError)
    assert "max_calls is 4, and 4 calls cost" in error.message
    assert f"in {file} and rerun the command" in error.remedy
    assert len(worker.taken) == 1
    assert judged(database) == 4


def test_a_judge_without_readable_answers_ends_the_sweep_as_no_success(
    database: str, file: Path, simulator: Simulator
) -> None:
    simulator.use_faults({"kind": "empty", "model": "calm-1"})
    try:
        state, worker = shared(file, only=UP_TO_SCORES)
    finally:
        simulator.use_faults()
    assert len(worker.of("w3-scoring")) == 3
    assert judged(database) == JUDGEMENTS
    error = error_of(state)
    assert isinstance(error, PartialFailure)
    assert "sim/calm-1: 0 of 4 answers readable (4 " in error.message
    assert "sim/high-1" not in error.message


def test_an_error_to_mend_ends_the_launches_and_is_met_here(database: str, file: Path) -> None:
    """What one worker cannot do, as for want of a key, the sweep's own process may."""
    raised = Failed(message="Flow run encountered an exception: ConfigError: no key")
    state, worker = shared(file, lambda run: raised, at_once=1, only=UP_TO_SCORES)
    assert state.is_completed(), state.message
    assert len(worker.of("w3-scoring")) == 1
    assert judged(database) == JUDGEMENTS


def test_a_run_that_was_cancelled_is_not_done_by_another(database: str, file: Path) -> None:
    state, worker = shared(file, lambda run: Cancelled(), at_once=1)
    assert isinstance(error_of(state), PartialFailure)
    assert "A flow run was cancelled" in str(error_of(state))
    assert len(worker.taken) == 1
    assert judged(database) == 0


@pytest.mark.usefixtures("place")
def test_without_deployments_it_says_how_to_make_them(file: Path) -> None:
    state = run_flow(sweep, file, at_once=2)
    error = error_of(state)
    assert isinstance(error, ConfigError)
    assert "no deployment w3-scoring/default" in error.message
    assert "judge-gym database init" in error.remedy


@pytest.mark.usefixtures("place")
def test_at_least_one_at_once(file: Path) -> None:
    error = error_of(run_flow(sweep, file, at_once=0))
    assert isinstance(error, ParameterTypeError)
    assert "at_once: Input should be greater than or equal to 1" in str(error)
