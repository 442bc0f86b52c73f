"""Maximum likelihood of the proportional-odds model, the same on every machine.

P(stage <= s) = F(τ_s - xβ) with F the logistic function. The log likelihood is concave in τ and β
together (Pratt 1981, JASA 76), so Newton's method with exact derivatives ends at its one maximum.
Source: McCullagh 1980, JRSS B 42.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.regression import UNTOLD
from judge_gym.metrics.restricted_likelihood import NoFit

RUNAWAY = 15.0
"""Log odds beyond which a level has only one stage in practice."""
_MAX_STEPS = 100
_SETTLED = 1e-10
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class _Derivatives:
    """Of the log likelihood, by τ then β: value, a row of scores per sample, negative Hessian."""

    value: float
    scores: FloatArray
    information: FloatArray


def proportional_odds(
    design: FloatArray, stage: IntArray, item: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return β of `design` (n x k, of full rank beside an intercept) and its standard errors.

    `stage` and `item` are codes from 0. Standard errors are clustered by item, with the factor
    G/(G-1) · (n-1)/(n-K) for G items and K parameters. Raises NoFit where some level has samples
    at one end of the scale only.
    """
    cuts = int(stage.max())
    if len(stage) <= cuts + design.shape[1]:
        raise NoFit("there are as many terms as samples")
    width = np.ptp(design, axis=0)
    # Centred and orthonormal, so that no digits are lost where a covariate hardly differs.
    basis, triangle = np.linalg.qr(design - design.mean(axis=0))
    basis, back = basis * len(stage) ** 0.5, np.linalg.inv(triangle) * len(stage) ** 0.5
    shares = np.cumsum(np.bincount(stage))[:-1] / len(stage)
    at = np.concatenate([np.log(shares / (1 - shares)), np.zeros(design.shape[1])])
    now = _derivatives(at, basis, stage, cuts)
    for _ in range(_MAX_STEPS):
        step = np.linalg.solve(now.information, now.scores.sum(axis=0))
        after = _derivatives(at + step, basis, stage, cuts)
        while not after.value > now.value - _ROUNDING and np.abs(step).max() > _SETTLED:
            step = step / 2
            after = _derivatives(at + step, basis, stage, cuts)
        at, now = at + step, after
        beta = back @ at[cuts:]
        if (np.abs(beta) * width > RUNAWAY).any():
            raise NoFit("some level has samples at one end of the scale only")
        if np.abs(step).max() <= _SETTLED * max(1.0, float(np.abs(at).max())):
            return beta, _clustered(now, item, back, cuts)
    raise NoFit("the fit did not converge")


def _clustered(now: _Derivatives, item: IntArray, back: FloatArray, cuts: int) -> FloatArray:
    """Return the standard errors of `back` times β; 0 where the items leave no variation."""
    n, k = now.scores.shape
    items = int(item.max()) + 1
    summed = np.zeros((items, k))
    np.add.at(summed, item, now.scores)
    of_beta = back @ np.linalg.inv(now.information)[cuts:]
    factor = items / (items - 1) * (n - 1) / (n - k)
    variance = ((of_beta @ summed.T) ** 2).sum(axis=1) * factor
    alone = (of_beta[:, cuts:] * back).sum(axis=1)
    return np.asarray(np.sqrt(np.where(variance > UNTOLD * alone, variance, 0.0)))


def _derivatives(at: FloatArray, design: FloatArray, stage: IntArray, cuts: int) -> _Derivatives:
    """Return the derivatives at τ, β; a value of minus infinity where the τ are out of order."""
    n = len(stage)
    edges = np.concatenate([[-np.inf], at[:cuts], [np.inf]])
    centre = design @ at[cuts:]
    above, below = edges[stage + 1] - centre, edges[stage] - centre
    if (np.diff(at[:cuts]) <= 0).any():
        nothing = np.zeros((n, len(at)))
        return _Derivatives(-np.inf, nothing, np.eye(len(at)))
    # F(a) - F(b) = F(-b) - F(-a): the pair whose values are small keeps its digits.
    flip = below > 0
    high, low = np.where(flip, -below, above), np.where(flip, -above, below)
    probability = _logistic(high) - _logistic(low)
    slope_above, bend_above = _slopes(above)
    slope_below, bend_below = _slopes(below)
    by_above, by_below = slope_above / probability, slope_below / probability
    towards = np.column_stack([np.zeros((n, cuts)), -design])
    upper, lower = towards.copy(), towards.copy()
    rows = np.arange(n)
    inner = stage < cuts
    upper[rows[inner], stage[inner]] = 1
    inner = stage > 0
    lower[rows[inner], stage[inner] - 1] = 1
    scores = by_above[:, None] * upper - by_below[:, None] * lower
    curved = upper.T @ ((bend_above / probability)[:, None] * upper)
    curved -= lower.T @ ((bend_below / probability)[:, None] * lower)
    with np.errstate(divide="ignore"):
        value = float(np.log(probability).sum())
    return _Derivatives(value, scores, scores.T @ scores - curved)


def _logistic(x: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(x))


def _slopes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first and second derivative of the logistic function."""
    below, above = _logistic(x), _logistic(-x)
    slope = below * above
    return slope, slope * (above - below)
