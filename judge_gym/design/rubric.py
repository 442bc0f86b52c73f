"""Rubrics: stages with criteria, what makes one unusable, and rubrics in files."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import Field, field_validator

from judge_gym.design.config import read_model, read_tree, shown
from judge_gym.design.fields import Frozen
from judge_gym.seeds import digest

MIDPOINT_LABEL = "Ambiguous / Mixed Evidence"
MIN_CRITERIA, MAX_CRITERIA = 3, 5


class Stage(Frozen):
    """One step of the scale: a short label and observable criteria."""

    label: str = Field(min_length=1, max_length=200)
    """Its name, as judges see it."""
    criteria: tuple[str, ...] = Field(min_length=MIN_CRITERIA, max_length=MAX_CRITERIA)
    """What has to be observed for it."""

    @field_validator("label")
    @classmethod
    def _strip(cls, label: str) -> str:
        return label.strip()

    @field_validator("criteria")
    @classmethod
    def _check_criteria(cls, criteria: tuple[str, ...]) -> tuple[str, ...]:
        stripped = tuple(text.strip() for text in criteria)
        if not all(0 < len(text) <= 1000 for text in stripped):
            raise ValueError("each criterion has 1 to 1000 characters")
        return stripped


def stage_text(label: str, criteria: Sequence[str]) -> str:
    """Return a stage as one text: its label, then its criteria."""
    return " ".join((label, *criteria))


def whole_text(stages: Sequence[str]) -> str:
    """Return a rubric as one text, of the texts of its stages."""
    return "\n".join(stages)


class Rubric(Frozen):
    """Stages 1..n in order; stage 1 is the weakest signal, stage n the strongest."""

    stages: tuple[Stage, ...] = Field(min_length=2, max_length=10)
    """The stages, lowest first."""
    reasoning: str = Field(default="", max_length=10_000)
    """Why its author chose these stages; not shown to judges."""

    @cached_property
    def key(self) -> str:
        """16-digit identity of the stages, independent of the author."""
        return digest("rubric", [stage.model_dump(mode="json") for stage in self.stages])

    @property
    def scale_size(self) -> int:
        return len(self.stages)


FIRST, TIE, SECOND = "first", "tie", "second"
"""Labels of the stages of a pair, by the order of the answers in their file."""


def pair_rubric(scale_size: int) -> Rubric:
    """Return the stages of a pair: which answer is better, with a tie between them at size 3."""
    neither = "The place of an answer in the prompt does not count.", "Its letter does not count."
    labels = (FIRST, TIE, SECOND) if scale_size % 2 else (FIRST, SECOND)
    said = {TIE: "Neither answer is better."}
    return Rubric(
        stages=tuple(
            Stage(
                label=label,
                criteria=(said.get(label, f"The {label} answer of the pair is better."), *neither),
            )
            for label in labels
        )
    )


def score_rubric(lowest: int, highest: int) -> Rubric:
    """Return the stages of a scale of whole numbers, each labelled with its number."""
    ends = f"{lowest} is the lowest score.", f"{highest} is the highest score."
    return Rubric(
        stages=tuple(
            Stage(label=str(score), criteria=(f"The score is {score}.", *ends))
            for score in range(lowest, highest + 1)
        )
    )


def verdict_rubric(labels: Sequence[str]) -> Rubric:
    """Return the stages of named verdicts, lowest first; those of a pair are `pair_rubric`."""
    if tuple(labels) in ((FIRST, TIE, SECOND), (FIRST, SECOND)):
        return pair_rubric(len(labels))
    ends = f"{labels[0]} is the lowest verdict.", f"{labels[-1]} is the highest verdict."
    return Rubric(
        stages=tuple(
            Stage(label=label, criteria=(f"The verdict is {label}.", *ends)) for label in labels
        )
    )


def is_of_values(rubric: Rubric) -> bool:
    """Whether the stages are scores or named verdicts; their middle is one like the others."""
    labels = [stage.label for stage in rubric.stages]
    return rubric == verdict_rubric(labels) or _is_of_scores(rubric)


def _is_of_scores(rubric: Rubric) -> bool:
    ends = [stage.label for stage in (rubric.stages[0], rubric.stages[-1])]
    if not all(re.fullmatch(r"-?[0-9]+", label) for label in ends):
        return False
    lowest, highest = map(int, ends)
    return highest - lowest + 1 == rubric.scale_size and rubric == score_rubric(lowest, highest)


def rubric_faults(rubric: Rubric, scale_size: int) -> list[str]:
    """Return the faults of `rubric` for a scale of `scale_size` stages; empty if it fits.

    Checks what types cannot express: the exact stage count, labels unique regardless of case, and
    the midpoint rule (an odd scale's middle stage is "Ambiguous / Mixed Evidence", an even
    scale has no such stage).
    """
    faults = []
    if rubric.scale_size != scale_size:
        faults.append(f"there must be exactly {scale_size} stages, not {rubric.scale_size}")
    return faults + [fault for _, fault in _label_faults(rubric)]


def _label_faults(rubric: Rubric) -> Iterator[tuple[int, str]]:
    """Yield (index of the stage, what is wrong with its label); of repeated labels the last."""
    labels = [stage.label.casefold() for stage in rubric.stages]
    if repeated := sorted({label for label in labels if labels.count(label) > 1}):
        last = max(index for index, label in enumerate(labels) if label in repeated)
        yield last, f"stage labels must be unique; repeated: {', '.join(repeated)}"
    middle = rubric.scale_size // 2 if rubric.scale_size % 2 else None
    for position, stage in enumerate(rubric.stages):
        if is_midpoint(stage.label) and position != middle:
            yield position, f'stage {position + 1} may not be "{MIDPOINT_LABEL}"'
        if position == middle and not is_midpoint(stage.label):
            yield position, f'stage {position + 1} must be labelled "{MIDPOINT_LABEL}"'


def is_midpoint(label: str) -> bool:
    """Whether a label is the midpoint label, ignoring case, spacing and punctuation."""
    return _letters(label) == _letters(MIDPOINT_LABEL)


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalpha())


def load_rubric(path: Path) -> Rubric:
    """Read a rubric file; raises `ConfigError` naming file, line and key.

    `rubric_faults` checks whether it fits a scale.
    """
    tree = read_tree(path)
    rubric = read_model(Rubric, tree)
    for index, fault in _label_faults(rubric):
        label = tree.items["stages"].entries[index].items["label"]
        raise label.place.problem(
            f"is {shown(label.value)}: {fault}",
            f"Give each stage a label of its own, and label only the middle of an odd number of "
            f'stages "{MIDPOINT_LABEL}"; an even number has no such stage.',
        )
    return rubric
