"""The swap plan of a sweep file: which judges score again with which rival's rubric (W4).

Names are resolved when the swap is planned, against the experiments that exist then.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge_gym.design.frozen import Frozen
from judge_gym.design.legal import Legal

Name = Annotated[str, Field(min_length=1, max_length=200)]


class MostDivergent(Frozen):
    """The pairs that disagree most, chosen on items that are excluded from the swap."""

    most_divergent: int = Field(ge=1, le=1000)
    """Number of pairs."""
    held_out: float = Field(default=0.5, gt=0, lt=1)
    """Share of items used for the choice. Choosing and measuring on the same items would count
    chance as divergence."""


class SwapPlan(Frozen):
    """The swap arm of a sweep."""

    pairs: Annotated[
        Literal["all"] | tuple[tuple[Name, Name], ...] | MostDivergent,
        Legal("all, a list of [judge, rival] pairs or {most_divergent: COUNT, held_out: SHARE}"),
    ] = "all"
    """Pairs of judge and rival, each a model or a family."""
    sham: bool = False
    """Also score with the judge's own rubric drawn again, as a control for the rival's rubric."""

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
