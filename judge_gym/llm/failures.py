"""What a provider's error means: its kind, its own words, and how long to wait.

Read from the response as received, in any provider's form: litellm's classes and statuses mislead
(Anthropic's 529 and Gemini's 503 are 500 there), and its messages repeat the JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx

from judge_gym.errors import causes
from judge_gym.llm.bodies import storable
from judge_gym.llm.keys import without_key
from judge_gym.llm.sdk import exceptions
from judge_gym.llm.waits import LONGEST_WAIT_S, minutes, span_seconds, until, wait_s
from judge_gym.records.calls import FailureKind, ProviderError

_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout)
"""Errors of a connection that was never made: nothing was sent."""
LONGEST_MESSAGE = 500
"""Characters of an error that are kept."""
_CLUTTER = re.compile(r"^(litellm\.\w+: )?(\w+Error: )?(\w+Exception - )?| ssl:<[^>]*>")
"""What litellm and aiohttp put around what went wrong."""
_KEYS = {
    "sk-ant-": "Anthropic",
    "sk-or-": "OpenRouter",
    "sk-proj-": "OpenAI",
    "AIza": "Gemini",
    "xai-": "xAI",
    "gsk_": "Groq",
}
"""How the keys of some providers begin."""


@dataclass(frozen=True)
class _Error:
    """The body of an error, in any provider's form."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    """Its codes, types and reasons, in lower case."""
    status: int | None = None
    """The status in the body: the provider's own, where the response has status 200."""
    parameter: str | None = None
    wait_s: float | None = None
    flagged: bool = False
    """Whether it says what in the prompt was flagged."""

    def has(self, *codes: str) -> bool:
        return not self.codes.isdisjoint(codes)

    def says(self, words: re.Pattern[str]) -> bool:
        return words.search(self.message) is not None


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_QUOTA_CODES = (
    "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded", "organization_usage_limit_exceeded",
    "enforced_spend_limit_reached", "billing_error", "blocked_api_access",
    "billing_hard_limit_reached", "billing_limit_reached", "billing_not_active",
    "insufficient_user_quota", "insufficient_balance", "insufficient_credits",
    "exceeded_current_quota_error", "credit_limit_exceeded", "quota_exceeded_daily",
    "arrearage", "accountoverdueerror",
)  # fmt: skip
"""Codes of accounts without money: waiting brings none."""
_QUOTA = _words(
    r"credit balance is too low", r"insufficient (balance|credits|funds)", r"API usage limits",
    r"(have any|all available) credits", r"credits are depleted", r"(spend|spending) (limit|cap)",
    r"billing (hard |soft )?limit", r"check your billing details", r"(out of|not enough) credits",
    r"(monthly|daily) (included credits|quota)", r"account .{0,20}(overdue|in arrears)",
    r"account .{0,20}good standing", r"key limit exceeded", r"payment required",
)  # fmt: skip
_POLICY_CODES = (
    "content_policy_violation", "invalid_prompt", "content_filter", "guardrail_blocked",
    "responsibleaipolicyviolation",
)  # fmt: skip
_POLICY = _words(
    r"usage (guidelines|polic)", r"content[ _](filtering |management )?policy", r"was flagged",
    r"content exists risk", r"safety system", r"blocked by a guardrail",
)  # fmt: skip
_CONTEXT = _words(
    r"prompt is too long", r"maximum (context|prompt) length", r"exceed context limit",
    r"input token count.* exceeds", r"context (length|window)",
    r"reduce the length of the (input |)messages",
)  # fmt: skip
_KEY = _words(
    r"(incorrect|invalid) (x-)?api[ -]?key", r"api[ -]?key (not|is in)valid",
    r"unregistered callers",
)  # fmt: skip
_RETIRED_CODES = ("model_decommissioned", "modeldeprecated", "model_deprecated", "model_retired")
_RETIRED = _words(
    r"\b(deprecated|retired|decommissioned|shut down|no longer (available|supported))"
)
_UNKNOWN_MODEL = _words(r"model not exist", r"invalid model")
_NO_ACCESS = _words(r"no allowed providers", r"data policy")
"""What OpenRouter says with status 404 of models that the account's settings exclude."""
_NO_ENDPOINT_TAKES = _words(r"no endpoints found that")
"""What OpenRouter says with status 404 of parameters that no endpoint takes."""
_LIMIT = _words(r"could not finish the message because max_tokens")
"""What OpenAI says, with status 400, when thinking used up the whole output limit."""
_PAGE = re.compile(r"\s*<(!doctype|html|head|body)\b", re.IGNORECASE)
_PAGES = (401, 403, 404, 405)
"""Statuses of web pages that stand where an API was expected."""
_KIND_BY_STATUS: dict[int, FailureKind] = {
    401: "authentication",
    402: "quota",
    403: "no_access",
    404: "not_found",
    408: "timeout",
    410: "retired",
    413: "context_too_long",
    429: "rate_limit",
}
_STATUS_BY_CODE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "overloaded_error": 529,
    "timeout_error": 504,
}
"""What the types of errors mean where no status comes with them."""


