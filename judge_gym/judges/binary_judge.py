"""`BinaryJudge`: one of two named verdicts."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from judge_gym.design.fields import Frozen
from judge_gym.judges.model_judge import ModelJudge, WorkedExample, as_answer, field_of, reason_of
from judge_gym.records.judgements import MalformedAnswer, Reading

_SCORES = (1.0, 0.0)


class VerdictName(Frozen):
    """One of the two verdicts."""

    name: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")
    """Letters, digits, spaces, _ and -; the model's answer names it."""
    description: str = Field(min_length=1, max_length=2000)
    """When it is right, as the model reads it."""


class BinaryExample(WorkedExample):
    """A text with the right decision."""

    decision: str
    """The name of a verdict."""


class BinaryJudge(ModelJudge):
    """Decides between two verdicts; its score is 1 for the first named and 0 for the second."""

    kind: Literal["binary"] = "binary"
    verdicts: tuple[VerdictName, ...] = Field(min_length=2, max_length=2)
    """The two verdicts; the first scores 1."""

    examples: tuple[BinaryExample, ...] = Field(default=(), max_length=50)
    """Texts with the right decision, in the order they are shown."""

    @field_validator("verdicts")
    @classmethod
    def _names_differ(cls, verdicts: tuple[VerdictName, ...]) -> tuple[VerdictName, ...]:
        if len({verdict.name.lower() for verdict in verdicts}) < len(verdicts):
            raise ValueError(f"both verdicts are named {verdicts[0].name!r}")
        return verdicts

    @model_validator(mode="after")
    def _examples_have_a_verdict(self) -> Self:
        for example in self.examples:
            if example.decision not in self.verdict_scores and not (
                self.is_unassessable(example.decision)
            ):
                allowed = ", ".join(self.verdict_scores)
                raise ValueError(f"an example has decision {example.decision!r}. Use {allowed}")
        return self

    @property
    def noun(self) -> str:
        return "decision"

    def answer_of(self, example: BinaryExample) -> str:
        return as_answer(example, {"decision": example.decision})

    @property
    def verdict_scores(self) -> dict[str, float]:
        return {verdict.name: score for verdict, score in zip(self.verdicts, _SCORES, strict=True)}

    @property
    def template(self) -> str:
        return "judge_binary"

    @property
    def form(self) -> str:
        names = " or ".join(f'"{verdict.name}"' for verdict in self.verdicts)
        return f'{{"reason": "<one or two sentences>", "decision": <{names}>}}'

    def read_object(self, fields: dict[str, Any]) -> Reading:
        decision = field_of(fields, "decision")
        if self.is_unassessable(decision):
            return Reading("cannot_assess", reason=reason_of(fields))
        for verdict, score in self.verdict_scores.items():
            if isinstance(decision, str) and decision.strip().lower() == verdict.lower():
                return Reading("scored", score, verdict=verdict, reason=reason_of(fields))
        raise MalformedAnswer(f"'decision' is {str(decision)[:60]!r}")
