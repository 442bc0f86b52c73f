"""Slots of limits on Prefect's server: who holds them, and those that no run holds."""

import asyncio
import threading
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow, flow_engine, task
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import ConcurrencyLeaseHolder, State

from flows.sweep import sweep
from judge_gym.design.names import WORKFLOWS
from support.flow_runs import artifacts, configured, run_flow
from support.natural_rows import natural_rows
from support.simulation import Simulator
from support.sweeps import scoring_sweep
from support.waiting import until
from tasks import slots
from tasks.artifacts import PROGRESS
from tasks.policy import provider_tag
from tasks.slots import Taken, free_stale_slots, taken_slots

pytestmark = pytest.mark.slow
TASK_S = 60.0


async def limit(client: PrefectClient, slots: int) -> str:
    """A new limit of a provider's tag; its name."""
    name = f"tag:{provider_tag(uuid4().hex)}"
    await client.upsert_global_concurrency_limit_by_name(name, slots)
    return name


async def active(client: PrefectClient, name: str) -> int:
    return (await client.read_global_concurrency_limit_by_name(name)).active_slots


async def read(name: str) -> Taken:
    async with get_client() as client:
        [one] = await taken_slots(client, TASK_S, [name])
        return one


def test_slots_that_no_run_holds_are_found_and_freed_and_others_are_kept() -> None:
    async def go() -> tuple[Taken, int, list[Taken]]:
        async with get_client() as client:
            name = await limit(client, 6)
            # As the server remembers those whose leases it has lost: a number, and no holder.
            await client.increment_concurrency_slots([name], 4, "concurrency")
            holder = ConcurrencyLeaseHolder(type="task_run", id=uuid4())
            await client.increment_concurrency_slots_with_lease(
                [name], 1, "concurrency", 60, holder
            )
            before = await read(name)
            await free_stale_slots(TASK_S, [name])
            return before, await active(client, name), await free_stale_slots(TASK_S, [name])

    before, left, again = asyncio.run(go())
    assert (before.slots, before.most, before.stale, len(before.holders)) == (5, 6, 4, 1)
    assert left == 1
    assert again == []


