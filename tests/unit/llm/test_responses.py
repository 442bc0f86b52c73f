"""What each provider's response says, and that what was sent is kept: real requests on loopback."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from judge_gym.llm.bodies import Usage, finish_of
from judge_gym.llm.client import Client
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Price, Provider
from judge_gym.llm.responses import read_answer
from judge_gym.llm.sdk import ModelResponse
from judge_gym.records.attempts import in_place_of_text
from judge_gym.records.calls import Answer, ProviderError, TokenChance

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
MESSAGES = ({"role": "system", "content": "Weigh."}, {"role": "user", "content": "A or B?"})
KEY = "sk-planted-0123456789abcdef"

OPENAI: dict[str, Any] = {
    "id": "chatcmpl-7",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026-10-01",
    "system_fingerprint": "fp_7",
    "service_tier": "default",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "VERDICT: B", "reasoning_content": "hm"},
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}
APART = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 15} | {
    "completion_tokens_details": {"reasoning_tokens": 3},
    "prompt_tokens_details": {"cached_tokens": 4},
}
"""Usage as xAI gives it: the reasoning is not among the completion."""
ANTHROPIC: dict[str, Any] = {
    "id": "msg_7",
    "type": "message",
    "role": "assistant",
    "model": "m-2026-10-01",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "VERDICT: B"},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 4,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 2,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 3},
    },
}
GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "hm", "thought": True}, {"text": "VERDICT: B"}],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 10,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 15,
    },
    "modelVersion": "m-2026-10-01",
    "responseId": "r-7",
}
OLLAMA: dict[str, Any] = {
    "model": "m-2026-10-01",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "VERDICT: B", "thinking": "hm"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 10,
    "eval_count": 5,
}


def with_choice(**changes: Any) -> dict[str, Any]:
    return OPENAI | {"choices": [OPENAI["choices"][0] | changes]}


def saying(content: str | None, **fields: Any) -> dict[str, Any]:
    return with_choice(message={"role": "assistant", "content": content} | fields)


@asynccontextmanager
async def server(
    status: int, body: Any, headers: Any = None, content_type: str = "", delay_s: float = 0
) -> AsyncIterator[tuple[str, Any]]:
    """A server that gives one response to all requests, and keeps their bodies.

    The body is JSON, or of the content type.
    """
    sent: list[Any] = []

    async def respond(request: web.Request) -> web.Response:
        if "/api/show" not in request.path:
            sent.append(await request.json())
        await asyncio.sleep(delay_s)
        if content_type:
            return web.Response(text=body, status=status, content_type=content_type)
        return web.json_response(body, status=status, headers=headers)

    app = web.Application()
    app.router.add_post("/{path:.*}", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}", sent
    finally:
        await runner.cleanup()


def ask(
    body: Any,
    litellm: str = "openai",
    name: str = "asked",
    *,
    status: int = 200,
    headers: Any = None,
    price: Price | None = None,
    content_type: str = "",
    delay_s: float = 0,
    timeout_s: float = 60,
    **parameters: Any,
) -> tuple[Answer | ProviderError, list[Any]]:
    """Ask a provider that responds so; returns the answer or error, and the requests."""

    async def work() -> tuple[Answer | ProviderError, list[Any]]:
        async with server(status, body, headers, content_type, delay_s) as (url, sent):
            provider = Provider(
                name="real",
                litellm=litellm,
                base_url=url + ("/v1beta" if litellm == "gemini" else ""),
                prices={} if price is None else {name: price},
            )
            client = Client(Keys())
            try:
                parameters_sent = {"max_tokens": 50} | parameters
                return await client.complete(
                    provider, f"real/{name}", MESSAGES, parameters_sent, timeout_s
                ), sent
            except ProviderError as error:
                return error, sent
            finally:
                await client.close()

    return asyncio.run(work())


def answer_to(body: Any, litellm: str = "openai", name: str = "asked", **options: Any) -> Answer:
    answer, _ = ask(body, litellm, name, **options)
    assert isinstance(answer, Answer), answer
    return answer


OWN = Price(prompt=1, completion=10, cached=0.5, cache_written=2, reasoning=20)


@pytest.mark.parametrize(
    ("litellm", "body", "identity", "tokens"),
    [
        ("openai", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("mistral", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("deepseek", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("openrouter", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("groq", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("hosted_vllm", OPENAI, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("xai", OPENAI | {"usage": APART}, ("chatcmpl-7", "fp_7", "stop"), (10, 5, 4, None, 3)),
        ("anthropic", ANTHROPIC, ("msg_7", None, "end_turn"), (10, 5, 4, 2, 3)),
        ("gemini", GEMINI, ("r-7", None, "STOP"), (10, 5, 4, None, 3)),
        ("ollama_chat", OLLAMA, (None, None, "stop"), (10, 5, None, None, None)),
    ],
)
def test_an_answer_is_kept_as_its_provider_gave_it(
    litellm: str, body: dict[str, Any], identity: tuple[Any, ...], tokens: tuple[int | None, ...]
) -> None:
    answer, (sent,) = ask(body, litellm, price=OWN)
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("VERDICT: B", "hm", "stop")
    assert answer.served_model == "m-2026-10-01"
    assert (answer.response_id, answer.fingerprint, answer.finish_given) == identity
    assert tokens == (
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.cached_tokens,
        answer.cache_written_tokens,
        answer.reasoning_tokens,
    )
    assert answer.cost_source == "file"
    # What was sent is what arrived, but for the messages, and there is no key in it.
    prompt = {"messages", "contents", "system", "system_instruction"} & sent.keys()
    assert prompt
    assert answer.body == {name: value for name, value in sent.items() if name not in prompt}


@pytest.mark.parametrize(
    ("usage", "price", "dollars"),
    [
        (Usage(10, 5), OWN, 10 + 50),
        (Usage(10, 5), Price(prompt=1, completion=10), 10 + 50),
        (Usage(10, 5, 4, 2, 3), OWN, 4 + 4 * 0.5 + 2 * 2 + 2 * 10 + 3 * 20),
        (Usage(10, 5, 4, 2, 3), Price(prompt=1, completion=10), 10 + 50),
        (Usage(10, 5, 4, 2, 3), Price(prompt=1, completion=10, cached=0), 6 + 50),
    ],
)
def test_tokens_of_a_kind_have_its_price(usage: Usage, price: Price, dollars: float) -> None:
    assert usage.cost_usd(price) == pytest.approx(dollars / 1e6)


def test_uncounted_tokens_have_no_cost() -> None:
    assert Usage().cost_usd(OWN) is None
    free = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    answer = answer_to(OPENAI | {"usage": free}, price=OWN)
    assert (answer.prompt_tokens, answer.completion_tokens) == (None, None)
    assert (answer.cost_usd, answer.cost_source) == (None, None)


def test_the_cost_has_a_source() -> None:
    """gpt-4.1-mini: 0.40 and 1.60 dollars for a million tokens, 0.10 from the cache."""
    listed = answer_to(OPENAI, name="gpt-4.1-mini")
    assert listed.cost_usd == pytest.approx((6 * 0.4 + 4 * 0.1 + 5 * 1.6) / 1e6)
    assert listed.cost_source == "litellm"
    own = answer_to(OPENAI, name="gpt-4.1-mini", price=Price(prompt=1, completion=2))
    assert (own.cost_usd, own.cost_source) == (pytest.approx(20 / 1e6), "file")
    told = OPENAI | {"usage": OPENAI["usage"] | {"cost": 0.25}}
    answer = answer_to(told, "openrouter", "openai/gpt-4.1-mini")
    assert (answer.cost_usd, answer.cost_source) == (0.25, "provider")
    answer = answer_to(OPENAI, headers={"x-litellm-response-cost": "0.125"})
    assert (answer.cost_usd, answer.cost_source) == (0.125, "provider")


@pytest.mark.parametrize(
    ("litellm", "name", "body"),
    [
        ("openai", "unheard-of", OPENAI),
        # litellm prices what Anthropic serves under an unlisted name at 0.
        ("anthropic", "claude-opus-4-1", ANTHROPIC),
        ("ollama_chat", "unheard-of", OLLAMA),
    ],
)
def test_a_model_in_no_list_has_no_cost(litellm: str, name: str, body: dict[str, Any]) -> None:
    answer = answer_to(body, litellm, name)
    assert (answer.cost_usd, answer.cost_source) == (None, None)


@pytest.mark.parametrize(
    ("given", "normalised"),
    [
        ("stop", "stop"), ("end_turn", "stop"), ("stop_sequence", "stop"), ("STOP", "stop"),
        ("length", "length"), ("max_tokens", "length"), ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"), ("refusal", "content_filter"),
        ("SAFETY", "content_filter"), ("PROHIBITED_CONTENT", "content_filter"),
        ("model_length", "context"), ("model_context_window_exceeded", "context"),
        ("insufficient_system_resource", "error"), ("error", "error"), ("abort", "error"),
        ("pause_turn", "unknown"), ("tool_calls", "tool_call"), ("OTHER", "unknown"),
        ("", "unknown"), (None, "unknown"),
    ],
)  # fmt: skip
def test_finish_reasons_mean_one_thing_everywhere(given: str | None, normalised: str) -> None:
    assert finish_of(given) == normalised


@pytest.mark.parametrize(
    ("litellm", "body", "given", "normalised"),
    [
        ("mistral", with_choice(finish_reason="model_length"), "model_length", "context"),
        (
            "openrouter",
            with_choice(finish_reason="length", native_finish_reason="MAX_TOKENS"),
            "MAX_TOKENS",
            "length",
        ),
        ("anthropic", ANTHROPIC | {"stop_reason": "pause_turn"}, "pause_turn", "unknown"),
        (
            "anthropic",
            ANTHROPIC | {"stop_reason": "model_context_window_exceeded"},
            "model_context_window_exceeded",
            "context",
        ),
        (
            "anthropic",
            ANTHROPIC
            | {"stop_reason": "refusal", "content": [], "stop_details": {"category": "cyber"}},
            "refusal: cyber",
            "content_filter",
        ),
        (
            "gemini",
            GEMINI | {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
            "blocked: SAFETY",
            "content_filter",
        ),
    ],
)
def test_litellm_does_not_hide_why_an_answer_ended(
    litellm: str, body: dict[str, Any], given: str, normalised: str
) -> None:
    answer = answer_to(body, litellm)
    assert (answer.finish_given, answer.finish_reason) == (given, normalised)


@pytest.mark.parametrize(
    ("litellm", "finish"),
    [("deepseek", "insufficient_system_resource"), ("hosted_vllm", "abort")],
)
def test_an_answer_that_broke_off_is_a_failure(litellm: str, finish: str) -> None:
    error, _ = ask(with_choice(finish_reason=finish), litellm)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.status) == ("server", 200)
    assert finish in str(error)
    assert error.body == {"model": "asked", "max_tokens": 50}


def test_an_error_in_a_choice_is_given_in_its_words() -> None:
    broken = with_choice(finish_reason="error", error={"code": 502, "message": "Upstream is gone"})
    error, _ = ask(broken, "openrouter")
    assert isinstance(error, ProviderError)
    assert error.kind == "server"
    assert "Upstream is gone" in str(error)


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ("<think>A is\nweak.</think>\n\nVERDICT: B", "VERDICT: B", "A is\nweak."),
        ("<think>A is weak, VERDICT: A", "", "A is weak, VERDICT: A"),
        ("VERDICT: B <think>no</think>", "VERDICT: B <think>no</think>", ""),
    ],
)
def test_thinking_in_the_text_is_no_part_of_the_answer(
    content: str, text: str, reasoning: str
) -> None:
    answer = answer_to(saying(content))
    assert (answer.text, answer.reasoning) == (text, reasoning)


def test_vllm_gives_its_reasoning_in_a_field_of_its_own() -> None:
    answer = answer_to(saying("VERDICT: B", reasoning="hm"), "hosted_vllm")
    assert (answer.text, answer.reasoning) == ("VERDICT: B", "hm")


def test_a_response_in_another_form_is_as_litellm_reads_it() -> None:
    """As of Bedrock: its id and model are litellm's own, not the provider's."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "finish_reason": "length", "message": {"content": "VERD"}}
    response = ModelResponse(id="made-up", model="asked", choices=[choice], usage=usage)
    answer = read_answer(response, '{"output": {}}', "real/asked", OWN)
    assert (answer.text, answer.finish_reason, answer.finish_given) == ("VERD", "length", None)
    assert (answer.served_model, answer.response_id) == (None, None)
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 3)


