"""The gateway over real HTTP: against the simulator, and against a provider on a bad day."""

import asyncio
import email.utils
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.llm import gateway as gateways
from judge_gym.llm.breaker import ENOUGH_ALIKE, ModelStoppedError
from judge_gym.llm.context import ContextError, check_context
from judge_gym.llm.gateway import ProviderRefusedError, refusal
from judge_gym.llm.pricing import listed_price
from judge_gym.llm.providers import Price, Providers
from judge_gym.llm.providers import Provider as ProviderTable
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.records.attempts import AT_MOST, in_place_of_text
from judge_gym.records.calls import Answer, Call, Failure, Parameters, ProviderError
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.calls import Paid, TruncatedPrompts, cost_of, unread_of
from support.misbehaving import (
    Provider,
    Step,
    answers,
    cuts_connection,
    drips,
    misbehaving,
    refuses,
    replies,
    resets_connection,
    stays_silent,
)
from support.rig import (
    KEY,
    KEY_NAME,
    a_call,
    as_rubric,
    calls,
    count,
    gateway_at,
    no_rows,
    providers_at,
    run,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries", "key"),
]


def ask_once(database: str, *script: Step, **options: Any) -> tuple[Any, Any, Provider, int]:
    """Ask one call; returns outcome or exception, ledger row, provider, rubrics derived."""

    async def work() -> tuple[Any, Any, Provider, int]:
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url, **options) as (gateway, engine),
        ):
            try:
                _, outcome = await gateway.ask(a_call("k"), as_rubric("r"))
            except Exception as error:
                outcome = error
            return outcome, calls(engine).get("k"), provider, count(engine, t.Rubric)

    return run(work())


def test_the_simulator_answers_through_litellm(database: str) -> None:
    async def work() -> None:
        async with (
            serving() as base_url,
            gateway_at(database, base_url) as (gateway, engine),
        ):
            for model in ("sim/calm-1", "real/gpt-4.1"):
                call = a_call(model, "Hello?", model=model)
                _, outcome = await gateway.ask(call, no_rows)
                assert isinstance(outcome, Answer)
                assert "simulator" in outcome.text
                row = calls(engine)[model]
                # A real model's name whose base URL points at the simulator is marked as well.
                assert row.simulated is True
                assert (row.status, row.attempts, row.cost_usd) == ("succeeded", 1, 0)
                assert row.prompt_tokens == 2  # "Hello" and "?"
                assert row.sent_at <= row.finished_at

    run(work())


def test_the_call_is_on_disk_before_it_is_sent(database: str) -> None:
    seen: list[tuple[str, int, Any]] = []

    async def looks_at_ledger(request: web.Request) -> web.StreamResponse:
        def look() -> None:
            engine = sa.create_engine(database, poolclass=sa.NullPool)
            row = calls(engine)["k"]
            seen.append((row.status, row.attempts, row.sent_at))

        await asyncio.to_thread(look)
        return await (refuses(500, "boom") if len(seen) == 1 else answers())(request)

    outcome, row, _, _ = ask_once(database, looks_at_ledger)
    assert isinstance(outcome, Answer)
    assert [(status, attempts) for status, attempts, _ in seen] == [("sent", 1), ("sent", 2)]
    assert seen[0][2] < seen[1][2] == row.sent_at


def in_two_minutes() -> str:
    return email.utils.format_datetime(datetime.now(UTC) + timedelta(minutes=2), usegmt=True)


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        pytest.param(refuses(429, "slow down", headers={"Retry-After": "0"}), "rate_limit", id="0"),
        pytest.param(
            refuses(429, "slow", headers={"Retry-After": "600"}), "rate_limit", id="10min"
        ),
        pytest.param(
            refuses(429, "slow", headers={"Retry-After": in_two_minutes()}), "rate_limit", id="date"
        ),
        pytest.param(
            refuses(429, "slow", headers={"Retry-After": "Sun, 06 Nov 1994 08:49:37"}),
            "rate_limit",
            id="past-date-without-zone",
        ),
        pytest.param(refuses(429, "slow", headers={"Retry-After": "soon"}), "rate_limit", id="odd"),
        pytest.param(refuses(429, "slow", headers={"Retry-After": "nan"}), "rate_limit", id="nan"),
        pytest.param(replies(200, ""), "unreadable", id="empty-body"),
        pytest.param(replies(408, "{}"), "timeout", id="408"),
        pytest.param(resets_connection, "connection", id="reset"),
    ],
)
def test_what_may_pass_is_tried_again(database: str, first: Step, kind: str) -> None:
    """Pauses are capped (at 0.05 s here), whatever the provider asks for."""
    outcome, row, provider, rubrics = ask_once(database, first, answers("kept"))
    assert isinstance(outcome, Answer)
    assert (row.status, row.answer, row.attempts) == ("succeeded", "kept", 2)
    assert [error["kind"] for error in row.errors] == [kind]
    assert provider.requests[0] == provider.requests[1]
    assert rubrics == 1


