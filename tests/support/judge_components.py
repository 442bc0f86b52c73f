"""Intraclass correlations of judges, and their severity.

Correlations take a complete table judges x items of cell means over replicates, on the 0-1 scale
and the items that every judge scored. Items are resampled for intervals; judges are not, as there
are few. Severity is the rating-scale Rasch model with judges as test questions and items as
persons. Conditional on an item's total the item's parameter cancels, so severities do not depend
on which items were drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, Verdicts, mean_scores
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    Estimate,
    normal_quantile,
    not_estimable,
    resampled_intervals,
    with_interval,
)


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Mean squares of a complete items x judges table, one per row of item weights (r).

    All are of cell means: `items` between items, `judges` between judges, `rest` the residual of
    both, `within` between the judges of one item.
    """

    items: FloatArray
    judges: FloatArray
    rest: FloatArray
    n_items: FloatArray
    n_judges: int

    @property
    def within(self) -> FloatArray:
        """Judges and rest together: the mean square of a one-way table."""
        between = self.judges + (self.n_items - 1) * self.rest
        return np.asarray(between / self.n_items)


def mean_squares(table: FloatArray, weights: FloatArray) -> MeanSquares:
    """Return the two-way mean squares of `table` (items x judges) under item weights (r, items)."""
    judges, total = table.shape[1], weights.sum(axis=1)
    # About the mean of all, so that no digits are lost where items hardly differ.
    centred = table - table.mean()
    per_item = centred.mean(axis=1)
    within = ((centred - per_item[:, None]) ** 2).sum(axis=1)
    summed = weights @ np.column_stack([centred, per_item**2, within])
    per_judge = summed[:, :judges] / total[:, None]
    grand = per_judge.mean(axis=1)
    between = np.maximum(summed[:, judges] - total * grand**2, 0.0) * judges
    apart = ((per_judge - grand[:, None]) ** 2).sum(axis=1) * total
    rest = np.maximum(summed[:, judges + 1] - apart, 0.0) / ((total - 1) * (judges - 1))
    return MeanSquares(between / (total - 1), apart / (judges - 1), rest, total, judges)


def judge_icc(verdicts: Verdicts, rng: np.random.Generator) -> list[Estimate]:
    """Return ICC(1), ICC(2), ICC(3) of one judge and of the mean of all of them, at most 1.

    Items are targets and judges raters, by cell means. ICC(1): judges differ by item; ICC(2):
    absolute agreement, judges a sample; ICC(3): consistency, these judges alone. `_mean` is the
    reliability of the judges' average. Interval: t with the standard error of resampling items.
    Needs two judges and two items that both scored. Source: Shrout and Fleiss 1979,
    Psychological Bulletin 86.
    """
    table, n = _table(verdicts, 1)
    names = [f"judge_icc{form}{suffix}" for suffix in ("", "_mean") for form in (1, 2, 3)]
    because = _obstacle(table)
    if because:
        return [not_estimable(name, because, n=n, unit="share of variance") for name in names]

    def forms(weights: FloatArray) -> FloatArray:
        return _iccs(mean_squares(table, weights))

    return _shares(names, n, len(table), rng, forms)


def _iccs(means: MeanSquares) -> FloatArray:
    """Return ICC 1, 2, 3 of one judge, then of their mean (6, r); NaN where nothing varies."""
    items, judges, rest, k = means.items, means.judges, means.rest, means.n_judges
    extra = k * (judges - rest) / means.n_items
    forms = [
        (items - means.within, items + (k - 1) * means.within),
        (items - rest, items + (k - 1) * rest + extra),
        (items - rest, items + (k - 1) * rest),
        (items - means.within, items),
        (items - rest, items + extra / k),
        (items - rest, items),
    ]
    above, below = (np.asarray(part) for part in zip(*forms, strict=True))
    undefined = np.full_like(above, np.nan)
    return np.asarray(np.divide(above, below, where=below > EPSILON, out=undefined))


def _table(verdicts: Verdicts, at_least: int) -> tuple[FloatArray, int]:
    """Return cell means, items x judges, of the items all judges scored, and their samples."""
    common = verdicts.common_items(at_least)
    cells = mean_scores(verdicts)
    return np.ascontiguousarray(cells.value[:, common].T), int(cells.n[:, common].sum())


def _obstacle(table: FloatArray) -> str:
    if min(table.shape) >= 2:
        return ""
    items, judges = table.shape
    return f"it needs 2 judges and 2 items all of them scored; there are {judges} and {items}"


def _shares(
    names: Sequence[str],
    n: int,
    n_items: int,
    rng: np.random.Generator,
    statistics: Callable[[FloatArray], FloatArray],
    *,
    unit: str = "share of variance",
    bounds: tuple[float, float] = SIGNED_UNIT,
) -> list[Estimate]:
    """Return the estimates of all rows of `statistics`, from the same draws of items."""
    intervals = resampled_intervals(statistics, len(names), n_items, rng)
    values = statistics(np.ones((1, n_items)))[:, 0]
    method = "two-way table of cell means; t interval, items resampled"
    estimates = []
    for name, value, interval in zip(names, values.tolist(), intervals, strict=True):
        if np.isfinite(value):
            estimate = Estimate(name, value, None, None, n, n_items, method=method, unit=unit)
            estimates.append(with_interval(estimate, interval, bounds))
        else:
            because = "the scores do not vary"
            estimates.append(not_estimable(name, because, n=n, n_items=n_items, unit=unit))
    return estimates