def test_a_refusal_is_the_text_of_an_answer_without_one() -> None:
    answer = answer_to(saying(None, refusal="I cannot."))
    assert (answer.text, answer.finish_reason) == ("I cannot.", "content_filter")
    assert answer.finish_given == "stop"


def test_token_probabilities_are_kept() -> None:
    content = [
        {
            "token": "B",
            "bytes": [66],
            "logprob": -0.25,
            "top_logprobs": [
                {"token": "B", "bytes": [66], "logprob": -0.25},
                {"token": "\x00", "bytes": [0], "logprob": -9999.0},
            ],
        },
    ]
    answer, (sent,) = ask(with_choice(logprobs={"content": content}), logprobs=True, top_logprobs=2)
    assert isinstance(answer, Answer)
    assert answer.chances == (TokenChance("B", -0.25, (("B", -0.25), ("\ufffd", -9999.0))),)
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 2)


def test_infinite_probabilities_can_be_stored() -> None:
    """JSON has no infinity, but Python's servers write one."""
    content = [{"token": "B", "logprob": -float("inf"), "bytes": None, "top_logprobs": []}]
    (chance,) = answer_to(with_choice(logprobs={"content": content})).chances
    assert chance == TokenChance("B", -9999.0)
    assert json.loads(json.dumps(chance.logprob, allow_nan=False)) == -9999


