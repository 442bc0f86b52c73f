"""Least squares with CR2 standard errors and Satterthwaite degrees of freedom, by item.

Samples of one item are not independent: naive least squares rejects a true null concept effect
31% of the time at 15 items of 5 samples. What the design cannot tell apart gets no coefficient.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, not_estimable

UNTOLD = 1e-8
"""Relative size below which a direction of the design counts as absent."""
ADVISED_DF = 4.0
_METHOD = "least squares; CR2 by item, Satterthwaite t"
_NAMED_PARTNERS = 4
_NOTHING_LEFT = "no interval, because the items leave no variation around it"


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: the figure, its degrees of freedom and standard error (None without)."""

    name: str
    estimate: Estimate
    df: float | None = None
    standard_error: float | None = None


@dataclass(frozen=True, eq=False)
class _Basis:
    """The column space of a design: Z (n x r, orthonormal), and β = `back` · Z'y.

    `untold` projects onto the directions of the coefficients that the design does not see.
    """

    z: FloatArray
    back: FloatArray
    untold: FloatArray


def least_squares(
    names: Sequence[str],
    design: FloatArray,
    outcome: FloatArray,
    item: IntArray,
    *,
    unit: str = "0-1 scale",
) -> list[Coefficient]:
    """Return a coefficient per column of `design` (n x k), outcome (n) clustered by `item` (n).

    Variance: CR2 of Bell and McCaffrey 2002 with an identity working model, in which residuals
    of cluster g are multiplied by the symmetric (pseudo) root (I - H_gg)^(-1/2): unbiased when
    the model's errors are independent and equal, nearly so when they are not. The t quantile and
    p have Satterthwaite degrees of freedom, a set per coefficient (Pustejovsky and Tipton 2018).
    A coefficient that the columns leave undetermined is "not estimable", with the columns it
    cannot be told apart from. Never raises for singular data; ValueError for NaN or for lengths
    that differ. Costs n·k² + G·k³ for G items.
    """
    _check(names, design, outcome, item)
    clusters, cluster = np.unique(item, return_inverse=True)
    obstacle = _obstacle(outcome, len(clusters))
    if obstacle:
        return [missing_coefficient(name, obstacle, item, unit) for name in names]
    basis = _basis(design)
    projected = basis.z.T @ outcome
    beta = basis.back @ projected
    variance = _ClusterVariance(basis.z, outcome - basis.z @ projected, cluster, len(clusters))
    reasons = _reasons(names, basis.untold)
    coefficients = []
    for j, name in enumerate(names):
        if name in reasons:
            coefficients.append(missing_coefficient(name, reasons[name], item, unit))
            continue
        point = Estimate(
            name, float(beta[j]), None, None, len(item), len(clusters), method=_METHOD, unit=unit,
            reason=_NOTHING_LEFT,
        )  # fmt: skip
        found = variance.of(basis.back[j])
        coefficients.append(_told(point, found) if found else Coefficient(name, point))
    return coefficients


class _ClusterVariance:
    """The CR2 variance of a linear combination a'Z'y, and its degrees of freedom.

    With orthonormal Z, Z_g'(I - Z_g Z_g')^(-1/2) = (I - Z_g'Z_g)^(-1/2) Z_g': everything is done
    on r x r matrices per cluster, never on n x n ones.
    """

    def __init__(self, z: FloatArray, residual: FloatArray, cluster: IntArray, g: int) -> None:
        order = np.argsort(cluster, kind="stable")
        ends = np.searchsorted(cluster[order], np.arange(1, g))
        parts = np.split(z[order], ends)
        self._gram = np.stack([part.T @ part for part in parts])
        weight, vectors = np.linalg.eigh(self._gram)
        spare = 1 - weight
        # A cluster that alone determines a direction has no residual there: the pseudo root.
        root = np.where(spare > UNTOLD, np.clip(spare, UNTOLD, None) ** -0.5, 0.0)
        self._root = (vectors * root[:, None, :]) @ vectors.swapaxes(1, 2)
        left = np.split(residual[order], ends)
        scores = np.stack([part.T @ rest for part, rest in zip(parts, left, strict=True)])
        self._scores = (self._root @ scores[:, :, None])[:, :, 0]
        self._scale = float(residual @ residual)

    def of(self, a: FloatArray) -> tuple[float, float] | None:
        """Return variance and degrees of freedom of a'Z'y; None where no residual is left."""
        variance = float(((self._scores @ a) ** 2).sum())
        direction = self._root @ a
        seen = (self._gram @ direction[:, :, None])[:, :, 0]
        own = (direction * seen).sum(axis=1)
        shared = (seen**2).sum(axis=1)
        # Ω_gh = own_g [g = h] - seen_g · seen_h; df = (tr Ω)² / tr Ω².
        trace = float((own - shared).sum())
        squares = float((own**2).sum() - 2 * (own * shared).sum() + ((seen.T @ seen) ** 2).sum())
        size = float(a @ a)
        if trace <= UNTOLD * size or squares <= (UNTOLD * size) ** 2:
            return None
        if variance <= UNTOLD**2 * max(size * self._scale, np.finfo(float).tiny):
            return None
        return variance, trace**2 / squares


