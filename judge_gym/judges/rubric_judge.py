"""`RubricJudge`: marks by criterion from the model, the total from the weights."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from judge_gym.design.fields import Frozen
from judge_gym.judges.model_judge import ModelJudge, WorkedExample, as_answer, field_of, reason_of
from judge_gym.judges.scale import Scale
from judge_gym.prompts import Prompt
from judge_gym.records.items import Item
from judge_gym.records.judgements import LONGEST_REASON, MalformedAnswer, Reading


class Criterion(Frozen):
    """One thing a text is marked for."""

    name: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")
    """Letters, digits, spaces, _ and -; the model's answer names it."""
    description: str = Field(min_length=1, max_length=2000)
    """What a good text has, as the model reads it."""
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    """Its share in the total, relative to the other criteria's."""
    grades: dict[int, str] = Field(default_factory=dict)
    """Mark → when a text deserves it, as the model reads it."""

    @field_validator("grades")
    @classmethod
    def _grades_are_lines(cls, grades: dict[int, str]) -> dict[int, str]:
        for mark, meaning in grades.items():
            if "\n" in meaning.strip() or not 0 < len(meaning.strip()) <= LONGEST_REASON:
                raise ValueError(f"grade {mark} is one line of 1 to {LONGEST_REASON} characters")
        return {mark: meaning.strip() for mark, meaning in grades.items()}


class RubricExample(WorkedExample):
    """A text with the right marks."""

    scores: dict[str, float | Literal["cannot assess"]]
    """Criterion → its mark; every criterion has one."""


class RubricJudge(ModelJudge):
    """Marks a text for each criterion; the total is computed from the weights, never asked for."""

    kind: Literal["rubric"] = "rubric"
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=20)
    """What is scored, each on the judge's scale."""
    scale: Scale = Scale()
    """The lowest and the highest score."""
    one_call_per_criterion: bool = False
    """Whether each criterion is asked for by itself, so that the marks cannot follow each other."""
    examples: tuple[RubricExample, ...] = Field(default=(), max_length=50)
    """Texts with the right marks, in the order they are shown."""

    @model_validator(mode="after")
    def _marks_are_on_the_scale(self) -> Self:
        lowest, highest = self.scale.lowest, self.scale.highest
        for criterion in self.criteria:
            for grade in criterion.grades:
                if not lowest <= grade <= highest:
                    raise ValueError(
                        f"criterion {criterion.name!r} describes grade {grade}, which is not from "
                        f"{lowest} to {highest}"
                    )
        for example in self.examples:
            if set(example.scores) != set(self.parts):
                raise ValueError(
                    f"an example has scores of {', '.join(example.scores)}. Use one of each of "
                    f"{', '.join(self.parts)}"
                )
            for name, mark in example.scores.items():
                if self.is_unassessable(mark):
                    continue
                try:
                    self.scale.mark(mark, name)
                except MalformedAnswer as unfit:
                    raise ValueError(f"an example has no mark of the scale: {unfit}") from None
        return self

    @field_validator("criteria")
    @classmethod
    def _names_differ(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        names = [_plain(criterion.name) for criterion in criteria]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"criteria need different names; repeated: {', '.join(repeated)}")
        return criteria

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(criterion.name for criterion in self.criteria)

    @property
    def template(self) -> str:
        return "judge_rubric"

    @property
    def form(self) -> str:
        marks = ", ".join(f'"{criterion.name}": <mark>' for criterion in self.criteria)
        return f'{{"reason": "<one or two sentences>", "scores": {{{marks}}}}}'

    @property
    def noun(self) -> str:
        return "mark"

    def answer_of(self, example: RubricExample) -> str:
        marks = {name: example.scores[name] for name in self.parts}
        whole = {
            name: int(mark) if isinstance(mark, float) and mark.is_integer() else mark
            for name, mark in marks.items()
        }
        return as_answer(example, {"scores": whole})

    @property
    def calls_per_item(self) -> int:
        return len(self.criteria) if self.one_call_per_criterion else 1

    def asked(self, index: int) -> "RubricJudge":
        """Return this judge, or one of the criterion with this index where each has its call."""
        if not self.one_call_per_criterion:
            return self
        criterion = self.criteria[index]
        examples = tuple(
            example.model_copy(update={"scores": {criterion.name: example.scores[criterion.name]}})
            for example in self.examples
        )
        return self.model_copy(
            update={
                "criteria": (criterion,),
                "examples": examples,
                "one_call_per_criterion": False,
            }
        )

    def prompts(self, item: Item, mark_from: str) -> tuple[Prompt, ...]:
        if not self.one_call_per_criterion:
            return super().prompts(item, mark_from)
        return tuple(
            prompt
            for index in range(len(self.criteria))
            for prompt in self.asked(index).prompts(item, mark_from)
        )

    def combined(self, readings: tuple[Reading, ...]) -> Reading:
        """Return the whole of the criteria's readings; the first that is no mark decides."""
        if not self.one_call_per_criterion:
            return readings[0]
        subscores = {name: mark for one in readings for name, mark in one.subscores.items()}
        for reading in readings:
            if reading.status != "scored":
                return replace(reading, subscores=subscores)
        reason = " / ".join(
            f"{name}: {reading.reason}"
            for name, reading in zip(self.parts, readings, strict=True)
            if reading.reason
        )[:LONGEST_REASON]
        return Reading("scored", self.total(subscores), subscores, reason=reason)

    def total(self, subscores: dict[str, float]) -> float:
        """Return Σ w·s / Σ w over the criteria, exact before it is rounded to a float.

        So it lies on the scale, and the order of the criteria does not count.
        """
        weights = {criterion.name: Fraction(criterion.weight) for criterion in self.criteria}
        weighted = sum(weight * Fraction(subscores[name]) for name, weight in weights.items())
        return float(weighted / sum(weights.values()))

    @property
    def decides(self) -> bool:
        return bool(self.scale.verdicts) and len(self.criteria) == 1

    def read_object(self, fields: dict[str, Any]) -> Reading:
        scores = field_of(fields, "scores")
        if not isinstance(scores, dict):
            raise MalformedAnswer("'scores' is not an object")
        given: dict[str, Any] = {}
        for key, value in scores.items():
            if _plain(key) in given:
                raise MalformedAnswer(f"'scores' has {key!r} twice")
            given[_plain(key)] = value
        names = {_plain(criterion.name): criterion.name for criterion in self.criteria}
        if unknown := sorted(given.keys() - names.keys()):
            raise MalformedAnswer(f"'scores' has {unknown[0][:60]!r}, which is no criterion")
        if missing := [name for plain, name in names.items() if plain not in given]:
            raise MalformedAnswer(f"'scores' lacks {missing[0]!r}")
        subscores = {
            name: self.scale.mark(given[plain], name)
            for plain, name in names.items()
            if not self.is_unassessable(given[plain])
        }
        if len(subscores) < len(names):
            return Reading("cannot_assess", subscores=subscores, reason=reason_of(fields))
        return Reading("scored", self.total(subscores), subscores, reason=reason_of(fields))


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").lower().split())
