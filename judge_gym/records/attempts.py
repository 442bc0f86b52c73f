"""The ledger's records of attempts that failed or gave an unusable answer."""

from datetime import UTC, datetime
from typing import Any

from judge_gym.records.calls import Answer

AttemptError = dict[str, Any]
"""An element of `llm_calls.errors`: kind, at, message; and the answer, when one was discarded."""


def attempt_error(kind: str, message: str) -> AttemptError:
    """Return the record of an attempt that failed."""
    return {"kind": kind, "at": datetime.now(UTC).isoformat(), "message": message}


AT_MOST = "at_most_usd"
"""The key of an attempt that may have been billed, with US dollars; null without a price."""


UNKNOWN_OUTCOME = "unknown_outcome"
STOPPED_BEFORE = "sent by a run that was stopped before the answer came"
"""The cause of an unknown outcome, in words."""
"""The kind of a sending whose run ended before its answer, and that was followed by another."""


def nothing_but_thought(answer: Answer) -> bool:
    """Whether the output limit was used up before the first word of the answer."""
    return answer.finish_reason == "length" and not answer.text.strip()


def in_place_of_text(answer: Answer) -> str:
    """Return what stands where the text of an answer should, in words; empty for none of this.

    The same request would be answered so again, as a rule.
    """
    if answer.text.strip() or answer.finish_reason in ("content_filter", "length"):
        return ""
    if answer.finish_reason == "tool_call":
        return "the answer is a tool call, although no tools were offered, and has no text"
    if answer.reasoning.strip():
        return (
            f"the answer has no text; {len(answer.reasoning):,} characters stand in its reasoning, "
            "from which no verdict is read. Check the server's reasoning parser, or turn thinking "
            "off"
        )
    return ""


def over_limit(message: str, limit: int, answer: Answer | None) -> AttemptError:
    """Return the record of an answer without a word at an output limit in tokens.

    Without `answer` the provider refused the limit.
    """
    used = {"cost_usd": None} if answer is None else cost_of_discarded(answer) | _used(answer)
    return {**attempt_error("output_limit", message), "limit": limit, **used}


def cost_of_discarded(answer: Answer) -> dict[str, Any]:
    """Return what an answer cost that is not kept, or its bound where that is unknown."""
    bound = {AT_MOST: answer.at_most_usd} if answer.cost_usd is None else {}
    return {"cost_usd": answer.cost_usd} | bound


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
    message = in_place_of_text(answer) or f"finish reason {answer.finish_reason}"
    return {**attempt_error(kind, message), "answer": answer.text, **_used(answer)}