def test_a_slot_whose_lease_is_not_there_for_a_moment_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server counts a slot before it writes its lease, and after it deletes it."""
    look, looks = slots._holders, 0

    async def go() -> tuple[list[Taken], int]:
        async with get_client() as client:
            name = await limit(client, 6)
            await client.increment_concurrency_slots([name], 1, "concurrency")

            async def holders(*arguments: Any) -> dict[UUID, slots.Holder]:
                nonlocal looks
                looks += 1
                if looks == 3:  # the first look has ended
                    await client.release_concurrency_slots([name], 1, 1.0)
                return await look(*arguments)

            monkeypatch.setattr(slots, "_holders", holders)
            return await free_stale_slots(TASK_S, [name]), await active(client, name)

    assert asyncio.run(go()) == ([], 0)


def test_a_task_at_work_holds_its_slot_even_without_a_lease() -> None:
    """As after a restart of a server that keeps leases in memory."""
    tag = provider_tag(uuid4().hex)
    name = f"tag:{tag}"

    @task(tags=[tag])  # the limit is made after it began, so it has no lease
    async def works() -> Taken:
        async with get_client() as client:
            await client.upsert_global_concurrency_limit_by_name(name, 1)
            await client.increment_concurrency_slots([name], 1, "concurrency")
            while not (taken := await read(name)).holders:  # the record of the task comes late
                await asyncio.sleep(0.2)
            return taken

    @flow(name="holds-a-slot")
    async def holds() -> Taken:
        taken: Taken = await works()
        return taken

    taken = asyncio.run(holds())
    assert taken.stale == 0
    assert "works" in str(taken.holders[0])
    # It has ended, and nobody gave the slot back.
    until(lambda: asyncio.run(read(name)).stale == 1, "the slot to be nobody's", every=0.5)


def test_a_sweep_that_finds_all_slots_taken_by_no_run_is_done(
    database: str, simulator: Simulator, tmp_path: Path
) -> None:
    provider = f"p{uuid4().hex}"
    file = providers(tmp_path, provider)

    async def take() -> None:
        async with get_client() as client:
            name = f"tag:{provider_tag(provider)}"
            await client.upsert_global_concurrency_limit_by_name(name, 2)
            await client.increment_concurrency_slots([name], 2, "concurrency")

    asyncio.run(take())
    with configured(
        tmp_path,
        JUDGE_GYM_DATABASE_URL=database,
        JUDGE_GYM_SIMULATOR_URL=simulator.url,
        JUDGE_GYM_PROVIDERS_FILE=str(tmp_path / "providers.toml"),
    ):
        state = run_flow(sweep, file, only=WORKFLOWS[:3])
    assert state.is_completed(), state.message
    assert len(natural_rows(database)["samples"]) == 2 * 4
    [shown] = [one for one in artifacts(state) if one.key == "end-waits"]
    assert "cost 0 (simulated)" in str(shown.data)
    assert "Failures: none." in str(shown.data)


def providers(folder: Path, name: str) -> Path:
    """A sweep of one judge of this provider, the simulator with two slots; its file."""
    (folder / "providers.toml").write_text(
        f'[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n[{name}]\nlitellm = "openai"\n'
        'base_url_env = "JUDGE_GYM_SIMULATOR_URL"\ntask_slots = 2\nconcurrency = 2\n'
    )
    file = folder / "waits.yaml"
    file.write_text(scoring_sweep("waits", f"{name}/calm-1", replicates=2))
    return file


def test_a_sweep_that_waits_for_slots_says_who_holds_them(
    database: str,
    simulator: Simulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider = f"p{uuid4().hex}"
    file = providers(tmp_path, provider)
    tag = provider_tag(provider)
    monkeypatch.setattr(slots, "LOOK_S", 0.5)
    PROGRESS.addHandler(caplog.handler)
    PROGRESS.setLevel("INFO")

    @task(tags=[tag], task_run_name="another one's chunk")
    async def holds(over: threading.Event) -> None:
        await asyncio.to_thread(over.wait)

    @flow(name="another", flow_run_name="somebody else's run")
    async def another(over: threading.Event) -> None:
        await asyncio.gather(holds(over), holds(over))

    async def go() -> State[object]:
        over = threading.Event()
        async with get_client() as client:
            await client.upsert_global_concurrency_limit_by_name(f"tag:{tag}", 2)
        other = asyncio.create_task(another(over))
        try:
            while len([1 for one in await _holders(tag) if one.flow_run]) < 2:
                await asyncio.sleep(0.2)
            run = asyncio.create_task(sweep(file, only=WORKFLOWS[:3], return_state=True))
            await asyncio.to_thread(until, lambda: _said(caplog), "the sweep to say so", every=0.2)
        finally:
            over.set()
        await other
        state: State[object] = await run
        return state

    with configured(
        tmp_path,
        JUDGE_GYM_DATABASE_URL=database,
        JUDGE_GYM_SIMULATOR_URL=simulator.url,
        JUDGE_GYM_PROVIDERS_FILE=str(tmp_path / "providers.toml"),
    ):
        state = asyncio.run(go())
    PROGRESS.removeHandler(caplog.handler)
    assert state.is_completed(), state.message
    [said] = _said(caplog)
    assert f"all 2 slots of tag:{tag} are taken" in said
    assert said.count("somebody else's run (another one's chunk), since ") == 2


async def _holders(tag: str) -> tuple[slots.Holder, ...]:
    async with get_client() as client:
        found = await taken_slots(client, TASK_S, [f"tag:{tag}"])
        return found[0].holders if found else ()


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if "waiting for slots" in line]


def test_a_flow_run_that_loses_its_lease_goes_on() -> None:
    """Prefect cancels what is in the block once a lease cannot be renewed."""

    async def go() -> None:
        before = set(threading.enumerate())
        async with flow_engine.amaintain_concurrency_lease(
            uuid4(), 60, raise_on_lease_renewal_failure=True
        ):
            [renewing] = [
                thread for thread in set(threading.enumerate()) - before if "lease" in thread.name
            ]
            await asyncio.to_thread(renewing.join)  # it gives up after a few answers of 410

    asyncio.run(go())
