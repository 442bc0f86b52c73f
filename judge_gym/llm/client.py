"""Single requests through litellm: one request in, an `Answer` or a `ProviderError` out.

No retries, no limits, no database here: those are the gateway's.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from judge_gym.llm import listed
from judge_gym.llm.bodies import parsed
from judge_gym.llm.failures import classified, look_of
from judge_gym.llm.keys import Keys, answer_without_key
from judge_gym.llm.pricing import listed_price
from judge_gym.llm.providers import Price, Provider
from judge_gym.llm.responses import read_answer, without_messages
from judge_gym.llm.sdk import (
    Exchange,
    close_litellm_async_clients,
    exceptions,
    get_optional_params,
    litellm,
)
from judge_gym.llm.sendable import register_unlisted
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


@cache
def _is_priced(prefix: str, name: str) -> bool:
    return not register_unlisted(prefix, name) and listed.entry(prefix, name).keys() >= _PRICE_KEYS


_PRICE_KEYS = frozenset({"input_cost_per_token", "output_cost_per_token"})
