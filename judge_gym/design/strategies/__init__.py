"""Strategies: what each axis does, as a pure function of the experiment.

A strategy module names its `AXES`, and defines a frozen dataclass and `resolve(experiment)` that
returns it. All modules of this folder are loaded, so a new axis adds one file and edits none.
Agents read the resolved strategies, never the fields of the experiment.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from judge_gym.design.experiment import Experiment

T = TypeVar("T")


class Strategies(Mapping[str, Any]):
    """The resolved strategies of one experiment, by module name (templates) or type (code)."""

    def __init__(self, resolved: dict[str, Any]) -> None:
        self._by_name = resolved
        self._by_type = {type(strategy): strategy for strategy in resolved.values()}

    def of(self, kind: type[T]) -> T:
        """Return the strategy of a type, e.g. `strategies.of(StageScale).letters`."""
        strategy: T = self._by_type[kind]
        return strategy

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def axis_modules() -> list[str]:
    """Return the names of the strategy modules of this folder, sorted."""
    return sorted(module.name for module in iter_modules(__path__))


@lru_cache(maxsize=4096)
def resolve(experiment: Experiment) -> Strategies:
    """Resolve every axis of `experiment`."""
    return Strategies({name: resolved(experiment) for name, resolved in _resolvers().items()})


@cache
def _resolvers() -> dict[str, Callable[[Experiment], Any]]:
    return {name: import_module(f"{__name__}.{name}").resolve for name in axis_modules()}
