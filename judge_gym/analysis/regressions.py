"""The regressions of a sweep: its samples as one table, the three models, and their checks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import Judge, Origin, SweepData
from judge_gym.analysis.groups import Group, result_row
from judge_gym.metrics.cells import scores, set_sizes
from judge_gym.metrics.estimate import Remark, RemarkKind, not_estimable
from judge_gym.metrics.inference import benjamini_hochberg
from judge_gym.metrics.regression import INTERCEPT, MODELS, Fit, ModelSpec, Table, fit_model
from judge_gym.metrics.regression_checks import (
    beside_least_squares,
    check_by_mixed_model,
    check_by_ordered_logit,
)
from judge_gym.store.results import ResultRow

FEWEST_ITEMS = 10
"""Items from which the checks are fitted: fewer levels tell nothing of a variance between them."""
EVERY_TERM = "every term"
"""The term of a row that says why a model was not fitted."""
_CHECKS: tuple[tuple[str, Callable[[ModelSpec, Table], Fit]], ...] = (
    ("regression_ordered_logit", check_by_ordered_logit),
    ("regression_mixed_model", check_by_mixed_model),
)


def regressions(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the coefficients of each model, p corrected by Benjamini-Hochberg within it.

    The scope names the `regression` and the `term`. The checks ask whether a conclusion hangs on
    the assumptions of least squares; a model of uncertainty gaps has none, as most gaps are 0.
    """
    if not any(judge.of_kind("own") for group in groups for judge in group.judges):
        return
    table = _table(data, groups)
    for spec in MODELS:
        chosen = np.ones(len(table["item"]), dtype=np.bool_)
        for name, value in spec.only.items():
            chosen &= table[name].astype(np.str_) == value
        fitted = None
        if chosen.any():
            fitted = fit_model(spec, table)
            yield from _rows("regression", fitted, data.origin)
        else:
            of = "".join(f" with {name} {value}" for name, value in spec.only.items())
            missing = not_estimable("regression", f"it needs a scored verdict{of}")
            yield result_row(missing, {"regression": spec.name, "term": EVERY_TERM}, data.origin)
        if spec.outcome == "score":
            items = len(np.unique(table["item"][chosen]))
            yield from _checks(spec, table, fitted, items, data.origin)


def _checks(
    spec: ModelSpec, table: Table, fitted: Fit | None, items: int, origin: Origin
) -> Iterator[ResultRow]:
    for metric, check in _CHECKS:
        if fitted and items >= FEWEST_ITEMS:
            yield from _rows(metric, beside_least_squares(check(spec, table), fitted), origin)
        else:
            because = f"it needs {FEWEST_ITEMS} items, and there are {items}"
            missing = not_estimable(metric, because, n_items=items)
            yield result_row(missing, {"regression": spec.name, "term": EVERY_TERM}, origin)


def _rows(metric: str, fit: Fit, origin: Origin) -> Iterator[ResultRow]:
    tested = [
        one.estimate.p
        for one in fit.coefficients
        if one.estimate.p is not None and one.name != INTERCEPT
    ]
    adjusted = iter(benjamini_hochberg(tested))
    levels = tuple(f"{factor} {level}" for factor, level in fit.references.items())
    remarks = (Remark(RemarkKind.REFERENCES, names=levels), *fit.remarks)
    notes = "".join(f"; {note}" for note in fit.notes if note)
    for one in fit.coefficients:
        corrected = one.estimate.p is not None and one.name != INTERCEPT
        correction = f"; Benjamini-Hochberg over {len(tested)}" if corrected else ""
        estimate = replace(
            one.estimate,
            metric=metric,
            method=one.estimate.method + notes + correction,
            remarks=(*one.estimate.remarks, *remarks),
        )
        scope = {"regression": fit.model, "term": one.name}
        yield result_row(estimate, scope, origin, next(adjusted) if corrected else None)


def _table(data: SweepData, groups: Sequence[Group]) -> dict[str, np.ndarray]:
    """Return a row per scored sample of every own arm."""
    parts = [
        _of_judge(data, judge) for group in groups for judge in group.judges if judge.of_kind("own")
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_judge(data: SweepData, judge: Judge) -> dict[str, np.ndarray]:
    experiment, (arm,) = judge.experiment, judge.of_kind("own")
    items = data.items_of([[arm]])
    verdicts = data.verdicts([[arm]], items, experiment.scale_size)
    sizes, score = set_sizes(verdicts.stages), scores(verdicts)
    constant = {
        "model": experiment.model,
        "concept": experiment.concept,
        "task_type": experiment.task_type,
        "scoring_method": experiment.scoring_method,
        "evidence_view": experiment.evidence_view,
        "scale_size": experiment.scale_size,
        "rubric_quality": arm.quality,
        "rubric_owner": arm.rubric_owner,
    }
    return {
        "item": items[verdicts.item],
        "score": score,
        # Of a set the stage at its middle, halves up.
        "stage": np.floor(score * (experiment.scale_size - 1) + 0.5) + 1,
        "uncertainty_gap": np.where(sizes > 1, sizes / experiment.scale_size, 0.0),
        **{name: np.full(len(verdicts), value) for name, value in constant.items()},
    }
