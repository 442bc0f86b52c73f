"""Each provider's API, answer by answer and error by error: what becomes of a call.

For every row: whether the call is retried, how it ends, what the ledger says of it, and what the
user reads. The expectations come from the providers' documentation; the stand-ins send what the
documentation has, and `tests/unit/simulator/test_official_sdks.py` has the providers' own clients
read it.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from judge_gym.llm.breaker import ENOUGH_ALIKE, ModelStoppedError
from judge_gym.llm.client import Client
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.llm.keys import Keys
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.records.calls import Answer, Failure, Parameters, ProviderError
from judge_gym.simulator.launch import running
from support.batched import set_faults
from support.rig import KEY_NAME, a_call, calls, no_rows, run
from support.vendors import MAIN_WIRES, WIRES, Wire, gateway_by

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("quick_retries"),
]
SAID_TOKENS = 20
"""Tokens of the stand-ins' answer to `Hello?`, which has 2."""
ASKED = Parameters(temperature=1, top_p=1, max_tokens=2000, seed=3)
OWN_KEYS = {"anthropic": "sk-ant-0123456789abcdef", "gemini": "AIza0123456789abcdef"}
"""Keys that begin as the provider's do."""


@pytest.fixture(scope="module")
def started() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture
def url(started: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_NAME, "sk-of-nobody-0123456789")
    set_faults(started)
    return started


@dataclass(frozen=True)
class Ended:
    """How a call ended: its outcome or what was raised, its row, and the row of a call after it."""

    outcome: Any
    row: Any
    next_row: Any


def ended(
    wire: Wire, url: str, database: str, *faults: dict[str, Any], timeout_s: float = 20
) -> Ended:
    """Ask a call, and another one after it, of a stand-in with these faults."""

    async def work() -> Ended:
        async with gateway_by(wire, url, database, timeout_s=timeout_s) as (gateway, engine):
            set_faults(url, *faults)
            asked = [a_call(k, "Hello?", model=wire.asked, parameters=ASKED) for k in "kl"]
            opened = await gateway.open(asked)
            ends = [
                (await asyncio.gather(gateway.ask(call, no_rows, row), return_exceptions=True))[0]
                for call, row in zip(asked, opened, strict=True)
            ]
            rows = calls(engine)
            outcome = ends[0][1] if isinstance(ends[0], tuple) else ends[0]
            return Ended(outcome, rows["k"], rows["l"])

    result: Ended = run(work())
    return result


def by(*names: str) -> tuple[Wire, ...]:
    return tuple(WIRES[name] for name in names)


@dataclass(frozen=True)
class Row:
    """A fault of some APIs, and what it is to mean."""

    fault: dict[str, Any]
    kind: str
    wires: tuple[Wire, ...] = MAIN_WIRES
    words: dict[str, str] = field(default_factory=dict)
    """What the user reads, by API: the provider's own words."""


def rows(*table: Row) -> Any:
    return [
        pytest.param(
            row,
            wire,
            id=f"{wire.name}-{'-'.join(map(str, row.fault.values()))}",
            marks=() if wire in MAIN_WIRES else pytest.mark.slow,
        )
        for row in table
        for wire in row.wires
    ]


def check_answered(wire: Wire, outcome: Any, row: Any) -> None:
    """The ledger's row of a whole answer, in the API's own words."""
    assert isinstance(outcome, Answer), outcome
    assert "simulator" in outcome.text
    assert (outcome.finish_reason, row.finish_given) == ("stop", wire.stop)
    assert (row.status, row.served_model) == ("succeeded", wire.model)
    assert (float(row.cost_usd), row.cost_source) == (0, "simulated")
    assert row.response_id or wire.name == "ollama"  # whose own API has none
    assert isinstance(readable(outcome), Answer)


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())
def test_a_plain_answer(url: str, database: str, wire: Wire) -> None:
    end = ended(wire, url, database)
    check_answered(wire, end.outcome, end.row)
    assert (end.row.attempts, end.row.errors) == (1, [])
    assert end.row.prompt_tokens == 2
    assert end.row.completion_tokens == SAID_TOKENS + (end.row.reasoning_tokens or 0)


