"""Anthropic's Message Batches: requests as direct calls send them, results, and lost batches.

The official client creates the batches that are searched.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anthropic
import pytest

from judge_gym.llm.batches.anthropic import AnthropicBatches, read_result
from judge_gym.llm.capabilities import fitted, taken_by
from judge_gym.llm.client import Client
from judge_gym.llm.keys import Keys
from judge_gym.llm.pricing import listed_price, price_in_batch
from judge_gym.llm.providers import Price, Provider, Providers, load_providers
from judge_gym.records.batches import BatchCall, ProviderBatch, StoredBatch
from judge_gym.records.calls import Answer, Failure, Parameters, ProviderError
from judge_gym.simulator.launch import running
from support.misbehaving import misbehaving, replies

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SHIPPED = load_providers(Path(__file__).parents[3] / "deployments" / "providers.toml")
SECRET = "sk-ant-planted-0123456789abcdef"
MODEL = "anthropic/claude-sonnet-4-5"
MESSAGES = [{"role": "system", "content": "Wäge ab."}, {"role": "user", "content": 'A "B"\n\u2028'}]
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
NOW = datetime.now(UTC)
KEY = "0" * 31 + "a"


def stored(calls: int = 2, **changes: Any) -> StoredBatch:
    given: dict[str, Any] = dict.fromkeys(
        ("input_file_id", "provider_batch_id", "error", "submitted_at", "polled_at", "ended_at")
    )
    given |= {"provider": "anthropic", "model": MODEL, "status": "planned", "calls": calls}
    given |= {"key": KEY, "created_at": NOW, "requested_at": NOW, "answered": 0, "failed": 0}
    return StoredBatch(id=1, **given | changes)


def shipped(base_url: str, **changes: Any) -> Provider:
    """The shipped entry of Anthropic, at another address."""
    root = base_url.removesuffix("/v1")
    placed = {"base_url": root, "base_url_env": "", "batch": "anthropic"}
    return SHIPPED.by_name["anthropic"].model_copy(update=placed | changes)


def sent_by(wanted: Parameters, model: str) -> dict[str, Any]:
    """The parameters of a request, fitted to the model as the gateway does."""
    return fitted(model, wanted.asked(), taken_by(SHIPPED, model)).parameters


async def nothing(*_: Any) -> None:
    """An `announce` that stores nothing."""


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0, "top_p": 1.0},
        {"json_answer": True},
        {"schema": SCHEMA},
        {"reasoning_effort": "low"},
        {"reasoning_effort": "high", "schema": SCHEMA},
    ],
    ids=lambda changes: "-".join(changes) or "plain",
)
@pytest.mark.parametrize(
    "name",
    ["claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "other"],
)
def test_the_params_of_a_request_are_the_body_of_a_direct_call(
    name: str, changes: dict[str, Any]
) -> None:
    model = f"anthropic/{name}"
    wanted = Parameters(**{"temperature": 1, "top_p": 1.0, "max_tokens": 50, "seed": 3} | changes)
    parameters = sent_by(wanted, model)
    call = BatchCall(17, MESSAGES, {"temperature": 0.1}, parameters)

    async def sent() -> tuple[list[dict[str, Any]], list[Mapping[str, str]]]:
        async with misbehaving(replies(400, {})) as server:
            provider, client = shipped(server.base_url, key_env=""), Client(Keys())
            with pytest.raises(ProviderError):
                await client.complete(provider, model, tuple(MESSAGES), parameters, 60)  # type: ignore[arg-type]
            with pytest.raises(ProviderError):
                await AnthropicBatches(provider, "none", 60).create(
                    stored(model=model), [call], nothing
                )
            await client.close()
            return server.requests, server.headers

    (direct, batch), (direct_headers, batch_headers) = asyncio.run(sent())
    assert batch == {"requests": [{"custom_id": f"{KEY}-17", "params": direct}]}
    for header in ("anthropic-version", "x-api-key"):
        assert batch_headers[header] == direct_headers[header]
    features = set(direct_headers.get("anthropic-beta", "").split(","))
    assert set(batch_headers["anthropic-beta"].split(",")) >= features - {""}


def test_a_batch_asks_for_the_features_that_any_of_its_requests_needs() -> None:
    wanted = Parameters(1, 1, 50, seed=3)
    plain, strict = sent_by(wanted, MODEL), sent_by(replace(wanted, schema=SCHEMA), MODEL)
    calls = [BatchCall(number, MESSAGES, {}, given) for number, given in enumerate((plain, strict))]

    async def sent() -> Mapping[str, str]:
        async with misbehaving(replies(400, {})) as server:
            batches = AnthropicBatches(shipped(server.base_url), SECRET, 60)
            with pytest.raises(ProviderError):
                await batches.create(stored(), calls, nothing)
            return server.headers[0]

    assert "structured-outputs" in asyncio.run(sent())["anthropic-beta"]


def message(**changes: Any) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 20,
             "output_tokens": 30, "output_tokens_details": {"thinking_tokens": 12}}  # fmt: skip
    given = {"id": "msg_1", "type": "message", "role": "assistant", "stop_sequence": None,
             "model": "claude-sonnet-4-5-20250929", "stop_reason": "end_turn", "usage": usage,
             "content": [{"type": "thinking", "thinking": "Well.", "signature": "s"},
                         {"type": "text", "text": "VERDICT: A"}]}  # fmt: skip
    return given | changes


def a_line(result: Any, custom_id: Any = f"{KEY}-17") -> dict[str, Any]:
    return {"custom_id": custom_id, "result": result}


def read(line: Any, headers: Mapping[str, str] | None = None, **changes: Any) -> Any:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    provider = shipped("http://127.0.0.1:1", **changes)
    return read_result(provider, stored(), headers or {}, raw, SECRET)


def succeeded(**changes: Any) -> dict[str, Any]:
    return a_line({"type": "succeeded", "message": message(**changes)})


def test_an_answer_has_all_that_the_ledger_keeps_at_half_the_price() -> None:
    call_id, answer = read(succeeded())
    assert call_id == 17
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning, answer.simulated) == ("VERDICT: A", "Well.", False)
    assert (answer.finish_reason, answer.finish_given) == ("stop", "end_turn")
    assert (answer.served_model, answer.response_id) == ("claude-sonnet-4-5-20250929", "msg_1")
    assert (answer.prompt_tokens, answer.cached_tokens, answer.cache_written_tokens) == (
        160, 40, 20,
    )  # fmt: skip
    assert (answer.completion_tokens, answer.reasoning_tokens) == (30, 12)
    # Half of 3 dollars for a million tokens, of 0.30 from the cache, 3.75 to it, 15 of answers.
    halves = 100 * 1.5 + 40 * 0.15 + 20 * 1.875 + 30 * 7.5
    assert answer.cost_usd == pytest.approx(halves / 1e6)
    assert (answer.cost_source, answer.latency_ms) == ("litellm", None)


@pytest.mark.parametrize(
    ("changes", "finish", "text"),
    [
        ({"stop_reason": "max_tokens"}, "length", "VERDICT: A"),
        ({"stop_reason": "refusal", "content": []}, "content_filter", ""),
        ({"stop_reason": "model_context_window_exceeded"}, "context", "VERDICT: A"),
        # What litellm asks older models for a JSON answer with comes back as a tool's input.
        ({"content": [{"type": "tool_use", "id": "t", "name": "json_tool_call",
                       "input": {"verdict": "A"}}], "stop_reason": "tool_use"},
         "stop", '{"verdict": "A"}'),
    ],
)  # fmt: skip
def test_the_end_of_an_answer(changes: dict[str, Any], finish: str, text: str) -> None:
    _, answer = read(succeeded(**changes))
    assert (answer.finish_reason, answer.text) == (finish, text)


def test_a_simulated_answer_is_known_by_the_header_and_costs_nothing() -> None:
    _, answer = read(succeeded(), {"x-judge-gym-simulator": "judge-gym-simulator"})
    assert (answer.simulated, answer.cost_usd, answer.cost_source) == (True, 0.0, "simulated")


def test_prices() -> None:
    provider = shipped("http://127.0.0.1:1")
    direct = listed_price(provider, "claude-sonnet-4-5")
    assert direct == Price(prompt=3, completion=15, cached=0.3, cache_written=3.75)
    half = Price(prompt=1.5, completion=7.5, cached=0.15, cache_written=1.875)
    assert price_in_batch(provider, "claude-sonnet-4-5") == half
    assert price_in_batch(provider, "nobody-knows-it") is None
    own = Price(prompt=1, completion=2)
    priced = provider.model_copy(update={"prices": {"claude-sonnet-4-5": own}})
    assert price_in_batch(priced, "claude-sonnet-4-5") == own
    _, answer = read(succeeded(), prices={"claude-sonnet-4-5": own})
    assert (answer.cost_usd, answer.cost_source) == (pytest.approx(220e-6), "file")


REFUSALS = {
    "invalid_request_error": (400, "max_tokens: Input should be at least 1"),
    "authentication_error": (401, f"invalid x-api-key {SECRET}"),
    "billing_error": (402, "Your credit balance is too low to access the Anthropic API."),
    "permission_error": (403, "Your organization does not have access to this model."),
    "not_found_error": (404, "model: claude-0"),
    "request_too_large": (413, "Request exceeds the maximum size"),
    "rate_limit_error": (429, "This request would exceed your account's rate limit."),
    "api_error": (500, "Internal server error"),
    "timeout_error": (504, "The request timed out."),
    "overloaded_error": (529, "Overloaded"),
}
"""Type of error → its HTTP status and a message, by Anthropic's documentation of errors."""


