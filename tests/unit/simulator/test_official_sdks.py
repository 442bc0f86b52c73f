"""The clients that providers ship, against the simulator: they parse every answer and error."""

import asyncio
import json
import math
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from mistralai.client import Mistral
from mistralai.client import errors as mistral_errors
from mistralai.client.models import ThinkChunk

from judge_gym.simulator.launch import running

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
STAGES = '"Oz" Judge.\nA: "No signs"\n   - none\nB: "All signs"\n   - all\n'
SCORING = f'How far does the evidence show "fascism" in {STAGES}TASK\nVERDICT: <one letter of A, B>'
SYSTEM = "You judge evidence."


@dataclass(frozen=True)
class Wires:
    """The four clients of one simulator, by the names of their APIs."""

    url: str

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def faults(self, *tables: dict[str, Any]) -> None:
        """Put faults in force in place of those before."""
        data = json.dumps({"fault": list(tables)}).encode()
        urllib.request.urlopen(f"{self.root}/faults", data, timeout=60).close()

    def openai(self, path: str = "/v1", key: str = "k") -> openai.OpenAI:
        return openai.OpenAI(base_url=self.root + path, api_key=key, max_retries=0)

    def anthropic(self, key: str = "k", version: str = "") -> anthropic.Anthropic:
        """The newest version of the API unless one is given; it has no sampling parameters."""
        headers = {"anthropic-version": version} if version else None
        return anthropic.Anthropic(
            base_url=self.root, api_key=key, max_retries=0, default_headers=headers
        )

    def gemini(self, key: str = "k") -> genai.Client:
        return genai.Client(api_key=key, http_options={"base_url": self.root})

    def mistral(self, key: str = "k") -> Mistral:
        return Mistral(api_key=key, server_url=f"{self.root}/mistral")


@pytest.fixture(scope="module")
def started() -> Iterator[Wires]:
    with running(batch_seconds=0.0) as url:
        yield Wires(url)


@pytest.fixture
def wires(started: Wires) -> Wires:
    started.faults()
    return started


@pytest.fixture(scope="module")
def slow() -> Iterator[Wires]:
    """A simulator whose batches take an hour."""
    with running(batch_seconds=3600.0) as url:
        yield Wires(url)


def ask_openai(client: Any, model: str = "calm-1", **more: Any) -> Any:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": SCORING}]
    return client.chat.completions.create(model=model, messages=messages, **more)


def ask_anthropic(client: Any, model: str = "calm-1", **more: Any) -> Any:
    given = {"max_tokens": 4000, "system": SYSTEM} | more
    messages = [{"role": "user", "content": SCORING}]
    return client.messages.create(model=model, messages=messages, **given)


def ask_gemini(client: Any, model: str = "calm-1", **config: Any) -> Any:
    given = {"system_instruction": SYSTEM} | config
    return client.models.generate_content(model=model, contents=SCORING, config=given)


def ask_mistral(client: Mistral, model: str = "calm-1", **more: Any) -> Any:
    messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": SCORING}]
    return client.chat.complete(model=model, messages=messages, **more)


ASK: dict[str, Callable[..., Any]] = {
    "openai": ask_openai,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
    "mistral": ask_mistral,
}
"""How each client asks the same question of a planted judge."""


def text_of(response: Any) -> str:
    """Return the text of a response of any of the four clients."""
    if hasattr(response, "choices"):
        return str(response.choices[0].message.content)
    if hasattr(response, "candidates"):
        return str(response.text)
    return "".join(block.text for block in response.content if block.type == "text")


def checked(response: Any) -> Any:
    """Return a response whose own type takes every field of it; these clients do not check."""
    fields = response.to_dict()
    # Groq's value, which OpenAI's type does not list.
    if fields.get("service_tier") == "on_demand":
        del fields["service_tier"]
    type(response).model_validate(fields, strict=False)
    return response


