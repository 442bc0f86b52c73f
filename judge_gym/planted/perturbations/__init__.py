"""Perturbations: one per file, a text made worse, or made other but no worse, in a known way.

A module says what a judge should do (`EXPECTATION`), what a text has to hold for it to apply
(`NEEDS`), and which changes it can make of a text (`changes`). It is found by its file, so a new
perturbation adds one file here and edits none. How many of the changes are made, and in which
order, is decided here, the same way for all.

Some edit English phrases; in other languages they find nothing to change, and say so.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from judge_gym.planted.editing import (
    Change,
    Expectation,
    NothingToChange,
    Perturbed,
    change,
)
from judge_gym.seeds import generator


@dataclass(frozen=True)
class Perturbation:
    """One way to change a text. `needs` names what it changes, to follow "there is no"."""

    name: str
    description: str
    expectation: Expectation
    needs: str
    changes: Callable[[str, random.Random], Iterable[Change]]

    def apply(self, text: str, severity: float, seed: int) -> Perturbed | NothingToChange:
        """Return the text with a share `severity` of the possible changes made, at least one.

        Severity 0 returns the text itself. The same text and seed give the same changes in the
        same order, so that a higher severity adds to what a lower one changes. Raises ValueError
        for a severity outside [0, 1].
        """
        rng = generator("perturbation", self.name, seed, text)
        perturbed = change(text, self.changes(text, rng), severity, rng)
        return perturbed or NothingToChange(f"there is no {self.needs}")


@cache
def perturbations() -> Mapping[str, Perturbation]:
    """Return every perturbation of this folder by name, sorted."""
    return {name: _load(name) for name in sorted(found.name for found in iter_modules(__path__))}


def _load(name: str) -> Perturbation:
    module = import_module(f"{__name__}.{name}")
    description = (module.__doc__ or "").split("\n")[0]
    return Perturbation(name, description, module.EXPECTATION, module.NEEDS, module.changes)
