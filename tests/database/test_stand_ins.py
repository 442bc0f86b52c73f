"""Stand-ins for vendors' models: they refuse what the real ones do, and the gateway copes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import sqlalchemy as sa

from judge_gym.llm.batches.submitting import Batches
from judge_gym.llm.gateway import Gateway, ProviderRefusedError
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.records.calls import Answer, Failure, Parameters
from judge_gym.settings import REPOSITORY
from judge_gym.simulator.server import serving
from support.rig import a_call, calls, no_rows, run

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries"),
]

CLAUDE, GPT, GEMINI = "claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-flash"
ASK = [{"role": "user", "content": "Hello?"}]


def raw(method: str, model: str, **fields: Any) -> tuple[int, Any]:
    """Post a request as a vendor's API has it; returns status and body."""
    shapes: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
        "openai": ("/chat/completions", {}, {"model": model, "messages": ASK}),
        "anthropic": (
            "/messages",
            {"x-api-key": "k", "anthropic-version": "2023-06-01"},
            {"model": model, "messages": ASK},
        ),
        "gemini": (
            f"beta/models/{model}:generateContent",
            {"x-goog-api-key": "k"},
            {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
        ),
    }
    path, headers, body = shapes[method]

    async def work() -> tuple[int, Any]:
        async with (
            serving() as url,
            aiohttp.ClientSession(headers=headers) as session,
            session.post(url + path, json=body | fields) as response,
        ):
            return response.status, await response.json()

    answered: tuple[int, Any] = run(work())
    return answered


@pytest.mark.parametrize(
    ("model", "fields", "parameter", "code", "said"),
    [
        (GPT, {"temperature": 0}, "temperature", "unsupported_value",
         "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
         "(1) value is supported."),
        (GPT, {"max_tokens": 100}, "max_tokens", "unsupported_parameter",
         "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' instead."),
        ("o3", {"top_p": 0.5}, "top_p", "unsupported_parameter",
         "Unsupported parameter: 'top_p' is not supported with this model."),
        (GPT, {"max_completion_tokens": 8}, None, None,
         "Could not finish the message because max_tokens or model output limit was reached. "
         "Please try again with higher max_tokens."),
    ],
)  # fmt: skip
def test_openais_reasoning_models_refuse_in_its_words(
    model: str, fields: dict[str, Any], parameter: str | None, code: str | None, said: str
) -> None:
    status, body = raw("openai", model, **fields)
    assert status == 400
    kind = "invalid_request_error"
    assert body == {"error": {"message": said, "type": kind, "param": parameter, "code": code}}


