"""Read nodes of a config file as pydantic values, with errors that name line and key.

Reading is strict: `true` is not a number and "4" is not 4.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from judge_gym.design.config_tree import Node, Place, shown
from judge_gym.design.legal import either, legal_text, models_of
from judge_gym.errors import ConfigError, did_you_mean

M = TypeVar("M", bound=BaseModel)


def read_model(model: type[M], node: Node) -> M:
    """Read a mapping as `model`; raises `ConfigError` at the first invalid key."""
    items = node.known_items(list(model.model_fields))
    values = {
        name: read_field(model, name, child)
        for name, child in items.items()
        if child.value is not None or model.model_fields[name].is_required()
    }
    for name, field in model.model_fields.items():
        if field.is_required() and name not in values:
            raise missing(node.place, name, legal_text(field))
    try:
        return model(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else ""
        at = items.get(name, node)
        if at is node or fault["type"] == "value_error":
            raise at.place.problem(f"does not fit: {_reason(fault)}") from None
        legal = legal_text(model.model_fields[name])
        raise at.place.problem(f"is {shown(at.value)}", f"Use {legal}.") from None


def read_field(model: type[BaseModel], name: str, node: Node) -> Any:
    """Read a node as the value of one field of `model`."""
    annotation = model.model_fields[name].annotation
    if node.value is None and type(None) in get_args(annotation):
        return None
    if isinstance(node.value, tuple) and get_origin(annotation) is tuple:
        if entry_models := models_of(get_args(annotation)[0]):
            return tuple(read_model(entry_models[0], entry) for entry in node.value)
        return _read_value(model, name, node)
    inner = models_of(annotation)
    if inner and (isinstance(node.value, Mapping) or not _takes_more_than_models(annotation)):
        return read_model(_of_kind(inner, node), node)
    return _read_value(model, name, node)


def _read_value(model: type[BaseModel], name: str, node: Node) -> Any:
    try:
        return _adapter(model, name).validate_json(json.dumps(node.plain()), strict=True)
    except ValidationError as error:
        # In a union, the deepest error comes from the member that fits best.
        deepest = max(error.errors(), key=lambda found: len(found["loc"]))
        for part in deepest["loc"]:
            # A missing entry of a list is reported at the list.
            if isinstance(part, int) and part < len(node.entries):
                node = node.entries[part]
        if deepest["type"] == "value_error":
            raise node.place.problem(f"does not fit: {_reason(deepest)}") from None
        legal = legal_text(model.model_fields[name])
        raise node.place.problem(f"is {shown(node.value)}", f"Use {legal}.") from None


def missing(place: Place, name: str, legal: str) -> ConfigError:
    """Return the error that `name` is missing below `place`."""
    below = Place(place.file, place.line, f"{place.key}.{name}" if place.key else name)
    return below.problem("is missing", f"Give {legal}.")


def _takes_more_than_models(annotation: Any) -> bool:
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    return any(member is not type(None) and not models_of(member) for member in members)


def _of_kind(models: Sequence[type[BaseModel]], node: Node) -> type[BaseModel]:
    """Return the one of `models` that the mapping's `kind` names."""
    if len(models) == 1:
        return models[0]
    written = (model for model in models if getattr(model, "WRITTEN", True))
    kinds = {model.model_fields["kind"].default: model for model in written}
    kind = node.items.get("kind", Node(None, node.place))
    if kind.value is None:
        raise missing(node.place, "kind", either(list(kinds)))
    legal = f"Use {either(list(kinds))}."
    if not isinstance(kind.value, str):
        raise kind.place.problem(f"is {shown(kind.value)}", legal)
    if kind.value not in kinds:
        suggestion = did_you_mean(kind.value, list(kinds))
        raise kind.place.problem(f"is {shown(kind.value)}", suggestion + legal)
    return kinds[kind.value]


def _reason(error: Mapping[str, Any]) -> str:
    message: str = error["msg"]
    return message.removeprefix("Value error, ")


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = model.model_fields[name]
    constrained: Any = Annotated[field.annotation, field]
    return TypeAdapter(constrained)
