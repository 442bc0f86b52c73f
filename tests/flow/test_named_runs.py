"""The state of an installation names flow runs of a real Prefect server."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.states import Scheduled, State
from prometheus_client.parser import text_string_to_metric_families

from deployments.cli.metrics import installation_text
from deployments.operation import as_json, read_installation
from flows.sweep import sweep
from judge_gym.lab.operating import MOST_RUNS, Installation, PartHealth
from judge_gym.report.operating import operating_page, operating_tables
from support.prefect_server import PrefectServer

LONG_AGO = datetime.now(UTC) - timedelta(days=30)
RUNNING: State[Any] = State(type=StateType.RUNNING, name="Running")
STATES = {"judge <b>one</b>": RUNNING, "judge two": None} | dict.fromkeys(
    (f"more {number}" for number in range(MOST_RUNS)), RUNNING
)
"""Name → the state that a run is in, None: it is due and waits."""


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, UUID]]:
    """Flow runs of a deployment's tags, by name; each should have begun a second after the last."""

    async def make() -> dict[str, UUID]:
        ids = {}
        async with get_client() as client:
            for place, (name, state) in enumerate(STATES.items()):
                due: State[Any] = Scheduled(scheduled_time=LONG_AGO + timedelta(seconds=place))
                run = await client.create_flow_run(
                    sweep, parameters={"file": "none"}, name=name, tags=["judge-gym"], state=due
                )
                if state:
                    await client.set_flow_run_state(run.id, state, force=True)
                ids[name] = run.id
        return ids

    async def delete(ids: dict[str, UUID]) -> None:
        async with get_client() as client:
            for one in ids.values():
                await client.delete_flow_run(one)

    ids = asyncio.run(make())
    yield ids
    asyncio.run(delete(ids))


@pytest.fixture(scope="module")
def found(made: dict[str, UUID]) -> Installation:
    return read_installation(None, lost=PartHealth("PostgreSQL", "up", ""))


def test_the_oldest_are_named_and_the_others_counted(
    found: Installation, made: dict[str, UUID], prefect_server: PrefectServer
) -> None:
    assert len(found.runs) == MOST_RUNS
    # 21 run and one waits; other tests may have runs of their own.
    assert found.more_runs >= 2
    first = found.runs[0]
    page = f"{prefect_server.url.removesuffix('/api')}/runs/flow-run/{first.id}"
    assert (first.flow, first.run, first.state) == ("sweep", "judge <b>one</b>", "Running")
    assert (first.id, first.link) == (str(made["judge <b>one</b>"]), page)
    # When it began to run, not when it should have.
    assert first.since > LONG_AGO + timedelta(days=29)


def test_page_json_and_metrics_have_their_names(found: Installation) -> None:
    page, first = operating_page(found), found.runs[0]
    assert f'<a href="{first.link}">judge &lt;b&gt;one&lt;/b&gt;</a>' in page
    assert f"{found.more_runs} more." in page
    [table] = [one for one in operating_tables(found) if "run or wait" in one.title]
    assert table.rows[0].cells[:3] == ("judge <b>one</b>", "sweep", "Running")
    values = as_json(found)["runs"][0]
    assert values == {
        "flow": "sweep", "run": first.run, "id": first.id, "state": "Running",
        "since": first.since.isoformat(), "link": first.link,
    }  # fmt: skip
    shown = {
        sample.labels["id"]: sample
        for family in text_string_to_metric_families(installation_text(found))
        for sample in family.samples
        if sample.name == "judge_gym_flow_run_state_seconds"
    }
    assert len(shown) == MOST_RUNS
    assert shown[first.id].labels["run"] == first.run


def test_one_that_waits_does_so_since_it_should_have_begun(made: dict[str, UUID]) -> None:
    async def end() -> None:
        ended: State[Any] = State(type=StateType.CANCELLED)
        async with get_client() as client:
            for name, state in STATES.items():
                if state:
                    await client.set_flow_run_state(made[name], ended, force=True)

    asyncio.run(end())
    now = read_installation(None, lost=PartHealth("PostgreSQL", "up", ""))
    [waits] = [one for one in now.runs if one.id == str(made["judge two"])]
    assert (waits.run, waits.since) == ("judge two", LONG_AGO + timedelta(seconds=1))
