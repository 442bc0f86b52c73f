"""Single requests through litellm: one request in, an `Answer` or a `ProviderError` out.

No retries, no limits, no database here: those are the gateway's.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, get_args

from judge_gym.design.experiment import Effort
from judge_gym.llm.bodies import parsed
from judge_gym.llm.capabilities import Capability, Source
from judge_gym.llm.failures import classified, look_of
from judge_gym.llm.keys import Keys, answer_without_key
from judge_gym.llm.providers import LimitField, Parameter, Price, Provider
from judge_gym.llm.responses import read_answer, without_messages
from judge_gym.llm.sdk import (
    Exchange,
    close_litellm_async_clients,
    exceptions,
    get_optional_params,
    litellm,
)
from judge_gym.llm.streams import is_stream, whole_answer
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Message
from judge_gym.records.calls import LIMITS, Answer, ProviderError


class Client:
    """Sends single requests through litellm; one per event loop, closed with it."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def complete(
        self,
        provider: Provider,
        model: str,
        messages: tuple[Message, ...],
        parameters: Mapping[str, Any],
        timeout_s: float,
        *,
        embeds: bool = False,
    ) -> Answer:
        """Ask once, for an answer to messages or where it `embeds` for the vector of their text.

        Raises `ProviderError`, or `ConfigError` when the key is missing.
        """
        name = model.partition("/")[2]
        prefix = provider.litellm or provider.name
        own_price = provider.prices.get(name)
        listed = _is_priced(prefix, name) and not is_simulated_model(model)
        _check_budget(prefix, name, parameters)
        exchange = Exchange(f"{prefix}/{name}", messages, priced=listed and own_price is None)
        key = (await self._keys.of(provider)).get_secret_value()
        started, error = time.perf_counter(), None
        response: Any = None
        try:
            # litellm's own timeout counts from byte to byte: a server that drips outlives it.
            async with asyncio.timeout(timeout_s):
                with exchange.recording():
                    send = litellm.aembedding if embeds else litellm.acompletion
                    response = await send(
                        model=f"{prefix}/{name}",
                        **_content(messages, provider.address() or None, embeds=embeds),
                        api_key=key,
                        timeout=timeout_s,
                        num_retries=0,
                        max_retries=0,
                        litellm_logging_obj=exchange,
                        # Otherwise it prices by the served name, which may have no price.
                        base_model=f"{prefix}/{name}",
                        **provider.options(name),
                        **parameters,
                    )
        except Exception as raised:
            error = _failure(raised, provider, key, exchange, timeout_s)
        latency_ms = (time.perf_counter() - started) * 1000
        try:
            if error is not None and not exchange.is_answered:
                raise error
            answer = _read(
                exchange, response, error, model, own_price, listed_price(provider, name)
            )
        except ProviderError as failure:
            failure.body = _sent(exchange)
            # Without its cause, which may repeat the key in a trace.
            raise failure from None
        answer = replace(answer, latency_ms=latency_ms, body=_sent(exchange))
        return answer_without_key(answer, key if provider.key_env else None)

    async def close(self) -> None:
        """Close litellm's sockets; they belong to the running event loop."""
        await close_litellm_async_clients()


def _content(messages: Sequence[Message], address: str | None, *, embeds: bool) -> dict[str, Any]:
    """Return what a request is about, a prompt or texts to embed, and where it goes."""
    if embeds:
        return {"input": [message["content"] for message in messages], "api_base": address}
    return {"messages": list(messages), "base_url": address}


def _read(
    exchange: Exchange,
    response: Any,
    error: ProviderError | None,
    model: str,
    price: Price | None,
    listed: Price | None,
) -> Answer:
    """Return the answer in a response with status 200; `error` is why litellm found none there."""
    body = exchange.answer_body
    if not parsed(body) and is_stream(body):
        response, body = None, _whole(body)
    try:
        return read_answer(response, body, model, price, listed=listed)
    except ProviderError as failure:
        if error is not None and failure.kind == "unreadable":
            raise error from None
        failure.may_be_billed = True
        raise


def _whole(body: str) -> Mapping[str, Any]:
    """Return what a stream says; raises `ProviderError` for one that cannot be read to its end."""
    if (whole := whole_answer(body)) is None:
        raise ProviderError(
            "unreadable",
            "The answer is a stream, although none was asked for, and it has no end that can be "
            f"read; turn streaming off at the server or proxy: {' '.join(body.split()):.200}",
            status=200,
            passes=False,
            may_be_billed=True,
        )
    return whole


