"""Bundle plans: which documents of a window are judged together as one item.

A plan depends on the documents and its seed alone, so every judge and view has the same bundles.
"""

from typing import Literal

from pydantic import Field

from judge_gym.design.fields import Frozen


class Bundles(Frozen):
    """Bundles of one size, or one larger where the documents do not divide evenly."""

    by: Literal["random", "similar", "spread"] = "random"
    """Documents drawn at random, alike in their words (TF-IDF), or as unlike as can be."""
    size: int = Field(default=1, ge=1, le=20)
    """Documents of a bundle."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw, which `similar` and `spread` start from."""

    def __str__(self) -> str:
        seed = f", seed {self.seed}" if self.seed else ""
        return f"{self.by}, {self.size}{seed}" if self.size > 1 else "none"
