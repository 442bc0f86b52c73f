"""Base class of frozen values, and the words that say what a field may be."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


class Frozen(BaseModel):
    """A frozen model; the docstring below each field describes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def __copy__(self) -> Self:
        # Copies are made to be changed, so cached derived values are dropped.
        copied = super().__copy__()
        for derived in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[derived]
        return copied


@dataclass(frozen=True)
class Legal:
    """Overrides the description of a field's allowed values with `text`."""

    text: str


Slug = Annotated[
    str, Legal("small letters, digits and hyphens"), Field(pattern=r"^[a-z0-9-]{1,80}$")
]
"""A name that names of files contain."""


ModelName = Annotated[
    str, Legal("provider/model, of 3 to 200 characters"), Field(min_length=3, max_length=200)
]
"""The name of a model with its provider."""


def legal_text(field: FieldInfo) -> str:
    """Return the allowed values of a pydantic field as a phrase to follow "Use"."""
    for mark in field.metadata:
        if isinstance(mark, Legal):
            return mark.text
    return _phrase(field.annotation, _bounds(field.metadata))


def models_of(annotation: Any) -> list[type[BaseModel]]:
    """Return the models of an annotation: alone, optional or in a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType):
        return [model for member in get_args(annotation) for model in models_of(member)]
    if get_origin(annotation) is Annotated:
        return models_of(get_args(annotation)[0])
    return []


def either(words: Sequence[str]) -> str:
    """Return "a", "a or b", "a, b or c"."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _bounds(metadata: Sequence[Any]) -> dict[str, Any]:
    names = ("ge", "gt", "le", "lt", "min_length", "max_length")
    return {name: getattr(m, name) for m in metadata for name in names if hasattr(m, name)}


def _phrase(annotation: Any, bounds: Mapping[str, Any]) -> str:
    origin, members = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        given = [member for member in members if member is not type(None)]
        if len(given) > 1:
            return _mapping(annotation)
        return _phrase(given[0], bounds)
    if origin is Annotated:
        return _phrase(members[0], bounds)
    if origin is Literal:
        return either([str(member) for member in members])
    if origin in (tuple, list):
        keys = _keys(members[0])
        if get_origin(members[0]) is Literal:
            words = either([str(word) for word in get_args(members[0])])
            return f"a list of{_length(bounds)} entries: {words}"
        entries = f"mappings of {keys}" if keys else _PLURAL.get(members[0], "entries")
        return f"a list of{_length(bounds)} {entries}"
    if annotation in _RANGED:
        return _RANGED[annotation] + _range(bounds)
    if annotation is str:
        return "text" + (f" of{length} characters" if (length := _length(bounds)) else "")
    return _SIMPLE.get(annotation) or _mapping(annotation)


_RANGED = {int: "a whole number", float: "a number"}
_PLURAL = {str: "texts", int: "whole numbers"}
_SIMPLE = {
    bool: "true or false",
    date: "a date such as 2026-01-05",
    Path: "the path of a file or folder",
}


def _mapping(annotation: Any) -> str:
    keys = _keys(annotation)
    return f"a mapping with some of the keys {keys}" if keys else "a mapping of texts"


def _keys(annotation: Any) -> str:
    """Return the keys of the models of an annotation; "" without a model."""
    return ", ".join({name: None for model in models_of(annotation) for name in model.model_fields})


def _range(bounds: Mapping[str, Any]) -> str:
    low, above, high = bounds.get("ge"), bounds.get("gt"), bounds.get("le")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    parts = [
        f"at least {low}" if low is not None else "",
        f"above {above}" if above is not None else "",
        f"at most {high}" if high is not None else "",
        f"below {bounds['lt']}" if "lt" in bounds else "",
    ]
    return " " + " and ".join(filter(None, parts)) if any(parts) else ""


def _length(bounds: Mapping[str, Any]) -> str:
    low, high = bounds.get("min_length"), bounds.get("max_length")
    if low and high:
        return f" {low} to {high}" if low != high else f" {low}"
    if high:
        return f" at most {high}"
    return f" at least {low}" if low else ""
