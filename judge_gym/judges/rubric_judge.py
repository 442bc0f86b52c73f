"""`RubricJudge`: marks by criterion from the model, the total from the weights."""

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, field_validator

from judge_gym.design.fields import Frozen
from judge_gym.judges.labels import label_on_scale
from judge_gym.judges.model_judge import ModelJudge, field_of, reason_of
from judge_gym.judges.scale import Scale
from judge_gym.records.items import Label
from judge_gym.records.judgements import Reading, Unfit


class Criterion(Frozen):
    """One thing a text is marked for."""

    name: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")
    """Letters, digits, spaces, _ and -; the model's answer names it."""
    description: str = Field(min_length=1, max_length=2000)
    """What a good text has, as the model reads it."""
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    """Its share in the total, relative to the other criteria's."""


class RubricJudge(ModelJudge):
    """Marks a text for each criterion; the total is computed from the weights, never asked for."""

    kind: Literal["rubric"] = "rubric"
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=20)
    """What is scored, each on the judge's scale."""
    scale: Scale = Scale()
    """The lowest and the highest score."""

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

    def total(self, subscores: dict[str, float]) -> float:
        """Return Σ w·s / Σ w over the criteria, exact before it is rounded to a float.

        So it lies on the scale, and the order of the criteria does not count.
        """
        weights = {criterion.name: Fraction(criterion.weight) for criterion in self.criteria}
        weighted = sum(weight * Fraction(subscores[name]) for name, weight in weights.items())
        return float(weighted / sum(weights.values()))

    def score_of(self, label: Label) -> float:
        return label_on_scale(self.name, self.scale, label)

    def read_object(self, fields: dict[str, Any]) -> Reading:
        scores = field_of(fields, "scores")
        if not isinstance(scores, dict):
            raise Unfit("'scores' is not an object")
        given: dict[str, Any] = {}
        for key, value in scores.items():
            if _plain(key) in given:
                raise Unfit(f"'scores' has {key!r} twice")
            given[_plain(key)] = value
        names = {_plain(criterion.name): criterion.name for criterion in self.criteria}
        if unknown := sorted(given.keys() - names.keys()):
            raise Unfit(f"'scores' has {unknown[0][:60]!r}, which is no criterion")
        if missing := [name for plain, name in names.items() if plain not in given]:
            raise Unfit(f"'scores' lacks {missing[0]!r}")
        subscores = {name: self.scale.mark(given[plain], name) for plain, name in names.items()}
        return Reading("scored", self.total(subscores), subscores, reason=reason_of(fields))


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").lower().split())
