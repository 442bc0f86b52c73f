"""A panel as a value: its rubric, its raters, its arbiter, and what identifies them."""

from functools import cached_property
from string import ascii_lowercase
from typing import Annotated, Any, Self

from pydantic import Field, InstanceOf, field_validator, model_serializer, model_validator

from judge_gym.design.fields import Frozen, Legal, Slug
from judge_gym.design.plans import Budget
from judge_gym.judges import Judge
from judge_gym.judges.scale import Scale
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.agreement import Escalation
from judge_gym.panel.rubric import PanelRubric
from judge_gym.prompts import template_hash
from judge_gym.records.panels import PanelRecord
from judge_gym.seeds import digest

MOST_RATERS = len(ascii_lowercase)


class AskedModel(Frozen):
    """A model, and how it is sampled."""

    model: Annotated[str, Legal("provider/model")] = Field(pattern=r"^[^/\s]+/\S{1,199}$")
    """The model, as provider/model."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """0 to 2; 0 takes the likeliest answer."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Tokens are drawn from the likeliest ones with this share of the probability."""
    max_tokens: int = Field(default=4096, ge=16, le=32_000)
    """Longest answer in tokens."""


class Arbiter(AskedModel):
    """Who says what the reviews come to."""


class ExampleItem(Frozen):
    """An item of a worked example, with the rater's score and comment."""

    text: str = Field(min_length=1, max_length=5000)
    """What the item says."""
    score: int
    """Its score."""
    comment: str = Field(min_length=1, max_length=2000)
    """Why it has this score."""


class Example(Frozen):
    """A review that a rater has worked out before; sets its standard and its voice."""

    items: tuple[ExampleItem, ...] = Field(min_length=1)
    """Its items, with a score each."""
    overall_score: int
    """The score of the whole document."""
    overall_comment: str = Field(min_length=1, max_length=2000)
    """The comment on the whole document."""

    @property
    def scores(self) -> tuple[int, ...]:
        return (*(item.score for item in self.items), self.overall_score)


class Rater(AskedModel):
    """One voice of the panel."""

    label: Annotated[str, Legal("one line of 1 to 100 characters")] = Field(
        pattern=r"^[^\r\n]{1,100}$"
    )
    """What it looks at, in a few words; the arbiter knows it by this."""
    persona: str = Field(min_length=1, max_length=10_000)
    """Who it is and what it cares about, said to it as "you"."""
    examples: tuple[Example, ...] = ()
    """Worked examples, in the order they are shown."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it asks."""
        return (self.model,)

    @property
    def calls_per_item(self) -> int:
        """Calls for one review, without a retry."""
        return 1

    @property
    def simulated(self) -> bool:
        """Whether the simulator plays it."""
        return is_simulated_model(self.model)

    @property
    def identity(self) -> dict[str, Any]:
        """What of it can change an answer."""
        return self.model_dump(mode="json")


class JudgeRater(Frozen):
    """A judge of single texts as a rater: it judges each item, and the document as one text.

    It keeps its own judgements and its own budget.
    """

    label: str
    """The judge's name; the arbiter knows it by this."""
    judge: InstanceOf[Judge]
    examples: tuple[Example, ...] = Field(default=(), max_length=0)
    """None: those of its judge are in the judge's own prompt."""

    @model_serializer
    def _dumped(self) -> dict[str, Any]:
        return {"label": self.label, "judge": self.judge.key, "config": self.judge.config}

    @property
    def model(self) -> str:
        """What answers: a model, a function or an address."""
        return self.judge.answered_by

    @property
    def models(self) -> tuple[str, ...]:
        """The models that its judge asks."""
        return tuple(dict.fromkeys(model for leaf in self.judge.leaves for model in leaf.models))

    @property
    def calls_per_item(self) -> int:
        """Calls for the judgement of one text, without a retry."""
        return self.judge.calls_per_item

    @property
    def simulated(self) -> bool:
        """Whether the simulator plays it."""
        return self.judge.is_simulated

    @property
    def identity(self) -> dict[str, Any]:
        """What of it can change an answer."""
        return {"label": self.label, "judge": self.judge.key}


AnyRater = Rater | JudgeRater


class Panel(Frozen):
    """Who reviews a document, by what rubric."""

    name: Slug
    """What people call it; no part of its identity."""
    rubric: PanelRubric
    raters: tuple[AnyRater, ...]
    """2 to 26 raters, in the order they are asked."""
    arbiter: Arbiter
    budget: Budget | None = None
    """What this panel may use in all; no part of its identity."""
    escalate: Escalation | None = None
    """Asks the other raters only where the first ones disagree; all of them when left out. No part
    of its identity: it changes whom is asked, and no answer."""

    @field_validator("raters")
    @classmethod
    def _can_be_told_apart(cls, raters: tuple[AnyRater, ...]) -> tuple[AnyRater, ...]:
        if not 2 <= len(raters) <= MOST_RATERS:
            raise ValueError(f"a panel has 2 to {MOST_RATERS} raters, and this one {len(raters)}")
        if len({rater.label.lower() for rater in raters}) < len(raters):
            raise ValueError("raters need different labels")
        return raters

    @model_validator(mode="after")
    def _examples_keep_to_the_scale(self) -> Self:
        scale = self.rubric.scale
        for rater in self.raters:
            if isinstance(rater, JudgeRater):
                _check_scale(rater.judge, scale)
            for score in (score for example in rater.examples for score in example.scores):
                if not scale.lowest <= score <= scale.highest:
                    raise ValueError(
                        f"an example of rater {rater.label!r} has the score {score}, which is not "
                        f"from {scale.lowest} to {scale.highest}"
                    )
        return self

    @model_validator(mode="after")
    def _escalates_to_somebody(self) -> Self:
        if self.escalate is not None and self.escalate.first >= len(self.raters):
            raise ValueError(
                f"escalate.first is {self.escalate.first}, which leaves nobody of "
                f"{len(self.raters)} raters to ask where they disagree"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What its raters are called in states and tables: rater_a, rater_b, …"""
        return tuple(f"rater_{letter}" for letter in ascii_lowercase[: len(self.raters)])

    @property
    def models(self) -> set[str]:
        """Every model that it asks."""
        return {self.arbiter.model, *(model for rater in self.raters for model in rater.models)}

    @property
    def record(self) -> PanelRecord:
        """The panel as the store takes it."""
        return PanelRecord(self.key, self.name, self.model_dump(mode="json"))

    @cached_property
    def key(self) -> str:
        """16-digit identity: all that can change an answer."""
        config = self.model_dump(mode="json", exclude={"name", "budget", "escalate"})
        config["raters"] = [rater.identity for rater in self.raters]
        templates = ("panel_rater", "panel_arbiter", "judge_again")
        return digest("panel", config, [template_hash(template) for template in templates])


def _check_scale(judge: Judge, scale: Scale) -> None:
    if judge.judges_pairs:
        raise ValueError(f"judge {judge.name!r} compares pairs. Use a judge of single texts")
    if judge.score_range != (scale.lowest, scale.highest):
        lowest, highest = judge.score_range
        raise ValueError(
            f"judge {judge.name!r} has scores from {lowest:g} to {highest:g}, and the rubric from "
            f"{scale.lowest} to {scale.highest}. Use a judge of the rubric's scale"
        )
