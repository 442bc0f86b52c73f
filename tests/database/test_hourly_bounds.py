"""The bound on calls and cost per hour: over processes, for real models, without more requests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.llm.gateway import Gateway
from judge_gym.llm.hourly import Hourly, HourlyBoundError, bound_warnings
from judge_gym.llm.providers import Bounds, Price, load_providers
from judge_gym.records.calls import Answer, Request
from judge_gym.store import tables as t
from judge_gym.store.ledger import Closed, Ledger, Sent, now
from judge_gym.store.spending import spent_since
from support.misbehaving import answers, misbehaving
from support.rig import KEY, KEY_NAME, a_call, an_answer, no_rows, providers_at, run

PRICES = {"m": Price(prompt=100_000, completion=0)}


@pytest.mark.parametrize(
    ("bounds", "key"),
    [
        (Bounds(calls_per_hour=2), "calls_per_hour is 2, and 2 calls were made"),
        # Prompts of 7 tokens at 0.1 USD each.
        (Bounds(cost_usd_per_hour=1.4), "cost_usd_per_hour is 1.4, and 1.4 USD were spent"),
    ],
)
def test_another_process_stops_at_the_bound_and_sends_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch, bounds: Bounds, key: str
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)

    async def work() -> None:
        engine = sa.create_engine(database)
        async with misbehaving(answers()) as provider:
            shared = replace(providers_at(provider.base_url, prices=PRICES), bounds=bounds)

            def process() -> Gateway:
                return Gateway(engine, shared, attempts=1, timeout_s=20)

            first, second = process(), process()
            for name in "ab":
                _, outcome = await first.ask(a_call(name), no_rows)
                assert isinstance(outcome, Answer)
                assert outcome.cost_usd == pytest.approx(0.7)
            with pytest.raises(HourlyBoundError) as raised:
                await second.ask(a_call("c"), no_rows)
            assert key in raised.value.message
            assert "[bounds] of providers.toml" in raised.value.remedy
            assert len(provider.requests) == 2

            with Session(engine) as session:
                [warning] = bound_warnings(session, shared, 5, 3.5)
                # 5 / 2 calls, or 3.5 / 1.4 USD.
                assert "take at least 3 hours" in warning
                assert list(bound_warnings(session, shared, 0, 0)) == []

            # The call of the earlier of two minutes makes room for one; two need both.
            with Session(engine) as session, session.begin():
                sent = [datetime.now(UTC) - timedelta(minutes=minutes) for minutes in (50, 20)]
                for call, sent_at in zip(
                    session.scalars(
                        sa.select(t.Call).where(t.Call.attempts > 0).order_by(t.Call.id)
                    ),
                    sent,
                    strict=True,
                ):
                    call.sent_at = sent_at
            third = process()
            with pytest.raises(HourlyBoundError) as raised:
                await third.ask(a_call("c"), no_rows)
            assert f"after {_minute_after(sent[0])} UTC" in raised.value.remedy
            if bounds.calls_per_hour:
                with pytest.raises(HourlyBoundError) as raised:
                    await Hourly(engine, shared).count("openai/m", 2)
                assert f"after {_minute_after(sent[1])} UTC" in raised.value.remedy
                with pytest.raises(ConfigError, match="A batch of 3 calls to openai"):
                    await Hourly(engine, shared).count("openai/m", 3)

            # Neither older calls nor simulated ones count.
            _, simulated = await second.ask(a_call("s", model="sim/m"), no_rows)
            assert isinstance(simulated, Answer)
            with Session(engine) as session, session.begin():
                session.execute(
                    sa.update(t.Call).values(sent_at=t.Call.sent_at - sa.text("interval '1 hour'"))
                )
            fourth = process()
            _, outcome = await fourth.ask(a_call("c"), no_rows)
            assert isinstance(outcome, Answer)
            for gateway in (first, second, third, fourth):
                await gateway.close()
        engine.dispose()

    run(work())


def test_calls_count_by_the_name_of_their_provider_answered_or_not(database: str) -> None:
    """A rehearsal on the simulator under a real provider's name stops where a real run would."""

    async def work() -> None:
        engine = sa.create_engine(database)
        ledger, before = Ledger(engine), datetime.now(UTC) - timedelta(minutes=1)
        for key, provider in (("a", "real"), ("b", "real"), ("c", "sim"), ("d", "sim-gemini")):
            [opened] = await ledger.open([a_call(key)], provider)
            await ledger.write(Sent(opened.id, now(), Request({"max_tokens": 50})))
            if key in "ac":
                answer = an_answer(cost_usd=0.0, simulated=True)
                await ledger.write(Closed(opened.id, answer, (), (), now()))
        with Session(engine) as session:
            assert spent_since(session, before) == (2, 0.0)
        engine.dispose()

    run(work())


def _minute_after(sent_at: datetime) -> str:
    return f"{sent_at + timedelta(minutes=61):%H:%M}"


def test_the_bounds_are_a_table_of_the_providers_file(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text("[bounds]\ncalls_per_hour = 5\n[openai]\n")
    providers = load_providers(file)
    assert providers.bounds == Bounds(calls_per_hour=5)
    assert [name for name in providers.by_name if not name.startswith("sim")] == ["openai"]
    file.write_text("[bounds]\ncalls = 5\n")
    with pytest.raises(ConfigError, match=r"line 2: bounds\.calls is not") as raised:
        load_providers(file)
    assert "Use calls_per_hour, cost_usd_per_hour." in raised.value.remedy