COULD_NOT = (
    "Could not finish the message because max_tokens or model output limit was reached. Please "
    "try again with higher max_tokens."
)


@pytest.mark.parametrize("litellm", ["openai", "azure"])
def test_a_limit_that_thinking_used_up_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, litellm: str
) -> None:
    """litellm makes an empty answer with a usage of its own of it."""
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    error = {"message": COULD_NOT, "type": "invalid_request_error", "param": None, "code": None}
    outcome, (sent,) = ask({"error": error}, litellm, "gpt-5-mini", status=400)
    assert isinstance(outcome, ProviderError)
    assert (outcome.kind, outcome.status) == ("output_limit", 400)
    assert outcome.body is not None
    assert outcome.body.items() <= sent.items()


def test_a_failed_request_keeps_its_body_without_the_key() -> None:
    error = {"message": "no", "type": "invalid_request_error", "param": "seed", "code": "x"}
    outcome, _ = ask({"error": error}, status=400, seed=7)
    assert isinstance(outcome, ProviderError)
    assert outcome.body == {"model": "asked", "max_tokens": 50, "seed": 7}
    assert outcome.status == 400


EFFORTS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "openai/gpt-5-mini": ("low", OPENAI, {"reasoning_effort": "low"}),
    "anthropic/claude-sonnet-4-5": (
        "low", ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    "anthropic/claude-opus-4-7": ("high", ANTHROPIC, {"output_config": {"effort": "high"}}),
    "hosted_vllm/m": ("medium", OPENAI, {"reasoning_effort": "medium"}),
}  # fmt: skip


