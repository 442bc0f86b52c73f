"""Chunks of a flow's work: one that takes too long, and a run that is cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from prefect import flow, task

from flows.endings import RunSummary
from flows.running import Work, run_chunks
from judge_gym.runtime import runtime
from judge_gym.settings import settings

TOO_LONG_S = 60.0


async def chunks_of_one(do: Callable[[int], Awaitable[None]], units: int) -> RunSummary:
    """Do the units in a flow, each in a chunk and a Prefect task of its own, one at a time."""

    @task
    async def chunk(units: list[int]) -> dict[str, int]:
        for unit in units:
            await do(unit)
        return {"done": len(units)}

    @flow
    async def in_chunks() -> RunSummary:
        async with runtime() as current:
            work = Work(chunk, (), list(range(units)), "unit")
            summary, error = await run_chunks(current, "unit", [work])
            assert error is None
            return summary

    summary: RunSummary = await in_chunks()
    return summary


@pytest.fixture(autouse=True)
def _one_at_a_time(place: pytest.MonkeyPatch) -> None:
    place.setenv("JUDGE_GYM_CHUNK_SIZE", "1")
    place.setenv("JUDGE_GYM_WORKERS", "1")
    settings.cache_clear()


def test_a_cancellation_that_a_task_swallows_ends_the_run_with_that_chunk() -> None:
    begun: list[int] = []

    async def cancelled() -> None:
        started = asyncio.Event()

        async def swallow(unit: int) -> None:
            begun.append(unit)
            started.set()
            # As Prefect does while it gives the slot of a finished task back.
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(TOO_LONG_S)

        running: asyncio.Task[Any] = asyncio.create_task(chunks_of_one(swallow, 3))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert begun == [0]


def test_a_cancelled_run_ends_with_the_last_of_its_chunks(place: pytest.MonkeyPatch) -> None:
    """One chunk ends at once; the other waits for an answer that may be billed."""
    place.setenv("JUDGE_GYM_WORKERS", "2")
    settings.cache_clear()
    ended: list[int] = []

    async def cancelled() -> None:
        begun: set[int] = set()
        both, first_ended = asyncio.Event(), asyncio.Event()

        async def wait(unit: int) -> None:
            begun.add(unit)
            if len(begun) == 2:
                both.set()
            try:
                await asyncio.sleep(TOO_LONG_S)
            except asyncio.CancelledError:
                if unit == 0:
                    first_ended.set()
                    raise
                await first_ended.wait()
                # As long as the run may take to end without it, and longer.
                for _ in range(1000):
                    await asyncio.sleep(0.001)
                ended.append(unit)
                raise

        running: asyncio.Task[Any] = asyncio.create_task(chunks_of_one(wait, 2))
        await both.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [1]

    asyncio.run(cancelled())


def test_a_chunk_that_takes_too_long_is_a_problem_and_the_others_are_done(
    place: pytest.MonkeyPatch,
) -> None:
    place.setenv("JUDGE_GYM_CHUNK_TIMEOUT_S", "1")
    settings.cache_clear()

    async def first_too_long(unit: int) -> None:
        if unit == 0:
            await asyncio.sleep(TOO_LONG_S)

    summary = asyncio.run(chunks_of_one(first_too_long, 3))
    assert summary.outcomes == {"done": 2}
    [problem] = summary.problems
    assert problem.startswith("units 1-1: ")
