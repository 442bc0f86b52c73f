"""The lines of batch files: requests as direct calls send them, answers that nobody vouches for."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge_gym.llm.batches.clients import limit_met
from judge_gym.llm.batches.openai import chat_body, read_line, request_bodies, request_file
from judge_gym.llm.capabilities import fitted, taken_by
from judge_gym.llm.client import Client
from judge_gym.llm.keys import Keys
from judge_gym.llm.pricing import listed_price, price_in_batch
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.records.batches import BatchCall
from judge_gym.records.calls import Answer, Failure, Parameters
from support.misbehaving import answers, completion, misbehaving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SECRET = "sk-planted-0123456789abcdef"
PROVIDER = Provider(name="openai", body={"store": False})
MESSAGES = [{"role": "system", "content": "Wäge ab."}, {"role": "user", "content": 'A "B"\n\u2028'}]


@pytest.mark.parametrize("model", ["calm-1", "gpt-4.1-mini", "gpt-5-mini", "o3-mini"])
@pytest.mark.parametrize("json_answer", [False, True])
def test_a_line_holds_the_bytes_that_a_direct_call_sends(model: str, json_answer: bool) -> None:
    asked = Parameters(0.7, 0.9, 50, seed=2**40 + 3, json_answer=json_answer).asked()
    providers = Providers({"openai": PROVIDER}, Path("providers.toml"))
    parameters = fitted(model, asked, taken_by(providers, f"openai/{model}")).parameters

    async def sent() -> bytes:
        async with misbehaving(answers()) as provider:
            client = Client(Keys())
            where = PROVIDER.model_copy(
                update={"name": "real", "litellm": "openai", "base_url": provider.base_url}
            )
            await client.complete(where, f"real/{model}", tuple(MESSAGES), parameters, 60)
            await client.close()
            return provider.bodies[0]

    direct = asyncio.run(sent())
    body = chat_body(PROVIDER, f"openai/{model}", MESSAGES, parameters)
    assert json.dumps(body).encode() == direct
    call = BatchCall(17, MESSAGES, asked, parameters)
    other = replace(call, id=18)
    content = request_file(request_bodies(PROVIDER, f"openai/{model}", [call, other]))
    first, second, rest = content.split(b"\n")
    assert first == second.replace(b'"18"', b'"17"')
    assert rest == b""
    assert first.endswith(b', "body": ' + direct + b"}")
    line = json.loads(first)
    assert (line["custom_id"], line["method"], line["url"]) == (
        "17",
        "POST",
        "/v1/chat/completions",
    )


def read(line: Any, provider: Provider = PROVIDER) -> Any:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    return read_line(provider, f"{provider.name}/gpt-4.1-mini", raw, SECRET)


def a_line(body: Any, status: Any = 200, custom_id: Any = "17") -> dict[str, Any]:
    return {
        "custom_id": custom_id,
        "response": {"status_code": status, "body": body},
        "error": None,
    }


def test_an_answer_is_read_as_a_direct_one_and_priced_as_a_batch() -> None:
    call_id, answer = read(a_line(completion("yes")))
    assert call_id == 17
    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish_reason, answer.latency_ms) == ("yes", "stop", None)
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 3)
    # 0.20 and 0.80 dollars for a million tokens in a batch, half of a direct call's.
    assert answer.cost_usd == pytest.approx((7 * 0.2 + 3 * 0.8) / 1e6)


def test_a_price_of_the_providers_file_wins_and_a_model_without_batch_price_costs_as_directly() -> (
    None
):
    own = Price(prompt=1, completion=2)
    priced = Provider(name="openai", prices={"gpt-4.1-mini": own})
    assert price_in_batch(priced, "gpt-4.1-mini") == own
    assert listed_price(PROVIDER, "gpt-3.5-turbo", "_batches") is None
    assert price_in_batch(PROVIDER, "gpt-3.5-turbo") == listed_price(PROVIDER, "gpt-3.5-turbo")
    assert price_in_batch(PROVIDER, "nobody-knows-it") is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (a_line({"error": {"message": "boom"}}, 500), "server"),
        (a_line({"error": {"message": "slow down"}}, 429), "rate_limit"),
        (a_line({"error": {"message": "who?"}}, 401), "authentication"),
        (a_line(None, None), "unreadable"),
        (a_line({}), "unreadable"),
        (a_line({"choices": []}), "unreadable"),
        (a_line({"choices": [{"message": "text"}]}), "unreadable"),
        (a_line("text"), "unreadable"),
    ],
)
def test_a_line_without_an_answer_is_a_failure_by_its_status(line: Any, kind: str) -> None:
    call_id, failure = read(line)
    assert call_id == 17
    assert isinstance(failure, Failure)
    assert failure.kind == kind


def test_the_key_is_masked_in_what_a_line_says() -> None:
    _, failure = read(a_line({"error": {"message": f"wrong key {SECRET} given"}}, 401))
    assert failure.message == "wrong key [key] given"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        "text",
        {},
        a_line(completion(), custom_id="another"),
        a_line(completion(), custom_id=None),
    ],
)
def test_a_line_of_nobody_is_left_out(line: Any) -> None:
    assert read(line) is None


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "17"},
        {"custom_id": "17", "response": None, "error": {"code": "batch_expired", "message": "m"}},
        {"custom_id": 17, "response": None, "error": {"code": "batch_cancelled"}},
    ],
)
def test_a_line_about_a_request_that_was_not_executed_names_its_call(line: Any) -> None:
    assert read(line) == (17, None)


def test_a_line_with_an_error_instead_of_a_response_says_why() -> None:
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
    _, failure = read({"custom_id": "17", "response": None, "error": error})
    assert failure.message == "You exceeded your current quota"


@pytest.mark.parametrize(
    "response",
    [
        {"status_code": "200", "body": completion("yes")},
        {"body": completion("yes")},
        {"status_code": 200, "body": json.dumps(completion("yes"))},
        completion("yes"),
    ],
)
def test_an_answer_in_another_wrapping_is_not_bought_again(response: Any) -> None:
    _, answer = read({"custom_id": 17, "response": response})
    assert isinstance(answer, Answer)
    assert (answer.text, answer.prompt_tokens) == ("yes", 7)


def test_a_failure_of_a_line_is_known_by_a_status_in_words_too() -> None:
    _, failure = read(a_line({"error": {"message": "slow down"}}, "429"))
    assert failure.kind == "rate_limit"


@pytest.mark.parametrize("usage", [None, {}, ..., {"prompt_tokens": None}])
def test_an_answer_without_token_counts_has_an_unknown_cost(usage: Any) -> None:
    _, answer = read(a_line(completion("yes", usage=usage)))
    assert (answer.text, answer.cost_usd) == ("yes", None)


@pytest.mark.parametrize(
    ("status", "said", "limit"),
    [
        (413, "", "size"),
        (400, "File is too large. Maximum size is 209715200 bytes.", "size"),
        (
            400,
            "The number of requests in the input file exceeds the maximum",
            "size",
        ),
        (400, "The file size exceeds the limit of 200 MB", "size"),
        (
            429,
            "Enqueued token limit reached for gpt-4.1 in organization o. Limit: 90,000 enqueued "
            "tokens. Please try again once some in_progress batches have been completed.",
            "queue",
        ),
        (None, "token_limit_exceeded None", "queue"),
        (400, "Invalid 'seed': integer above maximum", None),
        (404, "No such File object", None),
        (429, "Rate limit reached for requests", None),
    ],
)
def test_the_limits_of_batches(status: int | None, said: str, limit: str | None) -> None:
    assert limit_met(status, said) == limit
