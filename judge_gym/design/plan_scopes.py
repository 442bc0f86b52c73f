"""Whether the scopes of a plan's primary outcomes are about experiments of its sweep.

A figure's scope names its concept, country, window and rubric, the axes that vary in the sweep, and
where it is of one judge the judge, the rival. A facet with several levels is pooled over, so no
scope names it. An outcome whose scope matches no figure would never be decided.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from judge_gym.design.axes import axes, facet_names, level_of
from judge_gym.design.config import Node, read_tree, shown
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import PrimaryOutcome
from judge_gym.design.sweep import Sweep
from judge_gym.design.sweep_blocks import DIMENSIONS
from judge_gym.errors import did_you_mean

_RIVAL, _LESS = "rival", "less contested"
_OF_DATA = ("system", "category", "people", "setting", "arm")
"""Parts whose values the sweep file does not say."""
_Scope = Mapping[str, frozenset[str]]
"""Key → what a scope may say of one experiment; two names for a rubric that is provided."""


def check_primary_scopes(sweep: Sweep) -> None:
    """Raise `ConfigError` at the first key or value of a primary outcome that fits no experiment.

    Costs what the parts named cost, however many experiments the sweep has.
    """
    if sweep.plan is None:
        return
    tree = read_tree(sweep.path.parent / sweep.definition["plan"])
    chosen = [name for name in _scope_axes() if name in DIMENSIONS and len(sweep.levels(name)) > 1]
    groups = sweep.alike({"concept", "window", "model", "rubric", *chosen})
    experiments = [group.experiment for group in groups]
    varying = [
        name for name in _scope_axes() if len({str(level_of(one, name)) for one in experiments}) > 1
    ]
    scopes = [_scope(sweep, one, varying) for one in experiments]
    for outcome, node in zip(sweep.plan.primary, tree.items["primary"].entries, strict=True):
        if "scope" in node.items and outcome.scope:
            scope = node.items["scope"]
            _check_keys(scope, varying)
            _check_values(scope, scopes)
            _check_facets(scope, outcome, experiments, scopes)


def _scope_axes() -> list[str]:
    """Return the axes that a scope names where they vary; the rubric is always named."""
    return ["task_type", *(one.name for one in axes() if one.name not in ("rubric", "replicates"))]


def _scope(sweep: Sweep, experiment: Experiment, varying: Sequence[str]) -> _Scope:
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
        **{name: frozenset({str(level_of(experiment, name))}) for name in varying},
        "judge": frozenset({experiment.model}),
        _RIVAL: frozenset(models) - {experiment.model},
        _LESS: frozenset(sweep.levels("concept")) - {experiment.concept},
    }


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


def _check_values(scope: Node, scopes: Sequence[_Scope]) -> None:
    named = {name: child for name, child in scope.items.items() if name not in _OF_DATA}
    for name, child in named.items():
        values = sorted({value for one in scopes for value in one[name]})
        if child.value not in values:
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


def _fits(named: Mapping[str, Node], scope: _Scope) -> bool:
    return all(child.value in scope[name] for name, child in named.items())


def _check_facets(
    scope: Node,
    outcome: PrimaryOutcome,
    experiments: Sequence[Experiment],
    scopes: Sequence[_Scope],
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
