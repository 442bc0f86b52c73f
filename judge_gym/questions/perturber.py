"""The perturber: a model changes a text in a known way, and the result is checked."""

from collections import Counter
from dataclasses import dataclass

from judge_gym.prompts import Message, Prompt, continued, nonce, render, template_hash
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.shown import ShownDocument
from judge_gym.seeds import digest

LONGEST_ORIGINAL = 12_000
"""Maximum length in characters of a text for a model, which has to write it out again."""
LONGEST_ANSWER = 16_000
"""Tokens; every common model can write this many."""
_LONGER, _SHORTER, _LEEWAY = 4, 10, 200
"""Limits on the length of the changed text: times longer, times shorter, extra characters."""
_LEAST_IN_COMMON = 1 / 3
"""Two notes of a corpus share at most a quarter; a note and its change by rule over half."""
_MARKS = ("<<<BEGIN EVIDENCE", "<<<END EVIDENCE")
_SHARES = (
    (0.1, "about a tenth"), (0.25, "about a quarter"), (1 / 3, "about a third"),
    (0.5, "about half"), (2 / 3, "about two thirds"), (0.75, "about three quarters"),
    (0.9, "nearly all"), (1.0, "all"),
)  # fmt: skip


@dataclass(frozen=True)
class Rewritten:
    """The text changed by the model."""

    text: str


@dataclass(frozen=True)
class Unusable:
    """The reason why an answer is not a changed text; the retry tells it to the model."""

    reason: str


def share_in_words(severity: float) -> str:
    """Return a share in (0, 1] in words, with its percentage: "about half (50%)"."""
    _, words = min(_SHARES, key=lambda one: abs(one[0] - severity))
    return f"{words} ({100 * severity:g}%)"


def perturb_prompt(text: str, description: str, severity: float, call_key: str) -> Prompt:
    """Render the request to change a share of the places of `text`, as `description` says."""
    return render(
        "perturb",
        document=ShownDocument("", text),
        description=description,
        share=share_in_words(severity),
        mark=nonce(call_key, text),
    )


def perturb_again_prompt(before: tuple[Message, ...], answer: str, failure: str) -> Prompt:
    """Render the retry, as the next turn of the conversation."""
    return continued(before, answer, render("perturb_again", failure=failure))


def prompt_hash() -> str:
    """Return the hash of the prompt templates."""
    return digest(template_hash("perturb"), template_hash("perturb_again"))


def longest_answer(text: str) -> int:
    """Return the maximum number of tokens of the changed text."""
    # In English, a token has four characters; in other scripts one, or less.
    return min(LONGEST_ANSWER, 200 + 2 * len(text))


def read_rewritten(original: str, outcome: Answer | Failure) -> Rewritten | Unusable | NoAnswer:
    """Return the changed text of an outcome, or why there is none; never the original."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return answer
    text = answer.text.strip()
    if not text:
        return Unusable("empty: there is no text")
    if answer.is_cut:
        return Unusable("truncated: the text breaks off")
    if any(mark in text and mark not in original for mark in _MARKS):
        return Unusable("marks: the marks around the text are no part of it")
    if text.split() == original.split():
        return Unusable("same: the text is not changed at all")
    if len(text) > _LONGER * len(original) + _LEEWAY:
        return Unusable(f"longer: it is more than {_LONGER} times as long as the text")
    if len(text) * _SHORTER < len(original):
        return Unusable(f"shorter: less than 1 part in {_SHORTER} of the text is left")
    if _in_common(original, text) < _LEAST_IN_COMMON:
        return Unusable("other: it is another text, and not this one with a change in it")
    return Rewritten(text)


def _in_common(one: str, other: str) -> float:
    """Return the share of the shorter text's four-character sequences that both texts have."""
    first, second = (_passages(text) for text in (one, other))
    return (first & second).total() / min(first.total(), second.total())


def _passages(text: str) -> Counter[str]:
    # Characters and not words, since some scripts have no spaces.
    plain = " ".join(text.casefold().split())
    return Counter(plain[start : start + 4] for start in range(max(1, len(plain) - 3)))
