"""What a response's own JSON says, in the form of OpenAI, Anthropic, Gemini or Ollama.

Of embeddings it is the form of OpenAI, which others share.

Text, reasoning, finish reason, usage, cost, and who answered. A field that is missing, or of
another type than the form has, says nothing. Pure functions.
"""

import base64
import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from judge_gym.llm.providers import Price
from judge_gym.records.calls import TokenChance

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LEAST_LOGPROB = -9999.0
"""What providers write for a probability of zero; JSON has no infinity."""

Finish = Literal["stop", "length", "content_filter", "context", "error", "tool_call", "unknown"]
_FINISH: dict[str, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), "length"),
    **dict.fromkeys(("model_context_window_exceeded", "model_length"), "context"),
    **dict.fromkeys(("error", "abort", "insufficient_system_resource"), "error"),
    **dict.fromkeys(
        ("tool_calls", "tool_use", "function_call", "unexpected_tool_call"), "tool_call"
    ),
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
class ResponseContent:
    """What a response says."""

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
    has_message: bool = False
    """Whether there is a message, whatever is in it."""
    text: str = ""
    is_vector: bool = False
    """Whether the text is a vector, which has no tokens."""
    reasoning: str = ""
    refusal: str = ""
    chances: tuple[TokenChance, ...] = ()


def read_body(body: Mapping[str, Any]) -> ResponseContent | None:
    """Return what a response in a known form says; None for another form."""
    if "choices" in body:
        return _of_openai(body)
    if body.get("type") == "message":
        return _of_anthropic(body)
    if "candidates" in body or "promptFeedback" in body:
        return _of_gemini(body)
    if body.get("object") == "list" and "data" in body:
        return _of_embedding(body)
    if "done_reason" in body or ("done" in body and "message" in body):
        return _of_ollama(body)
    return None


def _of_openai(body: Mapping[str, Any]) -> ResponseContent:
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
    message = _object(choice, "message")
    text, thought = _texts(message.get("content", choice.get("text")))
    refusal = _text(message.get("refusal")) or "".join(
        _text(part.get("refusal")) or "" for part in _objects(message.get("content"))
    )
    called = message.get("tool_calls") or message.get("function_call")
    if called and not text and not refusal:
        finish, native = "tool_calls", native or finish or "tool_calls"
    return ResponseContent(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        fingerprint=_text(body.get("system_fingerprint")),
        finish=finish,
        finish_given=native or finish,
        usage=usage_of(prompt, completion, cached, in_detail.get("cache_write_tokens"), reasoning),
        cost_usd=_cost_given(used),
        has_message=text is not None and ("message" in choice or "text" in choice),
        text=text or "",
        reasoning=thought
        or _text(message.get("reasoning_content"))
        or _text(message.get("reasoning"))
        or "",
        refusal=refusal,
        chances=_chances(_object(choice, "logprobs").get("content")),
        error=str(_object({"error": error}, "error").get("message") or error or ""),
    )


def _of_embedding(body: Mapping[str, Any]) -> ResponseContent:
    """Return the first vector as the text of an answer, a JSON list; no text without one."""
    vector = _vector(_first(body.get("data")).get("embedding"))
    prompt = _count(_object(body, "usage").get("prompt_tokens"))
    return ResponseContent(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        fingerprint=_text(body.get("system_fingerprint")),
        finish="stop",
        usage=usage_of(prompt, 0, None, None, None),
        cost_usd=_cost_given(_object(body, "usage")),
        has_message=True,
        is_vector=True,
        text=f"[{', '.join(f'{number:.8g}' for number in vector)}]" if vector else "",
    )


def _vector(given: Any) -> list[float]:
    """Return the numbers of an embedding, given as a list or as base64 of 32-bit floats."""
    if isinstance(given, str):
        try:
            data = base64.b64decode(given, validate=True)
            given = [number for (number,) in struct.iter_unpack("<f", data)]
        except (ValueError, struct.error):
            return []
    numbers = given if isinstance(given, list) else []
    finite = all(type(one) in (int, float) and math.isfinite(one) for one in numbers)
    return [float(one) for one in numbers] if finite else []


