"""What an interval says about a claim with a margin: supported, refuted or inconclusive.

A point estimate never decides. The 95% interval does, so a claim of one side errs in 2.5% of
tests, and equivalence is tested at twice the strictness of the usual 90% interval.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from judge_gym.metrics.bounded_means import bounded_p
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import BoundedMethod, Estimate, not_estimable, t_quantile
from judge_gym.metrics.regression import t_coefficient

ALPHA = 0.05


class Conclusion(StrEnum):
    """The conclusion about a claim."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTABLE = "not testable here"


class Direction(StrEnum):
    """The side of the margin on which the claim expects the value."""

    ABOVE = "above"
    """Superiority: value - reference > margin."""

    BELOW = "below"
    """Inferiority: value - reference < margin."""

    WITHIN = "within"
    """Equivalence: |value - reference| < margin (two one-sided tests, Schuirmann 1987)."""


@dataclass(frozen=True)
class MarginClaim:
    """`direction` and `margin` in the estimate's unit, around `reference`; above 0 for within."""

    direction: Direction
    margin: float
    reference: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for an equivalence with an empty region."""
        if self.direction is Direction.WITHIN and self.margin <= 0:
            raise ValueError(f"margin {self.margin}: equivalence needs one above 0")

    @property
    def region(self) -> tuple[float, float]:
        """The open interval of values for which the claim is true."""
        edge = self.reference + self.margin
        if self.direction is Direction.ABOVE:
            return edge, float("inf")
        if self.direction is Direction.BELOW:
            return float("-inf"), edge
        return self.reference - self.margin, edge


def conclude(estimate: Estimate, claim: MarginClaim) -> Conclusion:
    """Return supported when the interval lies in the claim's region, refuted when outside it."""
    if estimate.estimate is None:
        return Conclusion.NOT_TESTABLE
    if estimate.lower is None or estimate.upper is None:
        return Conclusion.INCONCLUSIVE
    low, high = claim.region
    if low < estimate.lower and estimate.upper < high:
        return Conclusion.SUPPORTED
    if estimate.upper <= low or high <= estimate.lower:
        return Conclusion.REFUTED
    return Conclusion.INCONCLUSIVE


def p_at_margin(estimate: Estimate, claim: MarginClaim) -> float | None:
    """Return the two-sided p of the value being at the margin nearest to it; None without interval.

    Below 0.05 exactly when `conclude` does not say inconclusive. From the interval's own width
    on the side of that margin, with its degrees of freedom, items - 1 unless it has others.
    """
    from scipy.special import stdtr

    value, items = estimate.estimate, estimate.n_items
    if value is None or estimate.lower is None or estimate.upper is None or items < 2:
        return None
    edge = min((end for end in claim.region if abs(end) != float("inf")),
               key=lambda end: abs(value - end))  # fmt: skip
    half = value - estimate.lower if edge < value else estimate.upper - value
    if half <= 0:
        return None
    df = estimate.df or items - 1
    return float(2 * stdtr(df, -abs(value - edge) / half * t_quantile(df)))


def difference_p(
    estimate: Estimate, differences: FloatArray, claim: MarginClaim, *, widest: float
) -> float | None:
    """Return `p_at_margin` of a `mean_difference`; exact where its interval is not by t."""
    if isinstance(estimate.method, BoundedMethod):
        return bounded_p(differences, (-widest, widest), claim.region)
    return p_at_margin(estimate, claim)


def difference(metric: str, first: Estimate, second: Estimate) -> Estimate:
    """Return first - second from their intervals, with errors of independent estimates.

    The interval is too wide for estimates on the same items that correlate, such as shares of one
    arm. Degrees of freedom: those of the estimate with fewer. Needs both intervals. Where one has
    an interval over items alone, the difference has one, too.
    """
    whole = _difference(metric, first, second)
    if whole.lower is None or (first.items_lower is None and second.items_lower is None):
        return whole
    of_items = _difference(metric, _over_items(first), _over_items(second))
    return replace(whole, items_lower=of_items.lower, items_upper=of_items.upper)


def _over_items(estimate: Estimate) -> Estimate:
    """Return an estimate with its interval over items alone in place of that of its total error."""
    if estimate.items_lower is None:
        return estimate
    return replace(estimate, lower=estimate.items_lower, upper=estimate.items_upper, df=None)


def _difference(metric: str, first: Estimate, second: Estimate) -> Estimate:
    n, items = first.n + second.n, min(first.n_items, second.n_items)
    errors = [_error(estimate) for estimate in (first, second)]
    if first.estimate is None or second.estimate is None or None in errors:
        reasons = (estimate.because for estimate in (first, second))
        because = next((text for text in reasons if text), "one of the two has no interval")
        return not_estimable(metric, because, n=n, n_items=items, unit=first.unit)
    point = Estimate(
        metric, first.estimate - second.estimate, None, None, n, items,
        method=f"{first.metric} less {second.metric}, errors as if independent", unit=first.unit,
    )  # fmt: skip
    error = sum(part**2 for part in errors if part is not None) ** 0.5
    df = min(_df(first), _df(second))
    found = t_coefficient(point, error, df).estimate
    return found if first.df is None and second.df is None else replace(found, df=df)


def _error(estimate: Estimate) -> float | None:
    """Return the standard error behind an interval: its wider half over the t quantile."""
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        return None
    half = max(estimate.estimate - estimate.lower, estimate.upper - estimate.estimate)
    return half / t_quantile(_df(estimate)) if half > 0 and estimate.n_items > 1 else None


def _df(estimate: Estimate) -> float:
    return estimate.df or estimate.n_items - 1