PASSING = rows(
    Row({"kind": "rate_limit", "form": "seconds"}, "rate_limit", tuple(WIRES.values())),
    Row({"kind": "rate_limit", "form": "date"}, "rate_limit"),
    Row({"kind": "rate_limit", "form": "absent"}, "rate_limit"),
    Row({"kind": "rate_limit", "form": "reset_header"}, "rate_limit", by("openai", "anthropic")),
    Row({"kind": "rate_limit", "form": "retry_info"}, "rate_limit", by("gemini")),
    Row({"kind": "overloaded"}, "server", tuple(WIRES.values()), {
        "openai": "The server is currently overloaded. Please try again later.",
        "anthropic": "Overloaded",
        "gemini": "The model is overloaded. Please try again later.",
        "mistral": "Service unavailable.",
        "ollama": "server busy, please try again. maximum pending requests exceeded",
        "openrouter": "No instances available",
    }),
    Row({"kind": "server_error", "status": 500}, "server"),
    Row({"kind": "error_in_200", "where": "body"}, "server", by("openrouter"),
        {"openrouter": "Provider returned error: Upstream error"}),
    Row({"kind": "error_in_200", "where": "choice"}, "server", by("openrouter"),
        {"openrouter": "The answer broke off: Provider returned error"}),
    Row({"kind": "native_finish", "value": "error"}, "server", by("mistral")),
    Row({"kind": "native_finish", "value": "abort"}, "server", by("vllm")),
    Row({"kind": "native_finish", "value": "insufficient_system_resource"}, "server",
        by("deepseek")),
    Row({"kind": "html", "status": 200}, "unreadable", tuple(WIRES.values())),
    Row({"kind": "html", "status": 502}, "server"),
    Row({"kind": "invalid_json"}, "unreadable", tuple(WIRES.values())),
    Row({"kind": "cut", "seconds": 0.1}, "connection", tuple(WIRES.values())),
    Row({"kind": "stall", "seconds": 5}, "timeout"),
    Row({"kind": "empty"}, "empty"),
    Row({"kind": "length"}, "truncated"),
)  # fmt: skip


@pytest.mark.parametrize(("row", "wire"), PASSING)
def test_what_may_pass_is_sent_again(url: str, database: str, row: Row, wire: Wire) -> None:
    waits = row.kind == "timeout"
    fault = {**row.fault, "max_count": 1}
    end = ended(wire, url, database, fault, timeout_s=1 if waits else 20)
    check_answered(wire, end.outcome, end.row)
    assert end.row.attempts == 2
    (error,) = end.row.errors
    assert error["kind"] == row.kind
    assert error["message"]
    if words := row.words.get(wire.name):
        assert error["message"] == words
    if row.kind in ("empty", "truncated"):  # it was paid for
        assert error["finish_given"] == (wire.stop if row.kind == "empty" else wire.length)
        assert end.row.prompt_tokens == 4
        assert error["completion_tokens"] > 0 or row.kind == "empty"


@pytest.mark.parametrize("wire", MAIN_WIRES, ids=lambda wire: wire.name)
def test_what_does_not_pass_fails_after_the_last_attempt(
    url: str, database: str, wire: Wire
) -> None:
    end = ended(wire, url, database, {"kind": "overloaded"})
    assert isinstance(end.outcome, Failure)
    assert end.outcome.kind == "server"
    assert (end.row.status, end.row.attempts, end.row.served_model) == ("failed", 3, None)
    assert [error["kind"] for error in end.row.errors] == ["server"] * 3
    # Another call may fare better.
    assert end.next_row.attempts == 3


