"""Maximum likelihood for the checks of the regressions, the same on every machine.

Two models, both fitted by Newton's method with exact derivatives:

- A linear model with crossed random intercepts, by REML. The likelihood is profiled down to the
  ratios γ of each random factor's variance to the residual's. A variance of 0 is an outcome: every
  subset of the factors is fitted, and the most likely one is kept. Notation: V_k = Z_k Z_k',
  H = I + Σ γ_k V_k, P = H⁻¹ - H⁻¹X(X'H⁻¹X)⁻¹X'H⁻¹. The deviance is
  log|H| + log|X'H⁻¹X| + (m - p) log(y'Py). Source: Patterson and Thompson 1971, Biometrika 58;
  Searle, Casella and McCulloch 1992, chapter 6.
- The proportional-odds model P(stage <= s) = F(τ_s - xβ), F the logistic function. The log
  likelihood is concave in τ and β together (Pratt 1981, JASA 76), so its maximum is unique.
  Source: McCullagh 1980, JRSS B 42.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.regression import SINGULAR

ABSENT = 1e-8
"""Ratio to the residual's variance below which a variance is 0."""
_RUNAWAY = 1e8
"""Ratio above which there is no residual."""
_COLLINEAR = 1e-8
_STARTS = (0.01, 0.1, 1.0, 10.0, 100.0)
_MAX_STEPS = 100
_LONGEST_STEP = 2.0
_SETTLED = 1e-10
"""Step in log γ below which a fit has ended."""
_UNFELT = 1e-15
"""Gain of a step, per row, that the deviance does not show: where it is flat, a step is noise."""
_ROUNDING = 1e-9
"""Change of the deviance that can be rounding alone."""


class NoFit(Exception):
    """Why a model gives no figures."""


@dataclass(frozen=True, eq=False)
class RestrictedFit:
    """Coefficients and their covariance; variances, 0 included, of the factors and the residual."""

    coefficients: FloatArray
    covariance: FloatArray
    variances: FloatArray
    residual: float


@dataclass(frozen=True, eq=False)
class _FitPoint:
    """The deviance at one γ, with its gradient, its second derivatives and what a fit reports."""

    gamma: FloatArray
    deviance: float
    gradient: FloatArray
    curvature: FloatArray
    information: FloatArray
    traces: FloatArray
    coefficients: FloatArray
    covariance: FloatArray
    residual: float


