"""Calls that have to end within a time of their own, whatever their attempts take."""

from importlib import import_module
from typing import Any

import pytest

from judge_gym.llm import gateway as gateways
from judge_gym.records.calls import Failure
from judge_gym.store import tables as t
from support.misbehaving import (
    Provider,
    Step,
    answers,
    drips,
    misbehaving,
    refuses,
    stays_silent,
)
from support.rig import KEY, KEY_NAME, a_call, as_rubric, calls, count, gateway_at, run

WITHIN_S, LONGER_S = 1.5, 5.0
"""The second where a reply has to come before: a busy machine may take a second over it."""


@pytest.fixture
def database(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    # Where it is the first of its process, a call would spend its time on importing litellm.
    import_module("judge_gym.llm.sdk")
    monkeypatch.setenv(KEY_NAME, KEY)
    return database


def asked(
    database: str, *script: Step, within_s: float = WITHIN_S
) -> tuple[Failure, Any, Provider]:
    """What became of a call with so much time, and its row, from which one more was derived."""

    async def work() -> tuple[Failure, Any, Provider]:
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url, timeout_s=20) as (gateway, engine),
        ):
            call = a_call("k", within_s=within_s)
            _, outcome = await gateway.ask(call, as_rubric("r"))
            assert isinstance(outcome, Failure)
            assert count(engine, t.Rubric) == 1
            return outcome, calls(engine)["k"], provider

    return run(work())


@pytest.mark.slow
@pytest.mark.parametrize("step", [stays_silent, drips], ids=["silent", "drips"])
def test_a_call_ends_when_its_time_is_over(database: str, step: Step) -> None:
    outcome, row, provider = asked(database, step)
    assert (outcome.kind, outcome.message) == (
        "timeout",
        "no answer within 1.5 s (1 request may have been billed)",
    )
    assert (row.status, row.attempts, len(provider.requests)) == ("failed", 1, 1)
    assert [error["kind"] for error in row.errors] == ["timeout"]
    assert (row.finished_at - row.sent_at).total_seconds() >= WITHIN_S - 0.1


def test_attempts_and_the_pauses_between_them_count(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "LONGEST_WAIT_S", 30.0)
    boom = refuses(500, "boom", headers={"Retry-After": "30"})
    outcome, row, provider = asked(database, boom, answers(), within_s=LONGER_S)
    assert outcome.kind == "timeout"
    assert [error["kind"] for error in row.errors] == ["server", "timeout"]
    assert len(provider.requests) == 1


def test_what_a_discarded_answer_cost_is_kept(database: str) -> None:
    script = answers("", usage=...), stays_silent
    _, row, provider = asked(database, *script, within_s=LONGER_S)
    assert [error["kind"] for error in row.errors] == ["empty", "timeout"]
    assert "cost_usd" in row.errors[0]
    assert len(provider.requests) == 2
