"""Edits of a text by severity: a share of the possible changes, in a random order."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate

from judge_gym.planted.sentences import Sentence, sentences


class Expectation(StrEnum):
    """The effect of a perturbation on the score of a valid judge."""

    DROP = "drop"
    INVARIANT = "invariant"
    RISE = "rise"


@dataclass(frozen=True, slots=True)
class Edit:
    """`[start, end)` of the original replaced by `text`; an insertion where both are equal."""

    start: int
    end: int
    text: str


Change = tuple[Edit, ...]
"""Edits that are made together or not at all."""


@dataclass(frozen=True)
class Perturbed:
    """A text after its edits, which are in the order of the original and do not overlap."""

    text: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class NothingToChange:
    """A perturbation does not apply to a text, so that its score measures nothing."""

    reason: str


@dataclass(frozen=True)
class NotMade:
    """The call to a model that should change a text failed; a rerun may succeed."""

    reason: str


Made = Perturbed | NothingToChange | NotMade


def change(
    text: str, changes: Iterable[Change], severity: float, rng: random.Random
) -> Perturbed | None:
    """Make the first ⌈severity · n⌉ of the n changes in an order drawn by `rng`; None without any.

    `severity` in [0, 1]: 0 changes nothing, and what a lower one changes a higher one changes,
    too. Changes that overlap one drawn before them, or change nothing, do not count.
    """
    if not 0 <= severity <= 1:
        raise ValueError(f"severity {severity}: it lies in [0, 1]")
    drawn = [one for one in changes if any(text[e.start : e.end] != e.text for e in one)]
    rng.shuffle(drawn)
    made = _apart(drawn)
    if not made:
        return None
    # Less a rounding error: 0.07 · 100 is 7 changes.
    count = max(math.ceil(severity * len(made) - 1e-9), int(severity > 0))
    # Insertions at one place keep the order drawn.
    edits = sorted((e for one in made[:count] for e in one), key=lambda e: (e.start, e.end))
    return Perturbed(_edited(text, edits), tuple(edits))


_WORD = re.compile(r"\s+|[\w'’-]+|[^\w\s]")


def differences(before: str, after: str) -> tuple[Edit, ...]:
    """Return edits that turn `before` into `after`, by whole words, in order and apart."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    starts = [0, *accumulate(map(len, old))]
    return tuple(
        Edit(starts[i], starts[j], "".join(new[k:m]))
        for tag, i, j, k, m in SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
    )


def removals(text: str, chosen: Sequence[Sentence]) -> list[Change]:
    """Return the removal of each sentence, alone in a list item with its marker; never of all."""
    everything = sentences(text)
    if len(chosen) == len(everything):
        chosen = chosen[1:]
    in_block = Counter(one.block for one in everything)
    return [
        (Edit(one.block, one.block_end, "") if in_block[one.block] == 1
         else Edit(one.start, one.after, ""),)
        for one in chosen
    ]  # fmt: skip


def additions(text: str, added: Callable[[Sentence], str]) -> list[Change]:
    """Return the insertion of `added` after each sentence that is no heading."""
    return [
        (Edit(one.end, one.end, f" {added(one)}{_space(text, one.end)}"),)
        for one in sentences(text)
        if not one.heading
    ]


def lead_ins(text: str, phrases: Sequence[str], rng: random.Random) -> list[Change]:
    """Return the insertion of one of the phrases before each sentence that is no heading."""
    return [
        (Edit(one.start, one.start, f"{rng.choice(phrases)} "),)
        for one in sentences(text)
        if not one.heading
    ]


def swaps(text: str, spans: Sequence[tuple[int, int]], rng: random.Random) -> list[Change]:
    """Return exchanges of two passages each, in pairs drawn by `rng`; one may be left over."""
    drawn = rng.sample(list(spans), len(spans))
    pairs = zip(drawn[::2], drawn[1::2], strict=False)
    return [
        (Edit(*one, text[slice(*other)]), Edit(*other, text[slice(*one)])) for one, other in pairs
    ]


def _space(text: str, at: int) -> str:
    """Return the space to add after a sentence; "" in a script without spaces."""
    return "" if not text[at:] or text[at].isspace() else " "


def _apart(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that do not overlap an earlier one."""
    taken: list[Change] = []
    spans: list[tuple[int, int]] = []
    for one in changes:
        if any(e.start < end and start < e.end for e in one for start, end in spans):
            continue
        taken.append(one)
        spans += [(e.start, e.end) for e in one]
    return taken


def _edited(text: str, edits: Sequence[Edit]) -> str:
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
