"""A sweep: a file that describes a set of experiments, read once and expanded lazily.

Lists in a block are multiplied out, and blocks are unioned. A draw selects some of the points.
Counting needs no expansion, iteration takes constant memory, and all errors are raised before the
first experiment.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from judge_gym.counting import experiments_in_words
from judge_gym.design.axes import facet_names
from judge_gym.design.config import (
    Node,
    Place,
    given_tree,
    missing,
    read_field,
    read_model,
    read_tree,
    shown,
)
from judge_gym.design.experiment import Experiment, Expertise
from judge_gym.design.plans import AnalysisPlan, ApprovalBound, Budget, SwapPlan, load_plan
from judge_gym.design.regions import Regions
from judge_gym.design.space import ControlledDraw, Point, RandomDraw, Space, contains, draw_pairs
from judge_gym.design.sweep_blocks import (
    DIMENSIONS,
    PAUSE_AFTER,
    Block,
    Draws,
    Names,
    choice_keys,
    pair_spaces,
    read_blocks,
    read_draw,
    read_pause,
)
from judge_gym.design.window import Window
from judge_gym.design.window_files import read_windows
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.model_names import is_simulated_model
from judge_gym.seeds import generator

T = TypeVar("T")
OnUnsupported = Literal["error", "mark"]
RUBRIC_CLAIMS = ("H3",)
"""The hypotheses about rubrics: of one draw an owner they would be about that one rubric."""
DRAWS_OF_CLAIMS = 3
"""Rubrics that each judge writes for its own use where a plan confirms such a claim."""
MOST_DRAWS = 20
_NAME = "1 to 80 small letters, digits and hyphens"
KEYS = {
    "name": "The sweep's name: 1 to 80 small letters, digits and hyphens. Required.",
    "description": "A sentence for people.",
    "utility_model": "The model that edits evidence and rates rubrics; not one of the judges.",
    "stand_ins": "Model → the simulated model that takes its place wherever the file names it.",
    "windows": "Name → the evidence: a query, a country, dates and a source. Required.",
    "families": "Model → family, where the model's name does not give the family.",
    "concepts": "Concept → the persona and domain that prompts address.",
    "rubric_draws": "Rubrics that each owner writes from the same prompt: 1 to 20.",
    "defaults": "Fields of every block that does not set them.",
    "blocks": "Axes with one value or a list each; lists are multiplied out. Required.",
    "on_unsupported": "`error`, or `mark`: run and mark what a model does not apply.",
    "swap": "The swap arm: pairs of judge and rival, and the sham.",
    "rubric_embeddings": (
        "The model, as provider/model, whose embeddings compare rubrics as texts; their words "
        "(TF-IDF) without it."
    ),
    "score_critic": "The model that marks the reasoning of scored verdicts; without it none does.",
    "draw": "Some of the points only: at random, or as controlled pairs.",
    "budget": "Limits that end the sweep early.",
    "approve_over_usd": "US dollars: a run that is expected to cost more waits for approval.",
    "pause_after": "`w2-rubric`: wait until a person has read the rubrics, before scoring.",
    "plan": "A file with hypotheses, contrasts and primary outcomes, fixed before judging.",
}
"""The keys of a sweep file, with what they mean."""


@dataclass(frozen=True)
class ControlledPair:
    """Two experiments that differ in `axis` only."""

    axis: str
    first: Experiment
    second: Experiment


@dataclass(frozen=True)
class Alike:
    """Experiments of a sweep with the same values in some dimensions."""

    experiment: Experiment
    """One of them."""
    count: int
    peers: int
    """For each of them, how many of the sweep differ from it at most in the judge; itself
    counts."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep file says, or a definition as JSON. Equal experiments appear once."""

    path: Path
    """The file, or the name that stands for a definition."""
    name: str
    description: str
    utility_model: str
    """The model that edits evidence and rates rubrics; if empty, that of the settings."""
    windows: Mapping[str, Window]
    families: Mapping[str, str]
    """Model → family, where the model's name does not give the family."""
    blocks: tuple[Block, ...]
    swap: SwapPlan | None
    rubric_embeddings: str
    """The model whose embeddings compare rubrics; empty for their words."""
    score_critic: str
    """The model that marks the reasoning of scored samples; empty for none."""
    draw: RandomDraw | ControlledDraw | None
    budget: Budget | None
    plan: AnalysisPlan | None
    """Hypotheses and primary outcomes, fixed before judging."""
    definition: Mapping[str, Any] = field(compare=False)
    """What was read, as plain values."""
    approve_over_usd: float | None = None
    """A run that is expected to cost more US dollars waits for approval; None never waits."""
    pauses: bool = False
    """Whether a run waits until a person has read all rubrics; blocks have it of their own."""
    on_unsupported: OnUnsupported = "error"
    """Whether a value of an axis that a model does not apply is an error; with `mark` the
    experiment runs, is marked, and is left out of contrasts on the axis."""
    model_places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    """Model → where the file names it first."""

    def count(self) -> int:
        """Return the number of experiments."""
        return len(self._drawn) if self._drawn is not None else self._space.size

    @property
    def experiments_text(self) -> str:
        """How many experiments there are, as a report says it."""
        groups = self.alike(("rubric_draw",))
        first = sum(group.count for group in groups if not group.experiment.rubric_draw)
        return experiments_in_words(first, self.count())

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of each experiment, in a fixed order."""
        points = self._space if self._drawn is None else self._drawn
        return map(self._fields, points)

    def experiments(self) -> Iterator[Experiment]:
        """Yield each experiment, in the order of `points`."""
        return (Experiment(**point) for point in self.points())

    def paused(self) -> Iterator[Experiment]:
        """Yield the experiments whose rubrics a person reads before they are applied."""
        boxes = [block.box for block in self.blocks if self.pauses or block.pauses]
        for point in (self._space if self._drawn is None else self._drawn) if boxes else ():
            if any(contains(box, point) for box in boxes):
                yield Experiment(**self._fields(point))

    def alike(self, dimensions: Collection[str], apart: Iterable[Experiment] = ()) -> list[Alike]:
        """Return the experiments in groups with the same `dimensions` and replicates.

        This costs what the groups cost, however many experiments there are. The experiments of the
        sweep that are `apart` are groups of their own.
        """
        kept = [name in dimensions for name in DIMENSIONS]
        points = filter(None, map(self._point, apart))
        return [
            Alike(Experiment(**self._fields(group.point)), group.count, group.peers)
            for group in self._regions.groups(kept, list(points))
        ]

    def own(self, experiment: Experiment) -> Experiment | None:
        """Return the sweep's experiment with the key of another, or None if it has none."""
        point = self._point(experiment)
        return None if point is None else Experiment(**self._fields(point))

    def swappable(self) -> list[tuple[str, str]]:
        """Return the models that judge under a rubric of their own, each with its family."""
        if self._drawn is not None:
            points = list(map(self._fields, self._drawn))
        else:
            judge, rubric = DIMENSIONS.index("model"), DIMENSIONS.index("rubric")
            points = [
                {**choice.fields, **rubrics.fields}
                for block in self.blocks
                for choice in block.box[judge]
                for rubrics in block.box[rubric]
            ]
        own = [point for point in points if point["rubric"].kind == "own"]
        return list(dict.fromkeys((point["model"], point["family"]) for point in own))

    def pairs(self) -> list[ControlledPair]:
        """Return the pairs of a controlled draw, or an empty list."""
        return [
            ControlledPair(axis, *(Experiment(**self._fields(point)) for point in pair))
            for axis, pair in self._pairs
        ]

    @cached_property
    def facets(self) -> Mapping[str, Sequence[Any]]:
        """Facet, such as `wording` → its levels, where there are several."""
        levels = {name: self.levels(name) for name in facet_names()}
        return {name: found for name, found in levels.items() if len(found) > 1}

    def levels(self, name: str) -> list[Any]:
        """Return the values of one of `DIMENSIONS`, in the order of the blocks."""
        dimension = DIMENSIONS.index(name)
        choices = (
            chain.from_iterable(block.box[dimension] for block in self.blocks)
            if self._drawn is None
            else (point[dimension] for point in self._drawn)
        )
        return [choice.fields[name] for choice in dict.fromkeys(choices)]

    def _point(self, experiment: Experiment) -> Point | None:
        return next(filter(None, map(self._regions.find, choice_keys(experiment))), None)

    @cached_property
    def _regions(self) -> Regions:
        boxes = [block.box for block in self.blocks]
        return Regions(boxes, DIMENSIONS.index("model"), self._drawn)

    @cached_property
    def _space(self) -> Space:
        return Space([block.box for block in self.blocks])

    @cached_property
    def _drawn(self) -> list[Point] | None:
        match self.draw:
            case None:
                return None
            case RandomDraw(random=count, seed=seed):
                chosen = generator("draw", "random", self.name, seed).sample(
                    range(self._space.size), count
                )
                return [self._space[index] for index in sorted(chosen)]
            case ControlledDraw():
                return list(dict.fromkeys(point for _, pair in self._pairs for point in pair))

    @cached_property
    def _pairs(self) -> list[tuple[str, tuple[Point, Point]]]:
        if not isinstance(self.draw, ControlledDraw):
            return []
        spaces = pair_spaces([block.box for block in self.blocks], self.draw.axes)
        drawn = draw_pairs(
            list(spaces.values()),
            self.draw.controlled,
            generator("draw", "controlled", self.name, self.draw.seed),
        )
        return [(axis, pair) for axis, pairs in zip(spaces, drawn, strict=True) for pair in pairs]

    def _fields(self, point: Point) -> dict[str, Any]:
        fields = {name: value for choice in point for name, value in choice.fields.items()}
        # A point in several blocks is one experiment, with the most replicates of these blocks.
        holding = [block for block in self.blocks if contains(block.box, point)]
        fields["replicates"] = max(block.replicates for block in holding)
        fields["tag"] = next((block.tag for block in holding if block.tag), "")
        return fields


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep file; raises one `ConfigError` with file, line, key, value and what is legal.

    Paths of corpora and rubrics are relative to the sweep file. Corpora are digested, so the same
    file with other evidence describes other experiments.
    """
    return read_sweep(read_tree(Path(path)))


def given_sweep(definition: Mapping[str, Any]) -> Sweep:
    """Read a sweep that was given as a JSON object; raises `ConfigError` as `load_sweep` does.

    Relative paths in it start from the working folder.
    """
    return read_sweep(given_tree(definition))


def read_sweep(tree: Node) -> Sweep:
    """Return the sweep of a tree; raises as `load_sweep`."""
    items = _with_stand_ins(tree.known_items(KEYS))
    for name, legal in (
        ("name", _NAME),
        ("windows", "one window or more"),
        ("blocks", "one block or more"),
    ):
        if name not in items:
            raise missing(tree.place, name, legal)

    def read(key: str, reader: Callable[[Node], T], default: T) -> T:
        return reader(items[key]) if key in items else default

    families = read("families", _read_families, dict[str, str]())
    concepts = read("concepts", _read_concepts, dict[str, Expertise]())
    names = Names(read_windows(items["windows"]), families, concepts)
    plan = read("plan", lambda node: _read_plan(node, items["name"].value), None)
    draws = _read_draws(items.get("rubric_draws"), plan)
    defaults = items.get("defaults", Node({}, tree.place))
    blocks = read_blocks(items["blocks"], defaults, names, draws)
    for key, name in (("families", "model"), ("concepts", "concept")):
        if key in items:
            _check_used(items[key], blocks, name)
    if "score_critic" in items:
        _check_marks(items["score_critic"], blocks)
    boxes = [block.box for block in blocks]
    model = partial(read_field, Experiment, "model")
    approval = partial(read_field, ApprovalBound, "approve_over_usd")
    sweep = Sweep(
        path=tree.place.file,
        name=_read_name(items["name"]),
        description=read("description", _read_text, ""),
        utility_model=read("utility_model", model, ""),
        windows=names.windows,
        families=families,
        blocks=blocks,
        swap=read("swap", partial(read_model, SwapPlan), None),
        score_critic=read("score_critic", model, ""),
        rubric_embeddings=read("rubric_embeddings", model, ""),
        draw=read("draw", lambda node: read_draw(node, boxes), None),
        budget=read("budget", partial(read_model, Budget), None),
        plan=plan,
        definition=tree.plain(),
        approve_over_usd=read("approve_over_usd", approval, None),
        pauses=read(PAUSE_AFTER, read_pause, False),
        on_unsupported=read("on_unsupported", _read_on_unsupported, "error"),
        model_places={node.value: node.place for node in reversed(list(_model_nodes(items)))},
    )
    if sweep.swap and isinstance(sweep.swap.pairs, tuple):
        _check_pairs(items["swap"].items["pairs"], sweep.swap.pairs, sweep)
    return sweep


def _with_stand_ins(items: Mapping[str, Node]) -> Mapping[str, Node]:
    """Return the keys of a sweep with simulated models in place of those that have a stand-in."""
    if "stand_ins" not in items:
        return items
    given, used = items["stand_ins"], set[str]()
    stand_ins: dict[str, str] = {}
    for model, child in given.items.items():
        name = read_field(Experiment, "model", child)
        if not is_simulated_model(name):
            raise child.place.problem(f"is {shown(name)}", "Name a simulated model: sim/MODEL.")
        stand_ins[model] = name

    def named(text: str) -> str:
        if text in stand_ins:
            used.add(text)
        return stand_ins.get(text, text)

    def replaced(node: Node) -> Node:
        if isinstance(node.value, Mapping):
            children = {named(key): replaced(child) for key, child in node.value.items()}
            return Node(children, node.place)
        if isinstance(node.value, tuple):
            return Node(tuple(map(replaced, node.value)), node.place)
        return Node(named(node.value) if isinstance(node.value, str) else node.value, node.place)

    found = {name: replaced(node) for name, node in items.items() if name != "stand_ins"}
    for model, child in given.items.items():
        if model not in used:
            raise child.place.problem("is a model that the file does not name", "Leave it out.")
    return found


def _model_nodes(items: Mapping[str, Node]) -> Iterator[Node]:
    """Yield the nodes that name a model to call, in the order of the blocks."""
    for block in (*items["blocks"].entries, *([items["defaults"]] if "defaults" in items else [])):
        yield from block.items["model"].entries if "model" in block.items else ()
        for rubric in block.items["rubric"].entries if "rubric" in block.items else ():
            if isinstance(rubric.value, Mapping) and "shared" in rubric.value:
                yield rubric.value["shared"]
        for bundles in block.items["bundles"].entries if "bundles" in block.items else ():
            if isinstance(bundles.value, Mapping) and "embeddings" in bundles.value:
                yield bundles.value["embeddings"]
    for name in ("utility_model", "rubric_embeddings", "score_critic"):
        if name in items:
            yield items[name]


def name_in(file: Path) -> str | None:
    """Return the name of the sweep in a file, or None if it cannot be read here."""
    try:
        return load_sweep(file).name
    except ConfigError:
        return None


def _read_plan(node: Node, sweep: str) -> AnalysisPlan:
    if not isinstance(node.value, str) or not node.value:
        raise node.place.problem(f"is {shown(node.value)}", "Use the path of a plan file.")
    try:
        file = node.place.file.parent / node.value
        plan, tree = load_plan(file), read_tree(file)
    except ConfigError as error:
        what = f"cannot be used: {error.message.rstrip('.')}"
        raise node.place.problem(what, error.remedy) from error
    if plan.sweep != sweep:
        raise tree.items["sweep"].place.problem(
            f"is {plan.sweep!r}, and the sweep that uses the plan is {sweep!r}",
            f"Write sweep: {sweep}, or name another plan in {node.place.file}.",
        )
    return plan


def _read_name(node: Node) -> str:
    if not isinstance(node.value, str) or not re.fullmatch(r"[a-z0-9-]{1,80}", node.value):
        raise node.place.problem(f"is {shown(node.value)}", f"Use {_NAME}.")
    return node.value


def _read_on_unsupported(node: Node) -> OnUnsupported:
    for allowed in get_args(OnUnsupported):
        if node.value == allowed:
            return cast(OnUnsupported, allowed)
    raise node.place.problem(
        f"is {shown(node.value)}", f"Use {' or '.join(get_args(OnUnsupported))}."
    )


def _read_text(node: Node) -> str:
    if not isinstance(node.value, str):
        raise node.place.problem(f"is {shown(node.value)}", "Use text.")
    return node.value


def _read_draws(node: Node | None, plan: AnalysisPlan | None) -> Draws:
    """Return the draws of rubrics; a sweep that confirms a claim about rubrics has several."""
    if node is None:
        claims = set(plan.confirmatory) if plan else set()
        return Draws(own=DRAWS_OF_CLAIMS if claims & set(RUBRIC_CLAIMS) else 1)
    count = node.value
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_DRAWS:
        raise node.place.problem(
            f"is {shown(count)}", f"Use a whole number from 1 to {MOST_DRAWS}."
        )
    return Draws(count, count)


def _read_families(node: Node) -> dict[str, str]:
    return {model: read_field(Experiment, "family", child) for model, child in node.items.items()}


def _read_concepts(node: Node) -> dict[str, Expertise]:
    return {concept: read_model(Expertise, child) for concept, child in node.items.items()}


def _check_used(node: Node, blocks: Sequence[Block], name: str) -> None:
    """Refuse an entry for a model or concept that is in no block: its name is misspelt."""
    dimension = DIMENSIONS.index(name)
    used = {choice.fields[name]: None for block in blocks for choice in block.box[dimension]}
    for key, child in node.items.items():
        if key not in used:
            raise child.place.problem(
                f"is a {name} of no block", f"{did_you_mean(key, used)}Use {', '.join(used)}."
            )


def _check_pairs(node: Node, pairs: Sequence[tuple[str, str]], sweep: Sweep) -> None:
    """Refuse a pair whose judge writes no rubric of its own: it would fail after other calls."""
    swapped = sweep.swappable()
    judges = dict.fromkeys(chain.from_iterable(swapped))
    for place, (judge, rival) in enumerate(pairs):
        if not any(judge in names and rival != names[0] for names in swapped):
            drawn = " that was drawn" if sweep.draw else ""
            raise node.entries[place].place.problem(
                f"has judge {judge!r}, which has no experiment with `rubric: own`{drawn}",
                f"{did_you_mean(judge, judges)}Judges and families with an own rubric: "
                f"{', '.join(judges) or 'none'}.",
            )


def _check_marks(node: Node, blocks: Sequence[Block]) -> None:
    """Refuse a score critic of pairs: it marks reasoning about evidence."""
    dimension = DIMENSIONS.index("task_type")
    tasks = (choice.fields["task_type"] for block in blocks for choice in block.box[dimension])
    if "pairs" in tasks:
        raise node.place.problem(
            "marks reasoning about evidence, and a block has task_type pairs", "Leave it out."
        )
