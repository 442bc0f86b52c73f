"""The largest effects as sentences: which swap, axis and pair stand out, with what speaks against.

The largest of many is overstated by being chosen, which every sentence says; one whose interval
holds 0, or whose corrected p does not stand, is not called an effect.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge_gym.analysis.groups import MIXED
from judge_gym.formats import figure, number, p_value
from judge_gym.metrics.margins import ALPHA
from judge_gym.report.scopes import Scope
from judge_gym.store.results import ResultRow


@dataclass(frozen=True)
class _Effect:
    metric: str
    most: str
    none: str
    of_scope: Callable[[Scope], str]
    unit: str = ""


def _of_swap(scope: Scope) -> str:
    return f"{scope['judge']} under the rubric of {scope['rival']} on {scope['concept']}"


def _of_axis(scope: Scope) -> str:
    return f"{str(scope['axis']).replace('_', ' ')} from {scope['from']} to {scope['to']}"


def _of_pair(scope: Scope) -> str:
    return f"{scope['pair']} on {scope['concept']}"


_EFFECTS = (
    _Effect(
        "polarization_pair",
        "The two families furthest apart are",
        "No two families stand apart beyond chance; furthest are",
        _of_pair,
        " bits",
    ),
    _Effect(
        "swap_sensitivity",
        "The swap that moves confidence most is",
        "No swap is shown to move confidence; the largest change is",
        _of_swap,
    ),
    _Effect(
        "axis_effect",
        "The axis that moves verdicts most is",
        "No axis is shown to move verdicts; the largest change is",
        _of_axis,
        " of the scale",
    ),
    _Effect(
        "axis_effect_confidence",
        "The axis that moves confidence most is",
        "No axis is shown to move confidence; the largest change is",
        _of_axis,
    ),
)


def largest_effects(rows: Sequence[ResultRow]) -> list[str]:
    """Return a sentence per kind of effect that these figures have with an interval."""
    return [said for effect in _EFFECTS if (said := _sentence(effect, rows))]


def _sentence(effect: _Effect, rows: Sequence[ResultRow]) -> str:
    common = [row for row in rows if row.metric == effect.metric]
    # Under own rubrics judges differ in rubric and judgement at once: only where there is no other.
    pool = common or [row for row in rows if row.metric == effect.metric + MIXED]
    found = [row for row in pool if row.estimate is not None and row.lower is not None]
    if not found:
        return ""
    shown = [row for row in found if _stands(row)]
    row = max(shown or found, key=lambda one: abs(one.estimate or 0.0))
    head = f"{effect.most if shown else effect.none} {effect.of_scope(row.scope)}"
    rubrics = ", each by its own rubric" if row.metric.endswith(MIXED) else ""
    floor = "" if row.floor is None else f", beside a floor of {number(row.floor)}"
    p = "" if row.p_adjusted is None else f", corrected p {p_value(row.p_adjusted)}"
    chosen = f"; chosen as the largest of {len(found)}, so likely overstated"
    tail = chosen if shown and len(found) > 1 else ""
    return f"{head}{rubrics}: {figure(row)}{effect.unit}{floor}{p}{tail}."


def _stands(row: ResultRow) -> bool:
    """Return whether 0, or the floor, is outside what the figure allows."""
    if row.p_adjusted is not None:
        return row.p_adjusted < ALPHA
    return row.lower is not None and row.upper is not None and not row.lower <= 0 <= row.upper
