"""What judge-gym tells automations, and the example automation doing its work."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.events import Automation, AutomationCore
from prefect.flow_engine import run_flow_async
from ruamel.yaml import YAML

from deployments.bootstrap import create_automation, lost_run_automations, reset_automations
from flows.sweep import sweep
from flows.w1_evidence import w1_evidence
from support.command_line import REPOSITORY
from support.flow_runs import events, flow_run, prepared, run_flow
from support.simulation import Simulator
from support.sweeps import scoring_sweep
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
EXAMPLE = REPOSITORY / "deployments" / "automations" / "budget-stop.yaml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "told.yaml"
    path.write_text(scoring_sweep("told", "sim/calm-1"))
    return path


def related(event: dict[str, Any]) -> dict[str, str]:
    """Role → resource of what an event is related to, tags left out."""
    return {
        one["prefect.resource.role"]: one["prefect.resource.id"]
        for one in event["related"]
        if one["prefect.resource.role"] != "tag"
    }


async def deployed(file: Path, automation: AutomationCore) -> tuple[FlowRun, UUID, UUID]:
    """Run the sweep as a deployment's run while there is the automation; the run and their ids."""
    async with get_client() as client:
        made = await client.create_automation(automation)
        deployment = await client.create_deployment(await client.create_flow(sweep), "nightly")
        given = {"file": str(file), "settings": {"chunk_size": 4, "workers": 1}}
        run = await client.create_flow_run_from_deployment(deployment, parameters=given)
        await run_flow_async(sweep, run, given, return_type="state")
    return run, deployment, made


def test_a_budget_that_stops_a_run_is_told_once_and_pauses_its_schedule(file: Path) -> None:
    file.write_text(scoring_sweep("told", "sim/calm-1", more="budget: {max_calls: 1}"))
    example = AutomationCore.model_validate(YAML(typ="safe").load(EXAMPLE))
    run, deployment, made = asyncio.run(deployed(file, example))

    async def paused() -> bool:
        async with get_client() as client:
            return bool((await client.read_deployment(deployment)).paused)

    async def remove() -> None:
        async with get_client() as client:
            await client.delete_automation(made)
            await client.delete_deployment(deployment)

    until(lambda: asyncio.run(paused()), "the deployment to be paused", every=0.3)
    [event] = events("judge-gym.", id=[f"prefect.flow-run.{run.id}"])
    asyncio.run(remove())
    assert event["event"] == "judge-gym.budget.stopped"
    payload = event["payload"]
    assert payload["flow"] == "sweep"
    assert payload["flow_run_id"] == str(run.id)
    assert payload["sweep"] == "told"
    assert "max_calls is 1, and 1 call cost" in payload["message"]
    assert f"Raise budget.max_calls in {file}" in payload["remedy"]
    assert related(event)["deployment"] == f"prefect.deployment.{deployment}"
    assert related(event)["sweep"] == "judge-gym.sweep.told"


def test_a_run_that_fails_is_told_with_its_remedy(file: Path) -> None:
    file.write_text(file.read_text().replace("replicates", "replicants"))
    state = run_flow(sweep, file)
    [event] = events("judge-gym.", id=[f"prefect.flow-run.{flow_run(state).id}"])
    assert event["event"] == "judge-gym.run.failed"
    assert "replicants" in event["payload"]["message"]
    assert event["payload"]["remedy"]
    assert event["payload"]["sweep"] is None


def test_a_window_that_collected_nothing_is_told(file: Path) -> None:
    dates = "start: 2020-01-01\n    end: 2020-01-02"
    text = file.read_text().replace("max_documents: 4", dates)
    file.write_text(text.replace("valmora:", "nothing:").replace(
        "window: valmora", "window: nothing"))  # fmt: skip
    run = prepared(file)
    state = run_flow(w1_evidence, run.windows, run.views, run.utility_model)
    assert state.is_failed()
    assert "Window nothing has no document" in (state.message or "")
    [window] = run.windows

    def mine() -> list[dict[str, Any]]:
        # Windows of other tests, in databases of their own, have the same id.
        found = events("judge-gym.window.empty", id=[f"judge-gym.window.{window}"])
        return [one for one in found if one["payload"]["window"] == "nothing"]

    [event] = until(mine, "the event of the window", every=0.3)
    assert "has no document" in event["payload"]["message"]
    assert f"judge-gym evidence show {window}" in event["payload"]["remedy"]


