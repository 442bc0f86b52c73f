"""Whether the primary outcomes and contrasts of a plan are about experiments of its sweep.

A figure's scope names its concept, country, window and rubric, the axes that vary in the sweep, and
where it is of one judge the judge, the rival. A facet with several levels is pooled over, so no
scope names it. An outcome whose scope matches no figure would never be decided. A contrast is of
two experiments that differ in one axis alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from judge_gym.design.axes import axes, facet_names, level_of, written
from judge_gym.design.axis_pairs import (
    compared_axes,
    compared_level,
    fields_of,
    identity,
    names_of_provided,
    over_facets,
    pairs_on,
    rubric_level,
)
from judge_gym.design.config import Node, read_tree, shown
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import IN_STAGES, OF_SETS, PlannedContrast, PrimaryOutcome
from judge_gym.design.sweep import Sweep
from judge_gym.design.sweep_blocks import DIMENSIONS
from judge_gym.errors import did_you_mean

_RIVAL, _LESS = "rival", "less contested"
_OF_DATA = ("system", "category", "people", "setting", "arm")
"""Parts whose values the sweep file does not say."""
FigureScope = Mapping[str, frozenset[str]]
"""Key → what a scope may say of one experiment; two names for a rubric that is provided."""
T = TypeVar("T", PrimaryOutcome, PlannedContrast)


def check_primary_scopes(sweep: Sweep) -> None:
    """Raise `ConfigError` at the first key or value of a planned outcome that fits no experiment.

    Costs what the parts named cost, however many experiments the sweep has; contrasts cost what
    the experiments cost.
    """
    if sweep.plan is None:
        return
    tree = read_tree(sweep.path.parent / sweep.definition["plan"])
    chosen = [name for name in _scope_axes() if name in DIMENSIONS and len(sweep.levels(name)) > 1]
    groups = sweep.alike({"concept", "window", "model", "rubric", *chosen})
    experiments = [group.experiment for group in groups]
    varying = varying_axes(experiments)
    scopes = [scope_of(sweep, one, varying) for one in experiments]
    for outcome, node in _with_nodes(sweep.plan.primary, tree, "primary"):
        if "scope" in node.items and outcome.scope:
            scope = node.items["scope"]
            _check_keys(scope, varying)
            _check_values(scope, scopes)
            _check_facets(scope, outcome, experiments, scopes)
    for contrast, node in _with_nodes(sweep.plan.contrasts, tree, "contrasts"):
        _check_contrast(sweep, contrast, node, varying, scopes)


def _with_nodes(given: Sequence[T], tree: Node, key: str) -> Iterator[tuple[T, Node]]:
    return zip(given, tree.items[key].entries if given else (), strict=True)


@dataclass(frozen=True)
class ComparedPair:
    """Two experiments of a judge that differ in one axis alone, and its levels as scopes say it."""

    before: Experiment
    after: Experiment
    levels: tuple[str, str]
    wordings: frozenset[str]
    """Those that both have: the two are compared at these alone."""


def pairs_of_axis(sweep: Sweep, axis: str) -> list[ComparedPair]:
    """Return the pairs that the analysis of a sweep compares on an axis, pooled over facets."""
    pooled = over_facets(sweep.experiments())
    experiments = [one for one, _ in pooled]
    wordings = {one.key: of for one, of in pooled}
    names = names_of_provided(experiments)
    identities = {one.key: identity(one) for one in experiments}
    found = []
    for before, after in pairs_on(axis, experiments, lambda one: one, identities):
        levels = [
            rubric_level(one, names) if axis == "rubric" else compared_level(one, axis)
            for one in (before, after)
        ]
        if None not in levels:
            both = wordings[before.key] & wordings[after.key]
            change = written(levels[0]), written(levels[1])
            found.append(ComparedPair(before, after, change, both))
    return found


def contrasted(sweep: Sweep, contrast: PlannedContrast) -> list[ComparedPair]:
    """Return the pairs of experiments that a planned contrast is about."""
    varying = varying_axes(sweep.experiments())
    return [
        pair
        for pair in pairs_of_axis(sweep, contrast.axis)
        if pair.levels == contrast.written_levels
        and has_named(scope_of(sweep, pair.before, varying), contrast.scope)
    ]


def has_named(scope: FigureScope, parts: Mapping[str, str]) -> bool:
    """Return whether a scope has these parts, those aside whose values only the data have."""
    return all(
        value in scope.get(name, ()) for name, value in parts.items() if name not in _OF_DATA
    )


def _check_contrast(
    sweep: Sweep,
    contrast: PlannedContrast,
    node: Node,
    varying: Sequence[str],
    scopes: Sequence[FigureScope],
) -> None:
    """Refuse an axis, levels, a figure or a scope that no contrast of the sweep has."""
    at, known = node.items, compared_axes()
    if contrast.axis not in known:
        raise at["axis"].place.problem(
            f"is {shown(contrast.axis)}, which is not compared level by level",
            f"{did_you_mean(contrast.axis, known)}Use {', '.join(known)}.",
        )
    pairs = pairs_of_axis(sweep, contrast.axis)
    if contrast.written_levels not in {pair.levels for pair in pairs}:
        raise at["levels"].place.problem(
            f"is {_change(contrast.written_levels)}, and the sweep compares "
            f"{_compared(pairs, contrast.axis)}",
            "Name the two levels in this order." if pairs else "Vary the axis in a block.",
        )
    if "scope" in at and contrast.scope:
        fields = fields_of(contrast.axis)
        if changed := next((name for name in fields if name in contrast.scope), ""):
            raise (
                at["scope"]
                .items[changed]
                .place.problem("is what the contrast changes", "Leave it out.")
            )
        _check_keys(at["scope"], [name for name in varying if name not in fields])
        _check_values(at["scope"], scopes)
    found = contrasted(sweep, contrast)
    if not found:
        raise at["scope"].place.problem(
            f"fits no contrast of {contrast.axis} from {_change(contrast.written_levels)}",
            "Name parts that two experiments have that differ in this axis alone.",
        )
    if not any(pair.wordings for pair in found):
        raise at["levels"].place.problem(
            f"is {_change(contrast.written_levels)}, and the two sides have no wording in common",
            "Give both the same wordings: a difference could be that of the wordings.",
        )
    _check_figure(contrast, at["figure"], found)


def _check_figure(contrast: PlannedContrast, node: Node, pairs: Sequence[ComparedPair]) -> None:
    """Refuse a figure that none of the pairs has."""
    sides = [(pair.before.scoring_method, pair.after.scoring_method) for pair in pairs]
    if contrast.figure in OF_SETS and ("subset", "subset") not in sides:
        raise node.place.problem(
            f"is {contrast.figure}, which needs verdicts that may name several stages",
            "Set scoring_method to subset, or use another figure.",
        )
    if contrast.figure in IN_STAGES and contrast.axis == "scale_size":
        raise node.place.problem(
            f"is {contrast.figure}, which is in stages, and the two scales differ in their stages",
            f"Use {IN_STAGES[contrast.figure]}, which is on 0 to 1.",
        )
    if contrast.figure == "middle_mass" and contrast.axis == "scale_size":
        raise node.place.problem(
            "is middle_mass, and of two scales the longer has more between its ends",
            "Use score, or another figure.",
        )


def _change(levels: tuple[str, str]) -> str:
    return " to ".join(levels)


def _compared(pairs: Sequence[ComparedPair], axis: str) -> str:
    """Return the changes of an axis in words."""
    changes = dict.fromkeys(_change(pair.levels) for pair in pairs)
    return ", ".join(changes) or f"no two experiments of a judge that differ in {axis} alone"


def _scope_axes() -> list[str]:
    """Return the axes that a scope names where they vary; the rubric is always named."""
    return ["task_type", *(one.name for one in axes() if one.name not in ("rubric", "replicates"))]


def varying_axes(experiments: Iterable[Experiment]) -> list[str]:
    """Return the axes that vary between experiments, which the scope of a figure therefore names.

    The rubric, which it always names, is not among them.
    """
    levels: dict[str, set[str]] = {name: set() for name in _scope_axes()}
    for one in experiments:
        for name, seen in levels.items():
            seen.add(str(level_of(one, name)))
    return [name for name, seen in levels.items() if len(seen) > 1]


def scope_of(sweep: Sweep, experiment: Experiment, varying: Sequence[str]) -> FigureScope:
    """Return what the scope of an experiment's figures may say, those of each judge included."""
    source, key = experiment.rubric, experiment.window.key
    rubrics = {str(source)}
    if source.rubric and source.name:
        rubrics |= {f"provided {source.name}", f"provided {source.name.rpartition('/')[2]}"}
    models = sweep.levels("model")
    return {
        "concept": frozenset({experiment.concept}),
        "country": frozenset({experiment.country}),
        "window": frozenset(name for name, one in sweep.windows.items() if one.key == key),
        "rubric": frozenset(rubrics),
        **{name: _texts(level_of(experiment, name)) for name in varying},
        "judge": frozenset({experiment.model}),
        _RIVAL: frozenset(models) - {experiment.model},
        _LESS: frozenset(sweep.levels("concept")) - {experiment.concept},
    }


