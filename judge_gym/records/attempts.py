"""The ledger's records of attempts that failed or gave an unusable answer."""

from datetime import UTC, datetime
from typing import Any

from judge_gym.records.calls import Answer

AttemptError = dict[str, Any]
"""An element of `llm_calls.errors`: kind, at, message; and the answer, when one was discarded."""


def attempt_error(kind: str, message: str) -> AttemptError:
    """Return the record of an attempt that failed."""
    return {"kind": kind, "at": datetime.now(UTC).isoformat(), "message": message}


UNKNOWN_OUTCOME = "unknown_outcome"
"""The kind of a sending whose run ended before its answer, and that was followed by another."""


def nothing_but_thought(answer: Answer) -> bool:
    """Whether the output limit was used up before the first word of the answer."""
    return answer.finish_reason == "length" and not answer.text.strip()


def over_limit(message: str, limit: int, answer: Answer | None) -> AttemptError:
    """Return the record of an answer without a word at an output limit in tokens.

    Without `answer` the provider refused the limit.
    """
    used = {"cost_usd": None} if answer is None else {"cost_usd": answer.cost_usd} | _used(answer)
    return {**attempt_error("output_limit", message), "limit": limit, **used}


def _used(answer: Answer) -> dict[str, Any]:
    """Return who made an answer that is not kept, and of how many tokens."""
    names = ("served_model", "finish_given", "prompt_tokens", "completion_tokens")
    return {name: getattr(answer, name) for name in (*names, "reasoning_tokens")}


def discarded(answer: Answer) -> AttemptError | None:
    """Return the record of an answer that is retried once, None for one to keep."""
    if answer.finish_reason == "length":
        kind = "truncated"
    elif not answer.text.strip() and answer.finish_reason != "content_filter":
        kind = "empty"
    else:
        return None
    message = f"finish reason {answer.finish_reason}"
    return {**attempt_error(kind, message), "answer": answer.text, **_used(answer)}
