"""Labelled sets: documents with their true scores, a line of JSON each.

    {"id": "lamps", "title": "Street lamps", "truth": 3, "items": [{"id": "one", "text": "…"}]}

`truth` is the true overall score, a whole number of the panel's scale; an item may have one, too.
`"simulated": true` marks labels that nobody judged, which then marks every figure made of them.
"""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from judge_gym.design.config import Node, Place, read_model
from judge_gym.design.fields import Legal
from judge_gym.errors import ConfigError
from judge_gym.evidence.rows import read_rows
from judge_gym.judges.scale import Scale
from judge_gym.panel.document import PanelDocument, PanelItem

MOST_DOCUMENTS = 2000
_SUFFIXES = (".jsonl", ".ndjson")
_Truth = Annotated[int, Legal("the true score, a whole number of the panel's scale")]


class LabelledItem(PanelItem):
    """An item, with its true score where that is known."""

    truth: _Truth | None = None


class LabelledDocument(PanelDocument):
    """A document with its true scores; nobody is asked about anything but its `document`."""

    items: tuple[LabelledItem, ...]
    truth: _Truth
    """Of the whole."""
    simulated: bool = False
    """Whether the true scores were made up by a rule, and judged by nobody."""

    @cached_property
    def document(self) -> PanelDocument:
        """What raters see of it, and what its rows are kept by."""
        items = tuple(PanelItem(id=item.id, text=item.text) for item in self.items)
        return PanelDocument(id=self.id, title=self.title, items=items)


def read_labelled(path: Path, scale: Scale) -> tuple[LabelledDocument, ...]:
    """Read a labelled set, in its order.

    Raises `ConfigError` naming file, line, key, value and what is allowed at the first document
    that cannot be used, and `EvidenceError` for a file that cannot be read.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{path} is not a labelled set.", f"Use a file that ends in {' or '.join(_SUFFIXES)}."
        )
    found: dict[str, LabelledDocument] = {}
    lines: dict[str, int] = {}
    for row in read_rows(path):
        place = Place(path, row.line)
        if row.fault:
            raise place.problem(f"cannot be read: {row.fault}")
        one = _labelled(_node(row.values, place), scale)
        if one.id in found:
            raise Place(path, row.line, "id").problem(
                f"is {one.id!r}, as on line {lines[one.id]}", "Give each document its own."
            )
        if len(found) == MOST_DOCUMENTS:
            raise place.problem(f"is more than {MOST_DOCUMENTS} documents", "Split it.")
        found[one.id], lines[one.id] = one, row.line
    if not found:
        raise ConfigError(f"{path} has no document.", "Give a line of JSON for each.")
    return tuple(found.values())


def _labelled(node: Node, scale: Scale) -> LabelledDocument:
    one = read_model(LabelledDocument, node)
    _check(node, scale)
    for item in node.items["items"].entries:
        _check(item, scale)
    return one


def _check(node: Node, scale: Scale) -> None:
    """Raise `ConfigError` where the `truth` of a mapping is no score of the scale."""
    truth = node.items.get("truth")
    if truth is None or truth.value is None:
        return
    if not scale.lowest <= truth.value <= scale.highest:
        raise truth.place.problem(
            f"is {truth.value}",
            f"Use a whole number from {scale.lowest} to {scale.highest}, the panel's scale.",
        )


def _node(value: Any, place: Place) -> Node:
    """Return plain values as nodes of one line."""
    if isinstance(value, dict):
        at = f"{place.key}." if place.key else ""
        within = {
            name: _node(child, Place(place.file, place.line, f"{at}{name}"))
            for name, child in value.items()
        }
        return Node(within, place)
    if isinstance(value, list):
        entries = enumerate(value)
        return Node(
            tuple(
                _node(child, Place(place.file, place.line, f"{place.key}[{number}]"))
                for number, child in entries
            ),
            place,
        )
    return Node(value, place)
