"""Types of flow parameters: what a form accepts, beside the words that explain it."""

from typing import Annotated, Any, TypeVar

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

T = TypeVar("T")


class _WithoutDefault(dict[str, Any]):
    """A schema that takes no default: Prefect's forms submit it, and null would not be valid."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "default":
            super().__setitem__(key, value)


class _WithoutNull:
    """Leaves null out of a type's schema, or Prefect's form asks whether it is to be "None"."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        shown: list[JsonSchemaValue] = handler(schema)["anyOf"]
        return _WithoutDefault(next(one for one in shown if one != {"type": "null"}))


OrLeftOut = Annotated[T | None, _WithoutNull()]
"""What a form may leave empty; it is None then."""
AtLeastOne = Annotated[int, Field(ge=1)]
Model = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", examples=["openai/gpt-4.1-nano"])]
"""A provider of the providers file and a model of it."""
RunSettings = OrLeftOut[dict[str, Any]]
"""Settings of one run, by name."""
