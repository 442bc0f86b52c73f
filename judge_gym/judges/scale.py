"""The scale that marks are given on."""

import math
import re
from typing import Any, Self

from pydantic import Field, model_validator

from judge_gym.design.fields import Frozen
from judge_gym.records.judgements import MalformedAnswer

_NUMBER = re.compile(r"[-+]?\d{1,12}(\.\d{1,12})?")


class Scale(Frozen):
    """From the worst mark to the best: 0 to 100, or any ordinal scale with a name for each step."""

    lowest: int = Field(default=0, ge=-1_000_000, le=1_000_000)
    """The lowest score."""
    highest: int = Field(default=100, ge=-1_000_000, le=1_000_000)
    """The highest score, above the lowest."""
    anchors: tuple[str, ...] = Field(default=(), max_length=101)
    """A name for each step, the worst first; then only whole numbers are marks, and the names."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.lowest >= self.highest:
            raise ValueError(
                f"highest is {self.highest}, and lowest {self.lowest}. Use a lowest below highest"
            )
        steps = self.highest - self.lowest + 1
        if self.anchors and len(self.anchors) != steps:
            raise ValueError(
                f"anchors has {len(self.anchors)} names, and {self.lowest} to {self.highest} "
                f"are {steps} steps"
            )
        if any("\n" in name or not name.strip() for name in self.anchors):
            raise ValueError("each of the anchors is one line")
        return self

    @property
    def named(self) -> list[tuple[int, str]]:
        """The steps that have a name, the worst first."""
        return list(enumerate(self.anchors, start=self.lowest))

    def step_named(self, given: str) -> int | None:
        """Return the step of a name as it is, else of one without its case; None of no or several.

        Space around a name does not count.
        """
        for plain in (str, str.casefold):
            names = [plain(name.strip()) for name in self.anchors]
            if names.count(plain(given.strip())) == 1:
                return self.lowest + names.index(plain(given.strip()))
        return None

    @property
    def allowed(self) -> str:
        """What may be given as a mark, in words."""
        named = f", or {' or '.join(self.anchors)}" if self.anchors else ""
        whole = "a whole number" if self.anchors else "a number"
        return f"{whole} from {self.lowest} to {self.highest}{named}"

    @property
    def verdicts(self) -> dict[str, float]:
        """The two named steps of a scale that has no others, the better first; else none."""
        two = self.highest - self.lowest == 1
        return {name: float(step) for step, name in reversed(self.named)} if two else {}

    def mark(self, given: Any, of: str) -> float:
        """Return a mark out of an answer; raises `MalformedAnswer` when it is none on this scale.

        A number written as text counts, and the name of a step, by `step_named`; `true` and NaN do
        not.
        """
        if isinstance(given, str) and (step := self.step_named(given)) is not None:
            return float(step)
        if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
            given = float(given)
        if isinstance(given, bool) or not isinstance(given, int | float):
            named = f", and not one of {', '.join(self.anchors)}" if self.anchors else ""
            raise MalformedAnswer(f"{of}: {str(given)[:60]!r} is not a number{named}")
        if not (math.isfinite(given) and self.lowest <= given <= self.highest):
            raise MalformedAnswer(f"{of}: {given:g} is not from {self.lowest} to {self.highest}")
        if self.anchors and given != int(given):
            raise MalformedAnswer(f"{of}: {given:g} is not a whole number")
        return float(given)
