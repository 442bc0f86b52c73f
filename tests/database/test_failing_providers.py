"""Which providers fail, by the newest calls of the ledger."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from judge_gym.store.failing import LATELY, FailingProvider, failing_providers
from support.misbehaving import Step, answers, misbehaving, refuses
from support.rig import a_call, gateway_at, no_rows, run

pytestmark = pytest.mark.usefixtures("quick_retries", "key")
FINE, DOWN = answers("fine"), refuses(503, "overloaded")


def failing_after(
    database: str, *script: Step, later: timedelta = timedelta()
) -> list[FailingProvider]:
    """What is found after a call for each step, one attempt each."""

    async def work() -> list[FailingProvider]:
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url, attempts=1) as (gateway, engine),
        ):
            for number in range(len(script)):
                # A refused key ends a run with an error.
                await asyncio.gather(
                    gateway.ask(a_call(f"k{number}"), no_rows), return_exceptions=True
                )
            with Session(engine) as session:
                return failing_providers(session, datetime.now(UTC) + later)

    found: list[FailingProvider] = run(work())
    return found


def test_three_failures_since_the_last_success_are_a_failing_provider(database: str) -> None:
    [found] = failing_after(database, DOWN, FINE, DOWN, DOWN, DOWN)
    assert (found.provider, found.kind, found.failures) == ("real", "server", 3)


@pytest.mark.parametrize("script", [(FINE, DOWN, DOWN), (DOWN, DOWN, DOWN, FINE)])
def test_fewer_or_earlier_ones_are_none(database: str, script: tuple[Step, ...]) -> None:
    assert failing_after(database, *script) == []


def test_one_refused_key_is_enough(database: str) -> None:
    [found] = failing_after(database, FINE, refuses(401, "expired"))
    assert (found.kind, found.failures) == ("authentication", 1)


def test_what_was_long_ago_is_not_said(database: str) -> None:
    assert failing_after(database, FINE, DOWN, DOWN, DOWN, later=2 * LATELY) == []
