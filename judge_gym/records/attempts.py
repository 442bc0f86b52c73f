"""The ledger's records of attempts that failed or gave an unusable answer."""

from datetime import UTC, datetime
from typing import Any

from judge_gym.records.calls import Answer

AttemptError = dict[str, Any]
"""An element of `llm_calls.errors`: kind, at, message; and the answer, when one was discarded."""


def attempt_error(kind: str, message: str) -> AttemptError:
    """Return the record of an attempt that failed."""
    return {"kind": kind, "at": datetime.now(UTC).isoformat(), "message": message}


def nothing_but_thought(answer: Answer) -> bool:
    """Whether the output limit was used up before the first word of the answer."""
    return answer.finish_reason == "length" and not answer.text.strip()


def over_limit(message: str, limit: int, cost_usd: float | None) -> AttemptError:
    """Return the record of an answer without a word at an output limit in tokens."""
    return {**attempt_error("output_limit", message), "limit": limit, "cost_usd": cost_usd}


def discarded(answer: Answer) -> AttemptError | None:
    """Return the record of an answer that is retried once, None for one to keep."""
    if answer.finish_reason == "length":
        kind = "truncated"
    elif not answer.text.strip() and answer.finish_reason != "content_filter":
        kind = "empty"
    else:
        return None
    message = f"finish reason {answer.finish_reason}"
    return {**attempt_error(kind, message), "answer": answer.text}