def test_a_rate_limit_holds_everybody_back_as_long_as_asked(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "LONGEST_WAIT_S", 30)
    moments: list[float] = []

    def noted(step: Step) -> Step:
        async def noting(request: web.Request) -> web.StreamResponse:
            moments.append(asyncio.get_running_loop().time())
            return await step(request)

        return noting

    async def work() -> None:
        slow = refuses(429, "slow", headers={"Retry-After": "1"})
        async with (
            misbehaving(noted(slow), noted(answers())) as provider,
            gateway_at(database, provider.base_url, concurrency=1) as (gateway, _),
        ):
            await asyncio.gather(*(gateway.ask(a_call(key), no_rows) for key in "abc"))

    run(work())
    assert len(moments) == 4
    # Sleeping is the subject here: nobody, not just the call that was told, comes before.
    assert min(moments[1:]) - moments[0] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "kind"),
    [
        pytest.param(stays_silent, "timeout", id="silent"),
        pytest.param(drips, "timeout", id="drips"),
        pytest.param(resets_connection, "connection", id="reset"),
    ],
)
def test_what_does_not_pass_fails_after_bounded_attempts(
    database: str, step: Step, kind: str
) -> None:
    # The first reply shows that somebody is there.
    script = (refuses(500, "boom"), step)
    outcome, row, provider, rubrics = ask_once(database, *script, attempts=3, timeout_s=2)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind
    assert len(provider.requests) == 3
    assert (row.status, row.attempts, row.answer) == ("failed", 3, None)
    assert [error["kind"] for error in row.errors] == ["server", kind, kind]
    times = [datetime.fromisoformat(error["at"]) for error in row.errors]
    assert times == sorted(times)
    assert all(error["message"] for error in row.errors)
    assert rubrics == 1  # the failure was derived from, in the same transaction


def test_nobody_listens(database: str) -> None:
    async def work() -> None:
        async with gateway_at(database, "http://127.0.0.1:9/v1", attempts=2) as (gateway, engine):
            with pytest.raises(ProviderRefusedError, match="no usable answer yet") as refused:
                await gateway.ask(a_call("k"), as_rubric("r"))
            assert "127.0.0.1:9/v1" in refused.value.message
            assert "base_url of [real]" in refused.value.remedy
            row = calls(engine)["k"]
            assert row.attempts == 2
            assert [error["kind"] for error in row.errors] == ["connection", "unreachable"]
            # It is missing, not failed, so the next run asks again.
            assert count(engine, t.Rubric) == 0

    run(work())


@pytest.mark.parametrize(
    "step", [replies(200, "<html>Log in</html>"), resets_connection], ids=["html", "reset"]
)
def test_only_a_provider_that_never_answered_is_out_of_reach(database: str, step: Step) -> None:
    async def work() -> None:
        async with (
            misbehaving(answers(), step) as provider,
            gateway_at(database, provider.base_url, attempts=2) as (gateway, _),
        ):
            _, outcome = await gateway.ask(a_call("first"), no_rows)
            assert isinstance(outcome, Answer)
            _, outcome = await gateway.ask(a_call("second"), as_rubric("r"))
            assert isinstance(outcome, Failure)
        async with (
            misbehaving(step) as provider,
            gateway_at(database, provider.base_url, attempts=2) as (gateway, _),
        ):
            with pytest.raises(ProviderRefusedError):
                await gateway.ask(a_call("third"), as_rubric("r"))
            assert len(provider.requests) == 2

    run(work())


