"""Severity of judges by the rating-scale Rasch model: who puts the same items lower, and how much.

Judges take the part of test questions, items that of persons. Conditional on an item's total the
item drops out, so severities do not depend on which items were drawn.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, not_estimable, with_interval
from judge_gym.metrics.intervals import normal_quantile

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
    likelihood; normal interval from the observed information. Items at either end of the scale
    for all judges say nothing. Needs two judges, every stage in use, and judges that are not all
    at one end. Sources: Andrich 1978, Psychometrika 43; Linacre 1989 for judges as a facet.
    """
    items, judges = stages.shape
    because = _obstacle(stages, n_stages)
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


def _obstacle(stages: IntArray, n_stages: int) -> str:
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
    found = minimize(_negative, np.zeros(free), (counts, totals), jac=True, method="BFGS")
    shifts = _STEP * np.eye(free)
    slopes = [
        (_negative(found.x + s, counts, totals)[1] - _negative(found.x - s, counts, totals)[1])
        / (2 * _STEP)
        for s in shifts
    ]
    return np.asarray(found.x), np.linalg.inv(np.array(slopes)), -float(found.fun)


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