def _texts(level: object) -> frozenset[str]:
    return frozenset({str(level), written(level)})


def _check_keys(scope: Node, varying: Sequence[str]) -> None:
    known = ["concept", "country", "window", "rubric", *varying, "judge", _RIVAL, _LESS, *_OF_DATA]
    for name, child in scope.items.items():
        if name in known:
            continue
        if name in _scope_axes():
            raise child.place.problem(
                "is an axis with one value in this sweep, so no figure's scope names it",
                "Leave it out.",
            )
        raise child.place.problem(
            "is no part of a scope", f"{did_you_mean(name, known)}Use {', '.join(known)}."
        )


def _check_values(scope: Node, scopes: Sequence[FigureScope]) -> None:
    named = {name: child for name, child in scope.items.items() if name not in _OF_DATA}
    for name, child in named.items():
        values = sorted({value for one in scopes for value in one[name]} - {"False", "True"})
        if not any(child.value in one[name] for one in scopes):
            raise child.place.problem(
                f"is {shown(child.value)}, and no experiment of the sweep has it",
                f"{did_you_mean(str(child.value), values)}Use {', '.join(values)}.",
            )
    if not any(_fits(named, one) for one in scopes):
        together = ", ".join(f"{name}: {child.value}" for name, child in named.items())
        raise scope.place.problem(
            f"fits no experiment of the sweep: none has all of {together}",
            "Name parts that one experiment has.",
        )