def test_an_address_that_serves_web_pages_is_given_up_before_the_last_attempt(
    database: str,
) -> None:
    async def work() -> None:
        async with (
            misbehaving(replies(200, "<!DOCTYPE html><html>Log in</html>")) as provider,
            gateway_at(database, provider.base_url, attempts=20) as (gateway, _),
        ):
            with pytest.raises(ProviderRefusedError) as refused:
                await gateway.ask(a_call("k"), no_rows)
            assert len(provider.requests) == ENOUGH_ALIKE
            assert a_call("k").model in refused.value.message
            assert f"{provider.base_url} answers with a web page" in refused.value.message
            assert "base_url of [real]" in refused.value.remedy

    run(work())


def test_a_path_that_an_address_lacks_is_named_with_the_address(database: str) -> None:
    """OpenAI's answer where `/v1` is left out of the base URL."""

    async def work() -> None:
        async with (
            misbehaving(refuses(404, "Invalid URL (POST /chat/completions)")) as provider,
            gateway_at(database, provider.base_url) as (gateway, _),
        ):
            with pytest.raises(ProviderRefusedError, match="Invalid URL") as refused:
                await gateway.ask(a_call("k"), no_rows)
            assert provider.base_url in refused.value.remedy
            assert "base_url of [real]" in refused.value.remedy

    run(work())


@pytest.mark.parametrize(
    ("given", "shown"),
    [({}, ""), ({"OWN_URL": "http://127.0.0.1:9/api"}, "http://127.0.0.1:9/api")],
    ids=["litellms-own", "by-variable"],
)
def test_a_model_that_is_not_found_names_the_variable_of_the_address(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], shown: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    provider = ProviderTable(name="openai", base_url_env="OWN_URL")
    _, remedy = refusal("openai/a", provider, ProviderError("not_found", "no such model"))
    assert "base_url or OWN_URL of [openai]" in remedy
    assert shown in remedy
    assert ("http" in remedy) == bool(shown)


def test_prompts_that_are_all_over_the_context_are_not_sent(database: str) -> None:
    """gpt-4 takes 8,192 tokens; "the " repeated is a token each time."""
    providers = Providers(
        {"openai": ProviderTable(name="openai", base_url="http://127.0.0.1:9/v1")}, Path("p.toml")
    )

    def asked(key: str, words: int) -> Call:
        return a_call(key, "the " * words, model="openai/gpt-4")

    check_context(providers, [asked("short", 8000), asked("long", 9000)])
    check_context(providers, [a_call("unlisted", "the " * 9000, model="openai/judge-1")])
    with pytest.raises(ContextError) as error:
        check_context(providers, [asked("longer", 9500), asked("long", 9000)])
    assert "openai/gpt-4 takes prompts of at most 8,192 tokens" in error.value.message
    assert "the shortest of the next 2 (rubricer) has 9,0" in error.value.message


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        pytest.param(refuses(400, "no such parameter"), "bad_request", id="400"),
        pytest.param(refuses(422, "cannot be processed"), "bad_request", id="422"),
        pytest.param(refuses(413, "request too large"), "context_too_long", id="413"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(database: str, step: Step, kind: str) -> None:
    outcome, row, provider, rubrics = ask_once(database, step)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind
    assert (len(provider.requests), row.attempts, rubrics) == (1, 1, 1)
    assert isinstance(readable(outcome), NoAnswer)


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        pytest.param(refuses(401, f"Incorrect key: {KEY}", "invalid_api_key"), KEY_NAME, id="401"),
        pytest.param(refuses(404, "no such model", "model_not_found"), "name", id="404"),
        pytest.param(refuses(400, "Your credit balance is too low"), "credit", id="balance"),
    ],
)
def test_what_every_call_would_meet_stops_the_run(database: str, step: Step, remedy: str) -> None:
    async def work() -> None:
        async with (
            misbehaving(step) as provider,
            gateway_at(database, provider.base_url, concurrency=1) as (gateway, engine),
        ):
            ends = await asyncio.gather(
                *(gateway.ask(a_call(f"k{n}"), as_rubric(f"r{n}")) for n in range(5)),
                return_exceptions=True,
            )
            assert all(isinstance(end, ProviderRefusedError) for end in ends)
            # Whichever of them reaches the user says what to do.
            assert all(remedy in end.remedy for end in ends)  # type: ignore[union-attr]
            assert len(provider.requests) == 1
            assert count(engine, t.Rubric) == 0
            rows = calls(engine)
            assert sorted(row.status for row in rows.values()) == ["failed"] + ["planned"] * 4
            assert sum(row.attempts for row in rows.values()) == 1

    run(work())


