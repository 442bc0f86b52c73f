"""Bundle plans: which documents of a window are judged together as one item.

A plan depends on the documents, its seed and the view it names alone, so every judge and every view
that is judged has the same bundles.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from judge_gym.design.fields import Frozen

BundledView = Literal["raw", "cleaned", "neutralized", "abstracted"]
BY_TEXT = ("similar", "spread")
"""Plans that compare texts."""


class Bundles(Frozen):
    """Bundles of `size` documents or a few more: every document is in one, and sizes are even."""

    by: Literal["random", "similar", "spread", "window"] = "random"
    """Documents drawn at random, alike in their words (TF-IDF) or by `embeddings`, as unlike as can
    be, or in turns over the window: one from each of `size` or more stretches of it, by date."""
    size: int = Field(default=1, ge=1, le=20)
    """Fewest documents of a bundle: 24 documents by fives are four bundles of six."""
    seed: int = Field(default=0, ge=0)
    """Seed of the draw, which `similar` and `spread` start from."""

    view: BundledView = Field(default="raw", exclude_if=lambda view: view == "raw")
    """The texts that `similar` and `spread` compare, whichever view is judged."""

    embeddings: str = Field(
        default="",
        max_length=200,
        pattern=r"^$|^[^/\s]+/\S+$",
        exclude_if=lambda model: not model,
    )
    """The model, as provider/model, whose embeddings `similar` and `spread` compare; their words
    (TF-IDF) without one."""

    @model_validator(mode="after")
    def _of_vectors(self) -> Self:
        if self.embeddings and self.by not in BY_TEXT:
            raise ValueError(
                f"embeddings {self.embeddings} has no effect on bundles by {self.by}, which reads "
                "no text; leave it out, or use by: similar or spread"
            )
        return self

    @model_validator(mode="after")
    def _of_texts(self) -> Self:
        if self.view != "raw" and self.by not in BY_TEXT:
            raise ValueError(
                f"view {self.view} has no effect on bundles by {self.by}, which reads no text; "
                "leave it out, or use by: similar or spread"
            )
        return self

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
        texts = f", {self.view} texts" if self.view != "raw" else ""
        vectors = f", embeddings of {self.embeddings}" if self.embeddings else ""
        return f"{self.by}, {self.size}{seed}{texts}{vectors}" if self.size > 1 else NONE


NONE = "none"
BUNDLE_FORMS = (
    "none, or a mapping such as {by: random, size: 5, seed: 0}, by random, similar, "
    "spread or window, and for similar and spread the view that is compared and the model of its "
    "embeddings"
)


def _of_none(value: Any) -> Any:
    return {} if value == NONE else value


BundlePlan = Annotated[
    Bundles, BeforeValidator(_of_none, json_schema_input_type=Bundles | Literal["none"])
]
"""A plan, or `none`: each document is an item."""