def test_the_same_question_has_the_same_answer_over_every_api(wires: Wires) -> None:
    limits = {"temperature": 0.5, "max_tokens": 300}
    answers = {
        "openai": checked(ask_openai(wires.openai(), seed=4, **limits)),
        "mistral": ask_mistral(wires.mistral(), random_seed=4, **limits),
        "gemini": ask_gemini(wires.gemini(), seed=4, temperature=0.5, max_output_tokens=300),
        # It takes no seed, and neither do these.
        "anthropic": checked(
            ask_anthropic(
                wires.anthropic(version="2023-06-01"),
                max_tokens=300,
                extra_body={"temperature": 0.5},
            )
        ),
        "openai without a seed": checked(ask_openai(wires.openai(), **limits)),
    }
    texts = {name: text_of(answer) for name, answer in answers.items()}
    assert texts["openai"] == texts["mistral"] == texts["gemini"]
    assert "VERDICT: " in texts["openai"]
    assert texts["anthropic"] == texts["openai without a seed"]


def test_async_clients_read_the_same_answers(wires: Wires) -> None:
    async def work() -> None:
        async with (
            openai.AsyncOpenAI(base_url=wires.url, api_key="k") as to_openai,
            anthropic.AsyncAnthropic(base_url=wires.root, api_key="k") as to_anthropic,
        ):
            assert text_of(await ask_openai(to_openai)) == text_of(ask_openai(wires.openai()))
            said = await ask_anthropic(to_anthropic)
            assert text_of(said) == text_of(ask_anthropic(wires.anthropic()))
            with pytest.raises(anthropic.NotFoundError):
                await ask_anthropic(to_anthropic, model="sim/nobody")
        google = wires.gemini().aio
        assert text_of(await ask_gemini(google)) == text_of(ask_gemini(wires.gemini()))
        with pytest.raises(google_errors.ClientError):
            await ask_gemini(google, model="sim-nobody", temperature=5)
        await google.aclose()
        async with Mistral(api_key="k", server_url=f"{wires.root}/mistral") as to_mistral:
            messages: Any = [{"role": "user", "content": SCORING}]
            said = await to_mistral.chat.complete_async(model="calm-1", messages=messages)
            assert "VERDICT" in text_of(said)
            with pytest.raises(mistral_errors.SDKError):
                await to_mistral.chat.complete_async(model="sim/nobody", messages=messages)

    asyncio.run(work())


ERRORS: dict[str, tuple[type[Exception], ...]] = {
    "openai": (openai.APIStatusError,),
    "anthropic": (anthropic.APIStatusError,),
    "gemini": (google_errors.APIError,),
    "mistral": (mistral_errors.MistralError,),
}


def refused(wires: Wires, api: str, key: str = "k", **more: Any) -> Any:
    """Return the error that a client raises."""
    with pytest.raises(ERRORS[api]) as caught:
        ASK[api](getattr(wires, api)(key=key), **more)
    return caught.value


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "rate_limit"}, {"openai": 429, "anthropic": 429, "gemini": 429, "mistral": 429}),
        ({"kind": "quota"}, {"openai": 429, "anthropic": 402, "gemini": 402, "mistral": 402}),
        ({"kind": "spend_limit"}, {"openai": 429, "anthropic": 429, "gemini": 429}),
        ({"kind": "spend_limit", "own": True}, {"openai": 429, "anthropic": 400}),
        ({"kind": "overloaded"}, {"openai": 503, "anthropic": 529, "gemini": 503, "mistral": 503}),
        ({"kind": "server_error"}, {"openai": 500, "anthropic": 500, "gemini": 500}),
        ({"kind": "unauthorized"}, {"openai": 401, "anthropic": 401, "gemini": 400,
                                    "mistral": 401}),
        ({"kind": "no_access"}, {"openai": 403, "anthropic": 403, "gemini": 403, "mistral": 403}),
        ({"kind": "retired"}, {"openai": 404, "anthropic": 404, "gemini": 404, "mistral": 404}),
        ({"kind": "retired", "status": 410}, {"openai": 410, "anthropic": 410, "gemini": 410}),
        ({"kind": "context_too_long"}, {"openai": 400, "anthropic": 400, "gemini": 400}),
        ({"kind": "content_policy"}, {"openai": 400, "anthropic": 400, "gemini": 400}),
    ],
)  # fmt: skip
def test_every_client_reads_the_status_and_the_words_of_a_failure(
    wires: Wires, fault: dict[str, Any], expected: dict[str, int]
) -> None:
    wires.faults(fault)
    for api, status in expected.items():
        error = refused(wires, api)
        assert (error.code if api == "gemini" else error.status_code) == status, api
        assert len(str(error.message)) > 5


