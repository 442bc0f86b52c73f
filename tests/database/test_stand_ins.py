"""Stand-ins for vendors' models: they refuse what the real ones do, and the gateway copes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import sqlalchemy as sa

from judge_gym.llm.batches.submitting import Batches
from judge_gym.llm.gateway import Gateway
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Providers
from judge_gym.records.calls import Answer, Failure, Parameters
from judge_gym.simulator.server import serving
from support.rig import a_call, calls, no_rows, run
from support.vendors import SHIPPED, WIRES

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries"),
]

CLAUDE, GPT, GEMINI = "claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-flash"
ASK = [{"role": "user", "content": "Hello?"}]


OPENAIS = {
    "openai": "/v1",
    "mistral": "/mistral/v1",
    "xai": "/xai/v1",
    "deepseek": "/deepseek",
    "openrouter": "/openrouter/api/v1",
    "groq": "/groq/openai/v1",
    "ollama": "/ollama/v1",
    "vllm": "/vllm/v1",
}
"""Where the APIs are that take a request as OpenAI's does."""


def raw(
    method: str, model: str, faults: Path | None = None, version: str = "2023-06-01", **fields: Any
) -> tuple[int, Any]:
    """Post a request as a vendor's API has it; returns status and body."""
    headers: dict[str, str] = {}
    body: dict[str, Any] = {"model": model, "messages": ASK}
    path = f"{OPENAIS.get(method, '')}/chat/completions"
    if method == "anthropic":
        path, headers = "/v1/messages", {"x-api-key": "k", "anthropic-version": version}
    elif method == "gemini":
        path, headers = f"/v1beta/models/{model}:generateContent", {"x-goog-api-key": "k"}
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]}
    elif method == "azure":
        path = f"/azure/openai/deployments/{model}/chat/completions"
    elif method == "ollama_chat":
        path, body = "/ollama/api/chat", body | {"stream": False}

    async def work() -> tuple[int, Any]:
        async with (
            serving(faults=faults) as url,
            aiohttp.ClientSession(headers=headers) as session,
            session.post(url.removesuffix("/v1") + path, json=body | fields) as response,
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
    assert body["error"] == {"type": "invalid_request_error", "message": said, "details": None}
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


@pytest.mark.parametrize("name", ["temperature", "top_p"])
def test_the_newest_messages_api_takes_no_sampling_parameters(name: str) -> None:
    status, body = raw(
        "anthropic", CLAUDE, version="2026-10-21", max_tokens=50, **{name: 1}
    )  # fmt: skip
    assert (status, body["error"]["message"]) == (400, f"{name}: Extra inputs are not permitted")
    status, body = raw("anthropic", CLAUDE, version="2027-01-01", max_tokens=50)
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("method", "model", "fields", "status", "refused"),
    [
        ("mistral", "mistral-large", {"temperature": 0, "top_p": 0.9}, 400,
         {"message": "top_p must be 1 when using greedy sampling."}),
        ("mistral", "mistral-large", {"temperature": 0, "top_p": 1}, 200, {}),
        ("mistral", "mistral-large", {"random_seed": 3}, 200, {}),
        ("xai", "grok-4.6", {"stop": ["x"]}, 400,
         {"code": "invalid-argument",
          "error": "Model grok-4.6 does not support parameter stop."}),
        ("xai", "grok-4-0709", {"reasoning_effort": "low"}, 400,
         {"error": "Model grok-4-0709 does not support parameter reasoning_effort."}),
        ("xai", "grok-3-mini", {"stop": ["x"], "reasoning_effort": "low"}, 200, {}),
        ("groq", "llama-3.3-70b", {"temperature": 0.5, "seed": 1}, 200, {}),
        ("azure", "my-deployment", {}, 404, {}),
        ("ollama", "sim/nobody", {}, 404, {}),
        ("ollama_chat", "sim/nobody", {}, 404,
         {"error": 'model "sim/nobody" not found, try pulling it first'}),
        ("openrouter", "anthropic/claude-sonnet-4.7",
         {"seed": 1, "provider": {"require_parameters": True}}, 404, {}),
        ("openrouter", "anthropic/claude-sonnet-4.7", {"seed": 1}, 200, {}),
    ],
)  # fmt: skip
def test_apis_like_openais_refuse_in_their_own_words(
    method: str, model: str, fields: dict[str, Any], status: int, refused: dict[str, Any]
) -> None:
    answered, body = raw(method, model, **fields)
    assert answered == status, body
    assert body | refused == body