def classified(error: Exception, key: str | None, received: Any = None) -> ProviderError:
    """Return an exception of litellm's as ours, with the key masked.

    `received` is the body of a response with status 200, as litellm logged it.
    """
    chain = list(causes(error, contexts=True))
    response = next(_responses(reversed(chain)), None)
    if response is not None:
        failure = failure_of(response.status_code, response.text, response.headers, key)
        # litellm knows more ways of saying that a prompt is too long, or not allowed.
        if failure.kind == "bad_request":
            failure.kind = _by_class(error) or "bad_request"
        return failure
    if isinstance(error, exceptions.Timeout | TimeoutError):
        return ProviderError("timeout", speakable(str(error), key), may_be_billed=True)
    # litellm calls a lost connection a server error.
    lost = next((one for one in chain if isinstance(one, OSError | aiohttp.ClientError)), None)
    if lost is not None:
        unsent = any(isinstance(one, _UNSENT) for one in chain)
        begun = any(isinstance(one, aiohttp.ClientPayloadError) for one in chain)
        said = speakable(_told(lost), key)
        return ProviderError("connection", said, reached=begun, may_be_billed=not unsent)
    broken = next((one for one in chain if isinstance(one, json.JSONDecodeError)), None)
    if broken is not None:
        message = f"The answer is no JSON: {broken.doc.strip() or 'it is empty'}"
        page = _PAGE.match(broken.doc) is not None
        return ProviderError(
            *("unreadable", speakable(message, key)),
            status=200, page=page, reached=not page, passes=not _is_whole(broken.doc),
            may_be_billed=not page,
        )  # fmt: skip
    if received is not None:
        return failure_of(200, received, {}, key)
    status = getattr(error, "status_code", None)
    kind = _by_class(error) or ("bad_request" if status == 400 else "unreadable")
    return ProviderError(kind, speakable(_told(error), key))


def failure_of(
    status: int, body: Any, headers: Mapping[str, str], key: str | None
) -> ProviderError:
    """Return the failure in a response of this status; `body` is text or JSON."""
    error = _read(_parsed(body))
    page = isinstance(body, str) and _PAGE.match(body) is not None
    misplaced = page and status in (200, *_PAGES)
    kind = "unreachable" if page and status in _PAGES else _kind(status, error)
    message = error.message or str(body or "").strip() or f"status {status} without a word"
    unknown = status == 200 and error == _Error()
    if unknown:
        kind, message = "unreadable", f"The answer is no completion: {message}"
    if page:
        message = f"status {status} with a web page: {message}"
    wait = wait_s(status, headers, error.wait_s, error.message)
    too_long = (wait or 0) > LONGEST_WAIT_S
    if kind == "rate_limit" and too_long:
        kind = "quota"
        message = (
            f"It asks to wait {minutes(wait)}, longer than the {minutes(LONGEST_WAIT_S)} that a "
            f"run waits: {message}"
        )
    return ProviderError(
        *(kind, speakable(message, key), wait, error.parameter),
        status=status,
        page=misplaced,
        reached=not misplaced,
        passes=not too_long and not (unknown and _is_whole(body)),
        may_be_billed=unknown and not page,
    )


def _is_whole(body: Any) -> bool:
    """Whether a body that is no completion would come again, and be paid for again.

    A page or a body without its end may be due to what lies between.
    """
    if not isinstance(body, str) or _parsed(body) is not None:
        return True
    return bool(body.strip()) and _PAGE.match(body) is None and body.lstrip()[0] not in "{["


def speakable(message: str, key: str | None) -> str:
    """Return what a provider said in one line of at most 500 characters that can be stored."""
    said = storable(" ".join(message.split()))
    # Some providers repeat the key they refuse.
    return (without_key(said, key) if key else said)[:LONGEST_MESSAGE]


def look_of(key: str) -> str | None:
    """Return the provider whose keys look like this one."""
    return next((name for start, name in _KEYS.items() if key.startswith(start)), None)