def t_coefficient(
    coefficient: Estimate, error: float, df: float, *, advised: float = ADVISED_DF
) -> Coefficient:
    """Return the estimate with t interval and two-sided p from a standard error and its df."""
    from scipy.special import stdtr, stdtrit

    value = coefficient.estimate or 0.0
    half = float(stdtrit(df, 0.975)) * error
    few = f"; {df:.1f} degrees of freedom where {advised:g} are advised" if df < advised else ""
    told = replace(
        coefficient,
        lower=value - half,
        upper=value + half,
        p=float(2 * stdtr(df, -abs(value) / error)),
        method=coefficient.method + few,
        reason="",
    )
    return Coefficient(told.metric, told, df, error)


def _told(point: Estimate, found: tuple[float, float]) -> Coefficient:
    variance, df = found
    return t_coefficient(point, variance**0.5, df)


def missing_coefficient(name: str, because: str, item: IntArray, unit: str) -> Coefficient:
    """Return a coefficient that is "not estimable, because ..."."""
    found = not_estimable(name, because, n=len(item), n_items=len(np.unique(item)), unit=unit)
    return Coefficient(name, found)


def undetermined(names: Sequence[str], design: FloatArray) -> dict[str, str]:
    """Return name → why the columns of `design` leave its coefficient undetermined."""
    return _reasons(names, _basis(design).untold)


def _basis(design: FloatArray) -> _Basis:
    norms = np.linalg.norm(design, axis=0)
    # Columns of one length each, so that a covariate's unit does not decide what is singular.
    norms = np.where(norms > 0, norms, 1.0)
    q, triangle = np.linalg.qr(design / norms)
    u, singular, vt = np.linalg.svd(triangle)
    rank = int((singular > UNTOLD * singular[0]).sum())
    null = vt[rank:]
    return _Basis(
        z=q @ u[:, :rank],
        back=(vt[:rank].T / singular[:rank]) / norms[:, None],
        untold=null.T @ null,
    )


def _reasons(names: Sequence[str], untold: FloatArray) -> dict[str, str]:
    loose = np.sqrt(UNTOLD)
    reasons = {}
    for j, name in enumerate(names):
        if untold[j, j] <= loose:
            continue
        partners = [names[int(i)] for i in np.flatnonzero(abs(untold[j]) > loose) if i != j]
        if not partners:
            reasons[name] = "no sample differs in it"
            continue
        more = len(partners) - _NAMED_PARTNERS
        shown = ", ".join(partners[:_NAMED_PARTNERS]) + (f" and {more} more" if more > 0 else "")
        reasons[name] = f"the design cannot tell it apart from {shown}"
    return reasons


def _obstacle(outcome: FloatArray, clusters: int) -> str:
    if clusters < 2:
        return f"standard errors need 2 items, and there {_are(clusters)}"
    if np.ptp(outcome) <= UNTOLD:
        return "the outcome is the same in every sample"
    return ""


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _check(names: Sequence[str], design: FloatArray, outcome: FloatArray, item: IntArray) -> None:
    if design.shape != (len(outcome), len(names)) or len(item) != len(outcome):
        raise ValueError(
            f"design {design.shape}, {len(names)} names, {len(outcome)} outcomes, {len(item)} items"
        )
    if not (np.isfinite(design).all() and np.isfinite(outcome).all()):
        raise ValueError("design and outcome hold finite numbers only")
