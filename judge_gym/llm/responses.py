"""What a provider's response says, from its own JSON beside litellm's reading of it.

litellm reads text, reasoning and token probabilities. Who answered, why the answer ended and what
it used come from the response as received: litellm makes up ids, turns every finish reason that it
does not know into "stop", and estimates tokens that the provider does not count. Pure functions.
"""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from judge_gym.llm.providers import Price
from judge_gym.model_names import is_simulated_model
from judge_gym.records.calls import Answer, CostSource, ProviderError, TokenChance

MAX_ANSWER_CHARACTERS = 200_000
SIMULATOR_MARK = "judge-gym-simulator"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MESSAGES = frozenset({"messages", "contents", "system", "system_instruction", "systemInstruction"})
"""Fields of a request that hold the prompt, in any provider's form."""
_LEAST_LOGPROB = -9999.0
"""What providers write for a probability of zero; JSON has no infinity."""
_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)

Finish = Literal["stop", "length", "content_filter", "context", "error", "unknown"]
_FINISH: dict[str, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), "length"),
    **dict.fromkeys(("model_context_window_exceeded", "model_length"), "context"),
    **dict.fromkeys(("error", "abort", "insufficient_system_resource"), "error"),
    **dict.fromkeys(
        (
            "content_filter", "content_filtered", "guardrail_intervened", "refusal", "safety",
            "recitation", "blocklist", "prohibited_content", "spii", "model_armor",
        ),
        "content_filter",
    ),
}  # fmt: skip


def finish_of(given: str | None) -> Finish:
    """Return a provider's finish reason in our words; "unknown" for one that has no match."""
    return _FINISH.get((given or "").lower(), "unknown")


def without_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request without its prompt, which the call's row has."""
    left = {name: value for name, value in body.items() if name not in _MESSAGES}
    # litellm adds these fields to the body when it sends it.
    return left | (left.pop("extra_body", None) or {})


def storable(text: str) -> str:
    """Replace what PostgreSQL text cannot hold: NUL and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text)


@dataclass(frozen=True)
class Usage:
    """Tokens; None where the provider does not count. `prompt` includes those of the cache,
    `completion` those of the reasoning."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    cache_written: int | None = None
    reasoning: int | None = None

    def cost_usd(self, price: Price) -> float | None:
        """Return the cost in US dollars; None when tokens were not counted."""
        if self.prompt is None or self.completion is None:
            return None
        parts = (
            (self.cached, price.cached, price.prompt),
            (self.cache_written, price.cache_written, price.prompt),
            (self.reasoning, price.reasoning, price.completion),
        )
        # Priced as the rest, then corrected by the difference for tokens with a price of their own.
        dollars = self.prompt * price.prompt + self.completion * price.completion
        for tokens, own, usual in parts:
            if tokens and own is not None:
                dollars += tokens * (own - usual)
        return dollars / 1e6


@dataclass(frozen=True)
class _Original:
    """What a response says of itself."""

    model: str | None = None
    id: str | None = None
    fingerprint: str | None = None
    finish: str | None = None
    """The finish reason by which the answer is classified."""
    finish_given: str | None = None
    """The same in the words of whoever ran the model, with the category of a refusal."""
    usage: Usage = Usage()
    cost_usd: float | None = None
    error: str = ""
    """Why the answer broke off; "" otherwise."""


def _read_original(body: Mapping[str, Any]) -> _Original | None:
    """Return what a response in a known form says; None for another form."""
    if "choices" in body:
        return _of_openai(body)
    if body.get("type") == "message":
        return _of_anthropic(body)
    if "candidates" in body or "promptFeedback" in body:
        return _of_gemini(body)
    if "done_reason" in body:
        return _of_ollama(body)
    return None


