"""The perturber: has a model change a text in a known way, and checks what came of it."""

from collections import Counter
from dataclasses import dataclass

from judge_gym.prompts import Message, Prompt, continued, nonce, render, template_hash
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.shown import ShownDocument
from judge_gym.seeds import digest

LONGEST_ORIGINAL = 12_000
"""Characters of a text that a model may be asked to change: it has to write it out again."""
LONGEST_ANSWER = 16_000
"""Tokens, which every common model may write."""
_LONGER, _SHORTER, _LEEWAY = 4, 10, 200
"""A text may become so many times longer or shorter, and so many characters longer than that."""
_LEAST_IN_COMMON = 1 / 3
"""Two notes of one corpus have a quarter at most, a note and its change by rule over half."""
_MARKS = ("<<<BEGIN EVIDENCE", "<<<END EVIDENCE")
_SHARES = (
    (0.1, "about a tenth"), (0.25, "about a quarter"), (1 / 3, "about a third"),
    (0.5, "about half"), (2 / 3, "about two thirds"), (0.75, "about three quarters"),
    (0.9, "nearly all"), (1.0, "all"),
)  # fmt: skip


@dataclass(frozen=True)
class Rewritten:
    """The text as the model changed it."""

    text: str


@dataclass(frozen=True)
class Unusable:
    """Why an answer is not the text, changed; the model may do better when it is told."""

    reason: str


def share_in_words(severity: float) -> str:
    """Return a share in (0, 1] in words, with its percentage: "about half (50%)"."""
    _, words = min(_SHARES, key=lambda one: abs(one[0] - severity))
    return f"{words} ({100 * severity:g}%)"


def perturb_prompt(text: str, description: str, severity: float, call_key: str) -> Prompt:
    """Render the request to change `text` as `description` says, in a share of its places."""
    return render(
        "perturb",
        document=ShownDocument("", text),
        description=description,
        share=share_in_words(severity),
        mark=nonce(call_key, text),
    )


def perturb_again_prompt(before: tuple[Message, ...], answer: str, failure: str) -> Prompt:
    """Render the request to do it properly, as the next turn of the conversation."""
    return continued(before, answer, render("perturb_again", failure=failure))


def prompt_hash() -> str:
    """Return the hash of what a model is asked with."""
    return digest(template_hash("perturb"), template_hash("perturb_again"))


def longest_answer(text: str) -> int:
    """Return the tokens that the changed text may have."""
    # Of English, four characters are a token; of other scripts one is, or less.
    return min(LONGEST_ANSWER, 200 + 2 * len(text))


def read_rewritten(original: str, outcome: Answer | Failure) -> Rewritten | Unusable | NoAnswer:
    """Turn an outcome into the changed text, or why it is none; never the original again."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return answer
    text = answer.text.strip()
    if not text:
        return Unusable("empty: there is no text")
    if answer.finish_reason == "length":
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
    """Return the share of the shorter text's passages of four characters that both have."""
    first, second = (_passages(text) for text in (one, other))
    return (first & second).total() / min(first.total(), second.total())


def _passages(text: str) -> Counter[str]:
    # Not words, which scripts without spaces have not.
    plain = " ".join(text.casefold().split())
    return Counter(plain[start : start + 4] for start in range(max(1, len(plain) - 3)))