OF_ONE_CALL = rows(
    Row({"kind": "context_too_long"}, "context_too_long", tuple(WIRES.values()), {
        "openai": "maximum context length is 8000 tokens",
        "anthropic": "prompt is too long: 9000 tokens > 8000 maximum",
        "gemini": "input token count (9000) exceeds the maximum",
        "mistral": "too large for model with 8000 maximum context length",
        "xai": "maximum prompt length is 8000",
    }),
    Row({"kind": "content_policy"}, "content_policy",
        by("openai", "anthropic", "gemini", "mistral", "openrouter", "xai", "deepseek", "azure"), {
        "openai": "Invalid prompt: your prompt was flagged",
        "anthropic": "Output blocked by content filtering policy",
        "mistral": "The request was blocked by a guardrail.",
        "openrouter": "The model requires moderation on OpenRouter.",
        "xai": "Content violates usage guidelines.",
        "deepseek": "Content Exists Risk",
        "azure": "triggering Azure OpenAI's content management policy",
    }),
)  # fmt: skip


@pytest.mark.parametrize(("row", "wire"), OF_ONE_CALL)
def test_the_fault_of_one_call_is_sent_once_and_stops_nothing(
    url: str, database: str, row: Row, wire: Wire
) -> None:
    end = ended(wire, url, database, {**row.fault, "max_count": 1})
    assert isinstance(end.outcome, Failure)
    assert end.outcome.kind == row.kind
    assert row.words.get(wire.name, "") in end.outcome.message
    assert "{" not in end.outcome.message
    assert (end.row.status, end.row.attempts, end.row.cost_usd) == ("failed", 1, None)
    assert [error["kind"] for error in end.row.errors] == [row.kind]
    state = readable(end.outcome)
    assert isinstance(state, NoAnswer)
    assert state.status == ("refused" if row.kind == "content_policy" else "failed")
    assert end.next_row.status == "succeeded"


WITHHELD = [
    pytest.param(WIRES[name], fault, finish, id=f"{name}-{finish}")
    for name, fault, finish in (
        ("openai", {"kind": "safety"}, "stop"),  # message.refusal
        ("openai", {"kind": "refusal"}, "content_filter"),
        ("anthropic", {"kind": "safety", "reason": "cyber"}, "refusal: cyber"),
        ("gemini", {"kind": "safety"}, "SAFETY"),
        ("gemini", {"kind": "safety", "reason": "RECITATION"}, "RECITATION"),
        ("gemini", {"kind": "safety", "reason": "PROHIBITED_CONTENT"}, "PROHIBITED_CONTENT"),
        ("gemini", {"kind": "safety", "reason": "SPII"}, "SPII"),
        ("gemini", {"kind": "safety", "reason": "BLOCKLIST", "at": "prompt"}, "blocked: BLOCKLIST"),
        ("azure", {"kind": "safety"}, "content_filter"),
        ("openrouter", {"kind": "refusal"}, "content_filter"),
    )
]


@pytest.mark.parametrize(("wire", "fault", "finish"), WITHHELD)
def test_an_answer_that_is_withheld_is_a_refusal_and_is_not_bought_again(
    url: str, database: str, wire: Wire, fault: dict[str, Any], finish: str
) -> None:
    end = ended(wire, url, database, {**fault, "max_count": 1})
    assert isinstance(end.outcome, Answer)
    assert (end.outcome.finish_reason, end.row.finish_given) == ("content_filter", finish)
    assert (end.row.status, end.row.attempts) == ("succeeded", 1)
    assert (end.row.served_model, end.row.prompt_tokens) == (wire.model, 2)
    state = readable(end.outcome)
    assert isinstance(state, NoAnswer)
    assert state.status == "refused"
    said = {"stop": end.outcome.text, "content_filter": ""}.get(finish, finish)
    assert state.failure.endswith(f"withheld the answer: {said}" if said else "the answer")
    assert end.next_row.finish_given == wire.stop