def _of_anthropic(body: Mapping[str, Any]) -> ResponseContent:
    used, category = _object(body, "usage"), _object(body, "stop_details").get("category")
    finish = _text(body.get("stop_reason"))
    read, written = (
        _count(used.get(name))
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    fresh = _count(used.get("input_tokens"))
    thought = _object(used, "output_tokens_details").get("thinking_tokens")
    prompt = None if fresh is None else fresh + (read or 0) + (written or 0)
    text, reasoning = _texts(body.get("content"))
    return ResponseContent(
        model=_text(body.get("model")),
        id=_text(body.get("id")),
        finish=finish,
        finish_given=f"{finish}: {category}" if category else finish,
        usage=usage_of(prompt, used.get("output_tokens"), read, written, thought),
        has_message=text is not None,
        text=text or "",
        reasoning=reasoning,
    )


def _of_gemini(body: Mapping[str, Any]) -> ResponseContent:
    used, candidate = _object(body, "usageMetadata"), _first(body.get("candidates"))
    finish = _text(candidate.get("finishReason"))
    native: str | None = None
    blocked = _text(_object(body, "promptFeedback").get("blockReason"))
    thought = _count(used.get("thoughtsTokenCount"))
    prompt = _count(used.get("promptTokenCount"))
    answer = _count(used.get("candidatesTokenCount"))
    completion = None if prompt is None else (answer or 0) + (thought or 0)
    content = _object(candidate, "content")
    text, reasoning = _texts(content.get("parts"))
    if not text and any("functionCall" in part for part in _objects(content.get("parts"))):
        finish, native = "UNEXPECTED_TOOL_CALL", finish
    return ResponseContent(
        model=_text(body.get("modelVersion")),
        id=_text(body.get("responseId")),
        finish=finish or (blocked and "SAFETY"),
        finish_given=native or finish or (blocked and f"blocked: {blocked}"),
        usage=usage_of(prompt, completion, used.get("cachedContentTokenCount"), None, thought),
        has_message=bool(content or finish or blocked),
        text=text or "",
        reasoning=reasoning,
    )


def _of_ollama(body: Mapping[str, Any]) -> ResponseContent:
    finish = _text(body.get("done_reason"))
    used = usage_of(body.get("prompt_eval_count"), body.get("eval_count"))
    message = _object(body, "message")
    text = _text(message.get("content")) or ""
    called = message.get("tool_calls") and not text
    return ResponseContent(
        model=_text(body.get("model")),
        fingerprint=_text(body.get("system_fingerprint")),
        finish="tool_calls" if called else finish,
        finish_given=finish,
        usage=used,
        has_message="message" in body,
        text=text,
        reasoning=_text(message.get("thinking")) or "",
    )


def usage_of(
    prompt: Any, completion: Any, cached: Any = None, written: Any = None, reasoning: Any = None
) -> Usage:
    """Return the counts of a usage, whatever their types are."""
    prompt = _count(prompt)
    if not prompt:
        # Some servers write zeros where they count nothing; no prompt has zero tokens.
        return Usage()
    return Usage(prompt, _count(completion), _count(cached), _count(written), _count(reasoning))


def _texts(content: Any) -> tuple[str | None, str]:
    """Return the text and the reasoning of a content, which is a string or a list of parts.

    Without text, "" is returned for no content, and None for one of another form.
    """
    if content is None or isinstance(content, str):
        return storable(content or ""), ""
    if not isinstance(content, list):
        return None, ""
    texts, thoughts = list[str](), list[str]()
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = "thinking" if part.get("thought") is True else part.get("type", "text")
            inside = part.get("text") or part.get("thinking") or part.get("reasoning")
            if isinstance(inside, list):
                inside = _texts(inside)[0]
            if isinstance(inside, str) and kind in (*_ANSWERING, *_THINKING):
                (texts if kind in _ANSWERING else thoughts).append(inside)
    return storable("".join(texts)), storable("".join(thoughts))


_ANSWERING, _THINKING = ("text", "output_text"), ("thinking", "reasoning")
"""Types of the parts of a content that are the answer, and of those before it."""


def _cost_given(used: Mapping[str, Any]) -> float | None:
    """Return the US dollars that a provider names in its usage, None where it names none.

    OpenRouter names its own fee; with the user's own key (BYOK) the vendor's bill comes on top,
    and is unknown where the details lack it, as is a bare 0.
    """
    given = used.get("cost")
    cost = _number(_object(used, "cost").get("total_cost") if isinstance(given, dict) else given)
    upstream = _number(_object(used, "cost_details").get("upstream_inference_cost"))
    own_key = used.get("is_byok")
    if cost == 0 and own_key is not True:  # it is free if the details say so too
        return upstream if upstream is not None or own_key is None else 0.0
    if cost is None or own_key is not True:
        return cost
    return cost + upstream if upstream else None


def _chances(given: Any) -> tuple[TokenChance, ...]:
    """Return tokens with their log probabilities; none of a list that is not in OpenAI's form."""
    chances = []
    for one in _objects(given):
        pair, others = _chance(one), map(_chance, _objects(one.get("top_logprobs")))
        if pair is None:
            return ()
        chances.append(TokenChance(*pair, tuple(other for other in others if other)))
    return tuple(chances)


def _chance(one: Mapping[str, Any]) -> tuple[str, float] | None:
    token, logprob = one.get("token"), one.get("logprob")
    if not isinstance(token, str) or not isinstance(logprob, int | float):
        return None
    return storable(token), finite_logprob(logprob)


def finite_logprob(value: float) -> float:
    """Return a log probability that JSON and PostgreSQL can hold."""
    return value if math.isfinite(value) else _LEAST_LOGPROB


def parsed(original: Any) -> Mapping[str, Any]:
    """Return the JSON object that a body is; an empty one for anything else."""
    if isinstance(original, str | bytes):
        try:
            original = json.loads(original)
        except (ValueError, RecursionError):
            return {}
    return original if isinstance(original, dict) else {}


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _first(values: Any) -> Mapping[str, Any]:
    first = values[0] if isinstance(values, list) and values else None
    return first if isinstance(first, dict) else {}


def _text(value: Any) -> str | None:
    return storable(value) if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    """Return a whole number from 0; some servers write it as a float or a string."""
    number = _number(value)
    return int(number) if number is not None and number.is_integer() and number < 2**31 else None


def _number(value: Any) -> float | None:
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if number and math.isfinite(value) and value >= 0 else None
    except OverflowError:  # an integer larger than any float
        return None
