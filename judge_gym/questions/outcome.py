"""Telling an answer that can be read from one that never came or was withheld."""

import re
from dataclasses import dataclass
from typing import Literal

from judge_gym.records.calls import Answer, Failure

LONGEST_REASON = 500
UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Line breaks, controls, and what PostgreSQL cannot hold; JSON escapes bring them into answers."""


@dataclass(frozen=True)
class NoAnswer:
    """There is nothing to read: the model or its provider refused, or the call failed."""

    status: Literal["refused", "failed"]
    failure: str


def readable(outcome: Answer | Failure) -> Answer | NoAnswer:
    """Return the answer when there is text to read, else why there is none."""
    if isinstance(outcome, Failure):
        refused = outcome.kind == "content_policy"
        return NoAnswer(
            "refused" if refused else "failed",
            f"{outcome.kind}: {outcome.message}"[:LONGEST_REASON],
        )
    if outcome.finish_reason == "content_filter":
        return NoAnswer("refused", "content_filter: the provider withheld the answer")
    return outcome


def unreadable(answer: Answer, reason: str, detail: str) -> str:
    """Return the typed failure of an answer that could not be read; a cut answer says so."""
    cause = "truncated" if answer.finish_reason == "length" else reason
    return UNPRINTED.sub(" ", f"{cause}: {detail}")[:LONGEST_REASON]
