"""Resuming crashed flow runs: which ones, how often, and what ran inside them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, DeploymentScheduleCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.schedules import CronSchedule
from prefect.events import emit_event
from prefect.flow_engine import run_flow_async
from prefect.states import Crashed, Failed, Pending, Running, Scheduled

from deployments.cli import flow_runs
from flows import resume as resuming
from flows.resume import ABANDONED, OF_RESUMING, resume, resume_crashed
from tasks.artifacts import artifact_key
from tasks.policy import LAUNCHED
from tasks.slots import DEPLOYED

pytestmark = pytest.mark.usefixtures("_prefect")
IN_AN_HOUR: State[None] = Scheduled(scheduled_time=datetime.now(UTC) + timedelta(hours=1))
"""What is due becomes Late after 15 s, at which a busy machine has not looked yet."""


@flow(name="may-crash")
async def may_crash() -> None:
    """What crashes here."""


Made = Callable[[PrefectClient], Coroutine[Any, Any, UUID]]


async def deployed_run(client: PrefectClient, *tags: str) -> UUID:
    deployment = await client.create_deployment(await client.create_flow(may_crash), "resumed")
    made = await client.create_flow_run_from_deployment(deployment, tags=tags)
    return made.id


async def crash(client: PrefectClient, run: UUID) -> None:
    for state in (Running(), Crashed(message="killed")):
        await client.set_flow_run_state(run, state, force=True)


async def resumed(client: PrefectClient, run: UUID, **given: Any) -> FlowRun:
    """A run after the flow `resume` has looked at it."""
    state = await resume(run, **given, return_state=True)
    assert state.is_completed(), state.message
    return await client.read_flow_run(run)


def test_a_run_is_resumed_so_often_and_then_stays_crashed_and_says_so() -> None:
    async def go() -> list[FlowRun]:
        async with get_client() as client:
            run = await deployed_run(client)
            after = []
            for _ in range(3):
                await crash(client, run)
                after.append(await resumed(client, run, at_most=2))
            return [*after, await resumed(client, run, at_most=2)]

    first, second, third, again = [run.state or Running() for run in asyncio.run(go())]
    assert (first.type, first.message) == (
        StateType.SCHEDULED,
        "Resumed after a crash, 1 of at most 2.",
    )
    assert (second.type, second.message) == (
        StateType.SCHEDULED,
        "Resumed after a crash, 2 of at most 2.",
    )
    for state in (first, second):
        # Workers take runs ten seconds early, when the one that ran it may still hold its slot.
        assert state.state_details.scheduled_time is not None
        assert state.state_details.scheduled_time - state.timestamp > timedelta(seconds=20)
    assert (third.type, third.name) == (StateType.CRASHED, ABANDONED)
    assert third.message is not None
    assert third.message.startswith("Crashed 3 times, so it is not resumed again.")
    assert third.message.endswith(" The last time: killed")
    # It is the end: being resumed again counts no crash that there was not.
    assert (again.name, again.message) == (third.name, third.message)


@pytest.mark.parametrize("tag", [LAUNCHED, "someone's"])
def test_only_a_run_that_a_sweep_launched_is_left_to_its_sweep(tag: str) -> None:
    async def go() -> FlowRun:
        async with get_client() as client:
            run = await deployed_run(client, tag)
            await crash(client, run)
            return await resumed(client, run)

    expected = StateType.CRASHED if tag == LAUNCHED else StateType.SCHEDULED
    assert asyncio.run(go()).state_type == expected


def test_a_run_without_a_deployment_or_at_work_is_left_alone() -> None:
    async def go() -> list[FlowRun]:
        async with get_client() as client:
            of_a_terminal = (await client.create_flow_run(may_crash)).id
            await crash(client, of_a_terminal)
            at_work = await deployed_run(client)
            await client.set_flow_run_state(at_work, Running(), force=True)
            return [await resumed(client, of_a_terminal), await resumed(client, at_work)]

    lost, at_work = asyncio.run(go())
    assert lost.state_type == StateType.CRASHED
    assert at_work.state_type == StateType.RUNNING


def test_runs_that_no_automation_has_resumed_are_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a restart of the server, which passes events to its automations late or never."""
    monkeypatch.setattr(resuming, "BY_THE_AUTOMATION", timedelta(0))
    # Not the one that the automation starts, where another test has deployed all.
    name = uuid4().hex
    monkeypatch.setattr(resuming, "RESUME", f"resume/{name}")

    async def go() -> tuple[set[UUID], Counter[str]]:
        async with get_client() as client:
            flow_id = await client.create_flow(resume)
            taker = await client.create_deployment(flow_id, name)
            lost = await deployed_run(client, DEPLOYED)
            others = [
                await deployed_run(client, *tags)
                for tags in ((DEPLOYED, LAUNCHED), (DEPLOYED, OF_RESUMING), ())
            ]
            given_up = await deployed_run(client, DEPLOYED)
            for run in (lost, *others):
                await crash(client, run)
            await client.set_flow_run_state(given_up, Crashed(name=ABANDONED), force=True)
            for _ in range(2):
                state = await resume_crashed(return_state=True)
                assert state.is_completed(), state.message
            deployment = DeploymentFilter(id=DeploymentFilterId(any_=[taker]))
            started = await client.read_flow_runs(deployment_filter=deployment)
            found = Counter(str(run.parameters["flow_run"]) for run in started)
            return {lost}, Counter(
                {id: count for id, count in found.items() if UUID(id) in {lost, given_up, *others}}
            )

    lost, found = asyncio.run(go())
    assert found == {str(id): 1 for id in lost}