def test_an_openai_model_that_only_thought_answers_nothing() -> None:
    status, body = raw("openai", GPT, max_completion_tokens=64)
    assert status == 200
    (choice,) = body["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "length")
    assert body["usage"]["completion_tokens_details"] == {"reasoning_tokens": 64}
    assert body["usage"]["completion_tokens"] == 64


@pytest.mark.parametrize(
    ("model", "fields", "said"),
    [
        (CLAUDE, {"temperature": 0.5, "top_p": 0.9},
         "`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        ("claude-opus-4-7", {"temperature": 0}, "`temperature` is deprecated for this model."),
        ("claude-opus-4-7", {"thinking": {"type": "enabled", "budget_tokens": 1024}},
         '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
         'and "output_config.effort" to control thinking behavior.'),
        (CLAUDE, {"thinking": {"type": "enabled", "budget_tokens": 2000}},
         "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (CLAUDE, {"seed": 1}, "seed: Extra inputs are not permitted"),
        (CLAUDE, {"max_tokens": None}, "max_tokens: Input should be a valid integer"),
    ],
)  # fmt: skip
def test_claude_refuses_in_anthropics_words(model: str, fields: dict[str, Any], said: str) -> None:
    status, body = raw("anthropic", model, **{"max_tokens": 2000} | fields)
    assert status == 400
    assert body["error"] == {"type": "invalid_request_error", "message": said}
    assert (body["type"], body["request_id"][:4]) == ("error", "req_")


def test_claude_takes_the_default_temperature_and_answers_in_blocks() -> None:
    status, body = raw("anthropic", "claude-opus-4-7", max_tokens=50, temperature=1)
    assert (status, body["type"], body["stop_reason"]) == (200, "message", "end_turn")
    assert "simulator" in body["content"][0]["text"]


def test_gemini_that_only_thought_has_no_parts() -> None:
    status, body = raw("gemini", GEMINI, generationConfig={"maxOutputTokens": 64})
    assert status == 200
    (candidate,) = body["candidates"]
    assert (candidate["content"], candidate["finishReason"]) == ({"role": "model"}, "MAX_TOKENS")
    assert body["usageMetadata"] == {
        "promptTokenCount": 2, "thoughtsTokenCount": 64, "totalTokenCount": 66,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "config", "said"),
    [
        ("gemini-2.5-pro", {"thinkingConfig": {"thinkingBudget": 0}},
         "Budget 0 is invalid. This model only works in thinking mode."),
        (GEMINI, {"sed": 1}, "Invalid JSON payload received. Unknown name \"sed\" at "
         "'generationConfig': Cannot find field."),
    ],
)  # fmt: skip
def test_gemini_refuses_in_googles_words(model: str, config: dict[str, Any], said: str) -> None:
    status, body = raw("gemini", model, generationConfig=config)
    assert status == 400
    assert body == {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}


def test_gemini_3_6_samples_alike_at_any_temperature() -> None:
    answers = [
        raw("gemini", "gemini-3.6-flash", generationConfig={"temperature": value, "seed": 5})
        for value in (0, 2)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


@dataclass
class Vendors:
    """A gateway whose three vendors are stand-ins, as the shipped providers file has them."""

    gateway: Gateway
    engine: sa.Engine
    providers: Providers
    url: str

    def room_for_thinking(self, vendor: str, tokens: int) -> None:
        """Set `thinking_tokens` of a vendor, before its first call."""
        placed = self.providers.by_name
        placed[vendor] = placed[vendor].model_copy(update={"thinking_tokens": tokens})

    async def stats(self) -> dict[str, Any]:
        where = self.url.removesuffix("/v1") + "/stats"
        async with aiohttp.ClientSession() as session, session.get(where) as response:
            body: dict[str, Any] = await response.json()
            return body


@asynccontextmanager
async def vendors(database: str, faults: Path | None = None) -> AsyncIterator[Vendors]:
    async with serving(faults=faults, batch_seconds=0) as url:
        shipped = load_providers(REPOSITORY / "deployments" / "providers.toml")
        root = url.removesuffix("/v1")
        at = {"openai": url, "anthropic": root, "gemini": f"{root}/v1beta"}
        placed = {
            name: shipped.by_name[name].model_copy(
                update={
                    "base_url": address,
                    "base_url_env": "",
                    "key_env": "",
                    "batch": name == "openai",
                }
            )
            for name, address in at.items()
        }
        engine = sa.create_engine(database)
        providers = Providers(placed, shipped.file)
        gateway = Gateway(engine, providers, attempts=3, timeout_s=20)
        try:
            yield Vendors(gateway, engine, providers, url)
        finally:
            await gateway.close()
            engine.dispose()


def asked(temperature: float, top_p: float, max_tokens: int = 2000) -> Parameters:
    return Parameters(temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=3)


@pytest.mark.parametrize(
    ("model", "parameters", "not_applied"),
    [
        ("openai/gpt-5-mini", asked(0, 0.9), ["temperature", "top_p"]),
        ("openai/gpt-5-mini", asked(1, 1), []),
        # litellm's list sends it; the stand-in refuses, and that teaches.
        ("openai/gpt-5.1", asked(0, 0.9), ["temperature", "top_p"]),
        ("anthropic/claude-sonnet-4-5", asked(0, 1), ["seed"]),
        ("anthropic/claude-opus-4-7", asked(0, 1), ["seed", "temperature"]),
        # In no list: the refusal of both teaches which one to leave out.
        ("anthropic/claude-sonnet-7", asked(0, 1), ["seed", "temperature"]),
        ("gemini/gemini-2.5-flash", asked(0, 0.9), []),
        ("gemini/gemini-3.6-flash", asked(0, 1), ["temperature", "top_p"]),
    ],
)
def test_the_gateway_is_answered_and_records_what_was_not_applied(
    database: str, model: str, parameters: Parameters, not_applied: list[str]
) -> None:
    async def work() -> None:
        async with vendors(database) as to:
            call = a_call("k", "Hello?", model=model, parameters=parameters)
            _, outcome = await to.gateway.ask(call, no_rows)
            assert isinstance(outcome, Answer), outcome
            assert "simulator" in outcome.text
            assert outcome.simulated
            assert outcome.finish_reason == "stop"
            assert outcome.prompt_tokens == 2
            row = calls(to.engine)["k"]
            assert row.not_applied == not_applied
            assert row.parameters == parameters.asked()
            kept = row.sent_parameters.keys() & {"temperature", "top_p", "seed"}
            assert not kept & set(not_applied)

    run(work())


@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "gemini/gemini-2.5-flash"])
def test_thinking_without_room_for_an_answer_fails_with_the_remedy(
    database: str, model: str
) -> None:
    async def work() -> None:
        async with vendors(database) as to:
            to.room_for_thinking(model.partition("/")[0], 64)
            call = a_call("k", "Hello?", model=model, parameters=asked(1, 1, 16))
            _, outcome = await to.gateway.ask(call, no_rows)
            assert isinstance(outcome, Failure)
            assert outcome.kind == "output_limit"
            assert "limit of 80 tokens (max_tokens 16, thinking 64)" in outcome.message
            assert (await to.stats())["total"] == 1

    run(work())


@pytest.mark.parametrize(
    "model", ["openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]
)
@pytest.mark.parametrize("status", [503, 529])
def test_an_overloaded_vendor_is_asked_again(
    database: str, tmp_path: Path, model: str, status: int
) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(f'[[fault]]\nkind = "server_error"\nstatus = {status}\nmax_count = 2\n')

    async def work() -> None:
        async with vendors(database, faults) as to:
            call = a_call("k", "Hello?", model=model, parameters=asked(1, 1))
            _, outcome = await to.gateway.ask(call, no_rows)
            assert isinstance(outcome, Answer)
            row = calls(to.engine)["k"]
            assert [error["kind"] for error in row.errors] == ["server", "server"]

    run(work())


def test_an_account_without_credit_is_asked_once(database: str, tmp_path: Path) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text('[[fault]]\nkind = "rate_limit"\ncode = "credit_balance_exhausted"\n')

    async def work() -> None:
        async with vendors(database, faults) as to:
            ends = await asyncio.gather(
                *(to.gateway.ask(a_call(key, model="openai/gpt-5-mini"), no_rows) for key in "klm"),
                return_exceptions=True,
            )
            assert {type(end) for end in ends} == {ProviderRefusedError}
            stats = await to.stats()
            assert stats["faults"] == {"rate_limit": stats["refused"]}
            assert all(row.attempts <= 1 for row in calls(to.engine).values())

    run(work())


@pytest.mark.parametrize(("room", "answered"), [(4000, True), (64, False)])
def test_a_batch_sends_what_a_direct_call_does_and_thinking_is_not_bought_twice(
    database: str, room: int, answered: bool
) -> None:
    model = "openai/gpt-5-mini"

    async def work() -> None:
        async with vendors(database) as to:
            to.room_for_thinking("openai", room)
            asks = [a_call(key, "Hello?", model=model, parameters=asked(0, 1, 16)) for key in "klm"]
            desk = Batches(to.engine, to.providers, Keys(), 20)
            await desk.submit(model, [row.id for row in await to.gateway.open(asks)])
            while any(row.waiting for row in await to.gateway.open(asks)):
                assert await desk.collect() == []
            outcomes = [(await to.gateway.ask(call, no_rows))[1] for call in asks]
            stats = await to.stats()
            assert (stats["batch_lines"], stats["total"]) == (3, 3)
            for row in calls(to.engine).values():
                assert row.not_applied == ["temperature"]
                assert row.sent_parameters["max_tokens"] == 16 + room
            if answered:
                assert all(isinstance(outcome, Answer) for outcome in outcomes)
            else:
                for outcome in outcomes:
                    assert isinstance(outcome, Failure)
                    assert outcome.kind == "output_limit"

    run(work())
