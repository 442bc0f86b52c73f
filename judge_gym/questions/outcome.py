"""Separate readable answers from refusals and failed calls."""

import re
from dataclasses import dataclass
from typing import Literal

from judge_gym.records.attempts import in_place_of_text
from judge_gym.records.calls import Answer, Failure

LONGEST_REASON = 500
UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Line breaks, controls, and what PostgreSQL cannot store; answers contain them as JSON escapes."""


@dataclass(frozen=True)
class NoAnswer:
    """No text to read: the model or its provider refused, or the call failed."""

    status: Literal["refused", "failed"]
    failure: str


def readable(outcome: Answer | Failure) -> Answer | NoAnswer:
    """Return the answer if it has text to read, else the reason why there is none."""
    if isinstance(outcome, Failure):
        refused = outcome.kind == "content_policy"
        return NoAnswer(
            "refused" if refused else "failed",
            f"{outcome.kind}: {outcome.message}"[:LONGEST_REASON],
        )
    if outcome.finish_reason == "content_filter":
        return NoAnswer("refused", _withheld(outcome))
    return outcome


def _withheld(answer: Answer) -> str:
    """Return that an answer was withheld, with the provider's word for why or the model's own."""
    given = answer.finish_given or ""
    # Where a model refuses in a field for that, its words stand in place of the text.
    why = answer.text.strip() if given == "stop" else given.removeprefix("content_filter")
    said = f"content_filter: the provider withheld the answer{f': {why}' if why else ''}"
    return UNPRINTED.sub(" ", said)[:LONGEST_REASON]


def unreadable(answer: Answer, reason: str, detail: str) -> str:
    """Return the typed failure of an unreadable answer; a truncated answer is named as such."""
    if instead := in_place_of_text(answer):
        reason, detail = "empty", instead
    cause = "truncated" if answer.is_cut else reason
    return UNPRINTED.sub(" ", f"{cause}: {detail}")[:LONGEST_REASON]
