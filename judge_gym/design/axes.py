"""The axes of the design space as data, derived from the fields of `Experiment`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from judge_gym.design.experiment import Axis, Experiment
from judge_gym.design.fields import legal_text
from judge_gym.design.strategies import axis_modules


@dataclass(frozen=True)
class AxisInfo:
    """One axis as `judge-gym sweep axes` prints it."""

    name: str
    legal: str
    """The allowed values, in words."""
    default: str
    """The default as a sweep file writes it."""
    why: str
    """Why the axis exists, on one line."""
    facet: bool
    """Whether its levels are draws, to be averaged over instead of compared."""
    modules: tuple[str, ...]
    """Dotted names of the strategy modules that list the axis in `AXES`."""


@cache
def axes() -> tuple[AxisInfo, ...]:
    """Return every axis in the order of `Experiment`'s fields."""
    marked = {
        name: [mark for mark in field.metadata if isinstance(mark, Axis)]
        for name, field in Experiment.model_fields.items()
    }
    return tuple(
        AxisInfo(
            name=name,
            legal=legal_text(field),
            default=written(field.default),
            why=" ".join((field.description or "").split()),
            facet=any(mark.facet for mark in marked[name]),
            modules=_modules_of(name),
        )
        for name, field in Experiment.model_fields.items()
        if marked[name]
    )


def facets_of(experiments: Iterable[Experiment]) -> dict[str, list[Any]]:
    """Return facet → its levels in these experiments, in their order, if there are several."""
    levels: dict[str, dict[Any, None]] = {name: {} for name in facet_names()}
    for experiment in experiments:
        for name, seen in levels.items():
            seen[getattr(experiment, name)] = None
    return {name: list(seen) for name, seen in levels.items() if len(seen) > 1}


@cache
def facet_names() -> tuple[str, ...]:
    """Return the axes whose levels are draws, such as `wording`."""
    return tuple(axis.name for axis in axes() if axis.facet)


def level_of(experiment: Experiment, axis: str) -> Any:
    """Return the value of an axis as scopes show it: as JSON has it, a source in words."""
    value = getattr(experiment, axis)
    return str(value) if isinstance(value, BaseModel) else value


def legal_values(field: str) -> str:
    """Return the allowed values of a field of `Experiment` as a phrase to follow "Use"."""
    return legal_text(Experiment.model_fields[field])


def written(value: object) -> str:
    """Return a value as a sweep file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _modules_of(axis: str) -> tuple[str, ...]:
    package = "judge_gym.design.strategies"
    modules = (import_module(f"{package}.{name}") for name in axis_modules())
    return tuple(module.__name__ for module in modules if axis in module.AXES)
