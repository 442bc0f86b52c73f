"""Bundle plans: which documents of a window are judged together as one item.

A plan depends on the documents and its seed alone, so every judge and view has the same bundles.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from judge_gym.design.fields import Frozen


class Bundles(Frozen):
    """Bundles of `size` documents or a few more: every document is in one, and sizes are even."""

    by: Literal["random", "similar", "spread"] = "random"
    """Documents drawn at random, alike in their words (TF-IDF), or as unlike as can be."""
    size: int = Field(default=1, ge=1, le=20)
    """Fewest documents of a bundle: 24 documents by fives are four bundles of six."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw, which `similar` and `spread` start from."""

    @model_validator(mode="after")
    def _of_several(self) -> Self:
        if self.size == 1 and (self.by != "random" or self.seed or self.model_fields_set == {"by"}):
            raise ValueError(
                "size is missing: a bundle has 2 to 20 documents, as in {by: similar, size: 5}; "
                "`none` judges one by one"
            )
        return self

    def __str__(self) -> str:
        seed = f", seed {self.seed}" if self.seed else ""
        return f"{self.by}, {self.size}{seed}" if self.size > 1 else NONE


NONE = "none"
BUNDLE_FORMS = (
    "none, or a mapping such as {by: random, size: 5, seed: 0}, by random, similar or spread"
)


def _of_none(value: Any) -> Any:
    return {} if value == NONE else value


BundlePlan = Annotated[
    Bundles, BeforeValidator(_of_none, json_schema_input_type=Bundles | Literal["none"])
]
"""A plan, or `none`: each document is an item."""