def test_a_run_after_the_remedy_asks_what_was_refused(database: str) -> None:
    refused, row, _, _ = ask_once(database, refuses(401, "wrong key"))
    assert isinstance(refused, ProviderRefusedError)
    outcome, row, _, rubrics = ask_once(database, answers("kept"))
    assert isinstance(outcome, Answer)
    assert (row.status, row.attempts, rubrics) == ("succeeded", 2, 1)
    assert [error["kind"] for error in row.errors] == ["authentication"]


def test_a_missing_key_is_the_users_to_mend(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_NAME)
    error, row, provider, _ = ask_once(database, answers())
    assert isinstance(error, ConfigError)
    assert KEY_NAME in error.remedy
    assert provider.requests == []
    assert row is None


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(
            answers("x"),
            {"text": "x", "prompt_tokens": 7, "completion_tokens": 3, "cost_usd": None},
            id="unmapped-model",
        ),
        pytest.param(
            answers("x", usage=...),
            {"prompt_tokens": None, "completion_tokens": None, "cost_usd": None},
            id="no-usage",
        ),
        pytest.param(answers(""), {"text": "", "finish_reason": "stop"}, id="empty"),
        pytest.param(answers(None), {"text": "", "finish_reason": "stop"}, id="null-content"),
        pytest.param(
            answers("cut", finish_reason="length"), {"finish_reason": "length"}, id="length"
        ),
        pytest.param(answers("a\x00b\ud800c"), {"text": "a\ufffdb\ufffdc"}, id="unstorable"),
        pytest.param(
            answers("y" * 300_000),
            {"text": "y" * 200_000, "finish_reason": "length"},
            id="endless",
        ),
    ],
)
def test_odd_answers_are_kept_as_they_are(
    database: str, step: Step, expected: dict[str, Any]
) -> None:
    outcome, row, _, _ = ask_once(database, step)
    assert isinstance(outcome, Answer)
    assert not outcome.simulated
    assert {name: getattr(outcome, name) for name in expected} == expected
    assert row.answer == outcome.text
    assert row.cost_usd == outcome.cost_usd