def test_errors_carry_each_providers_own_fields(wires: Wires) -> None:
    wires.faults({"kind": "spend_limit"})
    of_anthropic = refused(wires, "anthropic")
    assert isinstance(of_anthropic, anthropic.RateLimitError)
    assert of_anthropic.type == "rate_limit_error"
    assert of_anthropic.body["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}
    assert of_anthropic.request_id.startswith("req_")
    assert "retry-after" not in of_anthropic.response.headers
    assert refused(wires, "openai").code == "organization_spend_limit_exceeded"
    wires.faults({"kind": "overloaded"})
    assert isinstance(refused(wires, "anthropic"), anthropic.InternalServerError)
    assert refused(wires, "anthropic").type == "overloaded_error"
    assert refused(wires, "openai").code == "server_is_overloaded"
    assert refused(wires, "gemini").status == "UNAVAILABLE"


def test_a_rate_limit_says_when_in_each_providers_form(wires: Wires) -> None:
    wires.faults({"kind": "rate_limit", "retry_after": 7, "form": "seconds"})
    assert refused(wires, "anthropic").response.headers["retry-after"] == "7"
    wires.faults({"kind": "rate_limit", "retry_after": 7, "form": "retry_info"})
    error = refused(wires, "gemini")
    assert error.status == "RESOURCE_EXHAUSTED"
    (detail,) = error.details["error"]["details"]
    assert detail["retryDelay"] == "7s"
    wires.faults({"kind": "rate_limit", "retry_after": 67, "form": "reset_header"})
    headers = refused(wires, "openai").response.headers
    assert headers["x-ratelimit-remaining-requests"] == "0"
    assert headers["x-ratelimit-reset-requests"] == "1m7s"
    assert "retry-after" not in headers
    headers = refused(wires, "anthropic").response.headers
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert headers["anthropic-ratelimit-requests-reset"].endswith("Z")


def test_answers_say_how_much_of_the_limits_is_left(wires: Wires) -> None:
    raw = wires.openai().chat.completions.with_raw_response
    of_openai = raw.create(model="calm-1", messages=[{"role": "user", "content": "Hi"}])
    assert int(of_openai.headers["x-ratelimit-remaining-requests"]) > 0
    assert of_openai.headers["x-judge-gym-simulator"]
    of_anthropic = wires.anthropic().messages.with_raw_response.create(
        model="calm-1", max_tokens=50, messages=[{"role": "user", "content": "Hi"}]
    )
    assert int(of_anthropic.headers["anthropic-ratelimit-requests-remaining"]) > 0
    assert of_anthropic.headers["request-id"].startswith("req_")


def test_the_newest_messages_api_has_no_sampling_parameters(wires: Wires) -> None:
    for name in ("temperature", "top_p", "top_k"):
        error = refused(wires, "anthropic", extra_body={name: 1})
        assert error.body["error"]["message"] == f"{name}: Extra inputs are not permitted"


@pytest.mark.parametrize("key", ["wrong", "sk-or-v1-0123456789"])
def test_a_wrong_key_and_another_providers_are_refused(wires: Wires, key: str) -> None:
    statuses = {
        api: getattr(error, "status_code", None) or error.code
        for api in ASK
        for error in [refused(wires, api, key=key)]
    }
    assert statuses == {"openai": 401, "anthropic": 401, "gemini": 400, "mistral": 401}
    assert "API_KEY_INVALID" in str(refused(wires, "gemini", key=key))


def test_refusals_with_status_200(wires: Wires) -> None:
    wires.faults({"kind": "safety", "reason": "cyber"})
    message = checked(ask_anthropic(wires.anthropic()))
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert (message.stop_details.category, message.stop_details.type) == ("cyber", "refusal")
    choice = checked(ask_openai(wires.openai())).choices[0]
    assert (choice.message.content, choice.finish_reason) == (None, "stop")
    assert choice.message.refusal
    assert text_of(ask_mistral(wires.mistral()))
    wires.faults({"kind": "safety", "reason": "RECITATION"})
    (candidate,) = ask_gemini(wires.gemini()).candidates
    assert (candidate.finish_reason.value, candidate.content.parts) == ("RECITATION", None)
    wires.faults({"kind": "safety", "reason": "PROHIBITED_CONTENT", "at": "prompt"})
    blocked = ask_gemini(wires.gemini())
    assert blocked.candidates is None
    assert blocked.prompt_feedback.block_reason.value == "PROHIBITED_CONTENT"


def test_thinking_is_apart_from_the_answer(wires: Wires) -> None:
    message = checked(ask_anthropic(
        wires.anthropic(), model="claude-sonnet-4-5",
        thinking={"type": "enabled", "budget_tokens": 1024},
    ))  # fmt: skip
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert "VERDICT: A" in message.content[0].thinking
    thought = message.usage.output_tokens_details.thinking_tokens
    assert 600 <= thought <= 1024 < message.usage.output_tokens + 1024
    omitted = ask_anthropic(
        wires.anthropic(), model="claude-opus-4-7", thinking={"type": "adaptive"}
    )
    assert omitted.content[0].thinking == ""
    answer = ask_gemini(
        wires.gemini(), model="gemini-2.5-flash", thinking_config={"include_thoughts": True}
    )
    first, second = answer.candidates[0].content.parts
    assert (first.thought, second.thought) == (True, None)
    counts = answer.usage_metadata
    assert counts.thoughts_token_count >= 600
    assert counts.total_token_count == (
        counts.prompt_token_count + counts.candidates_token_count + counts.thoughts_token_count
    )
    chunks = ask_mistral(wires.mistral(), model="magistral-medium").choices[0].message.content
    assert isinstance(chunks[0], ThinkChunk)
    assert "VERDICT" in chunks[1].text
    usage = checked(ask_openai(wires.openai(), model="gpt-5-mini")).usage
    assert usage.completion_tokens > usage.completion_tokens_details.reasoning_tokens >= 600


def test_thinking_that_took_all_the_room(wires: Wires) -> None:
    wires.faults({"kind": "thought_only"})
    assert checked(ask_openai(wires.openai())).choices[0].finish_reason == "length"
    assert checked(ask_anthropic(wires.anthropic())).stop_reason == "max_tokens"
    assert ask_gemini(wires.gemini()).candidates[0].finish_reason.value == "MAX_TOKENS"
    choice = ask_mistral(wires.mistral()).choices[0]
    assert choice.finish_reason == "length"
    assert [type(chunk) for chunk in choice.message.content] == [ThinkChunk]


@pytest.mark.parametrize(
    ("api", "value"),
    [("anthropic", "pause_turn"), ("anthropic", "model_context_window_exceeded"),
     ("gemini", "LANGUAGE"), ("mistral", "model_length"), ("mistral", "error")],
)  # fmt: skip
def test_rarer_finish_reasons_are_known_to_the_clients(wires: Wires, api: str, value: str) -> None:
    wires.faults({"kind": "native_finish", "value": value})
    response = ASK[api](getattr(wires, api)())
    if api == "anthropic":
        assert checked(response).stop_reason == value
    elif api == "gemini":
        assert response.candidates[0].finish_reason.value == value
    else:
        assert response.choices[0].finish_reason == value
    assert "VERDICT" in text_of(response)


def test_cached_tokens_are_counted_where_each_provider_counts_them(wires: Wires) -> None:
    plain = ask_anthropic(wires.anthropic()).usage
    wires.faults({"kind": "cached", "read": 0.5, "written": 0.25})
    usage = checked(ask_anthropic(wires.anthropic())).usage
    read, written = plain.input_tokens // 2, plain.input_tokens // 4
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (read, written)
    assert usage.input_tokens == plain.input_tokens - read - written
    counts = ask_openai(wires.openai()).usage
    assert counts.prompt_tokens == plain.input_tokens
    assert counts.prompt_tokens_details.cached_tokens == read
    assert ask_gemini(wires.gemini()).usage_metadata.cached_content_token_count == read


def test_the_letter_of_the_verdict_has_its_planted_probability(wires: Wires) -> None:
    response = checked(ask_openai(wires.openai(), logprobs=True, top_logprobs=3))
    tokens = response.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == text_of(response)
    (verdict,) = [token for token in tokens if token.token.strip() in ("A", "B")
                  and token.logprob < math.log(0.9985)]  # fmt: skip
    shares = {top.token.strip(): math.exp(top.logprob) for top in verdict.top_logprobs}
    assert {"A", "B"} <= set(shares)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    of_gemini = ask_gemini(wires.gemini(), response_logprobs=True, logprobs=3)
    chosen = of_gemini.candidates[0].logprobs_result.chosen_candidates
    assert [token.log_probability for token in chosen] == [token.logprob for token in tokens]
    of_mistral = wires.mistral().chat.complete(
        model="calm-1", logprobs=True, top_logprobs=3,
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": SCORING}],
    )  # fmt: skip
    assert len(of_mistral.choices[0].logprobs.content) == len(tokens)


@pytest.mark.parametrize(
    ("path", "model"),
    [("/xai/v1", "grok-4.6"), ("/deepseek", "deepseek-v4"), ("/groq/openai/v1", "llama-3.3-70b"),
     ("/openrouter/api/v1", "openai/gpt-5"), ("/ollama/v1", "llama3.2"), ("/vllm/v1", "served")],
)  # fmt: skip
def test_openais_client_reads_the_apis_that_resemble_its_own(
    wires: Wires, path: str, model: str
) -> None:
    said = checked(ask_openai(wires.openai(path), model=model, max_tokens=3000))
    assert (said.model, said.choices[0].finish_reason) == (model, "stop")
    assert "VERDICT" in text_of(said)
    wires.faults({"kind": "unauthorized"})
    with pytest.raises(openai.APIStatusError) as caught:
        ask_openai(wires.openai(path), model=model)
    assert caught.value.status_code == (400 if "xai" in path else 401)


def test_azures_deployments(wires: Wires) -> None:
    client = openai.AzureOpenAI(
        azure_endpoint=f"{wires.root}/azure", api_key="k", api_version="2026-01-01", max_retries=0
    )
    said = checked(ask_openai(client, model="my-deployment"))
    assert said.choices[0].content_filter_results["violence"]["filtered"] is False
    wires.faults({"kind": "content_policy"})
    with pytest.raises(openai.BadRequestError) as caught:
        ask_openai(client, model="my-deployment")
    assert caught.value.code == "content_filter"
    assert caught.value.body["innererror"]["code"] == "ResponsibleAIPolicyViolation"
    wires.faults({"kind": "safety"})
    assert ask_openai(client, model="my-deployment").choices[0].message.refusal


def request(number: int, **params: Any) -> Any:
    given = {"model": "calm-1", "max_tokens": 300,
             "messages": [{"role": "user", "content": SCORING}]}  # fmt: skip
    return {"custom_id": f"c{number}", "params": given | params}


def test_a_message_batch_from_its_requests_to_its_results(wires: Wires) -> None:
    client = wires.anthropic(version="2023-06-01")
    batches = client.messages.batches
    asked = [request(number, temperature=number / 10) for number in range(5)]
    asked += [request(5, max_tokens=0), request(6, model="claude-opus-4-7", temperature=0)]
    batch = checked(batches.create(requests=asked))
    assert checked(batches.retrieve(batch.id)).processing_status == "ended"
    counts = batch.request_counts
    assert (counts.succeeded, counts.errored, counts.processing) == (5, 2, 0)
    results = {one.custom_id: one.result for one in batches.results(batch.id)}
    assert list(results) != [f"c{number}" for number in range(7)]  # out of order
    assert set(results) == {f"c{number}" for number in range(7)}
    assert {name: result.type for name, result in results.items() if name in ("c5", "c6")} == {
        "c5": "errored", "c6": "errored",
    }  # fmt: skip
    error = results["c6"].error.error
    said = "`temperature` is deprecated for this model."
    assert (error.type, error.message) == ("invalid_request_error", said)
    alone = client.messages.create(**request(3)["params"], extra_body={"temperature": 0.3})
    assert results["c3"].message == alone
    assert next(iter(batches.list())).id == batch.id
    assert batches.delete(batch.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        batches.retrieve(batch.id)


@pytest.mark.parametrize(
    ("fault", "types"),
    [
        ({"kind": "batch_expired", "done": 0.25}, ["expired"] * 3 + ["succeeded"]),
        ({"kind": "batch_half_failed"}, ["errored"] * 2 + ["succeeded"] * 2),
        ({"kind": "batch_duplicate_lines", "lines": 0.5}, ["succeeded"] * 6),
        ({"kind": "overloaded", "routes": ["line"], "max_count": 1},
         ["errored"] + ["succeeded"] * 3),
    ],
)  # fmt: skip
def test_what_becomes_of_a_message_batch(
    wires: Wires, fault: dict[str, Any], types: list[str]
) -> None:
    wires.faults(fault)
    batches = wires.anthropic().messages.batches
    batch = batches.create(requests=[request(number) for number in range(4)])
    results = list(batches.results(batch.id))
    assert sorted(one.result.type for one in results) == types
    counts = checked(batches.retrieve(batch.id)).request_counts.to_dict()
    assert sum(counts.values()) == 4
    for one in results:
        if one.result.type == "errored":
            expected = "overloaded_error" if fault["kind"] == "overloaded" else "api_error"
            assert one.result.error.error.type == expected


def test_a_message_batch_is_cancelled(slow: Wires) -> None:
    batches = slow.anthropic().messages.batches
    batch = batches.create(requests=[request(1)])
    assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", 1)
    assert (batch.results_url, batch.ended_at) == (None, None)
    with pytest.raises(anthropic.AnthropicError, match="results"):
        batches.results(batch.id)
    cancelled = checked(batches.cancel(batch.id))
    assert cancelled.processing_status == "canceling"
    assert cancelled.cancel_initiated_at is not None
    with pytest.raises(anthropic.BadRequestError, match="deleted"):
        batches.delete(batch.id)


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ([], "at least 1"),
        ([request(1), request(1)], "'c1' is not unique"),
        ([request(1) | {"custom_id": "with a space"}], "pattern"),
    ],
)
def test_a_message_batch_that_cannot_be_created(wires: Wires, requests: Any, said: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=said):
        wires.anthropic().messages.batches.create(requests=requests)


