"""Claims: one at a time, freed by the end of whoever held them."""

import asyncio
import subprocess
import sys

import sqlalchemy as sa

from judge_gym.store.locks import locked
from support.rig import run
from support.waiting import until

HOLDER = """
import asyncio, sys, sqlalchemy as sa
from judge_gym.store.locks import locked
async def main():
    async with locked(sa.create_engine(sys.argv[1]), {"experiments": ["a", "b"]}, lambda: None):
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


def test_the_second_waits_until_the_first_has_ended(own_database: str) -> None:
    engine = sa.create_engine(own_database)
    order: list[str] = []

    async def work(name: str, names: list[str], held: asyncio.Event, go: asyncio.Event) -> None:
        async with locked(engine, {"experiments": names}, lambda: order.append(f"{name} waits")):
            order.append(f"{name} begins")
            held.set()
            await go.wait()
            order.append(f"{name} ends")

    async def both() -> None:
        held, go = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(work("first", ["a", "b"], held, go))
        await held.wait()
        second = asyncio.create_task(work("second", ["b", "c"], held, go))
        while "second waits" not in order:
            await asyncio.sleep(0.01)
        # What nobody holds is free at once, also of another kind under the same name.
        async with locked(engine, {"windows": ["a"]}, lambda: order.append("never")):
            pass
        go.set()
        await asyncio.gather(first, second)

    run(both())
    engine.dispose()
    assert order == ["first begins", "second waits", "first ends", "second begins", "second ends"]


def test_a_block_cancelled_again_while_it_ends_releases_its_locks(own_database: str) -> None:
    engine = sa.create_engine(own_database)

    async def block(held: asyncio.Event) -> None:
        async with locked(engine, {"experiments": ["a"]}, lambda: None):
            held.set()
            await asyncio.sleep(600)

    async def work() -> None:
        held = asyncio.Event()
        first = asyncio.create_task(block(held))
        await held.wait()
        first.cancel()
        await asyncio.sleep(0)  # it has begun to end
        first.cancel()
        await asyncio.wait({first})
        async with asyncio.timeout(30), locked(engine, {"experiments": ["a"]}, lambda: None):
            pass

    run(work())
    engine.dispose()


def test_a_killed_holder_leaves_nothing_behind(own_database: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, own_database], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    engine = sa.create_engine(own_database)
    waited: list[bool] = []

    async def take() -> None:
        async with locked(engine, {"experiments": ["a"]}, lambda: waited.append(True)):
            pass

    async def race() -> None:
        taking = asyncio.create_task(take())
        while not waited:
            await asyncio.sleep(0.01)
        assert not taking.done()
        holder.kill()
        await taking

    run(race())
    until(lambda: holder.poll() is not None, "the holder to end")
    engine.dispose()


def test_a_run_that_holds_a_lock_can_take_all_of_another_kind(own_database: str) -> None:
    """As a study of periods does, whose sweeps lock hundreds of experiments."""
    engine = sa.create_engine(own_database)
    waited: list[bool] = []

    async def nested() -> None:
        every = {"experiments": range(8000)}  # more names than locks, so that each is taken
        async with (
            locked(engine, {"studies": ["weekly"]}, lambda: None),
            asyncio.timeout(30),
            locked(engine, every, lambda: waited.append(True)),
        ):
            pass

    run(nested())
    engine.dispose()
    assert not waited
