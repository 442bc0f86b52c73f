"""The base class of everything in a sweep file: frozen, without unknown keys."""

from typing import Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A frozen model; the docstring below each field describes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def __copy__(self) -> Self:
        # Copies are made to be changed, so cached derived values are dropped.
        copied = super().__copy__()
        for derived in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[derived]
        return copied
