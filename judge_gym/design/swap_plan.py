"""Which judges score again with which rival's rubric (W4), as a sweep file says it.

The names are resolved against the experiments that exist when the swap is planned, not here.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge_gym.design.frozen import Frozen
from judge_gym.design.legal import Legal

Name = Annotated[str, Field(min_length=1, max_length=200)]


class MostDivergent(Frozen):
    """The pairs that disagree most, chosen on items that the swap is then not measured on."""

    most_divergent: int = Field(ge=1, le=1000)
    """How many pairs."""
    held_out: float = Field(default=0.5, gt=0, lt=1)
    """The share of items the choice is made on: choosing and measuring on the same items would
    mistake chance for divergence."""


class SwapPlan(Frozen):
    """The swap arm of a sweep."""

    pairs: Annotated[
        Literal["all"] | tuple[tuple[Name, Name], ...] | MostDivergent,
        Legal("all, a list of [judge, rival] pairs or {most_divergent: COUNT, held_out: SHARE}"),
    ] = "all"
    """Judge and rival, each a model or a family."""
    sham: bool = False
    """Also score with a second rubric of the judge's own, to tell "a rival's" from "another"."""

    @model_validator(mode="after")
    def _check(self) -> "SwapPlan":
        if isinstance(self.pairs, tuple):
            for judge, rival in self.pairs:
                if judge == rival:
                    raise ValueError(f"{judge} cannot be its own rival; for that, use sham: true")
            if len(set(self.pairs)) < len(self.pairs):
                raise ValueError("a pair is given twice")
        if self.pairs == () and not self.sham:
            raise ValueError("no pairs and no sham leave nothing to do")
        return self
