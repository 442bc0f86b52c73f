"""The blocks of a sweep file: axes, conditions, and what is drawn of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from judge_gym.design.actors import Actors, load_actors
from judge_gym.design.axes import axes, legal_values
from judge_gym.design.config import Node, Place, missing, read_field, read_model, shown
from judge_gym.design.experiment import (
    RULES,
    WORDINGS,
    Experiment,
    Expertise,
    RubricSource,
    family_of,
)
from judge_gym.design.names import RUBRIC
from judge_gym.design.rubric import load_rubric
from judge_gym.design.space import (
    Box,
    Choice,
    ControlledDraw,
    PairSpace,
    RandomDraw,
    Space,
    box_size,
)
from judge_gym.design.window import Window
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.model_names import is_recorded_model
from judge_gym.seeds import canonical_json

FIELDS = tuple(Experiment.model_fields)
# Fields outside the identity cannot vary. A truth belongs to a window, so each block has one.
SINGLE = ("tag", "replicates", "ground_truth")
_REQUIRED = tuple(name for name, field in Experiment.model_fields.items() if field.is_required())
# By default the window gives the country, the model the family, and the concept as whom prompts
# address a judge: one dimension each.
_DERIVED = {"country": "window", "family": "model", "persona": "concept", "domain": "concept"}
PER_SAMPLE = "rubric_per_sample"
"""A key of blocks: each replicate is judged under a rubric of its own."""
PAUSE_AFTER = "pause_after"
"""A key of sweeps and blocks: the step after which a run waits for a person."""
_KEYS = (*FIELDS, PER_SAMPLE, PAUSE_AFTER)
DIMENSIONS = tuple(name for name in FIELDS if name not in ("tag", "replicates", *_DERIVED))


@dataclass(frozen=True)
class Block:
    """One box of experiments, with fields that are not part of their identity."""

    box: Box
    """A tuple of choices for each of `DIMENSIONS`."""
    replicates: int
    tag: str
    place: Place
    pauses: bool = False
    """Whether a run waits until a person has read the rubrics."""


@dataclass(frozen=True)
class Names:
    """Windows, families and concepts that blocks refer to by name."""

    windows: Mapping[str, Window]
    families: Mapping[str, str]
    concepts: Mapping[str, Expertise]


@dataclass(frozen=True)
class Draws:
    """How many rubrics an owner writes from the same prompt, where a block does not say."""

    own: int = 1
    shared: int = 1

    def of(self, rubric: RubricSource) -> int:
        """Return the draws of a rubric; one that is provided has one."""
        return {"own": self.own, "shared": self.shared, "provided": 1}[rubric.kind]


def read_blocks(node: Node, defaults: Node, names: Names, draws: Draws) -> tuple[Block, ...]:
    """Read the blocks of a sweep; raises `ConfigError` at the first invalid value.

    A block whose rubrics have different numbers of draws becomes several.
    """
    for child in defaults.known_items(_KEYS).values():
        if isinstance(child.value, tuple):
            raise child.place.problem(
                f"is {shown(child.value)}",
                "Give one value here; a list belongs in a block.",
            )
    if not isinstance(node.value, tuple) or not node.value:
        raise node.place.problem(f"is {shown(node.value)}", "Use a list of one block or more.")
    blocks = tuple(
        block for entry in node.entries for block in _read_block(entry, defaults, names, draws)
    )
    _check_tags(blocks)
    return blocks


def _read_block(node: Node, defaults: Node, names: Names, draws: Draws) -> Iterator[Block]:
    given = {**defaults.items, **node.known_items(_KEYS)}
    pauses = PAUSE_AFTER in given and read_pause(given.pop(PAUSE_AFTER))
    per_sample = PER_SAMPLE in given and _read_switch(given.pop(PER_SAMPLE))
    values = {name: _read_values(name, child, names) for name, child in given.items()}
    for name in _REQUIRED:
        if name not in values:
            raise missing(node.place, name, legal_values(name))
    for name in FIELDS:
        values.setdefault(name, [Experiment.model_fields[name].get_default()])
    if per_sample:
        _check_per_sample(node, given, values)
        draws = Draws(own=values["replicates"][0], shared=values["replicates"][0])
        values["replicates"] = [1]
    by_draws: dict[int, list[RubricSource]] = defaultdict(list)
    for rubric in values["rubric"]:
        by_draws[0 if "rubric_draw" in given else draws.of(rubric)].append(rubric)
    for count, rubrics in by_draws.items():
        drawn = {"rubric_draw": list(range(count))} if count else {}
        part = {**values, "rubric": rubrics, **drawn}
        if "wording" in given:
            _check_wordings(given["wording"], part["model"])
        _check_rules(node.place, part)
        box = tuple(tuple(_choices(dimension, part, names)) for dimension in DIMENSIONS)
        yield Block(box, values["replicates"][0], values["tag"][0], node.place, pauses)


def read_pause(node: Node) -> bool:
    """Return that a run waits after a step; only rubrics are read by a person."""
    if node.value != RUBRIC:
        raise node.place.problem(
            f"is {shown(node.value)}",
            f"Use {RUBRIC}: a person reads the rubrics before they are applied.",
        )
    return True


def _read_switch(node: Node) -> bool:
    if not isinstance(node.value, bool):
        raise node.place.problem(f"is {shown(node.value)}", "Use true or false.")
    return node.value


def _check_per_sample(node: Node, given: Mapping[str, Node], values: Mapping[str, Any]) -> None:
    if "rubric_draw" in given:
        raise given["rubric_draw"].place.problem(
            f"is given with {PER_SAMPLE}, which draws one for each replicate", "Keep one of them."
        )
    if any(rubric.kind == "provided" for rubric in values["rubric"]):
        raise node.place.problem(
            f"has {PER_SAMPLE} and a provided rubric, of which there is one",
            "Use own or {shared: MODEL}.",
        )


def _read_values(name: str, node: Node, names: Names) -> list[Any]:
    if node.value == ():
        raise node.place.problem("is an empty list", f"Use {legal_values(name)}.")
    if name in SINGLE and len(node.entries) > 1:
        raise node.place.problem(
            f"is {shown(node.value)}",
            "Use a single value; other values go into blocks of their own.",
        )
    seen: dict[str, Any] = {}
    for entry in node.entries:
        value = _read_value(name, entry, names)
        key = _key(value)
        if key in seen:
            raise entry.place.problem(f"is {shown(entry.value)} again", "Keep one.")
        if value == "" and len(node.entries) > 1:
            raise entry.place.problem("lists an empty text", "Leave it out.")
        seen[key] = value
    return list(seen.values())


def _read_value(name: str, node: Node, names: Names) -> Any:
    read: Callable[[Node], Any] | None = {
        "window": lambda given: _window(given, names.windows),
        "rubric": _rubric,
        "actors": _actors,
    }.get(name)
    return read(node) if read else read_field(Experiment, name, node)


def _window(node: Node, windows: Mapping[str, Window]) -> Window:
    if not isinstance(node.value, str) or node.value not in windows:
        suggestion = did_you_mean(node.value, windows)
        known = ", ".join(windows)
        raise node.place.problem(
            f"is {shown(node.value)}", f"{suggestion}The windows of this sweep are {known}."
        )
    return windows[node.value]


def _rubric(node: Node) -> RubricSource:
    legal = f"Use {legal_values('rubric')}."
    if node.value == "own":
        return RubricSource(kind="own")
    if not isinstance(node.value, Mapping):
        raise node.place.problem(
            f"is {shown(node.value)}", did_you_mean(node.value, ["own"]) + legal
        )
    if set(node.value) not in ({"shared"}, {"provided"}):
        raise node.place.problem(f"is {shown(node.value)}", legal)
    ((kind, child),) = node.value.items()
    if not isinstance(child.value, str) or not child.value:
        wanted = "a model" if kind == "shared" else "the path of a rubric file"
        raise child.place.problem(f"is {shown(child.value)}", f"Name {wanted}.")
    if kind == "shared":
        return RubricSource(kind="shared", model=child.value)
    path = node.place.file.parent / Path(child.value)
    try:
        given = Path(child.value)
        name = given.name if given.is_absolute() else given.as_posix()
        return RubricSource(kind="provided", rubric=load_rubric(path), name=name)
    except ConfigError as error:
        what = f"cannot be used: {error.message.rstrip('.')}"
        raise child.place.problem(what, error.remedy) from error


def _actors(node: Node) -> Actors:
    if node.value == "as_found":
        return Actors()
    swapped = node.items.get("swapped") if isinstance(node.value, Mapping) else None
    if swapped is None or len(node.value) > 1 or not isinstance(swapped.value, str):
        suggestion = did_you_mean(node.value, ["as_found"]) if isinstance(node.value, str) else ""
        raise node.place.problem(
            f"is {shown(node.value)}", f"{suggestion}Use {legal_values('actors')}."
        )
    try:
        mapping = load_actors(node.place.file.parent / Path(swapped.value))
    except ConfigError as error:
        what = f"cannot be used: {error.message.rstrip('.')}"
        raise swapped.place.problem(what, error.remedy) from error
    return Actors(kind="swapped", mapping=mapping)


def choice_keys(experiment: Experiment) -> Iterator[tuple[str, ...]]:
    """Yield the keys of the choices that make an experiment, in the order of `DIMENSIONS`.

    Where pairs are judged there are two: a sweep may leave the rubric out or give that of pairs.
    """
    values = {name: [getattr(experiment, name)] for name in FIELDS}
    names = Names({}, {}, {})
    keys = [next(iter(_choices(name, values, names))).key for name in DIMENSIONS]
    yield tuple(keys)
    if experiment.task_type == "pairs":
        keys[DIMENSIONS.index("rubric")] = _key(RubricSource(kind="own"))
        yield tuple(keys)


def _choices(dimension: str, values: Mapping[str, Sequence[Any]], names: Names) -> Iterable[Choice]:
    if dimension == "window":
        places = product(values["window"], values["country"])
        for window, country in places:
            country = country or window.country
            yield Choice(
                canonical_json([window.key, country]), {"window": window, "country": country}
            )
    elif dimension == "model":
        for model, given in product(values["model"], values["family"]):
            family = given or names.families.get(model) or family_of(model)
            yield Choice(canonical_json([model, family]), {"model": model, "family": family})
    elif dimension == "concept":
        for concept, *given in product(values["concept"], values["persona"], values["domain"]):
            known = names.concepts.get(concept, Expertise())
            persona, domain = given[0] or known.persona, given[1] or known.domain
            yield Choice(
                canonical_json([concept, persona, domain]),
                {"concept": concept, "persona": persona, "domain": domain},
            )
    else:
        for value in values[dimension]:
            yield Choice(_key(value), {dimension: value})


def _key(value: Any) -> str:
    if isinstance(value, Window):
        return value.key
    return canonical_json(value.model_dump(mode="json") if isinstance(value, BaseModel) else value)


def _check_wordings(node: Node, models: Sequence[str]) -> None:
    """Refuse a wording that judge-gym does not have; recorded judgements may name any."""
    if all(map(is_recorded_model, models)):
        return
    for entry in node.entries:
        if entry.value not in WORDINGS:
            raise entry.place.problem(
                f"is {shown(entry.value)}, and judge-gym has no such wording",
                f"{did_you_mean(entry.value, WORDINGS)}Use {', '.join(WORDINGS)}.",
            )


def _check_rules(place: Place, values: Mapping[str, Sequence[Any]]) -> None:
    for rule in RULES:
        for combination in product(*(values[name] for name in rule.fields)):
            if fault := rule.fault(*combination):
                told = " and ".join(map(_told, rule.fields, combination))
                raise place.problem(f"combines {told}: {fault}")


def _told(name: str, value: Any) -> str:
    return f"no {name}" if value is None else f"{name} {value}"


def _check_tags(blocks: Sequence[Block]) -> None:
    tagged: dict[str, Place] = {}
    for block in blocks:
        if not block.tag:
            continue
        if box_size(block.box) > 1:
            raise block.place.problem(
                f"gives the tag {block.tag} to {box_size(block.box)} experiments",
                "A tag names one; leave it out, and each gets its own.",
            )
        if block.tag in tagged:
            raise block.place.problem(
                f"gives the tag {block.tag} again", f"{tagged[block.tag].key} has it."
            )
        tagged[block.tag] = block.place


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
    """Return the pairs for each of the `chosen` axes; by default for every axis with pairs.

    Facets such as `wording` have to be chosen.
    """
    names = chosen or [axis.name for axis in axes() if not axis.facet and axis.name in DIMENSIONS]
    spaces = {name: PairSpace(boxes, DIMENSIONS.index(name)) for name in names}
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
