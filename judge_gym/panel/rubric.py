"""The rubric of a panel: what is reviewed and for whom, and a scale with an anchor at each step."""

from functools import cached_property
from typing import Annotated

from pydantic import Field, field_validator

from judge_gym.design.fields import Frozen, Legal
from judge_gym.judges.scale import Scale


class Anchor(Frozen):
    """One step of the scale."""

    name: Annotated[str, Legal("one line of 1 to 60 characters")] = Field(
        pattern=r"^[^\r\n]{1,60}$"
    )
    """Its name."""
    description: str = Field(min_length=1, max_length=2000)
    """What earns it, as raters read it."""


class PanelRubric(Frozen):
    """What raters hold a document against."""

    task: str = Field(min_length=1, max_length=10_000)
    """What is reviewed, for whom and how; part of every prompt."""
    lowest: int = Field(default=1, ge=-1000, le=1000)
    """The score of the first anchor; each following one is 1 more."""
    anchors: tuple[Anchor, ...]
    """2 to 11 anchors, the worst first."""
    guidance: str = Field(default="", max_length=10_000)
    """How to apply the scale."""

    @field_validator("anchors")
    @classmethod
    def _make_a_scale(cls, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
        if not 2 <= len(anchors) <= 11:
            raise ValueError(f"a scale has 2 to 11 anchors, and this one {len(anchors)}")
        if len({anchor.name.lower() for anchor in anchors}) < len(anchors):
            raise ValueError("anchors need different names")
        return anchors

    @cached_property
    def scale(self) -> Scale:
        """The whole numbers that are scores."""
        names = tuple(anchor.name for anchor in self.anchors)
        return Scale(lowest=self.lowest, highest=self.lowest + len(names) - 1, anchors=names)
