"""The gate under a clock that jumps: bounds, rates, and how it adapts."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from judge_gym.llm.gate import CALM_S, Gate, LimitChange
from judge_gym.llm.providers import Provider


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer, so that minutes cost nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._clock = 0.0

    def time(self) -> float:
        return self._clock

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._clock = max(self._clock, self._scheduled[0]._when)
        super()._run_once()


def run(body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(body())


def now() -> float:
    return asyncio.get_running_loop().time()


def a_gate(changes: list[LimitChange] | None = None, **limits: Any) -> Gate:
    heard = [] if changes is None else changes
    return Gate(Provider(name="p", **{"task_slots": 1, **limits}), heard.append)


async def peak(gate: Gate, requests: int) -> int:
    """Return how many of `requests` requests of one second each were in flight at most."""
    running = highest = 0

    async def one() -> None:
        nonlocal running, highest
        async with gate.slot(1):
            running += 1
            highest = max(highest, running)
            await asyncio.sleep(1)
            running -= 1

    await asyncio.gather(*(one() for _ in range(requests)))
    return highest


@pytest.mark.parametrize(
    ("concurrency", "task_slots", "chunks", "in_flight"),
    [
        (12, 4, 1, 3),  # one of four slots: a quarter of twelve
        (12, 4, 2, 6),
        (12, 4, 4, 12),
        (12, 4, 5, 12),  # never more than all of it
        (12, 4, 0, 3),  # a request outside any chunk counts as one
        (2, 8, 1, 1),  # less than one is one: nobody starves
    ],
)
def test_a_process_takes_the_share_of_the_slots_it_holds(
    concurrency: int, task_slots: int, chunks: int, in_flight: int
) -> None:
    async def body() -> int:
        gate = a_gate(concurrency=concurrency, task_slots=task_slots)
        holds = [gate.chunk() for _ in range(chunks)]
        for hold in holds:
            await hold.__aenter__()
        return await peak(gate, 40)

    assert run(body) == in_flight


def test_a_chunk_that_begins_lets_more_through_and_one_that_ends_fewer() -> None:
    async def body() -> list[int]:
        gate = a_gate(concurrency=8, task_slots=2)
        async with gate.chunk():
            async with gate.chunk():
                both = await peak(gate, 20)
            return [both, await peak(gate, 20)]

    assert run(body) == [8, 4]


def test_a_chunk_ends_once_what_others_borrowed_of_its_share_is_back() -> None:
    async def body() -> list[float]:
        gate = a_gate(concurrency=8, task_slots=2)

        async def other() -> None:
            async with gate.chunk():
                await peak(gate, 6)

        going = asyncio.create_task(other())
        await asyncio.sleep(0)
        ends = []
        async with gate.chunk():
            await asyncio.sleep(0.5)
            ends.append(now())
        ends.append(now())
        await going
        return ends

    # Six of the other chunk are in flight until second 1; four would be allowed without this one.
    assert run(body) == [0.5, 1]


@pytest.mark.parametrize(("per_minute", "share"), [(60, 1), (60, 4), (7, 1), (1, 1), (600, 2)])
def test_no_minute_has_more_requests_than_allowed(per_minute: int, share: int) -> None:
    async def body() -> list[float]:
        gate = a_gate(concurrency=1000, requests_per_minute=per_minute, task_slots=share)
        starts: list[float] = []

        async def one() -> None:
            async with gate.slot(1):
                starts.append(now())

        await asyncio.gather(*(one() for _ in range(4 * per_minute)))
        return sorted(starts)

    starts = run(body)
    allowed = per_minute / share
    for index, start in enumerate(starts):
        within = sum(1 for later in starts[index:] if later < start + 60 - 1e-6)
        assert within <= math.ceil(allowed)
    # And the rate is used: the whole takes at most a tenth longer than the allowance alone.
    assert starts[-1] <= 1.1 * 60 * len(starts) / allowed


def test_tokens_are_paced_and_a_request_of_more_than_a_minute_still_goes_through() -> None:
    async def body() -> list[float]:
        gate = a_gate(concurrency=10, tokens_per_minute=1300)  # 20 a second, 5 s saved up
        started = []

        for tokens in (100, 2600, 20, 20):
            async with gate.slot(tokens):
                started.append(now())
        return started

    # The saved 100 at once, the large one right after, then what follows waits for its 130 s.
    assert run(body) == pytest.approx([0, 0, 130, 131])


def test_who_is_not_to_be_sent_any_more_waits_for_no_rate() -> None:
    def refuse() -> None:
        raise PermissionError

    async def body() -> list[float]:
        gate = a_gate(concurrency=1, requests_per_minute=60)
        ended = []
        for check in (None, *[refuse] * 100, None):
            with suppress(PermissionError):
                async with gate.slot(1, check):
                    pass
            ended.append(now())
        return ended

    # 100 requests would have taken as many seconds.
    assert run(body) == [0] * 102


def test_one_halving_for_all_that_was_in_flight_then_back_by_successes() -> None:
    changes: list[LimitChange] = []

    async def body() -> list[int]:
        gate = a_gate(changes, concurrency=16)
        async with gate.chunk():
            bounds = [gate.bound]
            for _ in range(5):
                gate.rate_limited(3.0)
            bounds.append(gate.bound)
            gate.succeeded()  # one that was in flight at the time: not yet a sign of calm
            bounds.append(gate.bound)
            await asyncio.sleep(3)
            for _ in range(16 * 16):
                gate.succeeded()
            return [*bounds, gate.bound]

    assert run(body) == [16, 8, 8, 16]
    assert [(change.in_flight, change.reason) for change in changes] == [
        (8, "rate limit, pause 3 s"),
        (16, "recovered"),
    ]


def test_rate_limits_without_end_leave_one_request_in_flight() -> None:
    async def body() -> int:
        gate = a_gate(concurrency=16)
        for _ in range(20):
            gate.rate_limited(1.0)
            await asyncio.sleep(1)
        return gate.bound

    assert run(body) == 1


def test_nobody_passes_during_the_pause() -> None:
    async def body() -> float:
        gate = a_gate(concurrency=4)
        gate.rate_limited(7.5)
        async with gate.slot(1):
            return now()

    assert run(body) == 7.5


def test_a_server_error_lowers_nothing_and_only_pauses_the_raising() -> None:
    async def body() -> list[int]:
        gate = a_gate(concurrency=16)
        gate.rate_limited(1.0)
        await asyncio.sleep(1)
        gate.server_failed(1.0)
        seen = [gate.bound]
        for _ in range(300):
            gate.succeeded()
        seen.append(gate.bound)
        await asyncio.sleep(CALM_S)
        for _ in range(300):
            gate.succeeded()
        return [*seen, gate.bound]

    assert run(body) == [8, 8, 16]


def test_a_cancelled_waiter_does_not_keep_its_turn() -> None:
    async def body() -> int:
        gate = a_gate(concurrency=1)
        async with gate.slot(1):
            waiter = asyncio.create_task(peak(gate, 1))
            await asyncio.sleep(0)
            waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return await peak(gate, 3)

    assert run(body) == 1


def test_a_request_that_waits_for_its_rate_waits_for_a_pause_that_begins_meanwhile() -> None:
    async def body() -> float:
        gate = a_gate(requests_per_minute=1)
        async with gate.slot(1):
            pass

        async def later() -> float:
            async with gate.slot(1):
                return now()

        waiting = asyncio.create_task(later())
        await asyncio.sleep(30)
        gate.rate_limited(300)
        return await waiting

    assert run(body) >= 330