def _kind(status: int, error: _Error) -> FailureKind:
    """Classify by the provider's codes and words, then by the status."""
    if status == 200:
        status = error.status or 500
    if status in (400, 401, 402, 403, 429) and (error.has(*_QUOTA_CODES) or error.says(_QUOTA)):
        return "quota"
    if status in (400, 422) and error.says(_LIMIT):
        return "output_limit"
    if status in (400, 403, 422):
        if error.flagged or error.has(*_POLICY_CODES) or error.says(_POLICY):
            return "content_policy"
        if error.has("api_key_invalid") or error.says(_KEY):
            return "authentication"
    if status in (400, 422):
        if error.has("context_length_exceeded") or error.says(_CONTEXT):
            return "context_too_long"
        if error.has(*_RETIRED_CODES):
            return "retired"
        if error.has("model_not_found", "invalid_model") or error.says(_UNKNOWN_MODEL):
            return "not_found"
    if status == 404:
        return _kind_of_404(error)
    return _KIND_BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def _kind_of_404(error: _Error) -> FailureKind:
    if error.says(_NO_ENDPOINT_TAKES):
        return "bad_request"
    if error.says(_NO_ACCESS):
        return "no_access"
    return "retired" if error.says(_RETIRED) or error.has(*_RETIRED_CODES) else "not_found"


def _by_class(error: Exception) -> FailureKind | None:
    if isinstance(error, exceptions.ContextWindowExceededError):
        return "context_too_long"
    if isinstance(error, exceptions.ContentPolicyViolationError):
        return "content_policy"
    return None


def _responses(errors: Iterable[BaseException]) -> Iterator[httpx.Response]:
    """Yield the responses that errors of HTTP clients have; litellm makes up others."""
    for error in errors:
        if isinstance(error, httpx.HTTPStatusError) and error.response.is_closed:
            yield error.response


def _told(error: BaseException) -> str:
    """Return what an exception that is no response says, without litellm's wrapping."""
    told = _CLUTTER.sub("", " ".join(str(error).split()))
    return told.partition(" Traceback (most recent call last)")[0] or type(error).__name__


def _parsed(body: Any) -> Any:
    if isinstance(body, str | bytes):
        try:
            return json.loads(body)
        except ValueError:
            return None
    return body


def _read(body: Any) -> _Error:
    """Read the body of an error; an empty one is returned for a form that is not known."""
    if not isinstance(body, dict):
        return _Error()
    inner = body.get("error")
    if isinstance(inner, str):  # xAI, Ollama
        return _Error(inner, _codes(body))
    if isinstance(inner, dict):  # OpenAI and those like it, Anthropic, Gemini
        return _read_fields(inner)
    if "detail" in body:  # Mistral, and servers made with FastAPI
        return _read_detail(body["detail"])
    return _read_fields(body)  # Mistral


def _read_fields(fields: Mapping[str, Any]) -> _Error:
    parts = [*_objects(fields.get("details")), *_objects(fields.get("innererror"))]
    codes = frozenset[str]().union(*map(_codes, (fields, *parts)))
    waits = [span_seconds(str(part["retryDelay"])) for part in parts if "retryDelay" in part]
    quotas = [one for part in parts for one in _objects(part.get("violations"))]
    if any("perday" in str(one.get("quotaId")).lower() for one in quotas):  # Gemini
        codes |= {"quota_exceeded_daily"}
    violations = [one for part in parts for one in _objects(part.get("fieldViolations"))]
    message, status = str(fields.get("message") or ""), fields.get("code")
    metadata = next(iter(_objects(fields.get("metadata"))), {})
    reset = next(iter(_objects(metadata.get("headers"))), {}).get("X-RateLimit-Reset")
    if reset is not None:  # OpenRouter
        waits.append(until(str(reset)))
    if raw := metadata.get("raw"):  # the words of the provider behind OpenRouter
        message = f"{message}: {_read(_parsed(raw)).message or raw}"
    return _Error(
        message,
        codes,
        status if isinstance(status, int) else _status_of(codes),
        _last_name(fields.get("param") or next((one.get("field") for one in violations), None)),
        next(iter(waits), None),
        flagged="flagged_input" in metadata or "reasons" in metadata,
    )


def _read_detail(detail: Any) -> _Error:
    if isinstance(detail, str):
        return _Error(detail)
    first = next(iter(_objects(detail)), {})
    name = ".".join(str(step) for step in first.get("loc") or () if step != "body")
    said = str(first.get("msg") or "")
    return _Error(f"{name}: {said}" if name else said, parameter=_last_name(name))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, dict)]


def _codes(fields: Mapping[str, Any]) -> frozenset[str]:
    given = (fields.get(name) for name in ("code", "type", "status", "reason", "error_code"))
    return frozenset(value.lower() for value in given if isinstance(value, str))


def _status_of(codes: frozenset[str]) -> int | None:
    return next((status for code, status in _STATUS_BY_CODE.items() if code in codes), None)


def _last_name(path: Any) -> str | None:
    """Return the name at the end of a path: generation_config.temperature."""
    return path.rpartition(".")[2] if isinstance(path, str) and path else None
