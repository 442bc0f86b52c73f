"""Read a YAML or JSON file as plain values with their lines.

Data only: no tags, no objects, no duplicate keys, and a limit on aliases. The caller interprets
the keys.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from judge_gym.design.files import read_text
from judge_gym.errors import ConfigError, did_you_mean

MAX_VALUES = 100_000
"""Maximum number of values in a file, with aliases expanded."""
MAX_DEPTH = 20
_CORE = "tag:yaml.org,2002:"
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Place:
    """The position of a value: its file, line (from 1) and dotted key."""

    file: Path
    line: int
    key: str = ""

    def problem(self, what: str, remedy: str = "") -> ConfigError:
        """Return an error about the key at this place: `what` is wrong, and the remedy."""
        return ConfigError(
            f"{self.file}, line {self.line}: {self.key or 'the file'} {what}.", remedy
        )


@dataclass(frozen=True)
class Node:
    """A value of the file: a scalar, a tuple of nodes, or a mapping of them."""

    value: Any
    place: Place

    @property
    def items(self) -> Mapping[str, "Node"]:
        """The entries of a mapping; raises `ConfigError` for any other value."""
        if not isinstance(self.value, Mapping):
            raise self.place.problem(f"is {shown(self.value)}", "Use a mapping of keys to values.")
        return self.value

    @property
    def entries(self) -> tuple["Node", ...]:
        """The entries of a list; any other value counts as a list of one."""
        return self.value if isinstance(self.value, tuple) else (self,)

    def known_items(self, known: Collection[str]) -> Mapping[str, "Node"]:
        """The entries of a mapping; raises `ConfigError` if a key is not `known`."""
        for name, child in self.items.items():
            if name not in known:
                raise child.place.problem(
                    "is not a known key", f"{did_you_mean(name, known)}Use {', '.join(known)}."
                )
        return self.items

    def plain(self) -> Any:
        """Return the value without its places."""
        if isinstance(self.value, Mapping):
            return {name: child.plain() for name, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return self.value


def shown(value: Any) -> str:
    """Return a value for an error message: short, on one line, without control codes."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, Mapping):
        return f"a mapping with {', '.join(map(shown, value))}" if value else "an empty mapping"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def read_tree(path: Path) -> Node:
    """Read a YAML 1.2 or JSON file; raises `ConfigError` for anything but plain data."""
    text = read_text(path)
    try:
        root = YAML(typ="rt", pure=True).compose(text)
        return _Reader().read(root, Place(path, 1), MAX_DEPTH)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Place(path, mark.line + 1 if mark else 1).problem(
            f"is not YAML: {error.problem or error.context}"
        ) from error
    except YAMLError as error:
        raise Place(path, 1).problem(f"is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise _too_deep(Place(path, 1)) from error


class _Reader:
    """Converts YAML nodes, and counts them so that aliases cannot multiply."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._scalars = YAML(typ="safe", pure=True).constructor

    def read(self, node: Any, place: Place, depth: int) -> Node:
        self._left -= 1
        if not self._left:
            raise place.problem("is one value too many", f"A file has at most {MAX_VALUES}.")
        if not depth:
            raise _too_deep(place)
        if isinstance(node, MappingNode) and node.tag == f"{_CORE}map":
            return Node(self._mapping(node, place, depth - 1), place)
        if isinstance(node, SequenceNode) and node.tag == f"{_CORE}seq":
            return Node(self._sequence(node, place, depth - 1), place)
        return Node(self._scalar(node, place), place)

    def _mapping(self, node: MappingNode, place: Place, depth: int) -> dict[str, Node]:
        items: dict[str, Node] = {}
        for name_node, child in node.value:
            line = name_node.start_mark.line + 1
            if not isinstance(name_node, ScalarNode):
                raise replace(place, line=line).problem("has a key that is not text")
            name = name_node.value
            at = Place(place.file, line, f"{place.key}.{name}" if place.key else name)
            if name in items:
                raise at.problem(f"is given twice, first on line {items[name].place.line}")
            items[name] = self.read(child, at, depth)
        return items

    def _sequence(self, node: SequenceNode, place: Place, depth: int) -> tuple[Node, ...]:
        return tuple(
            self.read(
                child, Place(place.file, child.start_mark.line + 1, f"{place.key}[{i}]"), depth
            )
            for i, child in enumerate(node.value)
        )

    def _scalar(self, node: Any, place: Place) -> Any:
        if node is None or node.tag == f"{_CORE}null":
            return None
        read_as = {
            f"{_CORE}str": _text,
            f"{_CORE}timestamp": lambda scalar: scalar.value,
            f"{_CORE}int": self._scalars.construct_yaml_int,
            f"{_CORE}float": self._scalars.construct_yaml_float,
            f"{_CORE}bool": self._scalars.construct_yaml_bool,
        }.get(node.tag)
        if read_as is None or not isinstance(node, ScalarNode):
            raise place.problem(f"has the tag {shown(str(node.tag))}", "Use plain values.")
        try:
            return read_as(node)
        except ValueError as error:
            raise place.problem(f"is not a number: {shown(node.value)}") from error


def _text(scalar: ScalarNode) -> str:
    """Return a text as written, without the BEL that ruamel puts at folds."""
    text: str = scalar.value
    return text.replace("\a", "") if scalar.style == ">" else text


def _too_deep(place: Place) -> ConfigError:
    return place.problem("is nested too deeply", f"Use at most {MAX_DEPTH} levels.")
