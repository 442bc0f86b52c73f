"""The editor: makes one view of a document from the view before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from judge_gym.design.experiment import EvidenceView
from judge_gym.evidence.cleaning import word_count
from judge_gym.prompts import Prompt, nonce, render
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.recipes import VIEW_TEMPLATES
from judge_gym.records.shown import ShownDocument

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class EditedText:
    """A view's text. `words` counts the model's words; `over_limit` marks a cut text."""

    text: str
    words: int
    over_limit: bool


@dataclass(frozen=True)
class NoText:
    """The reason why the view could not be made."""

    failure: str


def view_prompt(view: EvidenceView, text: str, limit: int, call_key: str) -> Prompt:
    """Render the request for `view` of `text`; `limit` is in words."""
    return render(
        VIEW_TEMPLATES[view],
        document=ShownDocument("", text),
        limit=limit,
        mark=nonce(call_key, text),
    )


def read_view(view: EvidenceView, limit: int, outcome: Answer | Failure) -> EditedText | NoText:
    """Return the view's text of an outcome; a neutral summary over the limit is cut and flagged.

    A text that was truncated by the token limit is not a view: its end is missing.
    """
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return NoText(answer.failure)
    text = answer.text.strip()
    if not text:
        return NoText(f"empty: the model answered nothing (finish reason {answer.finish_reason})")
    words = word_count(text)
    if answer.is_cut and (view != "neutralized" or words <= limit):
        return NoText(f"truncated: the model was stopped after {words} words")
    if view != "neutralized" or words <= limit:
        return EditedText(text, words, over_limit=False)
    cut = cut_to(text, limit)
    if not cut:
        return NoText(f"over_limit: {words} words without a break")
    return EditedText(cut, words, over_limit=True)


def cut_to(text: str, limit: int) -> str:
    """Return leading sentences with at most `limit` words; at least the first, cut if needed."""
    return _leading(_SENTENCE_END.split(text), limit) or _leading(text.split(), limit)


def _leading(pieces: Sequence[str], limit: int) -> str:
    """Return the first pieces, joined, that have at most `limit` words together."""
    totals = accumulate(map(word_count, pieces))
    return " ".join(pieces[: sum(total <= limit for total in totals)])
