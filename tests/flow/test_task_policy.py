"""The policy of tasks that write, and the limits their tags refer to."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect import Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client

from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from judge_gym.lab.scoring import plan_scoring
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.llm.providers import load_providers
from judge_gym.runtime import runtime
from judge_gym.settings import settings
from judge_gym.store.samples import SampleUnit
from support.flow_runs import prepared, rows_of, run_flow, task_runs
from support.simulation import Simulator
from tasks.analysis import analyse_sweep
from tasks.lab import collect_window, judge, make_views, probe, write_rubrics
from tasks.policy import declare_limits

QUICK = Path(__file__).parents[2] / "deployments" / "sweeps" / "quick.yaml"
TASKS: list[Task[..., Any]] = [
    collect_window,
    make_views,
    write_rubrics,
    judge,
    probe,
    analyse_sweep,
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_tasks_that_write_are_retried_with_jitter_and_never_cached(task: Task[..., Any]) -> None:
    assert task.retries == 2
    assert task.retry_delay_seconds == [2, 4]
    assert task.retry_jitter_factor == 0.5
    assert task.retry_condition_fn is not None
    assert task.cache_policy == NO_CACHE
    assert task.persist_result is False


def test_tasks_are_named_verb_first_in_kebab_case() -> None:
    assert [task.name for task in TASKS] == [
        "collect-window",
        "make-views",
        "write-rubrics",
        "judge",
        "probe",
        "analyse-sweep",
    ]


def test_every_provider_has_a_limit_and_declaring_again_changes_nothing(
    place: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Providers of no other test: the server is that of the whole run.
    (tmp_path / "providers.toml").write_text(
        '[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
        '[limited]\nlitellm = "openai"\ntask_slots = 3\n'
        '[unlimited]\nlitellm = "openai"\n'
    )
    place.setenv("JUDGE_GYM_PROVIDERS_FILE", str(tmp_path / "providers.toml"))
    settings.cache_clear()

    async def limits() -> dict[str, int]:
        async with get_client() as client:
            found = await client.read_global_concurrency_limits(limit=200, offset=0)
            return {one.name: one.limit for one in found}

    async def declare() -> None:
        # Flow runs that begin together declare the same limits.
        await asyncio.gather(*(declare_limits() for _ in range(4)))

    providers = load_providers(settings().providers_file).by_name.values()
    expected = {f"tag:provider:{one.name}": one.task_slots for one in providers}
    for _ in range(2):
        asyncio.run(declare())
        assert expected.items() <= asyncio.run(limits()).items()


def ready_to_score() -> tuple[RegisteredSweep, list[SampleUnit]]:
    """quick.yaml after W1 and W2, with what W3 would do for its first judge."""
    run = prepared(QUICK)
    run_flow(w1_evidence, run.windows, run.views, run.utility_model)
    run_flow(w2_rubric, run.tags, run.utility_model)

    async def planned() -> list[SampleUnit]:
        async with runtime() as current:
            with current.session() as session:
                missing, unusable = plan_scoring(session, run.tags)
            assert unusable == []
            return next(iter(missing.by_model.values()))

    return run, asyncio.run(planned())


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_the_same_task_twice_runs_twice_and_the_database_keeps_one(
    database: str, simulator: Simulator
) -> None:
    """Replicates would collapse if the second call came from a cache; rows must not double."""
    _, units = ready_to_score()

    @flow
    async def twice() -> list[dict[str, int]]:
        async with runtime():
            return [await judge(units, None), await judge(units, None)]

    state = run_flow(twice)
    first, second = asyncio.run(state.aresult())
    assert first == second
    assert sum(first.values()) == len(units) == 10
    assert [one.state_name for one in task_runs(state, 2)] == ["Completed", "Completed"]
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM samples")) == 10
    # The answers are in the ledger: the second execution read them there.
    rows, asked = rows_of(database), simulator.answered()
    run_flow(twice)
    assert (rows_of(database), simulator.answered()) == (rows, asked)
