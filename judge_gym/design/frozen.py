"""The base of everything a sweep file describes: frozen, and no key that is not known."""

from typing import Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A frozen model whose docstrings below the fields describe them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def __copy__(self) -> Self:
        # A copy is made to be changed: what was derived from the fields is derived again.
        copied = super().__copy__()
        for derived in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[derived]
        return copied