@pytest.mark.parametrize(
    ("fields", "place", "message"),
    [
        ({"seed": 1}, ["body", "seed"], "Extra inputs are not permitted"),
        ({"temperature": 1.2}, ["body", "temperature"], "Input should be less than or equal to 1"),
    ],
)
def test_mistral_says_which_field_does_not_fit(
    fields: dict[str, Any], place: list[str], message: str
) -> None:
    status, body = raw("mistral", "mistral-large", **fields)
    (detail,) = body["detail"]
    assert (status, detail["loc"], detail["msg"]) == (422, place, message)


def test_deepseek_has_no_schemas_and_no_retired_models() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    status, body = raw("deepseek", "deepseek-v4", response_format=schema)
    assert (status, body["error"]["message"]) == (
        400, "This response_format type is unavailable now",
    )  # fmt: skip
    status, body = raw("deepseek", "deepseek-chat")
    assert (status, body["error"]["message"]) == (400, "Model Not Exist")


def test_deepseek_ignores_the_temperature_while_it_thinks() -> None:
    thinking, not_thinking = (
        [raw("deepseek", "deepseek-v4", temperature=value, thinking={"type": kind})[1]["id"]
         for value in (0, 2)]
        for kind in ("enabled", "disabled")
    )  # fmt: skip
    assert len(set(thinking)) == 1
    assert len(set(not_thinking)) == 2


def test_xai_counts_thinking_beside_the_answer() -> None:
    _, body = raw("xai", "grok-4.6", max_tokens=2500)
    usage = body["usage"]
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    assert thought >= 600
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] + thought


def test_local_servers_have_shapes_of_their_own() -> None:
    ids = {raw("ollama", "llama3.2", seed=seed)[1]["id"] for seed in range(3)}
    assert all(0 <= int(name.removeprefix("chatcmpl-")) < 999 for name in ids)
    _, body = raw("ollama", "llama3.2", max_completion_tokens=3)
    assert (body["choices"][0]["finish_reason"], body["system_fingerprint"]) == (
        "stop",
        "fp_ollama",
    )
    assert raw("ollama", "llama3.2", max_tokens=3)[1]["choices"][0]["finish_reason"] == "length"
    _, body = raw("ollama_chat", "llama3.2", think=True, options={"num_predict": 3000})
    assert {"thinking", "content"} <= body["message"].keys()
    assert (body["done_reason"], body["done"]) == ("stop", True)
    almost_0, raised = (
        raw("vllm", "served", temperature=value)[1]["id"] for value in (0.001, 0.01)
    )
    assert almost_0 == raised
    # The server's own default is 0.7.
    assert raw("vllm", "served")[1]["id"] == raw("vllm", "served", temperature=0.7)[1]["id"]


@pytest.mark.parametrize("where", ["body", "choice"])
def test_openrouter_may_fail_with_status_200(tmp_path: Path, where: str) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text(f'[[fault]]\nkind = "error_in_200"\nwhere = "{where}"\n')
    status, body = raw("openrouter", "openai/gpt-4o", faults)
    assert status == 200
    failed = body if where == "body" else body["choices"][0]
    assert failed["error"]["code"] == 502


def test_a_prompt_longer_than_the_context_is_refused_in_every_apis_words() -> None:
    words = "word " * 140_000
    messages = [{"role": "user", "content": words}]
    for method, model, said in (
        ("openai", "gpt-4o", "maximum context length is 128000 tokens"),
        ("mistral", "mistral-large", "too large for model with 131072 maximum context length"),
        ("vllm", "served", "maximum context length is 131072 tokens"),
    ):
        status, body = raw(method, model, messages=messages)
        assert status == 400
        assert said in str(body)
    long = [{"role": "user", "content": words * 2}]
    status, body = raw("anthropic", CLAUDE, messages=long, max_tokens=10)
    said = "prompt is too long: 280000 tokens > 200000 maximum"
    assert (status, body["error"]["message"]) == (400, said)


