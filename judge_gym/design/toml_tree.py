"""Reading a TOML file as keys with their places, as YAML files are read."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from judge_gym.design.config import Node, Place

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_KEY})\s*\]")
_SETTING = re.compile(rf"\s*({_KEY})\s*=")


def toml_tree(text: str, file: Path) -> Node:
    """Return the tree of a text that is TOML; raises `tomllib.TOMLDecodeError` otherwise.

    A value inside another one has the line of the key that it belongs to.
    """
    lines = dict(_lines(text))
    return _node(tomllib.loads(text), (), Place(file, 1), lines)


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each key that a line sets or opens, as its parts, and the line, from 1."""
    table: tuple[str, ...] = ()
    numbered = iter(enumerate(text.splitlines(), 1))
    for number, line in numbered:
        if header := _HEADER.match(line):
            table = _parts(header[1])
            yield table, number
        elif setting := _SETTING.match(line):
            yield (*table, *_parts(setting[1])), number
            statement = line
            while not _is_whole(statement):  # its value goes on in the next line
                statement += "\n" + next(numbered)[1]


def _parts(key: str) -> tuple[str, ...]:
    parts, inner = [], tomllib.loads(f"{key} = 0")
    while isinstance(inner, dict):
        [(part, inner)] = inner.items()
        parts.append(part)
    return tuple(parts)


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _node(
    value: Any, key: tuple[str, ...], place: Place, lines: Mapping[tuple[str, ...], int]
) -> Node:
    def below(part: str, name: str) -> Place:
        under = (*key, part)
        first = next((line for one, line in lines.items() if one[: len(under)] == under), None)
        return Place(place.file, first or place.line, name)

    if isinstance(value, dict):
        named = {part: f"{place.key}.{part}" if place.key else part for part in value}
        return Node(
            {
                part: _node(child, (*key, part), below(part, named[part]), lines)
                for part, child in value.items()
            },
            place,
        )
    if isinstance(value, list):
        entries = (
            _node(child, (*key, str(at)), below(str(at), f"{place.key}[{at}]"), lines)
            for at, child in enumerate(value)
        )
        return Node(tuple(entries), place)
    return Node(value.isoformat() if isinstance(value, date | datetime | time) else value, place)
