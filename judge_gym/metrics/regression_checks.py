"""Checks of the regressions by other models: ordered logit, and crossed random effects.

They ask whether a conclusion of `least_squares` hangs on its assumptions. Each gives figures or
says why there are none; a fit that did not converge is no figure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.formats import side_of_0
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import EPSILON, Estimate
from judge_gym.metrics.likelihoods import CrossedModel, NoFit, proportional_odds
from judge_gym.metrics.regression import (
    INTERCEPT,
    SINGULAR,
    Coefficient,
    Fit,
    ModelSpec,
    Table,
    build_design,
    fit_of,
    missing_coefficient,
    t_coefficient,
    undetermined,
    unit_of,
)

MAX_ROWS = 100_000
"""Rows an ordered logit is fitted to: whole items, drawn by seed, so that its memory is bounded."""
MAX_LEVELS = 500
"""Levels of a random factor beside items, whose number a step of the fit costs squared."""

_WHY_THEY_DIFFER = (
    "stages are equally far apart and every sample counts once, also in cells of many replicates"
)


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
        fitted = ordered_logit(names, matrix, stage, design.item, design.question)
    return fit_of(fitted, design, spec)


def check_by_mixed_model(spec: ModelSpec, table: Table) -> Fit:
    """Return the model's factors with random items crossed with random rubric owners.

    With random questions, where several items share one. Needs `rubric_owner` in the table; where
    it has one value there is nothing to cross.
    """
    design = build_design(spec, table)
    random = {"item": design.item}
    if design.question is not None:
        random["question"] = design.question
    owner = np.asarray(table["rubric_owner"])[design.rows]
    if len(np.unique(owner)) > 1:
        random["rubric owner"] = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    fitted = mixed_model(design.names, design.matrix, design.outcome, random, unit=spec.unit)
    return fit_of(fitted, design, spec)


def beside_least_squares(check: Fit, fitted: Fit) -> Fit:
    """Return the check, with a note in the method of each term whose sign it contradicts.

    Signs contradict where they differ and one of the intervals leaves out 0.
    """
    by_name = {term.name: term.estimate for term in fitted.coefficients}

    def noted(coefficient: Coefficient) -> Coefficient:
        checked = coefficient.estimate
        reference = by_name.get(coefficient.name, checked)
        opposed = (checked.estimate or 0.0) * (reference.estimate or 0.0) < 0
        if not opposed or not (side_of_0(checked) or side_of_0(reference)):
            return coefficient
        method = f"{checked.method}; the sign contradicts least squares, where {_WHY_THEY_DIFFER}"
        return replace(coefficient, estimate=replace(checked, method=method))

    return replace(check, coefficients=tuple(map(noted, check.coefficients)))


def ordered_logit(
    names: Sequence[str],
    design: FloatArray,
    stage: IntArray,
    item: IntArray,
    question: IntArray | None = None,
) -> list[Coefficient]:
    """Return proportional-odds coefficients (log odds), standard errors clustered by item.

    With a `question` of each sample by that, as several items share one. `design` (n x k) has no
    intercept; the thresholds are estimated beside it. t interval with items - 1, or questions - 1,
    degrees of freedom. See `likelihoods`.
    """
    unit, method = "log odds", f"ordered logit, clustered by {unit_of(question)}"
    cluster = item if question is None else question
    if not names:  # one judge, one concept: the thresholds are all there is
        return []
    if len(np.unique(stage)) < 2:
        return _all_missing(names, "every sample is at one stage", item, unit)
    if len(np.unique(cluster)) < 2:
        return _all_missing(names, f"there is one {unit_of(question)}", item, unit)
    drawn, note = _bounded(cluster, unit_of(question))
    design, item, cluster = design[drawn], item[drawn], _codes(cluster[drawn])
    reasons, columns = _determined(
        (INTERCEPT, *names), np.column_stack([np.ones(len(item)), design])
    )

    def fit() -> tuple[FloatArray, FloatArray]:
        return proportional_odds(design[:, columns[1:]], _codes(stage[drawn]), cluster)

    return _fitted(names, reasons, columns[1:], fit, item, cluster, unit, method + note)


def mixed_model(
    names: Sequence[str],
    design: FloatArray,
    outcome: FloatArray,
    random: Mapping[str, IntArray],
    *,
    unit: str = "0-1 scale",
) -> list[Coefficient]:
    """Return the fixed effects (first) and variance components (named "variance of ...").

    `random` holds crossed random intercepts, "item" first, and "question" where several items share
    one. Replicates are averaged first: what a
    judge reads in one item then is the residual, whose variance is not independent evidence. A
    random factor that the design cannot tell apart is left out, with the reason at its variance.
    t interval with items - 1, or questions - 1, degrees of freedom, none for the variances. See
    `likelihoods`.
    """
    item, question = random["item"], random.get("question")
    cluster = item if question is None else question
    every = (*names, *_variance_names(random))
    if np.ptp(outcome) <= EPSILON:
        return _all_missing(every, "the outcome is the same in every sample", item, unit)
    if len(np.unique(cluster)) < 2:
        return _all_missing(every, f"there is one {unit_of(question)}", item, unit)
    for name, codes in list(random.items())[1:]:
        if (levels := len(np.unique(codes))) > MAX_LEVELS:
            because = f"it fits at most {MAX_LEVELS} of a random {name}, and there are {levels}"
            return _all_missing(every, because, item, unit)
    rows, outcome, random = _cells(design, outcome, random)
    reasons, columns = _determined(names, rows)
    # Orthonormal columns, so that no digits are lost where a covariate hardly differs.
    basis, triangle = np.linalg.qr(rows[:, columns])
    try:
        model = CrossedModel(basis, outcome, list(random.values()))
        unidentified = dict(zip(random, model.unidentified(), strict=True))
        result = model.fit(np.array([not because for because in unidentified.values()]))
    except (NoFit, np.linalg.LinAlgError) as error:
        return _all_missing(every, _because(error), item, unit)
    variances = dict(zip(random, result.variances, strict=True))
    kept = {name: variances[name] for name, because in unidentified.items() if not because}
    method = f"mixed model, REML over {len(outcome)} cell means{_factors_in_words(kept)}"
    back = np.linalg.inv(triangle)

    def fit() -> tuple[FloatArray, FloatArray]:
        covariance = back @ result.covariance @ back.T
        return back @ result.coefficients, np.sqrt(np.diag(covariance))

    fixed = _fitted(names, reasons, columns, fit, item, cluster, unit, method)
    return [
        *fixed,
        *(
            _variance(name, value, unidentified.get(name, ""), item, unit, method)
            for name, value in {**variances, "residual": result.residual}.items()
        ),
    ]


def _factors_in_words(variances: Mapping[str, float]) -> str:
    """Return which random factors are in a model, and which of their variances are 0."""
    text = f"; random {', '.join(variances)}" if variances else "; no random factor"
    absent = [f"variance of {name} is 0" for name, value in variances.items() if value == 0]
    return text + (f"; at its bound: {', '.join(absent)}" if absent else "")


def _variance(
    name: str, value: float, reason: str, item: IntArray, unit: str, method: str
) -> Coefficient:
    name, unit, items = f"variance of {name}", f"squared {unit}", len(np.unique(item))
    if reason:
        return missing_coefficient(name, reason, item, unit)
    because = "it is a variance" + ("" if value else ", and at its bound")
    point = Estimate(
        name, float(value), None, None, len(item), items, method=method, unit=unit, because=because
    )
    return Coefficient(name, point)


def _variance_names(random: Mapping[str, IntArray]) -> list[str]:
    return [*(f"variance of {name}" for name in random), "variance of residual"]


def _cells(
    design: FloatArray, outcome: FloatArray, random: Mapping[str, IntArray]
) -> tuple[FloatArray, FloatArray, dict[str, IntArray]]:
    """Return one row per distinct (design row, random levels), with the mean outcome."""
    cell = np.zeros(len(outcome), dtype=np.int64)
    for column in (*design.T, *random.values()):
        code = _codes(column)
        # Counted anew after each column, so that the product stays small.
        cell = _codes(cell * (int(code.max()) + 1) + code)
    _, first = np.unique(cell, return_index=True)
    means = np.bincount(cell, outcome) / np.bincount(cell)
    return design[first], means, {name: _codes(codes[first]) for name, codes in random.items()}


def _codes(values: np.ndarray) -> IntArray:
    return np.unique(values, return_inverse=True)[1].ravel().astype(np.int64)


def _determined(names: Sequence[str], design: FloatArray) -> tuple[dict[str, str], BoolArray]:
    """Return why names are undetermined, and columns that span the design, the determined among
    them: each that adds to those before it."""
    kept: list[FloatArray] = []
    chosen = np.zeros(len(names), dtype=np.bool_)
    for j, column in enumerate(design.T):
        left = column.astype(np.float64)
        for _ in range(2):  # once more, for the digits that the first pass loses
            for earlier in kept:
                left = left - earlier * (earlier @ left)
        size = float(np.linalg.norm(left))
        if size > SINGULAR * float(np.linalg.norm(column)):
            kept.append(left / size)
            chosen[j] = True
    same = "the design cannot tell it apart from the terms before it"
    reasons = {name: same for name, ok in zip(names, chosen, strict=True) if not ok}
    return reasons | undetermined(names, design), chosen


def _bounded(item: IntArray, unit: str) -> tuple[BoolArray, str]:
    """Return the rows to fit and a note: all, or whole items, or questions, up to `MAX_ROWS`."""
    items, sizes = np.unique(item, return_counts=True)
    if len(item) <= MAX_ROWS:
        return np.ones(len(item), dtype=np.bool_), ""
    order = np.random.default_rng(0).permutation(len(items))
    kept = order[np.cumsum(sizes[order]) <= MAX_ROWS]
    # Two items at least, or there is nothing to cluster by.
    kept = kept if len(kept) > 1 else order[:2]
    return np.isin(item, items[kept]), f"; on {len(kept)} of {len(items)} {unit}s, drawn by seed"


def _fitted(
    names: Sequence[str],
    reasons: Mapping[str, str],
    columns: BoolArray,
    fit: Callable[[], tuple[FloatArray, FloatArray]],
    item: IntArray,
    cluster: IntArray,
    unit: str,
    method: str,
) -> list[Coefficient]:
    """Return the coefficients that are determined; a fit that fails becomes a reason."""
    try:
        values, errors = fit()
        if not (np.isfinite(values).all() and np.isfinite(errors).all() and (errors > 0).all()):
            raise NoFit("the fit gave no finite standard errors")
    except (NoFit, np.linalg.LinAlgError) as failed:
        return _all_missing(names, _because(failed), item, unit)
    df = len(np.unique(cluster)) - 1.0
    value, error = np.full((2, len(names)), np.nan)
    value[columns], error[columns] = values, errors
    return [
        missing_coefficient(name, reasons[name], item, unit)
        if name in reasons
        else _clustered_coefficient(name, float(value[j]), float(error[j]), df, item, unit, method)
        for j, name in enumerate(names)
    ]


def _because(error: Exception) -> str:
    return str(error) if isinstance(error, NoFit) else f"the fit failed ({error})"


def _clustered_coefficient(
    name: str, value: float, error: float, df: float, item: IntArray, unit: str, method: str
) -> Coefficient:
    items = len(np.unique(item))
    point = Estimate(name, value, None, None, len(item), items, method=method, unit=unit)
    return t_coefficient(point, error, df)


def _all_missing(
    names: Sequence[str], because: str, item: IntArray, unit: str
) -> list[Coefficient]:
    return [missing_coefficient(name, because, item, unit) for name in names]