def error_of(kind: str) -> dict[str, Any]:
    said = {"type": kind, "message": REFUSALS[kind][1], "details": None}
    return {"type": "error", "error": said, "request_id": "req_1"}


def refused_directly(kind: str, monkeypatch: pytest.MonkeyPatch) -> Failure:
    """What a direct call that is refused with this error ends with."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)

    async def refused() -> ProviderError:
        async with misbehaving(replies(REFUSALS[kind][0], error_of(kind))) as server:
            client = Client(Keys())
            with pytest.raises(ProviderError) as raised:
                await client.complete(
                    shipped(server.base_url),
                    MODEL,
                    tuple(MESSAGES),
                    {"max_tokens": 50},
                    60,  # type: ignore[arg-type]
                )
            await client.close()
            return raised.value

    error = asyncio.run(refused())
    return Failure(error.kind, str(error))


@pytest.mark.parametrize("kind", REFUSALS)
def test_an_errored_request_fails_as_a_direct_call_does(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_id, failure = read(a_line({"type": "errored", "error": error_of(kind)}))
    assert call_id == 17
    assert failure == refused_directly(kind, monkeypatch)
    assert SECRET not in failure.message


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"type": "errored", "error": error_of("api_error") | {"error": None}}, "server"),
        ({"type": "errored", "error": {"error": {"type": "of tomorrow"}}}, "server"),
        ({"type": "errored"}, "unreadable"),
        ({"type": "succeeded", "message": None}, "unreadable"),
        ({"type": "succeeded"}, "unreadable"),
        ({"type": "succeeded", "message": {"content": [{"type": "text"}]}}, "unreadable"),
        ({"type": "succeeded", "message": "text"}, "unreadable"),
        ({"type": "of tomorrow"}, "unreadable"),
        ({}, "unreadable"),
    ],
)
def test_a_result_without_an_answer_is_a_failure(result: Any, kind: str) -> None:
    call_id, failure = read(a_line(result))
    assert call_id == 17
    assert isinstance(failure, Failure)
    assert failure.kind == kind


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        {},
        a_line(None),
        # A call of this number in another batch, and of none.
        a_line({"type": "succeeded", "message": message()}, "0" * 32 + "-17"),
        a_line({"type": "succeeded", "message": message()}, "17"),
        a_line({"type": "succeeded", "message": message()}, f"{KEY}-x"),
        a_line({"type": "succeeded", "message": message()}, 17),
    ],
)
def test_a_line_that_says_nothing_of_a_call_is_left_out(line: Any) -> None:
    assert read(line) is None


@pytest.mark.parametrize("kind", ["canceled", "expired"])
def test_a_result_of_a_request_that_was_not_executed_names_its_call(kind: str) -> None:
    assert read(a_line({"type": kind})) == (17, None)


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    """A stand-in whose batches end at once."""
    with running(batch_seconds=0) as url:
        yield url


@pytest.fixture(scope="module")
def slow() -> Iterator[str]:
    """A stand-in whose batches take an hour."""
    with running(batch_seconds=3600) as url:
        yield url


def created(url: str, *names: str) -> str:
    """The id of a batch with requests of these names."""
    client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="k", max_retries=0)
    asked: Any = {"model": "calm-1", "max_tokens": 50,
                  "messages": [{"role": "user", "content": "Hello?"}]}  # fmt: skip
    requests: Any = [{"custom_id": name, "params": asked} for name in names]
    return client.messages.batches.create(requests=requests).id


def found(url: str, batch: StoredBatch, *others: str) -> ProviderBatch | None:
    client = AnthropicBatches(shipped(url), "k", 60)
    return asyncio.run(client.find(batch, set(others)))


def test_a_lost_batch_that_has_ended_is_found_by_the_names_of_its_requests(quick: str) -> None:
    created(quick, f"{'b' * 32}-1", f"{'b' * 32}-2")
    ours = created(quick, f"{KEY}-1", f"{KEY}-2")
    created(quick, "of-another-kind-1", "of-another-kind-2")
    created(quick, f"{KEY}-1")  # of another size
    assert found(quick, stored()) == ProviderBatch(ours, "completed")
    assert found(quick, stored(), ours) is None
    later = NOW + timedelta(days=2)
    assert found(quick, stored(requested_at=later)) is None
    assert found(quick, stored(key="c" * 32)) is None
    # Known by its id, it is searched by that alone.
    assert found(quick, stored(calls=7, provider_batch_id=ours)) == ProviderBatch(ours, "completed")
    assert found(quick, stored(provider_batch_id="msgbatch_0")) is None


def test_a_batch_at_work_that_may_be_the_lost_one_is_waited_for(slow: str) -> None:
    maybe = created(slow, "x-1", "x-2")
    created(slow, "x-1")
    with pytest.raises(ProviderError, match=maybe):
        found(slow, stored())
    # It is that of other calls, or was there long before, or has another size.
    assert found(slow, stored(), maybe) is None
    assert found(slow, stored(requested_at=NOW + timedelta(days=2))) is None
    assert found(slow, stored(calls=3)) is None
    assert found(slow, stored(provider_batch_id=maybe)) == ProviderBatch(maybe, "submitted")


def test_a_long_list_is_searched_to_its_end(quick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judge_gym.llm.batches.anthropic._PAGE", 2)
    first = created(quick, f"{'d' * 32}-1", f"{'d' * 32}-2")
    for number in range(4):
        created(quick, f"e-{number}", "e")
    assert found(quick, stored(key="d" * 32)) == (ProviderBatch(first, "completed"))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"processing_status": "later"}, "submitted"),
        ({"request_counts": None, "created_at": None}, "submitted"),
        ({"processing_status": "cancelling", "request_counts": {"canceled": None}}, "cancelling"),
        ({"processing_status": "ended"}, "completed"),
        ({"processing_status": "archived", "ended_at": "2026-11-26T12:00:00Z"}, "completed"),
        ({"processing_status": "ended", "request_counts": {"expired": 1}}, "expired"),
    ],
)
def test_a_batch_that_exists_is_known_by_its_id_alone(body: Any, status: str) -> None:
    async def made() -> ProviderBatch:
        async with misbehaving(replies(200, {"id": "b", **body})) as server:
            client = AnthropicBatches(shipped(server.base_url), "k", 60)
            return await client.create(stored(), [], nothing)

    made_batch = asyncio.run(made())
    assert (made_batch.id, made_batch.status) == ("b", status)
    assert ("later" in made_batch.note) == (body.get("processing_status") == "later")


@pytest.mark.parametrize("body", [{}, [], "text", {"id": "", "processing_status": "ended"}])
def test_what_is_no_batch_is_unreadable(body: Any) -> None:
    async def made() -> None:
        async with misbehaving(replies(200, body)) as server:
            await AnthropicBatches(shipped(server.base_url), "k", 60).create(stored(), [], nothing)

    with pytest.raises(ProviderError) as raised:
        asyncio.run(made())
    assert raised.value.kind == "unreadable"


@pytest.mark.parametrize(
    ("litellm", "given", "route"),
    [
        ("openai", True, "openai"),
        ("openai", "openai", "openai"),
        ("anthropic", True, "anthropic"),
        ("anthropic", "anthropic", "anthropic"),
        ("gemini", False, False),
    ],
)
def test_the_batch_route_of_a_provider(litellm: str, given: Any, route: Any) -> None:
    assert Provider(name="p", litellm=litellm, batch=given).batch == route
    providers = Providers({"p": Provider(name="p", litellm=litellm, batch=given)}, Path("p.toml"))
    assert taken_by(providers, "p/m").batch == (route or "none")


@pytest.mark.parametrize(
    ("litellm", "given"), [("gemini", True), ("anthropic", "openai"), ("openai", "mistral")]
)
def test_a_batch_route_that_a_provider_lacks(litellm: str, given: Any) -> None:
    with pytest.raises(ValueError, match="openai or anthropic"):
        Provider(name="p", litellm=litellm, batch=given)