class CrossedModel:
    """m rows: outcome y, fixed terms X of full rank, and codes from 0 of each random factor.

    The first factor may have many levels: a step costs (its levels) x (columns of all the rest)².
    Raises NoFit for as many terms as rows.
    """

    def __init__(self, fixed: FloatArray, outcome: FloatArray, codes: Sequence[IntArray]) -> None:
        first, *rest = codes
        indicators = [np.eye(int(code.max()) + 1)[code] for code in rest]
        columns = np.column_stack([fixed, *indicators])
        self._fixed, self._free = fixed.shape[1], len(outcome) - fixed.shape[1]
        if self._free < 1:
            raise NoFit("there are as many terms as rows")
        ends = np.cumsum([self._fixed, *(part.shape[1] for part in indicators)])
        self._blocks = [slice(a, b) for a, b in pairwise(ends)]
        self._size = np.bincount(first).astype(np.float64)
        both = np.column_stack([columns, outcome])
        self._sums = np.zeros((len(self._size), both.shape[1]))
        np.add.at(self._sums, first, both)
        self._products = both.T @ both

    def unidentified(self) -> list[str]:
        """Return for each factor "", or why its variance cannot be told from the other terms."""
        at = self._at(np.zeros(1 + len(self._blocks)))
        gram = np.empty((len(at.gamma) + 1,) * 2)
        gram[0, 0], gram[0, 1:], gram[1:, 0] = self._free, at.traces, at.traces
        gram[1:, 1:] = at.information
        total = np.array([self._free, *self._raw()])
        reasons, kept = [], [0]
        for k in range(1, len(gram)):
            kept_gram, cross = gram[np.ix_(kept, kept)], gram[kept, k]
            left = gram[k, k] - cross @ np.linalg.solve(kept_gram, cross)
            if gram[k, k] <= _COLLINEAR * total[k]:
                reasons.append("its levels are one with the fixed terms")
            elif left <= _COLLINEAR * gram[k, k]:
                reasons.append("the design cannot tell it apart from the residual")
            else:
                reasons.append("")
                kept.append(k)
        return reasons

    def fit(self, allowed: BoolArray) -> RestrictedFit:
        """Return the most likely fit with variances of `allowed` factors; the others are 0.

        Raises NoFit where no residual is left, or where a fit does not converge.
        """
        zero = self._at(np.zeros(len(allowed)))
        ends = [zero]
        for chosen in product((False, True), repeat=len(allowed)):
            inside = np.array(chosen)
            if inside.any() and not (inside & ~allowed).any():
                ends += self._climbed(inside)
        best = ends[0]
        for end in ends[1:]:
            # A smaller model is kept where a larger one is more likely by rounding alone.
            if end.deviance < best.deviance - _ROUNDING:
                best = end
        below = allowed & (best.gamma == 0) & (best.gradient < -_ROUNDING * self._free)
        if below.any():
            raise NoFit("the fit did not converge")
        return RestrictedFit(
            best.coefficients,
            best.covariance * best.residual,
            best.gamma * best.residual,
            best.residual,
        )

    def _climbed(self, inside: BoolArray) -> list[_FitPoint]:
        """Return where Newton's method ends from the most likely start; nothing at a bound."""
        starts = []
        for ratios in product(_STARTS, repeat=int(inside.sum())):
            gamma = np.zeros(len(inside))
            gamma[inside] = ratios
            starts.append(self._at(gamma))
        at = min(starts, key=lambda start: round(start.deviance, 6))
        for _ in range(_MAX_STEPS):
            step = _newton(at, inside)
            after = self._at(_moved(at.gamma, inside, step))
            while after.deviance > at.deviance + _ROUNDING and np.abs(step).max() > _SETTLED:
                step = step / 2
                after = self._at(_moved(at.gamma, inside, step))
            gain = abs(float(at.gradient[inside] * at.gamma[inside] @ step))
            at = after
            if at.gamma.max() > _RUNAWAY:
                raise NoFit("the random factors leave no residual")
            if at.gamma[inside].min() < ABSENT:
                return []
            if np.abs(step).max() <= _SETTLED or gain <= _UNFELT * self._free:
                return [at]
        raise NoFit("the fit did not converge")

    def _raw(self) -> list[float]:
        """Return tr(V_k V_k) of each factor: the squares of its levels' sizes."""
        sizes = [self._size, *(np.diag(self._products)[block] for block in self._blocks)]
        return [float((size**2).sum()) for size in sizes]

    def _at(self, gamma: FloatArray) -> _FitPoint:
        n = self._fixed
        shrink = 1 / (1 + gamma[0] * self._size)
        within = self._products - self._sums.T @ (self._sums * (gamma[0] * shrink)[:, None])
        scale = np.ones(len(within) - 1)
        for block, ratio in zip(self._blocks, gamma[1:], strict=True):
            scale[block] = ratio**0.5
        s, toward = within[:-1, :-1], within[:-1, -1]
        bordered = scale[:, None] * s * scale + np.diag(np.r_[np.zeros(n), np.ones(len(s) - n)])
        inverse = scale[:, None] * np.linalg.inv(bordered) * scale
        solved = inverse @ toward
        left = float(within[-1, -1] - toward @ solved)
        if left <= _COLLINEAR**2 * self._products[-1, -1]:
            raise NoFit("the terms leave no residual")
        # Z_k'Py, and Z_k'PZ_l: a diagonal less K for the first factor, plain for the others.
        first = self._sums[:, :-1] * shrink[:, None]
        toward_first = self._sums[:, -1] * shrink - first @ solved
        outer = s - s @ inverse @ s
        rest = toward - s @ solved
        aslant = first - first @ inverse @ s
        plain = self._size * shrink
        return self._point(
            gamma,
            float(np.linalg.slogdet(bordered)[1] - np.log(shrink).sum()),
            left,
            _Blocks(first, inverse, plain, toward_first, outer, rest, aslant, self._blocks),
            solved[:n],
            inverse[:n, :n],
        )

    def _point(
        self,
        gamma: FloatArray,
        determinants: float,
        left: float,
        blocks: "_Blocks",
        coefficients: FloatArray,
        covariance: FloatArray,
    ) -> _FitPoint:
        traces, information = blocks.traces()
        slopes, bends = blocks.quadratic()
        slopes, bends = slopes / left, bends / left
        return _FitPoint(
            gamma=gamma,
            deviance=determinants + self._free * float(np.log(left)),
            gradient=traces - self._free * slopes,
            curvature=-information + self._free * (2 * bends - np.outer(slopes, slopes)),
            information=information,
            traces=traces,
            coefficients=coefficients,
            covariance=covariance,
            residual=left / self._free,
        )


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The parts of Z'PZ and Z'Py: of the first factor by its low rank, of the others plain."""

    first: FloatArray
    inverse: FloatArray
    plain: FloatArray
    toward_first: FloatArray
    outer: FloatArray
    rest: FloatArray
    aslant: FloatArray
    blocks: Sequence[slice]

    def traces(self) -> tuple[FloatArray, FloatArray]:
        """Return tr(PV_k), and tr(PV_k PV_l)."""
        gram = self.first.T @ self.first @ self.inverse
        lowered = ((self.first @ self.inverse) * self.first).sum(axis=1)
        size = 1 + len(self.blocks)
        single, double = np.empty(size), np.empty((size, size))
        single[0] = (self.plain - lowered).sum()
        double[0, 0] = (self.plain**2 - 2 * self.plain * lowered).sum() + (gram * gram.T).sum()
        for k, block in enumerate(self.blocks, 1):
            single[k] = np.trace(self.outer[block, block])
            double[0, k] = double[k, 0] = (self.aslant[:, block] ** 2).sum()
            for other, partner in enumerate(self.blocks, 1):
                double[k, other] = (self.outer[block, partner] ** 2).sum()
        return single, double

    def quadratic(self) -> tuple[FloatArray, FloatArray]:
        """Return y'PV_kPy, and y'PV_kPV_lPy."""
        t = self.toward_first
        across = self.first.T @ t
        size = 1 + len(self.blocks)
        single, double = np.empty(size), np.empty((size, size))
        single[0] = t @ t
        double[0, 0] = (self.plain * t * t).sum() - across @ self.inverse @ across
        for k, block in enumerate(self.blocks, 1):
            own = self.rest[block]
            single[k] = own @ own
            double[0, k] = double[k, 0] = t @ self.aslant[:, block] @ own
            for other, partner in enumerate(self.blocks, 1):
                double[k, other] = own @ self.outer[block, partner] @ self.rest[partner]
        return single, double


def _newton(at: _FitPoint, inside: BoolArray) -> FloatArray:
    """Return the step in log γ; downhill also where the deviance is not convex."""
    gamma = at.gamma[inside]
    gradient = at.gradient[inside] * gamma
    bent = at.curvature[np.ix_(inside, inside)] * np.outer(gamma, gamma) + np.diag(gradient)
    curvature, axes = np.linalg.eigh(bent)
    steep = np.maximum(np.abs(curvature), np.finfo(float).tiny)
    step = -axes @ (axes.T @ gradient / steep)
    longest = float(np.abs(step).max())
    return np.asarray(step * min(1.0, _LONGEST_STEP / max(longest, _SETTLED)))


def _moved(gamma: FloatArray, inside: BoolArray, step: FloatArray) -> FloatArray:
    moved = gamma.copy()
    moved[inside] *= np.exp(step)
    return moved


RUNAWAY = 15.0
"""Log odds beyond which a level has only one stage in practice."""


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
    influence = back @ np.linalg.inv(now.information)[cuts:]
    factor = items / (items - 1) * (n - 1) / (n - k)
    variance = ((influence @ summed.T) ** 2).sum(axis=1) * factor
    alone = (influence[:, cuts:] * back).sum(axis=1)
    return np.asarray(np.sqrt(np.where(variance > SINGULAR * alone, variance, 0.0)))


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