def _fits(named: Mapping[str, Node], scope: FigureScope) -> bool:
    return all(child.value in scope[name] for name, child in named.items())


def _check_facets(
    scope: Node,
    outcome: PrimaryOutcome,
    experiments: Sequence[Experiment],
    scopes: Sequence[FigureScope],
) -> None:
    """Refuse one level of a facet that the experiments have several of: those are pooled."""
    named = {name: child for name, child in scope.items.items() if name not in _OF_DATA}
    fitting = {one.key for one, has in zip(experiments, scopes, strict=True) if _fits(named, has)}
    groups = list(_pooled(experiments))
    for facet in facet_names():
        if facet not in outcome.scope:
            continue
        alone = any(
            len({getattr(one, facet) for one in group}) == 1
            for group in groups
            if any(one.key in fitting for one in group)
        )
        if not alone:
            raise scope.items[facet].place.problem(
                f"is one of several {facet.replace('_', ' ')}s, and a claim is decided over all "
                "of them together",
                "Leave it out.",
            )


def _pooled(experiments: Sequence[Experiment]) -> Iterator[list[Experiment]]:
    """Yield the experiments that differ in nothing but facets, and the judge."""
    first = {name: Experiment.model_fields[name].default for name in facet_names()}
    groups: dict[str, list[Experiment]] = defaultdict(list)
    for one in experiments:
        groups[one.model_copy(update=first).peers_key].append(one)
    yield from groups.values()
