"""How long a provider asks to wait, in whichever form: headers, body or words."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from judge_gym.retry_after import retry_after_seconds

LONGEST_STOP_S = 20.0
"""How long a call that is to stop waits for the answer to a request that is out."""
LONGEST_WAIT_S = 900.0
"""Seconds that a run waits when a provider asks for it; one that asks for more has no quota left.
"""
_RESET = re.compile(r"(?:x|anthropic)-ratelimit-(?:(.+)-reset|reset-(requests|tokens))")
_SPAN = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
"""A duration as OpenAI writes it: 1s, 6m0s, 20ms."""
_TRY_AGAIN = re.compile(
    r"(?:try again|retry) (?:in|after) (\d[\dhms.]*)(?: (s|seconds?|m|minutes?|h|hours?)\b)?",
    re.IGNORECASE,
)


def wait_s(
    status: int, headers: Mapping[str, str], in_body: float | None, message: str
) -> float | None:
    """Return the seconds that a response asks to wait; None where it asks for none.

    By its headers; of a 429 also by its body, its resets of limits, or the words of its message.
    """
    asked = _asked_wait(headers)
    if asked is not None or status != 429:
        return asked
    waits = (in_body, _until_reset(headers), _wait_in_words(message))
    return next((wait for wait in waits if wait is not None), None)


def span_seconds(text: str) -> float | None:
    """Return a duration as OpenAI and Google write it, in seconds; None for another text."""
    match = _SPAN.fullmatch(text)
    if match is None or not text:
        return None
    hours, minutes, seconds, thousandths = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the limits that are used up are reset; None where none is."""
    waits = []
    for name, value in headers.items():
        match = _RESET.fullmatch(name.lower())
        if match and _is_used_up(headers, match[1] or match[2]):
            waits.append(until(value))
    if headers.get("x-ratelimit-remaining") == "0":  # OpenRouter
        waits.append(until(headers.get("x-ratelimit-reset") or ""))
    return max((wait for wait in waits if wait is not None), default=None)


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, in whichever header; None without one."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (thousandths := retry_after_seconds(headers.get(name) or "")) is not None:
            return thousandths / 1000
    given = headers.get("retry-after") or ""
    wait = retry_after_seconds(given)
    return span_seconds(given.strip()) if wait is None else wait


def _wait_in_words(message: str) -> float | None:
    """Return the seconds of "Please try again in 1m30.5s"; None where it says no such thing."""
    match = _TRY_AGAIN.search(message)
    if match is None:
        return None
    if match[2]:
        return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2][0].lower()]
    return span_seconds(match[1].rstrip("."))


def minutes(seconds: float | None) -> str:
    """Return a number of seconds in words, in minutes."""
    return f"{(seconds or 0) / 60:,.0f} minutes"


def _is_used_up(headers: Mapping[str, str], limit: str) -> bool:
    names = (f"x-ratelimit-remaining-{limit}", f"anthropic-ratelimit-{limit}-remaining")
    return any(headers.get(name) in ("0", "0.0") for name in names)


def _until_moment(number: float) -> float:
    """Return the seconds that a number of a reset means.

    A Unix time in milliseconds or seconds where it is large, else a number of seconds.
    """
    seconds = number / 1000 if number > 1e12 else number
    return max(0.0, seconds - datetime.now(UTC).timestamp() if seconds > 1e9 else seconds)


def until(value: str) -> float | None:
    """Return the seconds until a moment, or in a duration; None for another text."""
    if (span := span_seconds(value)) is not None:
        return span
    with suppress(ValueError):
        return _until_moment(float(value))
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return max(
        0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    )
