"""Reads fault plans from TOML files and requests, with errors that name line, table and key."""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.simulator.faults.plan import KINDS, FaultPlan, InjectedFault

M = TypeVar("M", bound=BaseModel)
_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*fault[ \t]*\]\]", re.MULTILINE)
_KINDS = {kind.model_fields["kind"].default: kind for kind in KINDS}
_SHOWN_CHARACTERS = 60


class _Top(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0


@dataclass(frozen=True)
class _Place:
    """Where a value stands: its file or request, the line of its table, and its dotted key."""

    source: Path
    line: int = 1
    key: str = ""

    def below(self, *steps: str | int) -> "_Place":
        key = self.key + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
        return replace(self, key=key.removeprefix("."))

    def problem(self, message: str, remedy: str = "") -> ConfigError:
        subject = self.key or "the file"
        return ConfigError(f"{self.source}, line {self.line}: {subject} {message}.", remedy)


def load_plan(path: Path) -> FaultPlan:
    """Read a plan from a TOML file; raises `ConfigError` naming the file, the table and the key."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from error
    lines = [text.count("\n", 0, match.start()) + 1 for match in _TABLE.finditer(text)]
    return read_plan(data, path, lines)


def read_plan(data: Any, source: Path, lines: Sequence[int] = ()) -> FaultPlan:
    """Read a plan from plain data: `seed` and a list `fault` of tables.

    `lines` are those of the file on which the tables begin. Raises `ConfigError`.
    """
    top = _Place(source)
    items = dict(_known_items(data, ("seed", "fault"), top))
    tables = items.pop("fault", [])
    if not isinstance(tables, list):
        raise top.below("fault").problem(f"is {_shown(tables)}", "Use [[fault]] tables.")
    places = [replace(top, line=line) for line in lines] or [top] * len(tables)
    faults = tuple(
        _fault(table, place.below("fault", index))
        for index, (table, place) in enumerate(zip(tables, places, strict=False))
    )
    return FaultPlan(faults, _checked(_Top, items, top).seed)


def _fault(table: Any, place: _Place) -> InjectedFault:
    allowed = ", ".join(_KINDS)
    kind = _items(table, place).get("kind")
    if kind is None:
        raise place.below("kind").problem("is missing", f"Give one of {allowed}.")
    if not isinstance(kind, str) or kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS)
        raise place.below("kind").problem(f"is {_shown(kind)}", f"{hint}Use one of {allowed}.")
    return _checked(_KINDS[kind], table, place)


def _checked(model: type[M], table: Any, place: _Place) -> M:
    """Return a table as `model`, strictly: `true` is no number and "4" is not 4."""
    items = _known_items(table, model.model_fields, place)
    values = {name: value for name, value in items.items() if value is not None}
    try:
        return model.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
    at = place.below(*fault["loc"])
    if fault["type"] == "value_error":
        raise at.problem(f"does not fit: {fault['msg'].removeprefix('Value error, ')}")
    name, *steps = fault["loc"]
    value: Any = values[str(name)]
    for step in steps:
        value = value[step]
    legal = _legal(model.model_fields[str(name)])
    raise at.problem(f"is {_shown(value)}", f"Use {legal}.")


def _items(table: Any, place: _Place) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise place.problem(f"is {_shown(table)}", "Use a mapping of keys to values.")
    return table


def _known_items(table: Any, allowed: Collection[str], place: _Place) -> Mapping[str, Any]:
    for name in _items(table, place):
        if name not in allowed:
            hint = did_you_mean(name, allowed)
            raise place.below(name).problem(
                "is not a known key", f"{hint}Use {', '.join(allowed)}."
            )
    return _items(table, place)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, Mapping):
        return f"a mapping with {', '.join(map(_shown, value))}" if value else "an empty mapping"
    if value is None or isinstance(value, bool):
        return {None: "empty", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _legal(field: FieldInfo) -> str:
    """Return the legal values of a field as a phrase that follows "Use"."""
    bounds = {
        name: getattr(mark, name)
        for mark in field.metadata
        for name in ("ge", "le", "min_length", "max_length")
        if hasattr(mark, name)
    }
    return _phrase(field.annotation, bounds)


def _phrase(annotation: Any, bounds: Mapping[str, Any]) -> str:
    origin, members = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType, Annotated):
        return _phrase(members[0], bounds)
    if origin is Literal:
        words = [str(member) for member in members]
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if origin is tuple:
        return f"a list of {_phrase(members[0], {})}"
    if annotation in (int, float):
        kind = "a whole number" if annotation is int else "a number"
        if "ge" in bounds and "le" in bounds:
            return f"{kind} from {bounds['ge']} to {bounds['le']}"
        return f"{kind} at least {bounds['ge']}" if "ge" in bounds else kind
    if annotation is bool:
        return "true or false"
    if "max_length" in bounds:
        return f"text of {bounds.get('min_length', 0)} to {bounds['max_length']} characters"
    return "text"
