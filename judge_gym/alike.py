"""Names and words that differ only in case, or in the space around them, and names like others."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")
MISSPELT = 0.8
"""Least similarity of a name to another that it is taken for a misspelling of."""
LONGEST_NAME = 60
"""Characters of a name or an id in a column; one with more is a text."""
_SYSTEMS = {
    *("system", "sys", "generator", "model", "llm", "provider", "submission", "bot", "assistant"),
    "agent",
}
_OF_A_NAME = re.compile(r"_?(id|name|label|version|\d+)$")
"""What follows in names such as sys_name, model_id and generator_2."""

_OF_TWO = (("1", "2"), ("a", "b"), ("first", "second"), ("left", "right"))
"""How the names of columns of a pair's two answers end."""


def folded(text: str) -> str:
    """Return a text as names are compared: without case, and with single spaces."""
    return " ".join(text.split()).casefold()


def column_name(text: str) -> str:
    """Return a name as those of columns are compared: `Item ID`, `item-id`, `itemId`: item_id."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", "_", text.strip()).casefold()


def may_name_systems(column: str) -> bool:
    """Whether the name of a column is one that columns of systems have, such as sys and model_name.

    None is read as the system for it: whoever has such a column is told.
    """
    name = _OF_A_NAME.sub("", column_name(column))
    return name in _SYSTEMS or bool(get_close_matches("system", [name], cutoff=MISSPELT))


def two_answers(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the first two columns that are named as the two answers of a pair; () without.

    >>> two_answers(["id", "Answer A", "Answer B"])
    ('Answer A', 'Answer B')
    """
    named = {folded(one): one for one in columns}
    for name, column in named.items():
        for first, second in _OF_TWO:
            other = named.get(folded(name.removesuffix(first) + second))
            if name.endswith(first) and other:
                return column, other
    return ()


def alike(names: Iterable[str]) -> list[list[str]]:
    """Return the names that differ only in case or space, in groups of two and more."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[folded(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def by_folded(values: Mapping[str, T], fold: Callable[[str], str] = folded) -> dict[str, T]:
    """Return values by their folded names, without names that differ only in case and in value."""
    found: dict[str, T] = {}
    ambiguous: set[str] = set()
    for name, value in values.items():
        if found.setdefault(fold(name), value) != value:
            ambiguous.add(fold(name))
    return {name: value for name, value in found.items() if name not in ambiguous}


def said_alike(counts: Mapping[str, int]) -> str:
    """Return the names that differ only in case, each with its count; "" without any."""
    return "; ".join(
        " and ".join(f"{name!r} ({counts[name]:,})" for name in names) for names in alike(counts)
    )