_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class RatingScale:
    """Severity of each judge in logits (they sum to 0), the steps of the scale, and the fit.

    `steps` holds ω of stages 1..S, cumulated thresholds with ω1 = ω2 = 0; empty with
    `log_likelihood` None when nothing could be estimated.
    """

    severity: list[Estimate]
    steps: FloatArray
    log_likelihood: float | None


def rating_scale(stages: IntArray, n_stages: int) -> RatingScale:
    """Return the rating-scale model of `stages` (items x judges, 1..S, complete).

    P(stage s) ∝ exp((s-1)·(θ_item - severity_judge) - ω_s), fitted by conditional maximum
    likelihood; normal interval from the observed information. Items at one end of the scale for all
    judges carry no information. Needs two judges, every stage in use, and judges that are not all
    at one end. Sources: Andrich 1978, Psychometrika 43; Linacre 1989 for judges as a facet.
    """
    items, judges = stages.shape
    because = _scale_obstacle(stages, n_stages)
    if because:
        absent = not_estimable("severity", because, n=stages.size, n_items=items, unit="logit")
        return RatingScale([absent] * judges, np.empty(0), None)
    chosen = np.eye(n_stages)[stages - 1]
    counts = chosen.sum(axis=0)
    totals = np.bincount((stages - 1).sum(axis=1), minlength=judges * (n_stages - 1) + 1)
    value, covariance, likelihood = _fit(counts, totals.astype(np.float64))
    severity, steps = _unpack(value, judges, n_stages)
    to_judges = np.vstack([-np.ones(judges - 1), np.eye(judges - 1)])
    spread = to_judges @ covariance[: judges - 1, : judges - 1] @ to_judges.T
    half = normal_quantile() * np.sqrt(np.diagonal(spread))
    method = "rating-scale model, conditional likelihood; normal interval"
    figures = [
        with_interval(
            Estimate("severity", float(b), None, None, items, items, method=method, unit="logit"),
            (float(b - h), float(b + h)),
        )
        for b, h in zip(severity, half, strict=True)
    ]
    return RatingScale(figures, steps, likelihood)


def _scale_obstacle(stages: IntArray, n_stages: int) -> str:
    if stages.shape[1] < 2:
        return "it compares two judges, and there is one"
    unused = sorted(set(range(1, n_stages + 1)) - set(np.unique(stages).tolist()))
    if unused:
        return f"no verdict is at stage {', '.join(map(str, unused))}"
    if ((stages == 1).all(axis=0) | (stages == n_stages).all(axis=0)).any():
        return "a judge puts every item at the same end of the scale"
    return ""


def _fit(counts: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the parameters, their covariance and the conditional log likelihood."""
    from scipy.optimize import minimize

    free = counts.shape[0] - 1 + counts.shape[1] - 2
    result = minimize(_negative, np.zeros(free), (counts, totals), jac=True, method="BFGS")
    shifts = _STEP * np.eye(free)
    slopes = [
        (_negative(result.x + s, counts, totals)[1] - _negative(result.x - s, counts, totals)[1])
        / (2 * _STEP)
        for s in shifts
    ]
    return np.asarray(result.x), np.linalg.inv(np.array(slopes)), -float(result.fun)


def _unpack(free: FloatArray, judges: int, n_stages: int) -> tuple[FloatArray, FloatArray]:
    severity = np.concatenate([[-free[: judges - 1].sum()], free[: judges - 1]])
    return severity, np.concatenate([np.zeros(2), free[judges - 1 :]])[:n_stages]


def _negative(free: FloatArray, counts: FloatArray, totals: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the conditional log likelihood and its gradient.

    `counts` is judges x stages, `totals` how many items have each total over judges.
    """
    judges, n_stages = counts.shape
    severity, steps = _unpack(free, judges, n_stages)
    logits = -np.arange(n_stages) * severity[:, None] - steps
    terms = np.exp(logits)
    ways = _polynomial(terms)
    expected = np.zeros_like(counts)
    for judge in range(judges):
        others = _polynomial(np.delete(terms, judge, axis=0))
        for stage in range(n_stages):
            reached = slice(stage, stage + len(others))
            chance = terms[judge, stage] * others / ways[reached]
            expected[judge, stage] = totals[reached] @ chance
    surplus = counts - expected
    by_severity = -(surplus @ np.arange(n_stages))
    by_step = -surplus.sum(axis=0)[2:]
    gradient = np.concatenate([by_severity[1:] - by_severity[0], by_step])
    value = float((counts * logits).sum() - totals @ np.log(ways))
    return -value, -gradient


def _polynomial(terms: FloatArray) -> FloatArray:
    """Return the coefficients of Π over judges of Σ_s terms[judge, s]·t^s."""
    product = np.ones(1)
    for row in terms:
        product = np.convolve(product, row)
    return product