def _failure(
    error: Exception, provider: Provider, key: str, exchange: Exchange, timeout_s: float
) -> ProviderError:
    failure = classified(error, key if provider.key_env else None, exchange.answer_body)
    if failure.kind == "timeout" and failure.status is None:
        failure.args = (f"no whole answer within {timeout_s:g} s, which call_timeout_s sets",)
    failure.may_be_billed &= exchange.sent is not None
    if failure.kind == "authentication" and (owner := _other_owner(provider, key)):
        failure.args = (f"{failure} The key looks like one of {owner}.",)
    return failure


def _other_owner(provider: Provider, key: str) -> str | None:
    """Return another provider than this one whose keys look like the key."""
    owner = look_of(key) if provider.key_env else None
    own = (provider.litellm or provider.name).lower()
    return owner if owner and owner.lower() != own else None


def _check_budget(prefix: str, name: str, parameters: Mapping[str, Any]) -> None:
    """Raise `ProviderError` for an output limit that litellm's thinking budget would use up.

    litellm makes a budget of 1,024 tokens or more of an effort, whatever the limit is.
    """
    effort = parameters.get("reasoning_effort")
    if effort is None:
        return
    budget = _thinking_budget(prefix, name, effort)
    (limit_name,) = (one for one in LIMITS if one in parameters)
    if budget >= parameters[limit_name]:
        raise ProviderError(
            "bad_request",
            f"{limit_name} {parameters[limit_name]} leaves no room beside the thinking budget of "
            f"{budget} tokens (reasoning_effort {effort}). Raise max_tokens or thinking_tokens.",
        )


@cache
def _thinking_budget(prefix: str, name: str, effort: str) -> int:
    """Return the tokens of thinking that litellm makes of an effort, 0 where it sets none."""
    try:
        taken = get_optional_params(
            model=name, custom_llm_provider=prefix, reasoning_effort=effort, max_tokens=1
        )
    except exceptions.UnsupportedParamsError:
        return 0  # the request fails with the provider's or litellm's own words
    budget: int = (taken.get("thinking") or {}).get("budget_tokens") or 0
    return budget


def _sent(exchange: Exchange) -> dict[str, Any] | None:
    return None if exchange.sent is None else without_messages(exchange.sent)


_ENTERED: set[str] = set()
"""Names that `register_unlisted` entered into litellm's list."""


@cache
def register_unlisted(prefix: str, name: str) -> bool:
    """Whether litellm's list lacks an OpenAI-compatible model; enters it, without a price.

    litellm works out the entry of a model it does not know seven times a call and keeps none.
    Other prefixes are left alone: for some of them litellm asks the provider what it serves.
    """
    if prefix != "openai":
        return False
    try:
        litellm.get_model_info(name, custom_llm_provider=prefix)
    except Exception:  # litellm has no class of its own for this
        litellm.register_model({f"{prefix}/{name}": {"litellm_provider": prefix, "mode": "chat"}})
        _ENTERED.add(f"{prefix}/{name}")
        return True
    return False


@cache
def _is_priced(prefix: str, name: str) -> bool:
    return not register_unlisted(prefix, name) and _entry(prefix, name).keys() >= _PRICE_KEYS


_PRICE_KEYS = frozenset({"input_cost_per_token", "output_cost_per_token"})


def listed_price(provider: Provider, name: str, suffix: str = "") -> Price | None:
    """Return what litellm's own list says a model costs; asks nobody.

    `suffix` is that of the list's keys: "_batches" for the prices of batches.
    """
    listed = _listed(provider, name)
    keys = [f"{side}_cost_per_token{suffix}" for side in ("input", "output")]
    if not set(keys) <= listed.keys():
        return None
    prompt, completion = (listed[key] * 1e6 for key in keys)
    return Price(
        prompt=prompt,
        completion=completion,
        **{
            name: listed[f"{key}{suffix}"] * 1e6
            for name, key in _SPECIAL_PRICES.items()
            if listed.get(f"{key}{suffix}") is not None
        },
    )


_SPECIAL_PRICES = {
    "cached": "cache_read_input_token_cost",
    "cache_written": "cache_creation_input_token_cost",
    "reasoning": "output_cost_per_reasoning_token",
}


def listed_names(provider: Provider) -> list[str]:
    """Return the names of a provider's chat models in litellm's own list."""
    prefix = provider.litellm or provider.name
    return [
        name.removeprefix(f"{prefix}/")
        for name, listed in litellm.model_cost.items()
        if _is_of(listed, prefix) and listed.get("mode") == "chat" and name not in _ENTERED
    ]


