"""Experiments of one judge that differ in one axis and nothing else, and the levels they differ in.

The analysis compares them, and a plan may claim something about one such comparison.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar, get_args

from judge_gym.design.axes import axes, facet_names, level_of
from judge_gym.design.experiment import Experiment, RubricSource
from judge_gym.seeds import canonical_json

PRESENTATION = ("randomize_labels", "shuffle_order")
"""The axes that `presentation` switches together."""
FIXED, RANDOM = "fixed", "random"
REGROUPED = ("bundle_size", "bundles")
"""Axes whose levels have other items, made of the same documents."""

T = TypeVar("T")


def compared_axes() -> list[str]:
    """Return the axes that are compared level by level; the concept's name counts as one.

    Without facets, whose levels are draws to be averaged over, and replicates, which are no
    identity.
    """
    own = (one.name for one in axes() if not one.facet and one.name != "replicates")
    return [*own, "presentation", "concept"]


def identity(experiment: Experiment) -> dict[str, Any]:
    """Return all that makes an experiment another one than the next, judge included."""
    content = experiment.model_dump(mode="json", exclude={"tag", "window", "replicates"})
    return {**content, "window": experiment.window.key}


def fields_of(axis: str) -> tuple[str, ...]:
    """Return the fields of an experiment that an axis is."""
    return PRESENTATION if axis == "presentation" else (axis,)


def pairs_on(
    axis: str,
    judges: Iterable[T],
    experiment_of: Callable[[T], Experiment],
    identities: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[T, T]]:
    """Yield the pairs that differ in this axis alone, the lower or earlier level first.

    `identities` maps the keys of the experiments to what `identity` says of them.
    """
    fields = fields_of(axis)
    alike: dict[str, list[T]] = defaultdict(list)
    for judge in judges:
        content = identities[experiment_of(judge).key]
        rest = {name: value for name, value in content.items() if name not in fields}
        alike[canonical_json(rest)].append(judge)
    for bucket in alike.values():
        ordered = sorted(bucket, key=lambda judge: _rank(experiment_of(judge), fields[0]))
        yield from combinations(ordered, 2)


def over_facets(experiments: Iterable[Experiment]) -> list[tuple[Experiment, frozenset[str]]]:
    """Return the experiments with those that differ in facets alone as one, and its wordings.

    Its replicates are those of all levels together.
    """
    first = {name: Experiment.model_fields[name].default for name in facet_names()}
    pooled: dict[str, tuple[Experiment, frozenset[str]]] = {}
    for one in experiments:
        alike = one.model_copy(update={"tag": "", **first})
        before, wordings = pooled.get(alike.key, (None, frozenset[str]()))
        replicates = one.replicates + (before.replicates if before else 0)
        merged = alike.model_copy(update={"replicates": replicates})
        pooled[alike.key] = merged, wordings | {one.wording}
    return list(pooled.values())


def compared_level(experiment: Experiment, axis: str) -> Any:
    """Return the value of an axis as scopes show it; None where `presentation` is half and half."""
    if axis == "presentation":
        both = {getattr(experiment, field) for field in PRESENTATION}
        return None if len(both) > 1 else RANDOM if both.pop() else FIXED
    return level_of(experiment, axis)


def names_of_provided(experiments: Iterable[Experiment]) -> dict[str, str]:
    """Return key → name of the provided rubrics where there are several.

    The name of its file, with its folder where two files have one name. A rubric whose file is not
    known, or is another one's too, goes by its digest.
    """
    sources = {one.rubric.rubric.key: one.rubric.name for one in experiments if one.rubric.rubric}
    if len(sources) < 2:
        return {}
    short = {key: name.rpartition("/")[2] for key, name in sources.items()}
    for named in (short, sources):
        if all(named.values()) and len(set(named.values())) == len(named):
            return named
    return {key: key[:8] for key in sources}


def rubric_level(experiment: Experiment, names: Mapping[str, str]) -> str:
    """Return the rubric as scopes show it; `names` are those of `names_of_provided`."""
    source = experiment.rubric
    return f"provided {names[source.rubric.key]}" if names and source.rubric else str(source)


def parts_of_level(level: str) -> tuple[str, str]:
    """Return the kind of a `rubric_level`, and `by MODEL`, the name of a provided one, or ""."""
    kind, _, rest = level.partition(" ")
    return kind, rest


def _rank(experiment: Experiment, axis: str) -> Any:
    """Return what orders the values of an axis: as declared, else their own order."""
    if axis == "rubric":
        kinds: Sequence[str] = get_args(RubricSource.model_fields["kind"].annotation)
        return kinds.index(experiment.rubric.kind), canonical_json(
            experiment.rubric.model_dump(mode="json")
        )
    declared = get_args(Experiment.model_fields[axis].annotation)
    value = level_of(experiment, axis)
    return declared.index(value) if value in declared else value
