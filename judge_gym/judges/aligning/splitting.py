"""Labelled texts in three parts: for training, for the choice, and for one look."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge_gym.calibration.alignment_file import AlignmentSplit
from judge_gym.evidence.normal_text import normal_text
from judge_gym.judges.base import Judge
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.people import MOST_STEPS
from judge_gym.records.items import Item
from judge_gym.seeds import digest

_WHOLE = 2**64


class LabelUse(StrEnum):
    """What labelled texts are used for."""

    TRAINING = "training"
    DEVELOPMENT = "development"
    TEST = "test"


@dataclass(frozen=True, eq=False)
class Parts:
    """The labelled texts by part, each in the order of its key."""

    texts: Mapping[LabelUse, tuple[Item, ...]]
    unlabelled: int
    repeated: int
    """Texts left out because another is the same but for case and spaces."""
    shown: int
    """Texts put into training because the judge has them as examples."""

    def count(self, part: LabelUse) -> int:
        return len(self.texts[part])

    def labels(self, part: LabelUse, judge: Judge) -> Counter[str]:
        """Return label → how many texts of a part have it; see `grade_of`."""
        return Counter(grade_of(judge, item) for item in self.texts[part])


TEXT_DIGITS = 8
"""Digits of `same_text` by which a judge file names the texts that it was aligned on."""


def same_text(item: Item) -> str:
    """Return the identity of a text and its context but for case and spaces."""
    return digest("same text", [_plain(text) for text in item.shown])


def example_texts(judge: Judge) -> set[str]:
    """Return the `same_text` of the worked examples that a judge has in its prompt."""
    if not isinstance(judge, ModelJudge):
        return set()
    return {
        same_text(Item(id="example", text=one.text, second=one.second, context=one.context))
        for one in judge.examples
    }


def aligned_on(judge: Judge, items: Collection[Item]) -> set[str]:
    """Return the keys of the items that a judge was aligned on, for training or for the choice."""
    known = set(judge.provenance.chosen_on.split()) if judge.provenance else set()
    return {item.key for item in items if same_text(item)[:TEXT_DIGITS] in known}


def part_of(item: Item, split: AlignmentSplit) -> LabelUse:
    """Return the part of a text: by its digest alone, uniform in [0, 1), the test lowest."""
    place = int(digest("alignment part", split.seed, same_text(item)), 16) / _WHOLE
    if place < split.test:
        return LabelUse.TEST
    return LabelUse.DEVELOPMENT if place < split.test + split.development else LabelUse.TRAINING


def split_texts(
    texts: Sequence[Item], split: AlignmentSplit, examples: Collection[str] = ()
) -> Parts:
    """Return the labelled texts by part; those whose `same_text` is in `examples` are training."""
    labelled = sorted((item for item in texts if item.truth is not None), key=lambda one: one.key)
    by_text: dict[str, Item] = {}
    for item in labelled:
        by_text.setdefault(same_text(item), item)
    parts: dict[LabelUse, list[Item]] = {part: [] for part in LabelUse}
    for identity, item in by_text.items():
        part = LabelUse.TRAINING if identity in examples else part_of(item, split)
        parts[part].append(item)
    return Parts(
        {part: tuple(items) for part, items in parts.items()},
        len(texts) - len(labelled),
        len(labelled) - len(by_text),
        len(by_text.keys() & set(examples)),
    )


def digest_of(items: Sequence[Item]) -> str:
    """Return the digest of texts and their labels, in whatever order they are."""
    return digest("alignment texts", sorted([item.key, item.truth] for item in items))


def grade_of(judge: Judge, item: Item) -> str:
    """Return the verdict that an item's label is, the nearest step, or the fifth of the scale.

    Scales of more than eleven steps have fifths.
    """
    label = judge.label(item)
    assert label is not None
    names = {score: name for name, score in judge.verdict_scores.items()}
    if label in names:
        return names[label]
    lowest, highest = judge.score_range
    if highest - lowest < MOST_STEPS:
        return f"{math.floor(label + 0.5)}"
    step = (highest - lowest) / 5
    fifth = min(4, int((label - lowest) / step))
    return f"{lowest + fifth * step:g} to {lowest + (fifth + 1) * step:g}"


def _plain(text: str) -> str:
    return " ".join(normal_text(text).casefold().split())