def is_listed(provider: Provider, name: str) -> bool:
    """Whether litellm's own list has a model, of whatever kind."""
    return bool(_listed(provider, name))


def _is_of(listed: Mapping[str, Any], prefix: str) -> bool:
    """Whether an entry of litellm's list is of a provider; Bedrock and Vertex have several."""
    provider = str(listed.get("litellm_provider"))
    return provider == prefix or provider.startswith((f"{prefix}-", f"{prefix}_converse"))


def listed_capability(provider: Provider, name: str) -> Capability:
    """Return what a model takes by litellm's own list and code; sends nothing."""
    listed = _listed(provider, name)
    can_send = _sendable(provider.litellm or provider.name, name)
    reasons = bool(listed.get("supports_reasoning"))
    always = bool(listed.get("thinking_always_on"))
    default = listed.get("default_reasoning_effort") or ("none" if listed and not reasons else None)
    refused = can_send.refused
    if listed.get("supports_sampling_params") is False:
        refused |= {"temperature", "top_p"}
    levels = listed.get("reasoning_effort_levels") or can_send.efforts
    efforts = [one for one in can_send.efforts if one in levels and not (always and one == "none")]
    values: dict[str, Any] = {
        "refused": refused,
        "limit_field": can_send.limit_field,
        "longest_output": listed.get("max_output_tokens"),
        "context": listed.get("max_input_tokens"),
        "json_schema": bool(listed.get("supports_response_schema")),
        "logprobs": can_send.logprobs,
        "efforts": tuple(efforts) if reasons else (),
        "default_effort": default,
        "thinks": always or (provider.thinks and reasons and default != "none"),
        "sampling_only_at_none": can_send.sampling_only_at_none,
        "retired": _date(listed.get("deprecation_date")),
    }
    sources: dict[str, Source] = dict.fromkeys(values, "litellm")
    return Capability(**values, sources=sources)


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


@dataclass(frozen=True)
class _Sendable:
    """What litellm sends to a model."""

    refused: frozenset[Parameter]
    efforts: tuple[Effort, ...]
    limit_field: LimitField
    logprobs: int
    sampling_only_at_none: bool


_SOME_VALUES: Mapping[Parameter, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "seed": 1,
    "response_format": {"type": "json_object"},
}
"""A value of each parameter that is no default anywhere."""
_MOST_LOGPROBS = 20
"""The most alternatives to a token that OpenAI gives, and whoever has its interface."""


@cache
def _sendable(prefix: str, name: str) -> _Sendable:
    """Return what litellm sends to a model, by its own code."""
    register_unlisted(prefix, name)

    def sends(**parameters: Any) -> dict[str, Any]:
        try:
            sent: dict[str, Any] = get_optional_params(
                model=name, custom_llm_provider=prefix, **parameters
            )
        except exceptions.UnsupportedParamsError:
            return {}
        return sent or parameters

    efforts = tuple(one for one in get_args(Effort) if sends(reasoning_effort=one))
    unthinking = {"reasoning_effort": "none"} if "none" in efforts else {}
    taken = {
        parameter
        for parameter, value in _SOME_VALUES.items()
        if sends(**{parameter: value}, **unthinking)
    }
    probabilities = sends(logprobs=True, top_logprobs=_MOST_LOGPROBS, **unthinking)
    return _Sendable(
        refused=frozenset(_SOME_VALUES.keys() - taken),
        efforts=efforts,
        limit_field="max_completion_tokens"
        if "max_completion_tokens" in sends(max_tokens=1)
        else "max_tokens",
        logprobs=_MOST_LOGPROBS if probabilities else 0,
        sampling_only_at_none="temperature" in taken
        and "low" in efforts
        and not sends(temperature=0.5, reasoning_effort="low"),
    )


def counted_tokens(name: str, messages: Sequence[Message]) -> int:
    """Return the prompt tokens of an OpenAI or Anthropic model; works offline for those alone."""
    counted: int = litellm.token_counter(model=name, messages=list(messages))
    return counted


def _listed(provider: Provider, name: str) -> dict[str, Any]:
    return _entry(provider.litellm or provider.name, name)


def _entry(prefix: str, name: str) -> dict[str, Any]:
    if f"{prefix}/{name}" in _ENTERED:
        return {}
    prefixed, bare = (litellm.model_cost.get(key) for key in (f"{prefix}/{name}", name))
    own = bare if bare and _is_of(bare, prefix) else None
    return prefixed or own or {}