def _of_openai(body: Mapping[str, Any]) -> _Original:
    choice = _first(body.get("choices"))
    used, error = _object(body, "usage"), choice.get("error")
    finish, native = _text(choice.get("finish_reason")), _text(choice.get("native_finish_reason"))
    in_detail = _object(used, "prompt_tokens_details")
    reasoning = _count(_object(used, "completion_tokens_details").get("reasoning_tokens"))
    prompt, completion = _count(used.get("prompt_tokens")), _count(used.get("completion_tokens"))
    total = _count(used.get("total_tokens"))
    if prompt and completion is not None and prompt + completion + (reasoning or 0) == total:
        completion += reasoning or 0  # it is counted apart
    cached = in_detail.get("cached_tokens", used.get("prompt_cache_hit_tokens"))
    return _Original(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        fingerprint=_text(body.get("system_fingerprint")),
        finish=finish,
        finish_given=native or finish,
        usage=_usage(prompt, completion, cached, in_detail.get("cache_write_tokens"), reasoning),
        cost_usd=_number(used.get("cost")),
        error=str(_object({"error": error}, "error").get("message") or error or ""),
    )


def _of_anthropic(body: Mapping[str, Any]) -> _Original:
    used, category = _object(body, "usage"), _object(body, "stop_details").get("category")
    finish = _text(body.get("stop_reason"))
    read, written = (
        _count(used.get(name))
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    fresh = _count(used.get("input_tokens"))
    thought = _object(used, "output_tokens_details").get("thinking_tokens")
    prompt = None if fresh is None else fresh + (read or 0) + (written or 0)
    return _Original(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        finish=finish,
        finish_given=f"{finish}: {category}" if category else finish,
        usage=_usage(prompt, used.get("output_tokens"), read, written, thought),
    )


def _of_gemini(body: Mapping[str, Any]) -> _Original:
    used, candidate = _object(body, "usageMetadata"), _first(body.get("candidates"))
    finish = _text(candidate.get("finishReason"))
    blocked = _text(_object(body, "promptFeedback").get("blockReason"))
    thought = _count(used.get("thoughtsTokenCount"))
    prompt = _count(used.get("promptTokenCount"))
    answer = _count(used.get("candidatesTokenCount"))
    completion = None if prompt is None else (answer or 0) + (thought or 0)
    return _Original(
        model=_text(body.get("modelVersion")),
        id=_text(body.get("responseId")),
        finish=finish or (blocked and "SAFETY"),
        finish_given=finish or (blocked and f"blocked: {blocked}"),
        usage=_usage(prompt, completion, used.get("cachedContentTokenCount"), None, thought),
    )


def _of_ollama(body: Mapping[str, Any]) -> _Original:
    finish = _text(body.get("done_reason"))
    used = _usage(body.get("prompt_eval_count"), body.get("eval_count"))
    model, mark = (_text(body.get(name)) for name in ("model", "system_fingerprint"))
    return _Original(model, fingerprint=mark, finish=finish, finish_given=finish, usage=used)


def _of_litellm(response: Any) -> _Original:
    """Return what litellm's own reading says, of a response in another form.

    Without model and id, which may be litellm's own.
    """
    used = getattr(response, "usage", None)
    inside = getattr(used, "prompt_tokens_details", None)
    choice = response.choices[0]
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    return _Original(
        finish=native or choice.finish_reason,
        finish_given=_text(native),
        usage=_usage(
            getattr(used, "prompt_tokens", None),
            getattr(used, "completion_tokens", None),
            getattr(inside, "cached_tokens", None),
            getattr(used, "cache_creation_input_tokens", None),
            getattr(getattr(used, "completion_tokens_details", None), "reasoning_tokens", None),
        ),
    )


def _usage(
    prompt: Any, completion: Any, cached: Any = None, written: Any = None, reasoning: Any = None
) -> Usage:
    prompt = _count(prompt)
    if not prompt:
        # Some servers write zeros where they count nothing; no prompt has zero tokens.
        return Usage()
    return Usage(prompt, _count(completion), _count(cached), _count(written), _count(reasoning))


def read_answer(
    response: Any,
    original: Any,
    model: str,
    price: Price | None,
    *,
    latency_ms: float | None = None,
    body: Mapping[str, Any] | None = None,
) -> Answer:
    """Return what a response says; raises `ProviderError` when it has no answer.

    `response` is litellm's, `original` the JSON as received, `price` that of the providers file.
    """
    try:
        choice = response.choices[0]
        message = choice.message
        text, refusal = _answer_text(message)
    except (AttributeError, IndexError, TypeError) as error:
        raise ProviderError("unreadable", f"The answer has no choices: {error}") from error
    said = _read_original(_parsed(original)) or _of_litellm(response)
    finish = finish_of(said.finish)
    if finish == "error":
        why = said.error or f"finish reason {said.finish_given}"
        raise ProviderError("server", storable(f"The answer broke off: {why}"), status=200)
    simulated = is_simulated_model(model) or _is_marked(response, said)
    cost, source = (0.0, "simulated") if simulated else _cost(response, said, price)
    reasoning, text = _reasoning_apart(message, text)
    if refusal and not text:
        text, finish = refusal, "content_filter"
    elif len(text) > MAX_ANSWER_CHARACTERS:
        finish = "length"
    return Answer(
        text=storable(text[:MAX_ANSWER_CHARACTERS]),
        finish_reason=finish,
        prompt_tokens=said.usage.prompt,
        completion_tokens=said.usage.completion,
        cost_usd=cost,
        latency_ms=latency_ms,
        simulated=simulated,
        body=body,
        served_model=said.model,
        response_id=said.id,
        fingerprint=said.fingerprint,
        finish_given=said.finish_given,
        cached_tokens=said.usage.cached,
        cache_written_tokens=said.usage.cache_written,
        reasoning_tokens=said.usage.reasoning,
        cost_source=source,
        reasoning=storable(reasoning.strip()[:MAX_ANSWER_CHARACTERS]),
        chances=_chances(choice),
    )


def _answer_text(message: Any) -> tuple[str, str | None]:
    content = message.content or ""
    if not isinstance(content, str):
        raise TypeError(f"the content is a {type(content).__name__}")
    return content, (message.provider_specific_fields or {}).get("refusal")


def _reasoning_apart(message: Any, text: str) -> tuple[str, str]:
    """Return the reasoning, which may stand at the beginning of the text, and the rest of it."""
    reasoning = getattr(message, "reasoning_content", None) or ""
    if thought := _THOUGHT.match(text):
        reasoning, text = reasoning + thought[1], text[thought.end() :]
    return reasoning, text.lstrip() if reasoning else text


def _is_marked(response: Any, said: _Original) -> bool:
    """Whether the simulator answered: each shape says it in its own way."""
    headers = response._hidden_params.get("additional_headers") or {}
    return (
        said.fingerprint == SIMULATOR_MARK
        or str(response.id).startswith(SIMULATOR_MARK)
        or headers.get("llm_provider-x-judge-gym-simulator") == SIMULATOR_MARK
    )


def _cost(
    response: Any, said: _Original, price: Price | None
) -> tuple[float | None, CostSource | None]:
    """Return US dollars and their source: the providers file, the provider, or litellm's list."""
    if price is not None:
        cost = said.usage.cost_usd(price)
        return cost, None if cost is None else "file"
    if said.cost_usd is not None:
        return said.cost_usd, "provider"
    # A LiteLLM proxy names the cost in a header.
    headers = response._hidden_params.get("additional_headers") or {}
    with suppress(KeyError, TypeError, ValueError):
        return float(headers["llm_provider-x-litellm-response-cost"]), "provider"
    listed: float | None = response._hidden_params.get("response_cost")
    return listed, None if listed is None else "litellm"


def _chances(choice: Any) -> tuple[TokenChance, ...]:
    given = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    return tuple(
        TokenChance(
            storable(one.token),
            _logprob(one.logprob),
            tuple((storable(other.token), _logprob(other.logprob)) for other in one.top_logprobs),
        )
        for one in given
    )


def _logprob(value: float) -> float:
    return value if math.isfinite(value) else _LEAST_LOGPROB


def _parsed(original: Any) -> Mapping[str, Any]:
    if isinstance(original, str | bytes):
        try:
            original = json.loads(original)
        except ValueError:
            return {}
    return original if isinstance(original, dict) else {}


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _first(values: Any) -> Mapping[str, Any]:
    first = values[0] if isinstance(values, list) and values else None
    return first if isinstance(first, dict) else {}


def _text(value: Any) -> str | None:
    return storable(value) if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if whole else None


def _number(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) and value >= 0 else None