@pytest.mark.parametrize("state", [Pending(), Pending(name="Submitting")], ids=lambda s: s.name)
def test_a_run_that_was_taken_and_never_began_has_crashed(
    state: State[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its worker is lost soon after it took a run again, which no automation notices."""

    async def looked_at(longest: timedelta) -> tuple[FlowRun, FlowRun]:
        monkeypatch.setattr(resuming, "TO_BEGIN", longest)
        async with get_client() as client:
            ended = await resume_crashed(return_state=True)
            assert ended.is_completed(), ended.message
            return await client.read_flow_run(ours), await client.read_flow_run(others)

    async def taken(*tags: str) -> UUID:
        async with get_client() as client:
            run = await deployed_run(client, *tags)
            await client.set_flow_run_state(run, state, force=True)
            return run

    ours, others = asyncio.run(taken(DEPLOYED)), asyncio.run(taken())
    early, other = asyncio.run(looked_at(timedelta(minutes=3)))
    assert (early.state_name, other.state_name) == (state.name, state.name)
    late, other = asyncio.run(looked_at(timedelta(0)))
    assert (late.state_type, other.state_name) == (StateType.CRASHED, state.name)
    assert late.state is not None
    assert late.state.message == "It was taken and never began: its worker is gone."


def test_a_run_at_work_that_sends_no_heartbeat_has_crashed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when it is killed in the second in which it begins, which no automation notices.

    Two are silent when looked at; one of them sends a heartbeat while it is listened to.
    """

    async def at_work(*tags: str) -> UUID:
        async with get_client() as client:
            run = await deployed_run(client, *tags)
            await client.set_flow_run_state(run, Running(), force=True)
            return run

    async def heard() -> None:
        """A heartbeat of one, until the server has it."""
        began = datetime.now(UTC)
        about = {"prefect.resource.id": f"prefect.flow-run.{alive}"}
        emit_event("prefect.flow-run.heartbeat", resource=about)
        async with get_client() as client:
            run = await client.read_flow_run(alive)
            async with asyncio.timeout(30):
                while not await resuming._heard(client, run, began - timedelta(seconds=1)):
                    await asyncio.sleep(0.1)

    async def looked_at(silent: timedelta) -> list[tuple[StateType, str | None]]:
        monkeypatch.setattr(resuming, "SILENT", silent)
        async with get_client() as client:
            ended = await resume_crashed(return_state=True)
            assert ended.is_completed(), ended.message
            runs = [await client.read_flow_run(run) for run in (lost, alive, of_others)]
            return [(run.state.type, run.state.message) for run in runs if run.state is not None]

    monkeypatch.setattr(resuming, "_listen", heard)
    # Runs of other tests that are at work at this time are not looked at.
    ours = uuid4().hex
    monkeypatch.setattr(resuming, "DEPLOYED", ours)
    lost, alive, of_others = (asyncio.run(at_work(*tags)) for tags in ([ours], [ours], [DEPLOYED]))
    at_first = asyncio.run(looked_at(timedelta(minutes=5)))
    assert {kind for kind, _ in at_first} == {StateType.RUNNING}
    ended, still, other = asyncio.run(looked_at(timedelta(0)))
    assert ended == (StateType.CRASHED, "It sends no heartbeat: its process is gone.")
    assert (still[0], other[0]) == (StateType.RUNNING, StateType.RUNNING)


@pytest.mark.parametrize(
    ("deployed", "state", "goes_on"),
    [
        pytest.param(True, Running(), True, id="at work, or lost and not yet found"),
        pytest.param(True, Crashed(), True, id="crashed"),
        pytest.param(True, IN_AN_HOUR, True, id="to be resumed"),
        pytest.param(True, Crashed(name=ABANDONED), False, id="given up"),
        pytest.param(True, Failed(), False, id="failed"),
        pytest.param(False, Crashed(), False, id="crashed in a terminal"),
    ],
)
def test_who_watches_a_sweep_waits_for_a_run_that_is_resumed(
    deployed: bool, state: State[None], goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = uuid4().hex

    async def go() -> None:
        async with get_client() as client:
            alone = await client.create_flow_run(may_crash)
            run = await deployed_run(client) if deployed else alone.id
            key = artifact_key("progress", f"sweep {sweep}")
            shown = ArtifactCreate(type="progress", key=key, data=50.0, flow_run_id=run)
            await client.create_artifact(shown)
            await client.set_flow_run_state(run, state, force=True)

    asyncio.run(go())
    monkeypatch.setattr(flow_runs, "prepare_environment", lambda *_, **__: None)
    monkeypatch.setattr(flow_runs, "LOOKS_FOR_CRASHED", f"resume-crashed/{uuid4().hex}")
    assert flow_runs.resumes(sweep) == goes_on
    lost = flow_runs.lost_run(sweep)
    assert (lost is not None) == deployed
    if lost is not None:
        assert lost.state == state.name
        assert lost.then.startswith("Nothing") == (not goes_on or not state.is_scheduled())


def test_the_schedule_that_resumes_a_lost_run_is_named_while_it_is_active(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow_runs, "prepare_environment", lambda *_, **__: None)
    monkeypatch.setattr(flow_runs, "LOOKS_FOR_CRASHED", f"resume-crashed/{uuid4().hex}")
    sweep = uuid4().hex

    async def go(*, active: bool) -> None:
        async with get_client() as client:
            run = await deployed_run(client)
            key = artifact_key("progress", f"sweep {sweep}")
            shown = ArtifactCreate(type="progress", key=key, data=50.0, flow_run_id=run)
            await client.create_artifact(shown)
            await client.set_flow_run_state(run, Crashed(), force=True)
            schedule = DeploymentScheduleCreate(
                schedule=CronSchedule(cron="*/5 * * * *"), active=active
            )
            name = flow_runs.LOOKS_FOR_CRASHED.partition("/")[2]
            flow_id = await client.create_flow(resume_crashed)
            await client.create_deployment(flow_id, name, schedules=[schedule])

    asyncio.run(go(active=True))
    lost = flow_runs.lost_run(sweep)
    assert lost is not None
    assert "within 5 minutes" in lost.then
    asyncio.run(go(active=False))
    lost = flow_runs.lost_run(sweep)
    assert lost is not None
    assert lost.then.startswith("Nothing resumes it")


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        (IN_AN_HOUR, True),
        (Pending(), True),
        (Running(), False),
        (Failed(), None),
    ],
)
def test_a_run_that_has_not_stored_its_sweep_yet_is_found(
    state: State[None], waits: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_runs, "prepare_environment", lambda *_, **__: None)
    sweep = uuid4().hex

    async def go() -> None:
        async with get_client() as client:
            flow_id = await client.create_flow_from_name("sweep")
            deployment = await client.create_deployment(flow_id, "waiting")
            made = await client.create_flow_run_from_deployment(
                deployment, parameters={"definition": {"name": sweep}}
            )
            await client.set_flow_run_state(made.id, state, force=True)

    asyncio.run(go())
    found = flow_runs.waiting_run(sweep)
    assert (found is None) == (waits is None)
    if found is not None:
        assert found.state == state.name
        assert ("waits to begin" in found.then) == waits
    assert flow_runs.waiting_run("of no run") is None


def test_what_ran_inside_a_lost_process_is_ended_and_what_did_not_is_not() -> None:
    inside: dict[str, UUID] = {}

    @flow(name="inside")
    async def child(name: str) -> None:
        from prefect.runtime import flow_run

        inside[name] = UUID(str(flow_run.id))

    @flow(name="outside")
    async def parent() -> None:
        await child("done")
        await child("at work")

    async def go() -> tuple[FlowRun, FlowRun]:
        async with get_client() as client:
            deployment = await client.create_deployment(await client.create_flow(parent), "whole")
            made = await client.create_flow_run_from_deployment(deployment)
            await run_flow_async(parent, made, {}, return_type="state")
            await client.set_flow_run_state(inside["at work"], Running(), force=True)
            await client.set_flow_run_state(made.id, Crashed(message="killed"), force=True)
            await resumed(client, made.id)
            return (
                await client.read_flow_run(inside["done"]),
                await client.read_flow_run(inside["at work"]),
            )

    done, at_work = asyncio.run(go())
    assert done.state_type == StateType.COMPLETED
    assert at_work.state_type == StateType.CRASHED
    assert at_work.state is not None
    assert "is gone" in (at_work.state.message or "")


def test_a_run_that_is_not_there_is_one_clear_line() -> None:
    state = asyncio.run(resume(UUID(int=7), return_state=True))
    assert state.is_failed()
    assert state.message == f"There is no flow run {UUID(int=7)}."
