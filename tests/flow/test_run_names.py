"""Names of flow runs: judge-gym's where nobody gave one."""

import asyncio

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow_async
from prefect.utilities.names import generate_slug

from flows.forms import unless_named


@pytest.mark.parametrize("given", [None, "nightly run of the board", "night-run", "a"])
def test_a_name_that_a_person_gave_stays_over_restarts(given: str | None) -> None:
    @flow(name="is-named", flow_run_name=unless_named(lambda: "ours"))
    async def named() -> None:
        pass

    async def name_of(given: str | None) -> str:
        async with get_client() as client:
            run = await client.create_flow_run(named, name=given)
            await run_flow_async(named, flow_run=run)
            return (await client.read_flow_run(run.id)).name

    assert asyncio.run(name_of(given)) == (given or "ours")


def test_every_name_that_prefect_makes_up_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        name = ""

    monkeypatch.setattr("flows.forms.flow_run", Run)
    for _ in range(2000):
        Run.name = generate_slug(2)
        assert unless_named(lambda: "ours")() == "ours", Run.name