def test_a_collected_window_and_an_analysis_are_told_once_each(file: Path) -> None:
    file.write_text(file.read_text().replace("valmora:", "own-name:").replace(
        "window: valmora", "window: own-name"))  # fmt: skip
    for _ in range(2):
        state = run_flow(sweep, file)
    [window] = prepared(file).windows

    def mine() -> list[dict[str, Any]]:
        found = events("judge-gym.window.collected", id=[f"judge-gym.window.{window}"])
        return [one for one in found if one["payload"]["window"] == "own-name"]

    [collected] = until(mine, "the event of the window", every=0.3)
    assert collected["payload"]["kept"] == 4
    run_id = asyncio.run(state.aresult())

    def analysed() -> list[dict[str, Any]]:
        found = events("judge-gym.analysis.", id=["judge-gym.sweep.told"])
        return found if run_id in [one["payload"]["analysis_run"] for one in found] else []

    finished = until(analysed, f"the event of analysis run {run_id}", every=0.3)
    runs = [one["payload"]["analysis_run"] for one in finished]
    assert len(runs) == len(set(runs))
    assert all(one["payload"]["simulated"] for one in finished)
    assert sum(finished[0]["payload"]["conclusions"].values()) > 0


def test_another_served_model_is_told_once(file: Path, simulator: Simulator) -> None:
    file.write_text(scoring_sweep("served", "sim/tonal-1", documents=2))
    run_flow(sweep, file)
    began = datetime.now(UTC)
    other = {"kind": "wrong_model", "answered_by": "tonal-1-next", "model": "tonal-1"}
    simulator.use_faults(other)
    file.write_text(scoring_sweep("served", "sim/tonal-1", documents=2, replicates=3))
    # The first served model is no change, and the second run has nothing left to call.
    try:
        for _ in range(2):
            run_flow(sweep, file)
    finally:
        simulator.use_faults()
    [event] = events("judge-gym.served-model.", id=["judge-gym.model.sim/tonal-1"])
    assert event["event"] == "judge-gym.served-model.changed"
    payload = event["payload"]
    assert datetime.fromisoformat(payload.pop("since")) > began
    assert payload == {
        "model": "sim/tonal-1",
        "before": "tonal-1",
        "now": "tonal-1-next",
        "experiments": prepared(file).tags,
    }


def test_the_automations_for_lost_runs_are_made_once_and_begin_anew_as_they_are() -> None:
    async def make() -> list[bool]:
        async with get_client() as client:
            return [await create_automation(client, one) for one in lost_run_automations()]

    async def kept() -> list[Automation]:
        async with get_client() as client:
            names = [one.name for one in lost_run_automations()]
            return [one for name in names for one in await client.read_automations_by_name(name)]

    async def remove() -> None:
        async with get_client() as client:
            for one in await kept():
                await client.delete_automation(one.id)

    # `judge-gym database init` has made them, when a test of it came first on this server.
    asyncio.run(remove())
    assert asyncio.run(make()) == [True, True, True]
    assert asyncio.run(make()) == [False, False, False]
    before = asyncio.run(kept())
    assert len(before) == 3
    asyncio.run(reset_automations())
    after = asyncio.run(kept())
    assert [one.model_dump(exclude={"id"}) for one in after] == [
        one.model_dump(exclude={"id"}) for one in before
    ]
    # Anew: what a trigger waits for is kept under the id.
    assert not {one.id for one in after} & {one.id for one in before}
