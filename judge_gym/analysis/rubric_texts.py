"""Rubrics as texts: which rubrics a sweep has, and how alike they are, by words or embeddings."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge_gym.analysis.data import JudgeArm, SweepData, SweepJudge
from judge_gym.design.rubric import stage_text, whole_text
from judge_gym.evidence.similarity import text_similarity, vector_similarity
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import SIGNED_UNIT, UNIT_INTERVAL
from judge_gym.store.embeddings import RubricVectors

Subject = tuple[str, str, int]
"""Concept, country and scale: what a rubric was asked for. Only such rubrics are compared."""


@dataclass(frozen=True)
class RubricText:
    """One rubric that a model wrote."""

    id: int
    owner: str
    family: str
    draw: str
    """Which of the owner's rubrics it is: `first`, `draw 2` or `sham`."""
    labels: tuple[str, ...]
    criteria: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """The owner, and which of its rubrics."""
        return self.owner if self.draw == FIRST else f"{self.owner}, {self.draw}"

    @property
    def stages(self) -> list[str]:
        """The text of each stage: its label, then its criteria."""
        return list(map(stage_text, self.labels, self.criteria))


FIRST = "first"


def rubric_texts(data: SweepData) -> dict[Subject, list[RubricText]]:
    """Return the rubrics that models wrote, each once, by what they were asked for and owner.

    Of an own arm and of a sham; provided rubrics have no owner and are left out.
    """
    found: dict[Subject, dict[int, RubricText]] = defaultdict(dict)
    for judge in data.judges:
        about = judge.experiment
        subject = (about.concept, about.country, about.scale_size)
        for arm in judge.arms:
            if arm.rubric_owner and arm.criteria and arm.kind != "swap":
                found[subject].setdefault(arm.rubric_id, _text(judge, arm))
    return {
        subject: sorted(texts.values(), key=lambda one: (one.owner, one.draw != FIRST, one.draw))
        for subject, texts in sorted(found.items())
    }


def _text(judge: SweepJudge, arm: JudgeArm) -> RubricText:
    draw = judge.experiment.rubric_draw
    named = "sham" if arm.kind == "sham" else f"draw {draw}" if draw else FIRST
    owner, family = arm.rubric_owner, arm.rubric_family
    return RubricText(arm.rubric_id, owner, family, named, arm.labels, arm.criteria)


@dataclass(frozen=True)
class Likeness:
    """How alike rubrics are: by their words in [0, 1], or by a model's vectors in [-1, 1]."""

    vectors: RubricVectors | None = None

    @property
    def method(self) -> str:
        """What is compared, in words."""
        return f"embeddings of {self.vectors.model}" if self.vectors else "TF-IDF"

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of a similarity."""
        return SIGNED_UNIT if self.vectors else UNIT_INTERVAL

    def lacking(self, rubrics: Sequence[RubricText]) -> str:
        """Say which texts of these rubrics are not embedded; empty where all can be compared."""
        if self.vectors is None:
            return ""
        texts = {text for one in rubrics for text in (whole_text(one.stages), *one.stages)}
        missing = len(texts - self.vectors.by_text.keys())
        return (
            f"{missing} of {len(texts)} texts of rubrics lack an embedding of {self.vectors.model}"
            if missing
            else ""
        )

    def whole(self, rubrics: Sequence[RubricText]) -> FloatArray:
        """Return how alike every two rubrics are (rubrics x rubrics), by all of their text."""
        return self._of([whole_text(one.stages) for one in rubrics])

    def stages(self, rubrics: Sequence[RubricText]) -> FloatArray:
        """Return how alike stage s of two rubrics is (stages x rubrics x rubrics)."""
        by_stage = zip(*(one.stages for one in rubrics), strict=True)
        return np.array([self._of(texts) for texts in by_stage])

    def _of(self, texts: Sequence[str]) -> FloatArray:
        if self.vectors is None:
            return text_similarity(texts)
        return vector_similarity([self.vectors.by_text[text] for text in texts])


@dataclass(frozen=True)
class RubricPair:
    """Two rubrics side by side: the nearest of two owners, or the farthest."""

    which: str
    first: RubricText
    second: RubricText
    similarity: float
    by_stage: tuple[float, ...]
    subject: Subject


def nearest_and_farthest(data: SweepData) -> list[RubricPair]:
    """Return the most and the least similar two rubrics of two owners; empty without two owners.

    Over all that was asked for; ties go to the first by owner.
    """
    pairs, likeness = [], Likeness(data.rubric_vectors)
    for subject, rubrics in rubric_texts(data).items():
        if likeness.lacking(rubrics):
            continue
        whole = likeness.whole(rubrics)
        pairs += [
            (float(whole[i, j]), subject, rubrics[i], rubrics[j])
            for i, j in combinations(range(len(rubrics)), 2)
            if rubrics[i].owner != rubrics[j].owner
        ]
    if not pairs:
        return []
    chosen = {"nearest": max(pairs, key=lambda one: one[0])}
    if len(pairs) > 1:
        chosen["farthest"] = min(pairs, key=lambda one: one[0])
    return [
        RubricPair(which, first, second, alike, _by_stage(likeness, first, second), subject)
        for which, (alike, subject, first, second) in chosen.items()
    ]


def _by_stage(likeness: Likeness, first: RubricText, second: RubricText) -> tuple[float, ...]:
    return tuple(float(one[0, 1]) for one in likeness.stages([first, second]))