def test_gemini_3_6_samples_alike_at_any_temperature() -> None:
    answers = [
        raw("gemini", "gemini-3.6-flash", generationConfig={"temperature": value, "seed": 5})
        for value in (0, 2)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


@dataclass
class Vendors:
    """A gateway whose vendors are stand-ins, as the shipped providers file has them."""

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
async def vendors(database: str) -> AsyncIterator[Vendors]:
    async with serving(batch_seconds=0) as url:
        placed = {
            name: wire.at(url).model_copy(
                update={"key_env": "", "batch": name in ("openai", "anthropic") and name}
            )
            for name, wire in WIRES.items()
        }
        engine = sa.create_engine(database)
        providers = Providers(placed, SHIPPED.file)
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
        # It takes both while it does not think, which the request says.
        ("openai/gpt-5.1", asked(0, 0.9), []),
        ("anthropic/claude-sonnet-4-5", asked(0, 1), ["seed"]),
        ("anthropic/claude-opus-4-7", asked(0, 1), ["seed", "temperature"]),
        # In no list: the refusal of both teaches which one to leave out.
        ("anthropic/claude-sonnet-7", asked(0, 1), ["seed", "temperature"]),
        ("gemini/gemini-2.5-flash", asked(0, 0.9), []),
        ("mistral/mistral-large-latest", asked(0.5, 0.9), []),
        ("openrouter/meta-llama/llama-3.3-70b-instruct", asked(0.5, 0.9), []),
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


@pytest.mark.parametrize(("room", "answered"), [(4000, True), (64, False)])
def test_a_batch_sends_what_a_direct_call_does_and_thinking_is_not_bought_twice(
    database: str, room: int, answered: bool
) -> None:
    model = "openai/gpt-5-mini"

    async def work() -> None:
        async with vendors(database) as to:
            to.room_for_thinking("openai", room)
            asks = [a_call(key, "Hello?", model=model, parameters=asked(0, 1, 16)) for key in "klm"]
            desk = Batches(to.engine, to.providers, Keys(), 20, to.gateway)
            await desk.submit(model, [row.id for row in await to.gateway.open(asks)])
            while any(row.waiting for row in await to.gateway.open(asks)):
                assert await desk.collect() == []
            outcomes = [(await to.gateway.ask(call, no_rows))[1] for call in asks]
            stats = await to.stats()
            assert (stats["batch_lines"], stats["total"]) == (3, 3)
            for row in calls(to.engine).values():
                assert row.not_applied == ["temperature"]
                assert row.sent_parameters["max_completion_tokens"] == 16 + room
            if answered:
                assert all(isinstance(outcome, Answer) for outcome in outcomes)
            else:
                for outcome in outcomes:
                    assert isinstance(outcome, Failure)
                    assert outcome.kind == "output_limit"

    run(work())


@pytest.mark.parametrize(
    ("name", "wanted", "lost", "thinks"),
    [
        ("claude-sonnet-4-5", {"temperature": 0}, ["seed"], False),
        ("claude-sonnet-4-5", {"reasoning_effort": "low"}, ["seed"], True),
        ("claude-opus-4-7", {"reasoning_effort": "high"}, ["seed"], True),
        ("claude-opus-4-7", {"temperature": 0}, ["seed", "temperature"], False),
    ],
)
def test_a_message_batch_fills_the_ledger_as_direct_calls_do(
    database: str, name: str, wanted: dict[str, Any], lost: list[str], thinks: bool
) -> None:
    model = f"anthropic/{name}"
    parameters = Parameters(**{"temperature": 1, "top_p": 1, "max_tokens": 50, "seed": 3} | wanted)

    async def work() -> None:
        async with vendors(database) as to:
            asks = [a_call(key, "Hello?", model=model, parameters=parameters) for key in "klm"]
            desk = Batches(to.engine, to.providers, Keys(), 20, to.gateway)
            await desk.submit(model, [row.id for row in await to.gateway.open(asks)])
            while any(row.waiting for row in await to.gateway.open(asks)):
                assert await desk.collect() == []
            await to.gateway.ask(a_call("n", "Hello?", model=model, parameters=parameters), no_rows)
            stats = await to.stats()
            assert (stats["batch_lines"], stats["total"]) == (3, 4)
            rows = calls(to.engine)
            direct = rows.pop("n")
            assert (direct.route, {row.route for row in rows.values()}) == ("direct", {"batch"})
            for row in rows.values():
                for column in AS_DIRECTLY:
                    assert getattr(row, column) == getattr(direct, column), column
                assert row.response_id.startswith("msg_")
                assert (row.served_model, row.finish_given) == (name, "end_turn")
                assert sorted(row.not_applied) == lost
                assert bool(row.reasoning_tokens) == thinks
                assert (row.latency_ms, row.attempts, row.errors) == (None, 1, [])

    run(work())


AS_DIRECTLY = (
    "status", "answer", "reasoning", "sent_parameters", "not_applied", "sent_body", "served_model",
    "finish_reason", "finish_given", "prompt_tokens", "completion_tokens", "cached_tokens",
    "cache_written_tokens", "reasoning_tokens", "cost_usd", "cost_source", "simulated",
)  # fmt: skip
"""Columns of the ledger that are equal for a call in a batch and a direct one."""