@pytest.mark.parametrize("model", EFFORTS)
def test_reasoning_effort_is_sent_as_each_provider_takes_it(model: str) -> None:
    effort, body, field = EFFORTS[model]
    litellm, _, name = model.partition("/")
    outcome, (sent,) = ask(body, litellm, name, max_tokens=2000, reasoning_effort=effort)
    assert isinstance(outcome, Answer)
    assert field.items() <= sent.items()


@pytest.mark.parametrize("effort", ["low", "high"])
def test_a_thinking_budget_that_leaves_no_room_is_not_sent(effort: str) -> None:
    """Anthropic takes a budget of at least 1,024 tokens, below max_tokens."""
    outcome, sent = ask(
        ANTHROPIC, "anthropic", "claude-sonnet-4-5", max_tokens=1024, reasoning_effort=effort
    )
    assert isinstance(outcome, ProviderError)
    assert (outcome.kind, sent) == ("bad_request", [])
    assert "max_tokens 1024" in str(outcome)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "VERDICT: "}, {"type": "text", "text": "B"}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]},
         {"type": "output_text", "text": "VERDICT: B"}, {"type": "unknown", "data": 1}],
        [{"type": "reasoning", "text": "VERDICT: A"}, "VERDICT: B"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("litellm", ["openai", "hosted_vllm", "groq"])
def test_a_content_in_parts_is_read_without_its_thoughts(litellm: str, content: Any) -> None:
    answer = answer_to(with_choice(message={"role": "assistant", "content": content}), litellm)
    assert (answer.text, answer.finish_reason) == ("VERDICT: B", "stop")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": "400", "completion_tokens": "40", "total_tokens": "440"}, (400, 40)),
        ({"prompt_tokens": 400.0, "completion_tokens": 40.0}, (400, 40)),
        ({"prompt_tokens": 400.0, "completion_tokens": 40.5}, (400, None)),
        ({"prompt_tokens": 3_000_000_000, "completion_tokens": 40}, (None, None)),
        ({"prompt_tokens": -1, "completion_tokens": 40}, (None, None)),
        ({"prompt_tokens": 400, "completion_tokens": 0}, (400, None)),
        ({"prompt_tokens": None, "completion_tokens": None}, (None, None)),
        ([], (None, None)),
        (None, (None, None)),
    ],
)
def test_an_odd_usage_costs_no_answer_and_is_no_price_of_0(
    usage: Any, tokens: tuple[int | None, int | None]
) -> None:
    answer, sent = ask(OPENAI | {"usage": usage}, name="gpt-4.1-mini")
    assert isinstance(answer, Answer), answer
    assert len(sent) == 1
    assert answer.text == "VERDICT: B"
    assert (answer.prompt_tokens, answer.completion_tokens) == tokens
    assert (answer.cost_usd is None) == (None in tokens)


