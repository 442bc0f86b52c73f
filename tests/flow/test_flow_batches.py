"""Flows that end while batches are open, and go on when they are run again."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey
from prefect.client.schemas.objects import FlowRun, State
from prefect.flow_engine import run_flow_async

from flows.calibration import calibration
from flows.gym import gym
from flows.sweep import sweep
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from support.batched import batches_at, outcomes
from support.command_line import small_sweep, sweep_text
from support.flow_runs import configured, run_flow
from support.postgres import temporary_database

pytestmark = pytest.mark.stress
QUICK = Path(__file__).parents[2] / "deployments" / "sweeps" / "quick.yaml"
PROVIDERS = """
[sim]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = 64
batch = {batch}

[sim-anthropic]
litellm = "anthropic"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
path = "/"
concurrency = 64
batch = {batch}
models."*" = {{refuses = ["seed"]}}
"""
POLL_S = 3600


def place(folder: Path, url: str, simulator: str, *, batch: bool, **settings: str) -> Any:
    """Flows run against this database and simulator, which takes batches or does not."""
    providers = folder / f"providers-{batch}.toml"
    providers.write_text(PROVIDERS.format(batch=str(batch).lower()))
    given = {
        "DATABASE_URL": url,
        "SIMULATOR_URL": simulator,
        "PROVIDERS_FILE": str(providers),
        "BATCH_FALLBACK": "2",
        "BATCH_MAXIMUM": "8",
        "BATCH_POLL_S": str(POLL_S),
    } | settings
    return configured(folder, **{f"JUDGE_GYM_{name}": value for name, value in given.items()})


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """A simulator whose batches end at once."""
    with running(batch_seconds=0) as url:
        yield url


def test_a_sweep_by_batches_of_two_apis_gives_the_same_rows_as_a_direct_one(
    postgres_server: str, migrated_template: str, provider: str, tmp_path: Path
) -> None:
    found = {}
    sweep_file = tmp_path / "two-apis.yaml"
    sweep_file.write_text(sweep_text("quick.yaml").replace("sim/low-1", "sim-anthropic/low-1"))
    for batch in (False, True):
        with (
            temporary_database(postgres_server, migrated_template) as url,
            # The five summaries are a batch, too.
            place(tmp_path, url, provider, batch=batch, BATCH_MINIMUM="3"),
        ):
            names = [run_flow(sweep, sweep_file).name]
            while names[-1] == "Waiting":
                names.append(run_flow(sweep, sweep_file).name)
            engine = sa.create_engine(url, poolclass=sa.NullPool)
            found[batch] = outcomes(engine)
            with engine.connect() as connection:
                routes = dict(
                    connection.execute(
                        sa.select(t.Call.workflow, sa.func.count())
                        .where(t.Call.route == "batch")
                        .group_by(t.Call.workflow)
                    ).all()
                )
                most = connection.scalar(sa.select(sa.func.max(t.Batch.calls)))
                models = set(
                    connection.scalars(
                        sa.select(t.Call.model).where(
                            t.Call.route == "batch", t.Call.workflow == "w3-scoring"
                        )
                    )
                )
    assert found[True] == found[False]
    # Once for each workflow that asks at large: W1, W3, W4 and W5; then to the end.
    assert names == ["Waiting"] * 4 + ["Completed"]
    assert set(routes) == {"w1-evidence", "w3-scoring", "w4-swap", "w5-probe"}
    # 3 judges x 10 judgements: full batches of 8, and the 2 left of each asked directly.
    assert routes["w3-scoring"] == 24
    assert most == 8
    assert models == {"sim/calm-1", "sim/high-1", "sim-anthropic/low-1"}


def small_calibration(folder: Path) -> Path:
    """A calibration of one simulated judge on four texts, each changed in one way."""
    judge = QUICK.parents[1] / "calibrations" / "good.yaml"
    (folder / "good.yaml").write_text(judge.read_text())
    texts = [
        {"id": str(n), "text": f"In 20{n}0 there were {n} ships. It rained."} for n in range(4)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, texts)))
    file = folder / "calibration.yaml"
    file.write_text(
        "name: small\njudges: [good.yaml]\nitems: items.jsonl\nrepeats: 1\n"
        "perturbations: [vague_ify]\nseverities: [1.0]\n"
    )
    return file


@pytest.mark.parametrize(
    ("flow", "example", "waits"),
    [
        (calibration, "", "texts by good wait in batches at sim"),
        (gym, "gyms/cleanup.yaml", "cases by judge wait in batches at sim"),
        (gym, "gyms/abstract.yaml", "cases by lesson wait in batches at sim"),
    ],
)
def test_judges_and_gyms_end_while_they_wait_and_resume(
    database: str,
    provider: str,
    tmp_path: Path,
    flow: Any,
    example: str,
    waits: str,
) -> None:
    file = QUICK.parents[1] / example if example else small_calibration(tmp_path)
    with place(tmp_path, database, provider, batch=True, BATCH_MINIMUM="3"):
        states = [run_flow(flow, file)]
        while states[-1].name == "Waiting":
            states.append(run_flow(flow, file))
            assert len(states) < 10
        page = asyncio.run(states[-1].aresult())
    assert len(states) > 1
    assert states[0].is_completed()
    assert waits in str(states[0].message)
    assert states[-1].is_completed(), states[-1].message
    assert page.is_file()
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        routes = set(connection.scalars(sa.select(t.Call.route)))
    assert "batch" in routes


@pytest.fixture
def slow() -> Iterator[str]:
    """A simulator whose batches take longer than a test."""
    with running(batch_seconds=3600) as url:
        yield url


def test_a_sweep_ends_while_calls_wait_and_a_deployment_schedules_its_next_run_once(
    database: str, slow: str, tmp_path: Path
) -> None:
    with place(tmp_path, database, slow, batch=True, BATCH_MINIMUM="10"):
        begun = datetime.now(UTC)
        run, states, following = asyncio.run(deployed_sweep())
    first, again = states
    assert (first.name, again.name) == ("Waiting", "Waiting")
    assert first.is_completed()
    [next_run] = following
    at = next_run.expected_start_time
    assert at is not None
    assert begun + timedelta(seconds=POLL_S) <= at <= datetime.now(UTC) + timedelta(seconds=POLL_S)
    # 3 judges x 10 judgements, of which the 2 beyond a full batch were asked directly.
    assert (
        first.message
        == again.message
        == (
            "24 judgements wait in batches at sim; "
            f"the next run, at {at:%Y-%m-%d %H:%M:%S} UTC, takes them in."
        )
    )
    assert next_run.deployment_id == run.deployment_id is not None
    assert run.parameters["retry_failed"] is True
    # The failures were forgotten by this run; doing so at each poll would ask them each time.
    assert next_run.parameters == {**run.parameters, "retry_failed": False}
    assert len(batches_at(slow)) == 3
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(t.Sample)) == 6
        for later in (t.Probe, t.AnalysisRun):
            assert connection.scalar(sa.select(sa.func.count()).select_from(later)) == 0


def test_a_deployment_at_an_hourly_bound_schedules_its_next_run_for_when_it_may_go_on(
    database: str, provider: str, tmp_path: Path
) -> None:
    (tmp_path / "providers.toml").write_text(
        '[bounds]\ncalls_per_hour = 3\n[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
        '[hourly]\nlitellm = "openai"\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n'
    )
    file = tmp_path / "hourly.yaml"
    file.write_text(small_sweep("hourly", "hourly/calm-1"))
    begun = datetime.now(UTC)
    with configured(
        tmp_path,
        JUDGE_GYM_DATABASE_URL=database,
        JUDGE_GYM_SIMULATOR_URL=provider,
        JUDGE_GYM_PROVIDERS_FILE=str(tmp_path / "providers.toml"),
    ):
        _, states, following = asyncio.run(deployed_sweep(file))
        by_hand = run_flow(sweep, file)
    assert [state.name for state in states] == ["Waiting", "Waiting"]
    [next_run] = following
    at = next_run.expected_start_time
    assert at is not None
    assert begun + timedelta(minutes=59) < at <= datetime.now(UTC) + timedelta(minutes=61)
    assert "calls_per_hour is 3" in (states[0].message or "")
    assert f"{at:%Y-%m-%d %H:%M} UTC" in (states[0].message or "")
    # Without a deployment nothing can be scheduled.
    assert by_hand.is_failed()
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        assert connection.scalar(sa.select(sa.func.sum(t.Call.attempts))) == 3


async def deployed_sweep(file: Path = QUICK) -> tuple[FlowRun, list[State[Any]], list[FlowRun]]:
    """Run a deployment's flow run as a worker would, twice; the run, its states, what follows."""
    async with get_client() as client:
        flow_id = await client.create_flow(sweep)
        deployment = await client.create_deployment(flow_id, "test")
        parameters = {"file": str(file), "retry_failed": True}
        run = await client.create_flow_run_from_deployment(deployment, parameters=parameters)
        states = [
            await run_flow_async(sweep, flow_run=run, parameters=parameters, return_type="state")
            for _ in range(2)  # as after a crash
        ]
        key = FlowRunFilterIdempotencyKey(any_=[f"after-{run.id}"])
        chosen = FlowRunFilter(idempotency_key=key)
        following = await client.read_flow_runs(flow_run_filter=chosen)
    return run, states, following
