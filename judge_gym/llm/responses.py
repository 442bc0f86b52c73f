"""What a response says: its own JSON where its form is known, beside litellm's reading of it.

Who answered, why the answer ended and what it used come from the response as received: litellm
makes up ids, turns every finish reason that it does not know into "stop", and estimates tokens that
the provider does not count. Text that litellm does not find is read there too. Pure functions.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from judge_gym.answers.text import thinking
from judge_gym.llm.bodies import (
    ResponseContent,
    finish_of,
    finite_logprob,
    parsed,
    read_body,
    storable,
    usage_of,
)
from judge_gym.llm.providers import Price
from judge_gym.model_names import is_simulated_model
from judge_gym.records.calls import Answer, CostSource, ProviderError, TokenChance

MAX_ANSWER_CHARACTERS = 200_000
SIMULATOR_MARK = "judge-gym-simulator"
_MESSAGES = frozenset(
    {"messages", "contents", "system", "system_instruction", "systemInstruction", "input"}
)
"""Fields of a request that hold the prompt or the text to embed, in any provider's form."""


def without_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request without its prompt, which the call's row has."""
    left = {name: value for name, value in body.items() if name not in _MESSAGES}
    # litellm adds these fields to the body when it sends it.
    return left | (left.pop("extra_body", None) or {})


@dataclass(frozen=True)
class _Read:
    """What litellm has read of a response, as far as it could."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    id: str = ""
    chances: tuple[TokenChance, ...] = ()
    cost_usd: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def read_answer(
    response: Any,
    original: Any,
    model: str,
    price: Price | None,
    *,
    listed: Price | None = None,
    latency_ms: float | None = None,
    body: Mapping[str, Any] | None = None,
) -> Answer:
    """Return what a response says; raises `ProviderError` when it has no answer.

    `response` is litellm's, None where it could not read it; `original` the JSON as received,
    `price` that of the providers file, `listed` that of litellm's list.
    """
    read, said = _readings(response, original)
    finish = finish_of(said.finish)
    if finish == "error":
        why = said.error or f"finish reason {said.finish_given}"
        raise ProviderError("server", storable(f"The answer broke off: {why}"), status=200)
    reasoning, text = _reasoning_apart(read.reasoning or said.reasoning, read.text or said.text)
    said = _counted(said, text)
    simulated = is_simulated_model(model) or _is_marked(read, said)
    cost, source = (0.0, "simulated") if simulated else _cost(read, said, price, listed)
    refusal = read.refusal or said.refusal
    if refusal and not text:
        text, finish = refusal, "content_filter"
    elif text and finish == "tool_call":
        finish = "stop"
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
        chances=said.chances or read.chances,
    )


def _readings(response: Any, original: Any) -> tuple[_Read, ResponseContent]:
    """Return what litellm has read of a response, and what its own JSON says."""
    own = read_body(parsed(original))
    if own is None and hasattr(response, "data"):  # embeddings in another vendor's form
        own = read_body(response.model_dump())
    try:
        read = _Read() if response is None else _read_by_litellm(response)
        return read, own or _of_litellm(response)
    except (AttributeError, IndexError, TypeError) as error:
        if own is None or not (own.has_message or own.error):
            why = f"The answer is no completion: {_lack(error)}"
            raise ProviderError("unreadable", why, status=200, passes=False) from error
        return _Read(), own


def _read_by_litellm(response: Any) -> _Read:
    """Return what litellm read.

    Raises AttributeError, IndexError or TypeError without an answer.
    """
    choice = response.choices[0]
    message = choice.message
    content = message.content or ""
    if not isinstance(content, str):
        raise TypeError(f"the content is a {type(content).__name__}")
    hidden = response._hidden_params
    return _Read(
        text=content,
        refusal=(message.provider_specific_fields or {}).get("refusal") or "",
        reasoning=getattr(message, "reasoning_content", None) or "",
        id=str(response.id),
        chances=_chances(choice),
        cost_usd=hidden.get("response_cost"),
        headers=hidden.get("additional_headers") or {},
    )


def _lack(error: Exception) -> str:
    """Return in words what an answer lacks that could not be read."""
    if isinstance(error, IndexError):
        return "its list of choices is empty"
    return "it has no message whose content is text"


def _of_litellm(response: Any) -> ResponseContent:
    """Return what litellm's own reading says, of a response in another form.

    Without model and id, which may be litellm's own.
    """
    used = getattr(response, "usage", None)
    inside = getattr(used, "prompt_tokens_details", None)
    choice = response.choices[0]
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    return ResponseContent(
        finish=native or choice.finish_reason,
        finish_given=native or None,
        usage=usage_of(
            getattr(used, "prompt_tokens", None),
            getattr(used, "completion_tokens", None),
            getattr(inside, "cached_tokens", None),
            getattr(used, "cache_creation_input_tokens", None),
            getattr(getattr(used, "completion_tokens_details", None), "reasoning_tokens", None),
        ),
    )


def _counted(said: ResponseContent, text: str) -> ResponseContent:
    """Return what was said without a count of no tokens for an answer that has text."""
    if text and said.usage.completion == 0 and not said.is_vector:
        return replace(said, usage=replace(said.usage, completion=None))
    return said


def _reasoning_apart(reasoning: str, text: str) -> tuple[str, str]:
    """Return the reasoning, which may stand at the beginning of the text, and the rest of it."""
    thought, end = thinking(text)
    reasoning += thought
    return reasoning, text[end:].lstrip() if reasoning or end else text


def _is_marked(read: _Read, said: ResponseContent) -> bool:
    """Whether the simulator answered: each shape says it in its own way."""
    return (
        said.fingerprint == SIMULATOR_MARK
        or read.id.startswith(SIMULATOR_MARK)
        or read.headers.get("llm_provider-x-judge-gym-simulator") == SIMULATOR_MARK
    )


def _cost(
    read: _Read, said: ResponseContent, price: Price | None, listed: Price | None
) -> tuple[float | None, CostSource | None]:
    """Return US dollars and their source: the providers file, the provider, or litellm's list.

    A provider's 0 counts where it counted the tokens and the list has no price that says otherwise;
    litellm's 0 for tokens that nobody counted does not.
    """
    if price is not None:
        cost = said.usage.cost_usd(price)
        return cost, None if cost is None else "file"
    if said.cost_usd:
        return said.cost_usd, "provider"
    # A LiteLLM proxy names the cost in a header; 0 for models that it has no price of.
    with suppress(KeyError, TypeError, ValueError):
        if (cost := float(read.headers["llm_provider-x-litellm-response-cost"])) > 0:
            return cost, "provider"
    if said.usage.prompt is None or said.usage.completion is None:
        return None, None
    is_free = listed is None or listed.prompt == listed.completion == 0
    if said.cost_usd is not None and is_free:
        return said.cost_usd, "provider"
    cost = read.cost_usd
    if not cost and listed is not None:
        cost = said.usage.cost_usd(listed)
    return cost, None if cost is None else "litellm"


def _chances(choice: Any) -> tuple[TokenChance, ...]:
    given = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    return tuple(
        TokenChance(
            storable(one.token),
            finite_logprob(one.logprob),
            tuple(
                (storable(other.token), finite_logprob(other.logprob)) for other in one.top_logprobs
            ),
        )
        for one in given
    )