def test_a_priced_model_has_its_cost(database: str) -> None:
    async def work() -> None:
        usage = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
        async with (
            misbehaving(answers(usage=usage, model="gpt-4o-mini")) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            await gateway.ask(a_call("k", model="real/gpt-4o-mini"), no_rows)
            # 1000 at $0.15 and 500 at $0.60 a million.
            assert float(calls(engine)["k"].cost_usd) == pytest.approx(0.00015 + 0.0003)

    run(work())


def test_a_model_in_no_list_stays_without_a_price(database: str) -> None:
    """litellm is told of it, and would take what has no price for free."""

    async def work() -> None:
        async with (
            misbehaving(answers()) as provider,
            gateway_at(database, provider.base_url) as (gateway, _),
        ):
            for key in "ab":
                _, outcome = await gateway.ask(a_call(key, model="real/unheard-of"), no_rows)
                assert isinstance(outcome, Answer)
                assert outcome.cost_usd is None

    run(work())
    real = providers_at("").by_name["real"]
    assert listed_price(real, "unheard-of") is None
    assert listed_price(real, "gpt-4o-mini") == Price(prompt=0.15, completion=0.6, cached=0.075)


def test_an_answer_that_was_not_kept_names_its_maker_and_its_tokens(database: str) -> None:
    _, row, _, _ = ask_once(database, answers("VERD", finish_reason="length"), answers())
    (discarded,) = row.errors
    assert (discarded["kind"], discarded["answer"]) == ("truncated", "VERD")
    assert (discarded["served_model"], discarded["finish_given"]) == ("m", "length")
    assert (discarded["prompt_tokens"], discarded["completion_tokens"]) == (7, 3)
    # The row has what both used.
    assert (row.prompt_tokens, row.completion_tokens, row.finish_reason) == (14, 6, "stop")


def test_a_refused_call_keeps_the_body_that_was_refused(database: str) -> None:
    outcome, row, provider, _ = ask_once(database, refuses(400, "no such role"))
    assert isinstance(outcome, Failure)
    (sent,) = provider.requests
    assert row.sent_body == {name: sent[name] for name in sent if name != "messages"}
    assert KEY not in str(row.sent_body)


def test_what_is_sent_is_what_the_ledger_says(database: str) -> None:
    _, row, provider, _ = ask_once(database, answers())
    (sent,) = provider.requests
    assert sent["messages"] == row.messages
    assert {name: sent[name] for name in row.parameters} == row.parameters
    assert sent["model"] == "m"
    assert row.sent_body == {name: sent[name] for name in sent if name != "messages"}
    assert (row.served_model, row.response_id, row.finish_given) == ("m", "chatcmpl-1", "stop")
    assert provider.keys == [f"Bearer {KEY}"]


def test_no_more_requests_in_flight_than_the_provider_allows(database: str) -> None:
    in_flight: list[int] = []
    now = 0
    full = asyncio.Event()

    async def counted(request: web.Request) -> web.StreamResponse:
        nonlocal now
        now += 1
        in_flight.append(now)
        if now == 3:
            full.set()
        await full.wait()
        # Long enough for one too many to come.
        await asyncio.sleep(0.02)
        now -= 1
        return await answers()(request)

    async def work() -> None:
        async with (
            misbehaving(counted) as provider,
            gateway_at(database, provider.base_url, concurrency=12) as (gateway, _),
        ):
            await asyncio.gather(*(gateway.ask(a_call(f"k{n}"), no_rows) for n in range(12)))

    run(work())
    # A quarter of twelve: outside a chunk a request has the share of one of four slots.
    assert max(in_flight) == 3


def test_a_key_reaches_no_table(database: str) -> None:
    """Not even when the provider repeats the key in its refusals and answers."""

    async def work() -> None:
        script: Sequence[Step] = (
            refuses(500, f"no worker for {KEY}"),
            refuses(400, f"bad request with {KEY}"),
            answers(f"fine, with {KEY}"),
            refuses(401, f"Incorrect API key provided: {KEY}"),
        )
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url) as (gateway, _),
        ):
            await gateway.ask(a_call("bad"), as_rubric("bad"))
            await gateway.ask(a_call("good"), as_rubric("good"))
            with pytest.raises(ProviderRefusedError) as refused:
                await gateway.ask(a_call("refused"), as_rubric("refused"))
            assert KEY not in str(refused.value)
            assert provider.keys == [f"Bearer {KEY}"] * 4

    run(work())
    engine = sa.create_engine(database)
    with engine.connect() as connection:
        text = "\n".join(
            repr(row._mapping)
            for table in t.Base.metadata.sorted_tables
            for row in connection.execute(sa.select(table))
        )
    engine.dispose()
    assert "no worker for [key]" in text
    assert "fine, with [key]" in text
    assert KEY not in text