@pytest.mark.parametrize("wire", MAIN_WIRES, ids=lambda wire: wire.name)
def test_an_empty_answer_after_thinking_names_the_remedy_and_is_not_bought_again(
    url: str, database: str, wire: Wire
) -> None:
    end = ended(wire, url, database, {"kind": "thought_only"})
    assert isinstance(end.outcome, Failure)
    assert end.outcome.kind == "output_limit"
    assert f'thinking_tokens in table [{wire.name}.models."{wire.model}"]' in end.outcome.message
    assert (end.row.status, end.row.attempts) == ("failed", 1)
    (error,) = end.row.errors
    assert (error["served_model"], error["finish_given"]) == (wire.model, wire.length)
    assert error["completion_tokens"] == error["limit"]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("anthropic", "model_context_window_exceeded", "context"),
        ("anthropic", "pause_turn", "unknown"),
        ("mistral", "model_length", "context"),
        ("gemini", "OTHER", "unknown"),
        ("ollama", "load", "unknown"),
        ("vllm", "repetition", "unknown"),
    ],
)
def test_a_rare_finish_is_kept_as_it_was_given(
    url: str, database: str, name: str, value: str, reason: str
) -> None:
    end = ended(WIRES[name], url, database, {"kind": "native_finish", "value": value})
    assert isinstance(end.outcome, Answer)
    assert (end.outcome.finish_reason, end.row.finish_given) == (reason, value)
    assert end.row.attempts == 1


OF_ALL_CALLS = rows(
    Row({"kind": "quota"}, "quota", (*MAIN_WIRES, *by("openrouter", "xai", "deepseek", "azure")), {
        "anthropic": "Your credit balance is too low",
        "gemini": "Your prepayment credits are depleted.",
        "mistral": "Payment required",
        "xai": "Your newly created team doesn't have any credits yet.",
    }),
    Row({"kind": "rate_limit", "code": "credit_balance_exhausted"}, "quota", by("openai")),
    Row({"kind": "spend_limit"}, "quota", (*MAIN_WIRES, *by("openrouter", "xai", "deepseek"))),
    Row({"kind": "spend_limit", "own": True}, "quota", by("anthropic"),
        {"anthropic": "You have reached your specified API usage limits."}),
    Row({"kind": "unauthorized"}, "authentication", tuple(WIRES.values()), {
        "anthropic": "invalid x-api-key",
        "gemini": "API key not valid. Please pass a valid API key.",
        "mistral": "Unauthorized",
        "xai": "Incorrect API key provided",
    }),
    Row({"kind": "no_access"}, "no_access",
        (*MAIN_WIRES, *by("openrouter", "xai", "azure")), {
        "anthropic": "Your organization does not have access to this model.",
        "openrouter": "No allowed providers are available",
    }),
    Row({"kind": "retired"}, "retired", by("openai", "gemini", "mistral", "xai", "azure")),
    # They say no more than of a model that there never was.
    Row({"kind": "retired"}, "not_found", by("anthropic", "openrouter", "deepseek", "ollama"),
        {"anthropic": "model: ", "ollama": "try pulling it first"}),
    Row({"kind": "retired", "status": 410}, "retired", tuple(WIRES.values())),
    Row({"kind": "html", "status": 403}, "unreachable", tuple(WIRES.values()),
        dict.fromkeys(WIRES, "status 403 with a web page")),
)  # fmt: skip
REMEDIES = {
    "quota": "Add credit",
    "authentication": f"Check the key in {KEY_NAME}",
    "no_access": "grant the account access to this model",
    "retired": "use another one",
    "not_found": "Check the model's name",
    "unreachable": "base_url",
}


@pytest.mark.parametrize(("row", "wire"), OF_ALL_CALLS)
def test_what_every_call_would_meet_is_sent_once_and_stops_the_model(
    url: str, database: str, row: Row, wire: Wire
) -> None:
    end = ended(wire, url, database, row.fault)
    assert isinstance(end.outcome, ProviderRefusedError), end.outcome
    assert REMEDIES[row.kind] in end.outcome.remedy
    assert wire.name in end.outcome.message
    assert row.words.get(wire.name, "") in end.outcome.message
    assert "{" not in end.outcome.message
    if row.kind != "unreachable":
        assert f"refuses {wire.asked}" in end.outcome.message
    assert (end.row.status, end.row.attempts, end.row.cost_usd) == ("failed", 1, None)
    assert [error["kind"] for error in end.row.errors] == [row.kind]
    assert (end.next_row.status, end.next_row.attempts) == ("planned", 0)