@pytest.mark.slow
def test_a_message_batch_outlives_the_simulator(tmp_path: Any) -> None:
    with running(batch_seconds=0.0, state=tmp_path) as url:
        batch = Wires(url).anthropic().messages.batches.create(requests=[request(1)])
    with running(batch_seconds=0.0, state=tmp_path) as url:
        batches = Wires(url).anthropic().messages.batches
        assert [one.custom_id for one in batches.results(batch.id)] == ["c1"]
        assert [listed.id for listed in batches.list()] == [batch.id]


def test_openais_client_reads_a_batch(wires: Wires) -> None:
    client = wires.openai()
    body = {"model": "calm-1", "messages": [{"role": "user", "content": SCORING}]}
    line = {"custom_id": "c1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    file = client.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    assert checked(client.batches.retrieve(batch.id)).status == "completed"
    output = json.loads(client.files.content(batch.output_file_id).content)
    (choice,) = output["response"]["body"]["choices"]
    assert "VERDICT" in choice["message"]["content"]


def test_openais_client_reads_embeddings_in_both_encodings(wires: Wires) -> None:
    texts = ["the court sat", "the court sat and sat", "cranes in the harbour"]
    client = wires.openai()
    given = {"model": "text-embedding-3-small", "input": texts}
    lists = checked(client.embeddings.create(**given, encoding_format="float"))
    # Its client asks for base64 by itself and decodes it.
    decoded = client.embeddings.create(**given)
    assert [one.index for one in lists.data] == [0, 1, 2]
    for one, other in zip(lists.data, decoded.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
        assert math.hypot(*one.embedding) == pytest.approx(1, abs=1e-4)
    first, second, third = (one.embedding for one in lists.data)
    assert dot(first, second) > dot(first, third)
    assert lists.usage.prompt_tokens == 3 + 5 + 4


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"input": []}, "input"),
        ({"input": "x", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "word " * 9000}, "maximum context length is 8192 tokens"),
    ],
)
def test_embeddings_that_are_refused(wires: Wires, body: Any, said: str) -> None:
    with pytest.raises(openai.BadRequestError, match=said):
        wires.openai().embeddings.create(model="text-embedding-3-small", **body)