@pytest.mark.slow
def test_litellm_is_quiet_on_import() -> None:
    """No price list is fetched and no .env file read: that would stall, or leak, an offline run."""
    program = "import judge_gym.llm.client"
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("first", [answers(""), answers("Half an", finish_reason="length")])
def test_an_empty_or_cut_answer_is_asked_for_once_more_and_both_are_paid(
    database: str, first: Step
) -> None:
    async def work() -> None:
        async with (
            misbehaving(first, answers("Whole.")) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            _, outcome = await gateway.ask(a_call("k"), no_rows)
            assert isinstance(outcome, Answer)
            assert outcome.text == "Whole."
            assert len(provider.requests) == 2
            with engine.connect() as connection:
                row = connection.execute(sa.select(t.Call)).one()
            (error,) = row.errors
            assert error["kind"] == ("empty" if not error["answer"] else "truncated")
            assert (row.attempts, row.status) == (2, "succeeded")
            # 3 tokens each (misbehaving.py).
            assert row.completion_tokens == outcome.completion_tokens == 6

    run(work())


UNSUPPORTED = "Unsupported value: 'temperature' does not support 0 with this model."


def test_a_refused_parameter_is_left_out_for_the_rest_of_the_run_and_recorded(
    database: str,
) -> None:
    async def work() -> None:
        async with (
            misbehaving(refuses(400, UNSUPPORTED, "unsupported_value"), answers()) as provider,
            gateway_at(database, provider.base_url, concurrency=1, attempts=1) as (gateway, engine),
        ):
            for key in ("k", "l"):
                _, outcome = await gateway.ask(a_call(key), no_rows)
                assert isinstance(outcome, Answer)
            sent = [sorted(body) for body in provider.requests]
            assert ["temperature" in names for names in sent] == [True, False, False]
            rows = calls(engine)
            assert [rows[key].attempts for key in "kl"] == [2, 1]
            for row in rows.values():
                assert row.parameters["temperature"] == 0
                assert row.sent_parameters == {"top_p": 1, "max_tokens": 50, "seed": 1}
                assert row.not_applied == ["temperature"]

    run(work())


def test_a_refused_parameter_that_must_be_applied_fails_the_calls_that_set_it(
    database: str,
) -> None:
    async def work() -> None:
        async with (
            misbehaving(refuses(400, UNSUPPORTED, "unsupported_value"), answers()) as provider,
            gateway_at(database, provider.base_url, concurrency=1, attempts=1) as (gateway, engine),
        ):
            for key in ("k", "l"):
                call = a_call(key, must_apply=frozenset({"temperature"}))
                _, outcome = await gateway.ask(call, no_rows)
                assert isinstance(outcome, Failure)
                assert outcome.kind == "bad_request"
                assert "real/m does not apply temperature 0" in outcome.message
            # Another value of it is unknown to be the model's default, and no axis.
            _, outcome = await gateway.ask(a_call("m"), no_rows)
            assert isinstance(outcome, Answer)
            assert len(provider.requests) == 2
            rows = calls(engine)
            assert [rows[key].status for key in "klm"] == ["failed", "failed", "succeeded"]
            assert [rows[key].attempts for key in "klm"] == [1, 0, 1]

    run(work())


def test_what_is_refused_again_or_names_no_parameter_is_a_failure(database: str) -> None:
    outcome, row, provider, _ = ask_once(database, refuses(400, UNSUPPORTED, "unsupported_value"))
    assert isinstance(outcome, Failure)
    assert (len(provider.requests), row.attempts) == (2, 2)


CUT = answers("", finish_reason="length")
IN_WORDS = refuses(
    400,
    "Could not finish the message because max_tokens or model output limit was reached. "
    "Please try again with higher max_tokens.",
)


@pytest.mark.parametrize("step", [CUT, IN_WORDS], ids=["empty", "400"])
def test_an_answer_that_thinking_left_no_room_for_is_a_failure_that_is_not_bought_again(
    database: str, step: Step
) -> None:
    async def work() -> None:
        async with misbehaving(step, step, answers("Whole.")) as provider:
            for limit, requests in ((50, 1), (50, 1), (60, 2), (70, 3)):
                async with gateway_at(database, provider.base_url) as (gateway, _):
                    parameters = Parameters(temperature=0, top_p=1, max_tokens=limit, seed=1)
                    call = a_call("k", parameters=parameters)
                    _, outcome = await gateway.ask(call, no_rows)
                    assert len(provider.requests) == requests
                if limit == 70:
                    assert isinstance(outcome, Answer)
                else:
                    assert isinstance(outcome, Failure)
                    assert outcome.kind == "output_limit"
                    assert f"limit of {limit} tokens" in outcome.message
                    assert 'thinking_tokens in table [real.models."m"]' in outcome.message
                    assert "providers.toml" in outcome.message

    run(work())


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("[1, 2]", "[1, 2]"),
        ({"choices": []}, "choices is empty"),
        ({"choices": [], "output": "A"}, "choices is empty"),
        ({"output": "A"}, "output"),
    ],
    ids=["list", "no-choices", "no-choices-beside", "other-form"],
)
def test_a_body_that_is_not_understood_is_bought_once(database: str, body: Any, word: str) -> None:
    outcome, row, provider, _ = ask_once(database, replies(200, body), answers("kept"))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, row.attempts, len(provider.requests)) == ("unreadable", 1, 1)
    assert "may have been billed" in outcome.message
    assert word in outcome.message
    assert row.errors[0].keys() >= {AT_MOST}


