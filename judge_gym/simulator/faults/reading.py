"""Fault plans out of TOML files and control requests, with errors that name table and key."""

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from judge_gym.design.config_model import missing, read_model
from judge_gym.design.config_tree import Node, Place, shown
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.simulator.faults.plan import KINDS, Fault, FaultPlan
from judge_gym.simulator.news.faults import NEWS_KINDS

_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*fault[ \t]*\]\]", re.MULTILINE)
_KINDS = {kind.model_fields["kind"].default: kind for kind in (*KINDS, *NEWS_KINDS)}


class _Top(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0


def load_plan(path: Path) -> FaultPlan:
    """Read a plan from a TOML file; raises `ConfigError` naming the file, the table and the key."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from error
    lines = [text.count("\n", 0, found.start()) + 1 for found in _TABLE.finditer(text)]
    return read_plan(data, path, lines)


def read_plan(data: Any, source: Path, lines: list[int] | None = None) -> FaultPlan:
    """Read a plan from plain data: `seed` and a list `fault` of tables.

    `lines` are those of the file on which the tables begin. Raises `ConfigError`.
    """
    top = Node(_plain_nodes(data, Place(source, 1), lines or []), Place(source, 1))
    items = dict(top.known_items(("seed", "fault")))
    tables = items.pop("fault", Node((), top.place))
    if not isinstance(tables.value, tuple):
        raise tables.place.problem(f"is {shown(tables.value)}", "Use [[fault]] tables.")
    faults = tuple(_fault(table) for table in tables.value)
    return FaultPlan(faults, read_model(_Top, Node(items, top.place)).seed)


def _fault(table: Node) -> Fault:
    allowed = ", ".join(_KINDS)
    kind = table.items.get("kind")
    if kind is None:
        raise missing(table.place, "kind", f"one of {allowed}")
    if not isinstance(kind.value, str) or kind.value not in _KINDS:
        hint = did_you_mean(kind.value, _KINDS)
        raise kind.place.problem(f"is {shown(kind.value)}", f"{hint}Use one of {allowed}.")
    return read_model(_KINDS[kind.value], table)


def _plain_nodes(value: Any, place: Place, lines: list[int]) -> Any:
    """Return the value as the reader of config files has it: every entry with its place."""
    if isinstance(value, dict):
        return {name: _node(child, place, f".{name}", lines) for name, child in value.items()}
    if isinstance(value, list):
        return tuple(_node(child, place, f"[{i}]", lines) for i, child in enumerate(value))
    return value if isinstance(value, str | int | float | None) else str(value)


def _node(value: Any, above: Place, step: str, lines: list[int]) -> Node:
    key = f"{above.key}{step}".removeprefix(".")
    table = re.match(r"fault\[(\d+)\]", key)
    known = table is not None and int(table[1]) < len(lines)
    line = lines[int(table[1])] if table is not None and known else above.line
    place = Place(above.file, line, key)
    return Node(_plain_nodes(value, place, lines), place)
