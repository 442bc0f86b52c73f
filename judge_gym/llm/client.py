"""The one module that imports litellm: one request in, an `Answer` or a `ProviderError` out.

No retries, no limits, no database here: those are the gateway's.
"""

import asyncio
import email.utils
import os
import time
from datetime import UTC, datetime
from typing import Any

from judge_gym.llm.calls import Answer, FailureKind, Parameters, ProviderError
from judge_gym.llm.providers import Provider
from judge_gym.prompts import Message

# Before litellm is imported: it would fetch a price list, and in its development mode read .env.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

import litellm  # noqa: E402
from litellm import exceptions  # noqa: E402
from litellm.llms.custom_httpx.async_client_cleanup import (  # noqa: E402
    close_litellm_async_clients,
)

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.drop_params = True

MAX_ANSWER_CHARACTERS = 200_000
SIMULATOR_MARK = "judge-gym-simulator"


class Client:
    """Sends single requests through litellm; one per event loop, closed with it."""

    async def complete(
        self,
        provider: Provider,
        model: str,
        messages: tuple[Message, ...],
        parameters: Parameters,
        timeout_s: float,
    ) -> Answer:
        """Ask once. Raises `ProviderError`, or `ConfigError` when the key is missing."""
        name = model.partition("/")[2]
        started = time.perf_counter()
        try:
            response = await litellm.acompletion(
                model=f"{provider.litellm or provider.name}/{name}",
                messages=list(messages),
                api_key=provider.key().get_secret_value(),
                base_url=provider.address() or None,
                timeout=timeout_s,
                num_retries=0,
                max_retries=0,
                **parameters.sent(),
            )
        except Exception as error:
            raise _classified(error) from error
        return _answer(response, (time.perf_counter() - started) * 1000, model)

    async def close(self) -> None:
        """Close litellm's sockets; they belong to the running event loop."""
        await close_litellm_async_clients()  # type: ignore[no-untyped-call]


def _answer(response: Any, latency_ms: float, model: str) -> Answer:
    try:
        choice = response.choices[0]
        text = choice.message.content or ""
    except (AttributeError, IndexError, TypeError) as error:
        raise ProviderError("unreadable", f"The answer has no choices: {error}") from error
    usage = getattr(response, "usage", None)
    simulated = model.startswith("sim/") or response.system_fingerprint == SIMULATOR_MARK
    return Answer(
        # PostgreSQL text cannot hold NUL; nothing else is changed.
        text=text[:MAX_ANSWER_CHARACTERS].replace("\x00", "\ufffd"),
        finish_reason=choice.finish_reason or "unknown",
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost_usd=0.0 if simulated else response._hidden_params.get("response_cost"),
        latency_ms=latency_ms,
        simulated=simulated,
    )


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


def _classified(error: Exception) -> ProviderError:
    message = " ".join(str(error).split())[:500]
    return ProviderError(_kind(error, message.lower()), message, _retry_after(error))


def _kind(error: Exception, message: str) -> FailureKind:
    """Classify by type and HTTP status, then by code: litellm's classes alone mislead."""
    if isinstance(error, exceptions.ContextWindowExceededError):
        return "context_too_long"
    if isinstance(error, exceptions.ContentPolicyViolationError):
        return "content_policy"
    if isinstance(error, exceptions.Timeout | asyncio.TimeoutError):
        return "timeout"
    if "insufficient_quota" in message:
        return "quota"
    if isinstance(error, exceptions.APIConnectionError):
        return "connection"
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _KIND_BY_STATUS.get(status, "server" if status >= 500 else "bad_request")
    return "unreadable"


def _retry_after(error: Exception) -> float | None:
    headers = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after")
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        moment = email.utils.parsedate_to_datetime(value)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
