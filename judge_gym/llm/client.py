"""Single requests through litellm: one request in, an `Answer` or a `ProviderError` out.

No retries, no limits, no database here: those are the gateway's.
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import aiohttp

from judge_gym.errors import causes
from judge_gym.llm.capabilities import Capabilities
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Price, Provider
from judge_gym.llm.sdk import (
    close_litellm_async_clients,
    exceptions,
    get_optional_params,
    litellm,
)
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Message
from judge_gym.records.calls import Answer, FailureKind, ProviderError
from judge_gym.retry_after import retry_after_seconds

MAX_ANSWER_CHARACTERS = 200_000
_CLUTTER = re.compile(r"^(litellm\.\w+: )?(\w+Error: )?(\w+Exception - )?| ssl:<[^>]*>")
"""What litellm and aiohttp put around what went wrong."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
SIMULATOR_MARK = "judge-gym-simulator"


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
    ) -> Answer:
        """Ask once. Raises `ProviderError`, or `ConfigError` when the key is missing."""
        name = model.partition("/")[2]
        prefix = provider.litellm or provider.name
        unlisted = _unlisted(prefix, name)
        key = (await self._keys.of(provider)).get_secret_value()
        started = time.perf_counter()
        try:
            # litellm's own timeout counts from byte to byte: a server that drips outlives it.
            async with asyncio.timeout(timeout_s):
                response = await litellm.acompletion(
                    model=f"{prefix}/{name}",
                    messages=list(messages),
                    api_key=key,
                    base_url=provider.address() or None,
                    timeout=timeout_s,
                    num_retries=0,
                    max_retries=0,
                    **parameters,
                )
        except TimeoutError as error:
            raise ProviderError("timeout", f"no whole answer within {timeout_s:g} s") from error
        except Exception as error:
            # Without its cause, which may repeat the key in a trace.
            raise classified(error, key if provider.key_env else None) from None
        latency_ms = (time.perf_counter() - started) * 1000
        if unlisted:
            # litellm takes the missing price for 0; what a provider itself says it cost is kept.
            response._hidden_params["response_cost"] = (
                response._hidden_params.get("response_cost") or None
            )
        return read_answer(response, latency_ms, model, provider.prices.get(name))

    async def close(self) -> None:
        """Close litellm's sockets; they belong to the running event loop."""
        await close_litellm_async_clients()


@cache
def _unlisted(prefix: str, name: str) -> bool:
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
        return True
    return False


def listed_price(provider: Provider, name: str, suffix: str = "") -> Price | None:
    """Return what litellm's own list says a model costs; asks nobody.

    `suffix` is that of the list's keys: "_batches" for the prices of batches.
    """
    listed = _listed(provider, name)
    keys = [f"{side}_cost_per_token{suffix}" for side in ("input", "output")]
    if not set(keys) <= listed.keys():
        return None
    prompt, completion = (listed[key] * 1e6 for key in keys)
    return Price(prompt=prompt, completion=completion)


def listed_names(provider: Provider) -> list[str]:
    """Return the names of a provider's models in litellm's own list."""
    prefix = provider.litellm or provider.name
    return [
        name.removeprefix(f"{prefix}/")
        for name, listed in litellm.model_cost.items()
        if listed.get("litellm_provider") == prefix
    ]


def listed_window(provider: Provider, name: str) -> int | None:
    """Return the longest prompt of a model by litellm's own list, in tokens."""
    tokens: int | None = _listed(provider, name).get("max_input_tokens")
    return tokens


def takes_schema(provider: Provider, name: str) -> bool:
    """Whether a model takes a JSON schema, by the providers file, else by litellm's own list."""
    if provider.json_schema is not None:
        return provider.json_schema
    return bool(_listed(provider, name).get("supports_response_schema"))


def listed_capabilities(provider: Provider, name: str) -> Capabilities:
    """Return what a model takes by litellm's own list and code; sends nothing."""
    listed = _listed(provider, name)
    refused = _unsendable(provider.litellm or provider.name, name)
    if listed.get("supports_sampling_params") is False:
        refused |= {"temperature", "top_p"}
    by_default = provider.thinks and listed.get("supports_reasoning")
    thinks = listed.get("thinking_always_on") or (
        by_default and listed.get("default_reasoning_effort") != "none"
    )
    return Capabilities(
        refused=refused,
        thinking_tokens=provider.thinking_tokens if thinks else 0,
        longest_output=listed.get("max_output_tokens"),
    )


_SOME_VALUES: Mapping[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "seed": 1,
    "response_format": {"type": "json_object"},
}
"""A value of each parameter that is no default anywhere."""


@cache
def _unsendable(prefix: str, name: str) -> frozenset[str]:
    """Return the parameters that litellm does not send to a model."""
    _unlisted(prefix, name)
    return frozenset(
        parameter
        for parameter, value in _SOME_VALUES.items()
        if not _sends(prefix, name, {parameter: value})
    )


def _sends(prefix: str, name: str, parameters: Mapping[str, Any]) -> bool:
    try:
        get_optional_params(model=name, custom_llm_provider=prefix, **parameters)
    except exceptions.UnsupportedParamsError:
        return False
    return True


def counted_tokens(name: str, messages: Sequence[Message]) -> int:
    """Return the prompt tokens of an OpenAI or Anthropic model; works offline for those alone."""
    counted: int = litellm.token_counter(model=name, messages=list(messages))
    return counted