@pytest.mark.parametrize(
    ("usage", "cost", "source"),
    [
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.002}},
         0.002, "provider"),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.002}},
         0.003, "provider"),
        ({"cost": 0.001, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.002}},
         0.001, "provider"),
        ({"cost": "0.25"}, 0.25, "provider"),
        ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.125}}, 0.125, "provider"),
        # A 0 that nothing explains.
        ({"cost": 0}, None, None),
        ({"cost": 0, "is_byok": True}, None, None),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": None}},
         None, None),
        ({"cost": 0, "is_byok": False}, 0, "provider"),
        ({"cost": 0, "prompt_tokens": 0, "completion_tokens": 0}, None, None),
    ],
)  # fmt: skip
def test_a_cost_of_0_needs_counted_tokens_and_no_price(
    usage: dict[str, Any], cost: float | None, source: str | None
) -> None:
    counts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    answer = answer_to(OPENAI | {"usage": counts | usage}, "openrouter", "openai/gpt-4o")
    assert answer.cost_usd == pytest.approx(cost)
    assert answer.cost_source == source


def test_a_free_model_costs_nothing_and_a_proxys_0_is_no_price() -> None:
    free = OPENAI | {"usage": OPENAI["usage"] | {"cost": 0, "is_byok": False}}
    answer = answer_to(free, "openrouter", "some/model:free")
    assert (answer.cost_usd, answer.cost_source) == (0, "provider")
    # The list has a price of this one.
    answer = answer_to(free, name="gpt-4.1-mini")
    assert answer.cost_usd == pytest.approx((6 * 0.4 + 4 * 0.1 + 5 * 1.6) / 1e6)
    assert answer.cost_source == "litellm"
    answer = answer_to(OPENAI, headers={"x-litellm-response-cost": "0.0"})
    assert (answer.cost_usd, answer.cost_source) == (None, None)


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "x", "object": "chat.completion.chunk", "model": "m-2026", "choices": [choice]}
    return f"data: {json.dumps(body | more)}\n\n"


