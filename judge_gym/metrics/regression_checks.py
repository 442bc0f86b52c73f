"""Checks of the regressions by other models: ordered logit, and crossed random effects.

They ask whether a conclusion of `least_squares` hangs on its assumptions. Each gives figures or
says why there are none; a fit that did not converge is no figure.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.regression import (
    Coefficient,
    missing_coefficient,
    t_coefficient,
    undetermined,
)
from judge_gym.metrics.regression_design import (
    INTERCEPT,
    Fit,
    ModelSpec,
    Table,
    build_design,
    with_left_out,
)

MAX_ROWS = 5_000
"""Rows a check is fitted to: whole items, drawn by seed, so that its time is bounded."""
MAX_ITERATIONS = 100
MAX_MIXED_ITEMS = 80
"""Items that a mixed model is fitted to: each is a random level, and a fit costs their square."""
_RUNAWAY = 15.0
"""Log odds beyond which a level has only one stage in practice."""


def check_by_ordered_logit(spec: ModelSpec, table: Table) -> Fit:
    """Return the model's factors in log odds of a higher stage; needs `stage` and `scale_size`.

    Stages of different scales are no common order: with several scales nothing is estimated.
    """
    design = build_design(spec, table)
    names, matrix = design.names[1:], design.matrix[:, 1:]
    scales = np.unique(np.asarray(table["scale_size"])[design.rows])
    if len(scales) > 1:
        because = f"the samples are on {len(scales)} scales, whose stages have no common order"
        fitted = _all_missing(names, because, design.item, "log odds")
    else:
        stage = np.asarray(table["stage"])[design.rows].astype(np.int64)
        fitted = ordered_logit(names, matrix, stage, design.item)
    return Fit(spec.name, with_left_out(fitted, design, spec), design.references, design.notes)


def check_by_mixed_model(spec: ModelSpec, table: Table) -> Fit:
    """Return the model's factors with random items crossed with random rubric owners.

    Needs `rubric_owner` in the table; where it has one value there is nothing to cross.
    """
    design = build_design(spec, table)
    random = {"item": design.item}
    owner = np.asarray(table["rubric_owner"])[design.rows]
    if len(np.unique(owner)) > 1:
        random["rubric owner"] = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    fitted = mixed_model(design.names, design.matrix, design.outcome, random, unit=spec.unit)
    return Fit(spec.name, with_left_out(fitted, design, spec), design.references, design.notes)


def ordered_logit(
    names: Sequence[str], design: FloatArray, stage: IntArray, item: IntArray
) -> list[Coefficient]:
    """Return proportional-odds coefficients (log odds), standard errors clustered by item.

    `design` (n x k) has no intercept; the thresholds are estimated beside it. t interval with
    items - 1 degrees of freedom. Source: McCullagh 1980, JRSS B 42; fitted by statsmodels.
    """
    unit, method = "log odds", "ordered logit, clustered by item"
    if not names:  # one judge, one concept: the thresholds are all there is
        return []
    if len(np.unique(stage)) < 2:
        return _all_missing(names, "every sample is at one stage", item, unit)
    if len(np.unique(item)) < 2:
        return _all_missing(names, "there is one item", item, unit)
    drawn, note = _bounded(item, len(item))

    def fit(columns: BoolArray) -> tuple[FloatArray, FloatArray]:
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        model = OrderedModel(stage[drawn], design[drawn][:, columns], distr="logit")
        result = model.fit(
            method="newton",
            maxiter=MAX_ITERATIONS,
            disp=0,
            cov_type="cluster",
            cov_kwds={"groups": item[drawn]},
        )
        if not result.mle_retvals["converged"]:
            raise _Failed("the fit did not converge")
        k = int(columns.sum())
        if (np.abs(result.params[:k]) > _RUNAWAY).any():
            raise _Failed("some level has samples at one end of the scale only")
        return np.asarray(result.params[:k]), np.asarray(result.bse[:k])

    intercept = np.column_stack([np.ones(len(item)), design])
    told = undetermined((INTERCEPT, *names), intercept[drawn])
    told.pop(INTERCEPT, None)
    return _fitted(names, told, fit, item[drawn], unit, method + note)


def mixed_model(
    names: Sequence[str],
    design: FloatArray,
    outcome: FloatArray,
    random: Mapping[str, IntArray],
    *,
    unit: str = "0-1 scale",
) -> list[Coefficient]:
    """Return the fixed effects (first) and variance components (named "variance of ...").

    `random` holds crossed random intercepts, "item" among them. Replicates are averaged first:
    what a judge reads in one item then is the residual, whose variance is not independent
    evidence. REML (Patterson and Thompson 1971) by statsmodels; t interval with items - 1
    degrees of freedom, none for the variances.
    """
    item, method = random["item"], "mixed model, REML over cell means; random " + ", ".join(random)
    every = (*names, *_variance_names(random))
    if np.ptp(outcome) == 0:
        return _all_missing(every, "the outcome is the same in every sample", item, unit)
    drawn, note = _bounded(item, MAX_MIXED_ITEMS)
    rows, outcome, random = _cells(design[drawn], outcome[drawn], random, drawn)
    variances: dict[str, float] = {}

    def fit(columns: BoolArray) -> tuple[FloatArray, FloatArray]:
        result = _fit_mixed(rows[:, columns], outcome, random)
        variances.update(zip(_variance_names(random), (*result.vcomp, result.scale), strict=True))
        return np.asarray(result.fe_params), np.asarray(result.bse_fe)

    told = undetermined(names, rows)
    fitted = _fitted(names, told, fit, random["item"], unit, method + note)
    if not variances:
        because = fitted[0].estimate.reason.removeprefix("not estimable, because ")
        return [*fitted, *_all_missing(_variance_names(random), because, item, unit)]
    return [*fitted, *_variances(variances, random["item"], unit, method + note)]


def _variances(
    values: Mapping[str, float], item: IntArray, unit: str, method: str
) -> list[Coefficient]:
    n, items, reason = len(item), len(np.unique(item)), "no interval, because it is a variance"
    return [
        Coefficient(
            name,
            Estimate(
                name, float(value), None, None, n, items, method=method, unit=f"squared {unit}",
                reason=reason,
            ),
        )
        for name, value in values.items()
    ]  # fmt: skip


class _Failed(Exception):
    """Why a fit gives no figures."""


def _variance_names(random: Mapping[str, IntArray]) -> list[str]:
    return [*(f"variance of {name}" for name in random), "variance of residual"]


def _fit_mixed(design: FloatArray, outcome: FloatArray, random: Mapping[str, IntArray]) -> Any:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    codes = [np.unique(levels, return_inverse=True)[1] for levels in random.values()]
    parts = [np.eye(int(code.max()) + 1)[code] for code in codes]
    labels = [[[str(level) for level in range(part.shape[1])]] for part in parts]
    effects = VCSpec(list(random), labels, [[part] for part in parts])
    # One group that holds all: the effects cross, so none of them nests the others.
    model = MixedLM(outcome, design, groups=np.zeros(len(outcome)), exog_vc=effects)
    result = model.fit(reml=True, maxiter=MAX_ITERATIONS)
    if not result.converged:
        raise _Failed("the fit did not converge")
    return result


def _cells(
    design: FloatArray, outcome: FloatArray, random: Mapping[str, IntArray], drawn: BoolArray
) -> tuple[FloatArray, FloatArray, dict[str, IntArray]]:
    """Return one row per distinct (design row, random levels), with the mean outcome."""
    levels = np.column_stack([codes[drawn] for codes in random.values()])
    keys = np.column_stack([design, levels])
    cells, code = np.unique(keys, axis=0, return_inverse=True)
    code = code.ravel()
    means = np.bincount(code, outcome) / np.bincount(code)
    k = design.shape[1]
    kept = {name: cells[:, k + i].astype(np.int64) for i, name in enumerate(random)}
    return cells[:, :k], np.asarray(means), kept


def _bounded(item: IntArray, most: int) -> tuple[BoolArray, str]:
    """Return the rows to fit and a note: all, or whole items up to `most` and `MAX_ROWS`."""
    items, sizes = np.unique(item, return_counts=True)
    if len(item) <= MAX_ROWS and len(items) <= most:
        return np.ones(len(item), dtype=np.bool_), ""
    order = np.random.default_rng(0).permutation(len(items))
    kept = order[np.cumsum(sizes[order]) <= MAX_ROWS][:most]
    # Two items at least, or there is nothing to cluster by.
    kept = kept if len(kept) > 1 else order[:2]
    return np.isin(item, items[kept]), f"; on {len(kept)} of {len(items)} items, drawn by seed"


def _fitted(
    names: Sequence[str],
    untold: Mapping[str, str],
    fit: Callable[[BoolArray], tuple[FloatArray, FloatArray]],
    item: IntArray,
    unit: str,
    method: str,
) -> list[Coefficient]:
    """Fit the columns that are determined; what fails or is not finite becomes a reason."""
    # It has every warning shown when it is first imported, so not inside the block below.
    import statsmodels.tools.sm_exceptions  # noqa: F401

    columns = np.array([name not in untold for name in names])
    try:
        with warnings.catch_warnings():
            # What they warn of is asked of the result below, or raises.
            warnings.simplefilter("ignore")
            values, errors = fit(columns)
        if not (np.isfinite(values).all() and np.isfinite(errors).all() and (errors > 0).all()):
            raise _Failed("the fit gave no finite standard errors")
    except (_Failed, np.linalg.LinAlgError, ValueError) as error:
        because = str(error) if isinstance(error, _Failed) else f"the fit failed ({error})"
        return _all_missing(names, because, item, unit)
    found = iter(zip(values, errors, strict=True))
    return [
        missing_coefficient(name, untold[name], item, unit)
        if name in untold
        else _told(name, *next(found), item, unit, method)
        for name in names
    ]


def _told(
    name: str, value: float, error: float, item: IntArray, unit: str, method: str
) -> Coefficient:
    items = len(np.unique(item))
    point = Estimate(name, float(value), None, None, len(item), items, method=method, unit=unit)
    return t_coefficient(point, float(error), items - 1.0)


def _all_missing(
    names: Sequence[str], because: str, item: IntArray, unit: str
) -> list[Coefficient]:
    return [missing_coefficient(name, because, item, unit) for name in names]