PRICES = {"m": Price(prompt=1e5, completion=1e5)}
"""0.1 US dollars a token."""
MOST = (len("question") // 4 + 50) * 0.1
"""US dollars that a request of `a_call` costs at most."""


@pytest.mark.parametrize(
    ("first", "bounds"),
    [
        (cuts_connection, [MOST]),
        (resets_connection, [MOST]),
        (replies(200, '{"choices": [{"mess'), [MOST]),
        (refuses(429, "slow"), []),
        (refuses(500, "boom"), []),
    ],
    ids=["cut", "reset", "half-a-body", "refused", "server-error"],
)
def test_a_request_without_answer_or_refusal_may_have_been_billed(
    database: str, monkeypatch: pytest.MonkeyPatch, first: Step, bounds: list[float]
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)

    async def work() -> None:
        async with (
            misbehaving(first, answers("kept")) as provider,
            gateway_at(database, provider.base_url, prices=PRICES) as (gateway, engine),
        ):
            call_id, outcome = await gateway.ask(a_call("k"), no_rows)
            assert isinstance(outcome, Answer)
            row = calls(engine)["k"]
            assert [error[AT_MOST] for error in row.errors if AT_MOST in error] == bounds
            assert row.at_most_usd is None
            with Session(engine) as session:
                paid = cost_of(session, [call_id])
            assert paid == Paid(pytest.approx(1.0), len(bounds), pytest.approx(sum(bounds)))

    run(work())


def test_an_answer_without_counts_is_bounded_by_its_bytes_and_the_limit(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)

    async def work() -> None:
        async with (
            misbehaving(answers("kept", usage=...), answers("k" * 500, usage=...)) as provider,
            gateway_at(database, provider.base_url, prices=PRICES) as (gateway, engine),
        ):
            ids = [(await gateway.ask(a_call(key), no_rows))[0] for key in "ab"]
            rows = calls(engine)
            assert {row.cost_usd for row in rows.values()} == {None}
            # Two bytes a token at most, and one token more; no more than the limit of 50.
            prompt = len("question") // 2 + 1
            bounds = [(prompt + 3) * 0.1, (prompt + 50) * 0.1]
            assert [float(rows[key].at_most_usd) for key in "ab"] == pytest.approx(bounds)
            with Session(engine) as session:
                assert cost_of(session, ids) == Paid(0.0, 2, pytest.approx(sum(bounds)))

    run(work())


def test_a_slow_model_is_paid_for_twice_at_most_and_is_not_out_of_reach(database: str) -> None:
    outcome, row, provider, _ = ask_once(database, stays_silent, attempts=4, timeout_s=0.5)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, len(provider.requests), row.attempts) == ("timeout", 2, 2)
    assert "call_timeout_s" in outcome.message
    assert "2 requests may have been billed" in outcome.message


TOOL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [TOOL]},
        {"role": "assistant", "content": "", "reasoning_content": "VERDICT: A"},
    ],
    ids=["tool", "reasoning"],
)
def test_an_answer_in_another_place_stops_the_model_after_the_first(
    database: str, monkeypatch: pytest.MonkeyPatch, message: dict[str, Any]
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)

    async def work() -> None:
        async with (
            misbehaving(answers(message=message)) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            _, outcome = await gateway.ask(a_call("first"), no_rows)
            assert isinstance(outcome, Answer)
            with pytest.raises(ModelStoppedError) as stopped:
                await gateway.ask(a_call("second"), no_rows)
            assert in_place_of_text(outcome).split(";")[0] in stopped.value.message
            assert len(provider.requests) == 1
            assert calls(engine).keys() == {"first"}

    run(work())


def test_a_prompt_that_was_not_read_to_its_end_is_marked(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)
    read = {"prompt_tokens": 2050, "completion_tokens": 3, "total_tokens": 2053}
    texts = {"words": "a word " * 4000, "unspaced": "x" * 130_000, "cjk": "検査" * 10_000,
             "whole": "a word " * 1000}  # fmt: skip

    async def work() -> None:
        async with (
            misbehaving(answers(usage=read)) as provider,
            gateway_at(database, provider.base_url) as (gateway, engine),
        ):
            ids = [(await gateway.ask(a_call(key, text), no_rows))[0]
                   for key, text in texts.items()]  # fmt: skip
            words = {key: row.prompt_words for key, row in calls(engine).items()}
            assert words == {"words": 8000, "unspaced": 8125, "cjk": 5001, "whole": None}
            with Session(engine) as session:
                assert unread_of(session, ids) == [TruncatedPrompts("real/m", 3, 2050, 8125)]

    run(work())