@pytest.mark.parametrize(
    ("name", "key", "owner"),
    [
        ("openai", "sk-ant-0123456789abcdef", "Anthropic"),
        ("anthropic", "AIza0123456789abcdef", "Gemini"),
        ("gemini", "sk-or-0123456789abcdef", "OpenRouter"),
        ("mistral", "xai-0123456789abcdef", "xAI"),
        ("xai", "gsk_0123456789abcdef", "Groq"),
        ("openai", "wrong", None),
    ],
)
def test_a_key_of_another_provider_is_named_as_that_and_never_shown(
    url: str, database: str, monkeypatch: pytest.MonkeyPatch, name: str, key: str, owner: str | None
) -> None:
    monkeypatch.setenv(KEY_NAME, key)
    end = ended(WIRES[name], url, database)
    assert isinstance(end.outcome, ProviderRefusedError)
    assert ("looks like one of" in end.outcome.message) == (owner is not None)
    assert owner is None or f"The key looks like one of {owner}." in end.outcome.message
    assert owner is None or key not in f"{end.outcome} {end.row.errors}"


@pytest.mark.parametrize("name", OWN_KEYS)
def test_a_providers_own_key_that_is_refused_is_no_other_providers(
    url: str, database: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(KEY_NAME, OWN_KEYS[name])
    end = ended(WIRES[name], url, database, {"kind": "unauthorized"})
    assert isinstance(end.outcome, ProviderRefusedError)
    assert "looks like" not in end.outcome.message


@pytest.mark.parametrize(
    ("name", "form", "waits"),
    [
        *((wire.name, "seconds", True) for wire in MAIN_WIRES),
        *((wire.name, "date", True) for wire in MAIN_WIRES),
        *((wire.name, "absent", False) for wire in MAIN_WIRES),
        ("openai", "reset_header", True),
        ("xai", "reset_header", True),
        ("anthropic", "reset_header", True),
        ("gemini", "retry_info", True),
    ],
)
def test_how_long_a_rate_limit_asks_to_wait(url: str, name: str, form: str, waits: bool) -> None:
    wire = WIRES[name]
    set_faults(url, {"kind": "rate_limit", "form": form, "retry_after": 40})

    async def work() -> float | None:
        client, messages = Client(Keys()), a_call("k").prompt.messages
        with pytest.raises(ProviderError) as refused:
            await client.complete(wire.at(url), wire.asked, messages, {"max_tokens": 2000}, 20)
        await client.close()
        assert refused.value.kind == "rate_limit"
        return refused.value.retry_after

    asked = run(work())
    if waits:  # dates have whole seconds
        assert 30 < asked <= 41
    else:
        assert asked is None


@pytest.mark.parametrize("wire", MAIN_WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize("kind", ["thought_only", "context_too_long", "content_policy"])
def test_failures_alike_stop_a_model(url: str, database: str, wire: Wire, kind: str) -> None:
    set_faults(url, {"kind": kind})

    async def work() -> None:
        async with gateway_by(wire, url, database) as (gateway, engine):
            asked = [a_call(f"{n}", model=wire.asked, parameters=ASKED) for n in range(12)]
            opened = await gateway.open(asked)
            ends = []
            for call, row in zip(asked, opened, strict=True):
                ends += await asyncio.gather(
                    gateway.ask(call, no_rows, row), return_exceptions=True
                )
            stopped = [end for end in ends if isinstance(end, ModelStoppedError)]
            assert len(stopped) == 12 - ENOUGH_ALIKE
            attempts = sorted(row.attempts for row in calls(engine).values())
            assert attempts == [0] * len(stopped) + [1] * ENOUGH_ALIKE

    run(work())