USED = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
STREAM = (
    ": ping\n\n"
    + chunk({"role": "assistant", "reasoning_content": "hm"})
    + chunk({"content": "VERDICT: "})
    + chunk({"content": "B"})
    + chunk({}, "stop")
    + f"data: {json.dumps({'choices': [], 'usage': USED})}\n\n"
    + "data: [DONE]\n\n"
)
LINES = "\n".join(
    json.dumps({"model": "m-2026", "message": {"role": "assistant", "content": text}} | more)
    for text, more in (
        ("VERDICT: ", {"done": False}),
        ("B", {"done": True, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5}),
    )
)


@pytest.mark.parametrize(
    ("litellm", "body"),
    [("openai", STREAM), ("hosted_vllm", STREAM), ("groq", STREAM), ("ollama_chat", LINES)],
)
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_a_stream_that_was_not_asked_for_is_read(
    litellm: str, body: str, content_type: str
) -> None:
    answer, sent = ask(body, litellm, content_type=content_type)
    assert isinstance(answer, Answer), answer
    assert len(sent) == 1
    assert (answer.text, answer.finish_reason) == ("VERDICT: B", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (10, 5)
    assert answer.served_model == "m-2026"


@pytest.mark.parametrize(
    "body", [chunk({"content": "VERDICT: A"}), 'event: message_start\ndata: {"type": "other"}\n\n']
)
def test_a_stream_without_an_end_is_named_and_not_asked_for_again(body: str) -> None:
    error, _ = ask(body, content_type="text/event-stream")
    assert isinstance(error, ProviderError)
    assert (error.kind, error.passes, error.may_be_billed) == ("unreadable", False, True)
    assert "stream" in str(error)


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"verdict": "A"}'}}


@pytest.mark.parametrize(
    ("litellm", "body"),
    [
        ("openai", with_choice(message={"role": "assistant", "content": None, "tool_calls": [CALL]},
                               finish_reason="tool_calls")),
        ("hosted_vllm", saying("", tool_calls=[CALL])),
        ("openai", saying(None, function_call=CALL["function"])),
        ("anthropic", ANTHROPIC | {"stop_reason": "tool_use", "content": [
            {"type": "tool_use", "id": "t", "name": "f", "input": {"verdict": "A"}}]}),
        ("gemini", GEMINI | {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}}]}),
        ("ollama_chat", OLLAMA | {"message": {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "f", "arguments": {"verdict": "A"}}}]}}),
    ],
)  # fmt: skip
def test_an_answer_as_a_tool_call_is_named(litellm: str, body: dict[str, Any]) -> None:
    answer = answer_to(body, litellm)
    assert (answer.text, answer.finish_reason) == ("", "tool_call")
    assert "tool call" in in_place_of_text(answer)


@pytest.mark.parametrize(
    ("litellm", "body"),
    [
        ("openai", saying(None, reasoning_content="VERDICT: B")),
        ("hosted_vllm", saying("", reasoning="VERDICT: B")),
        ("openrouter", saying(None, reasoning="VERDICT: B")),
        ("ollama_chat", OLLAMA | {"message": {"content": "", "thinking": "VERDICT: B"}}),
    ],
)  # fmt: skip
def test_an_answer_in_the_reasoning_alone_is_named_and_not_read(
    litellm: str, body: dict[str, Any]
) -> None:
    answer = answer_to(body, litellm)
    assert (answer.text, answer.finish_reason) == ("", "stop")
    assert "reasoning" in in_place_of_text(answer)


def test_a_slow_answer_names_the_setting_and_may_be_billed() -> None:
    error, _ = ask(OPENAI, delay_s=1.0, timeout_s=0.3)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.may_be_billed) == ("timeout", True)
    assert "call_timeout_s" in str(error)
