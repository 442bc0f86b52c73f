"""What becomes of a call that is stopped: an answer that is out is waited for, and kept."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from judge_gym.llm import gateway as gateways
from judge_gym.store import tables as t
from support.misbehaving import Provider, answers, misbehaving, refuses
from support.rig import a_call, as_rubric, calls, count, gateway_at, run

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries", "key"),
]


class Held:
    """A provider that answers when the test lets it."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.arrived, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.arrived.set()
        await self.go.wait()
        return await self.reply(request)  # type: ignore[no-any-return]


def stopped(database: str, reply: Any, *, times: int = 1, goes: bool = True) -> Any:
    """Stop a call whose request is out; returns its ledger row, the provider, rubrics derived."""

    async def work() -> tuple[Any, Provider, int]:
        held = Held(reply)
        async with (
            misbehaving(held, answers("second")) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            asking = asyncio.create_task(gateway.ask(a_call("k"), as_rubric("r")))
            await held.arrived.wait()
            for _ in range(times):
                asking.cancel()
                await asyncio.sleep(0)
            if goes:
                held.go.set()
            with pytest.raises(asyncio.CancelledError):
                await asking
            held.go.set()
            return calls(engine)["k"], provider, count(engine, t.Rubric)

    return run(work())


def test_the_answer_to_a_request_that_is_out_is_stored_with_its_rows(database: str) -> None:
    row, provider, rubrics = stopped(database, answers("late"))
    assert (row.status, row.answer, rubrics) == ("succeeded", "late", 1)
    assert len(provider.requests) == 1


def test_a_request_that_fails_then_is_neither_sent_again_nor_final(database: str) -> None:
    row, provider, rubrics = stopped(database, refuses(500, "boom"))
    assert (row.status, rubrics) == ("sent", 0)
    assert [error["kind"] for error in row.errors] == ["server"]
    assert len(provider.requests) == 1


def test_a_refusal_of_the_call_itself_is_final(database: str) -> None:
    row, _, rubrics = stopped(database, refuses(400, "too odd"))
    assert (row.status, rubrics) == ("failed", 1)


def test_stopped_again_it_waits_no_longer(database: str) -> None:
    row, _, rubrics = stopped(database, answers("never read"), times=2, goes=False)
    assert (row.status, row.answer, rubrics) == ("sent", None, 0)


def test_it_waits_so_long_and_no_longer(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "LONGEST_STOP_S", 0.01)
    row, _, rubrics = stopped(database, answers("never read"), goes=False)
    assert (row.status, rubrics) == ("sent", 0)


def test_a_call_that_waits_for_its_turn_sends_nothing(database: str) -> None:
    async def work() -> tuple[Any, int]:
        held = Held(answers("first"))
        async with (
            misbehaving(held) as provider,
            gateway_at(database, provider.base_url, concurrency=1) as (gateway, engine),
        ):
            asking = [
                asyncio.create_task(gateway.ask(a_call(key), as_rubric(key))) for key in ("a", "b")
            ]
            await held.arrived.wait()
            for one in asking:
                one.cancel()
            held.go.set()
            await asyncio.gather(*asking, return_exceptions=True)
            return calls(engine), len(provider.requests)

    rows, sent = run(work())
    assert sorted(row.status for row in rows.values()) == ["planned", "succeeded"]
    assert sent == 1


def test_a_call_that_was_stopped_is_asked_again_by_the_same_process(database: str) -> None:
    """As a server does whose page was closed: its gateway stays."""

    async def work() -> tuple[Any, int]:
        held = Held(refuses(500, "boom"))
        async with (
            misbehaving(held, answers("again")) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            asking = asyncio.create_task(gateway.ask(a_call("k"), as_rubric("r")))
            await held.arrived.wait()
            asking.cancel()
            await asyncio.sleep(0)
            held.go.set()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await gateway.ask(a_call("k"), as_rubric("r"))
            return calls(engine)["k"], len(provider.requests)

    row, sent = run(work())
    assert (row.status, row.answer, sent) == ("succeeded", "again", 2)
