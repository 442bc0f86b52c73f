"""The draw of a sweep file, checked against the number of experiments."""

from collections.abc import Mapping, Sequence

from judge_gym.design.axes import axes
from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import Node, shown
from judge_gym.design.drawing import ControlledDraw, PairSpace, RandomDraw
from judge_gym.design.space import Box, Space
from judge_gym.design.sweep_blocks import DIMENSIONS
from judge_gym.errors import did_you_mean


def read_draw(node: Node, boxes: Sequence[Box]) -> RandomDraw | ControlledDraw:
    """Read `draw`; raises `ConfigError` if it exceeds what the blocks contain."""
    if "random" in node.items and "controlled" in node.items:
        raise node.place.problem("is both random and controlled", "Use one of the two.")
    if "controlled" in node.items:
        return _read_controlled(node, boxes)
    if "random" not in node.items:
        raise node.place.problem(
            f"is {shown(node.value)}",
            "Use {random: COUNT, seed: NUMBER} or {controlled: PAIRS, axes: [AXIS], seed: NUMBER}.",
        )
    draw = read_model(RandomDraw, node)
    if draw.random > (size := Space(boxes).size):
        raise node.items["random"].place.problem(
            f"is {draw.random}", f"There are {size} to draw from."
        )
    return draw


def pair_spaces(boxes: Sequence[Box], chosen: Sequence[str]) -> Mapping[str, PairSpace]:
    """Return the pairs for each of the `chosen` axes; by default for every axis with pairs."""
    spaces = {name: PairSpace(boxes, DIMENSIONS.index(name)) for name in chosen or _axis_names()}
    return {name: space for name, space in spaces.items() if space.size or name in chosen}


def _axis_names() -> list[str]:
    return [axis.name for axis in axes() if axis.name in DIMENSIONS]


def _read_controlled(node: Node, boxes: Sequence[Box]) -> ControlledDraw:
    draw = read_model(ControlledDraw, node)
    for entry in node.items["axes"].entries if draw.axes else ():
        if entry.value not in _axis_names():
            raise entry.place.problem(
                f"is {shown(entry.value)}",
                f"{did_you_mean(entry.value, _axis_names())}Use {', '.join(_axis_names())}.",
            )
        if draw.axes.count(entry.value) > 1:
            raise entry.place.problem(f"is {shown(entry.value)} again", "Keep one.")
    spaces = pair_spaces(boxes, draw.axes)
    for entry in node.items["axes"].entries if draw.axes else ():
        if not spaces[entry.value].size:
            raise entry.place.problem(
                f"is {shown(entry.value)}, in which no two experiments of the blocks differ alone",
                "Give the axis two values in a block.",
            )
    available = sum(space.size for space in spaces.values())
    if draw.controlled > available:
        raise node.items["controlled"].place.problem(
            f"is {draw.controlled}",
            f"There are {available} pairs that differ in one axis only.",
        )
    return draw