def _listed(provider: Provider, name: str) -> dict[str, Any]:
    prefix = provider.litellm or provider.name
    prefixed, bare = (litellm.model_cost.get(key) for key in (f"{prefix}/{name}", name))
    own = bare if bare and bare.get("litellm_provider") == prefix else None
    return prefixed or own or {}


def read_answer(response: Any, latency_ms: float | None, model: str, price: Price | None) -> Answer:
    """Return what one of litellm's responses says; raises `ProviderError` when it has no answer."""
    try:
        choice = response.choices[0]
        text = choice.message.content or ""
        refusal = (choice.message.provider_specific_fields or {}).get("refusal")
    except (AttributeError, IndexError, TypeError) as error:
        raise ProviderError("unreadable", f"The answer has no choices: {error}") from error
    usage = getattr(response, "usage", None)
    counted = getattr(usage, "prompt_tokens", None)
    simulated = is_simulated_model(model) or _is_marked(response)
    completed = getattr(usage, "completion_tokens", None) if counted else None
    if refusal and not text:
        text, finish_reason = refusal, "content_filter"
    elif len(text) > MAX_ANSWER_CHARACTERS:
        finish_reason = "length"
    else:
        finish_reason = choice.finish_reason or "unknown"
    return Answer(
        text=_storable(text[:MAX_ANSWER_CHARACTERS]),
        finish_reason=finish_reason,
        # litellm writes zeros where the provider counts nothing; no prompt has zero tokens.
        prompt_tokens=counted or None,
        completion_tokens=completed,
        cost_usd=0.0 if simulated else _cost(response, price, counted, completed),
        latency_ms=latency_ms,
        simulated=simulated,
    )


def _is_marked(response: Any) -> bool:
    """Whether the simulator answered: OpenAI's, Gemini's and Anthropic's shape each say it."""
    headers = response._hidden_params.get("additional_headers") or {}
    return (
        response.system_fingerprint == SIMULATOR_MARK
        or str(response.id).startswith(SIMULATOR_MARK)
        or headers.get("llm_provider-x-judge-gym-simulator") == SIMULATOR_MARK
    )


def _cost(
    response: Any, price: Price | None, prompt: int | None, completion: int | None
) -> float | None:
    """Return US dollars by the providers file, else by litellm's list, else None: never 0."""
    if price is None:
        listed: float | None = response._hidden_params.get("response_cost")
        return listed
    if prompt is None or completion is None:
        return None
    return (prompt * price.prompt + completion * price.completion) / 1e6


def _storable(text: str) -> str:
    """Replace what PostgreSQL text cannot hold: NUL and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text)


_KIND_BY_STATUS: dict[int, FailureKind] = {
    400: "bad_request",
    401: "authentication",
    402: "quota",
    403: "authentication",
    404: "not_found",
    408: "timeout",
    413: "context_too_long",
    422: "bad_request",
    429: "rate_limit",
}


def kind_of_status(status: int) -> FailureKind:
    """Return the kind of failure that an HTTP status other than 200 means."""
    return _KIND_BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


_QUOTA_SIGNS = (
    "insufficient_quota",
    "credit_balance_exhausted",
    "spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "enforced_spend_limit_reached",
    "credit balance is too low",
    "insufficient balance",
)
"""What providers say, in a code or in words, when the money is gone: waiting brings none."""
_LIMIT_SIGN = "could not finish the message because max_tokens"
"""What OpenAI says, with status 400, when thinking used up the whole output limit."""


def classified(error: Exception, key: str | None) -> ProviderError:
    """Return an exception of litellm's as ours, with the key masked."""
    message = _masked(str(error), key)
    said = _said(_CLUTTER.sub("", message))[:500] or type(error).__name__
    body = getattr(error, "body", None)
    parameter = body.get("param") if isinstance(body, dict) else None
    return ProviderError(_kind(error, message.lower()), said, _retry_after(error), parameter)


def speakable(message: str, key: str | None) -> str:
    """Return what a provider said in one line of at most 500 characters that can be stored."""
    return _masked(message, key)[:500]


def _masked(message: str, key: str | None) -> str:
    said = _storable(" ".join(message.split()))
    # Some providers repeat the key they refuse.
    return said.replace(key, "[key]") if key else said


def _said(text: str) -> str:
    """Return the words of an error in OpenAI's shape, any other text as it is."""
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return text


def _kind(error: Exception, message: str) -> FailureKind:
    """Classify by type, code and HTTP status: litellm's classes alone mislead."""
    if isinstance(error, exceptions.ContextWindowExceededError):
        return "context_too_long"
    if isinstance(error, exceptions.ContentPolicyViolationError):
        return "content_policy"
    if isinstance(error, exceptions.Timeout | asyncio.TimeoutError):
        return "timeout"
    body = getattr(error, "body", None)
    code = str(body.get("code")) if isinstance(body, dict) else ""
    if any(sign in text for sign in _QUOTA_SIGNS for text in (code, message)):
        return "quota"
    if _LIMIT_SIGN in message:
        return "output_limit"
    # litellm calls a lost connection a server error.
    if any(isinstance(e, OSError | aiohttp.ClientError) for e in causes(error, contexts=True)):
        return "connection"
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or status < 400:
        return "unreadable"
    return kind_of_status(status)


def _retry_after(error: Exception) -> float | None:
    """Return the seconds a Retry-After header asks for, as a number or a date; None without."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    return retry_after_seconds(headers.get("retry-after") or "")
