"""Sensitivity and specificity of a judge of two verdicts: one definition, with exact bounds.

The gate, the audit and the certificate use these. What may rest on a judge is decided here, too:
whether the bounds of each slice of the texts reach what is required.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    LEVEL,
    UNIT_INTERVAL,
    Estimate,
    effective_counts,
    not_estimable,
    with_interval,
)
from judge_gym.metrics.inference import holm_adjusted

SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"
CLASSES = (SENSITIVITY, SPECIFICITY)
"""What people passed, and what they failed."""
ALPHA = (1 - LEVEL) / 2
"""How often a bound of one side is above the true value, at most."""
MOST_LABELS = 100_000
"""Most labels of a class that are forecast."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Of one class of labelled texts, how many the judge decided as people did.

    `found` may be fractional, of verdicts of several runs. `hits` and `trials` are both as of
    independent texts, where texts share a question (`effective_counts`).
    """

    found: float
    n: int
    questions: int
    hits: float
    trials: float

    @property
    def rate(self) -> float | None:
        """The share found, in [0, 1]; None without a text."""
        return self.found / self.n if self.n else None


def class_counts(
    judge: FloatArray, people: FloatArray, cluster: IntArray, level: float = LEVEL
) -> tuple[ClassCounts, ClassCounts]:
    """Return the counts of what people passed (1) and failed (0).

    Arrays by text: `judge` is its share of passes in [0, 1], NaN where unreadable, `people` 1, 0 or
    NaN without a label; texts of one `cluster` (numbered from 0) share a question. Texts without a
    readable answer count in neither: what share that is stands beside the rates.
    """
    both = np.isfinite(judge) & np.isfinite(people)
    return (
        _counts(judge, cluster, both & (people == 1), level),
        _counts(1 - judge, cluster, both & (people == 0), level),
    )


def _counts(values: FloatArray, cluster: IntArray, chosen: BoolArray, level: float) -> ClassCounts:
    n = int(chosen.sum())
    if not n:
        return ClassCounts(0.0, 0, 0, 0.0, 0.0)
    sums, trials = np.bincount(cluster[chosen], values[chosen]), np.bincount(cluster[chosen])
    hits, effective = effective_counts(sums, trials, level)
    return ClassCounts(float(sums.sum()), n, int((trials > 0).sum()), hits, effective)


def class_rates(
    judge: FloatArray, people: FloatArray, cluster: IntArray
) -> tuple[Estimate, Estimate]:
    """Return sensitivity and specificity: the shares of people's passes and fails that it found.

    Arrays as in `class_counts`. 95% intervals: exact (Clopper and Pearson 1934, Biometrika 26), so
    that each end errs in at most 2.5%; texts that share a question count as fewer (Korn and
    Graubard 1998, Survey Methodology 24). Each needs a text of its class.
    """
    counts = class_counts(judge, people, cluster)
    passed, failed = (_rate(name, of) for name, of in zip(CLASSES, counts, strict=True))
    return passed, failed


def _rate(metric: str, of: ClassCounts) -> Estimate:
    if of.rate is None:
        return not_estimable(metric, "no answer of that class has a label", unit="share")
    lower, upper = (float(end) for end in exact_bounds(of.hits, of.trials))
    method = "share, exact interval" + " clustered by question" * (of.questions < of.n)
    estimate = Estimate(
        metric, of.rate, None, None, of.n, of.questions, method=method, unit="share"
    )
    return with_interval(estimate, (min(lower, of.rate), max(upper, of.rate)), UNIT_INTERVAL)


def renamed(rates: Sequence[Estimate], prefix: str) -> list[Estimate]:
    """Return rates under the names of a table of systems."""
    return [replace(rate, metric=f"{prefix}_{rate.metric}") for rate in rates]


def exact_bounds(
    hits: FloatArray | float, trials: FloatArray | float, alpha: FloatArray | float = ALPHA
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper bound of a share, each one-sided at 1 - `alpha`.

    Clopper and Pearson 1934. Arrays of one shape; counts may be fractional. Without a trial 0 and
    1.
    """
    from scipy.special import betaincinv

    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    missed = trials - hits
    lower = betaincinv(np.maximum(hits, 1e-300), missed + 1, alpha)
    upper = betaincinv(hits + 1, np.maximum(missed, 1e-300), 1 - np.asarray(alpha))
    return np.where(hits > 0, lower, 0.0), np.where(missed > 0, upper, 1.0)


def exact_p(
    hits: FloatArray | float, trials: FloatArray | float, least: FloatArray | float
) -> FloatArray:
    """Return the chance of as many hits or more where the true share is `least`: a binomial tail.

    Below alpha exactly where the lower bound at alpha lies above `least`.
    """
    from scipy.special import betainc

    above = betainc(np.maximum(hits, 1e-300), trials - hits + 1, least)
    return np.where(np.asarray(hits) > 0, above, 1.0)


@dataclass(frozen=True, eq=False)
class SlicesShown:
    """What the labels of each slice show of a judge; the last axis but one are slices.

    `reached` and `missed`, (..., slices): whether both rates are shown to reach what is required,
    or one is shown to lie below. `better`: whether sensitivity + specificity is shown to be above
    1, so that it decides better than chance. `lower` and `upper`, (..., slices, 2), are bounds of
    sensitivity and specificity, one-sided, which hold for all slices at once with 97.5% each.
    """

    reached: BoolArray
    missed: BoolArray
    better: BoolArray
    lower: FloatArray
    upper: FloatArray


def slices_shown(hits: FloatArray, trials: FloatArray, least: FloatArray) -> SlicesShown:
    """Decide of each slice whether the judge is shown to reach `least`, (2,).

    `hits` and `trials`, (..., slices, 2), are the counts of `class_counts` at the level
    `level_of(slices)`; leading axes are trials of a simulation. A slice is reached where the larger
    p of its two rates (both must reach; no correction: Berger 1982, Technometrics 24) is at most
    2.5% after Holm over slices. So a judge that is below in some slice, in either rate, is taken to
    reach there in at most 2.5% of sets, over all slices together. Bounds fit these decisions
    (Strassburger and Bretz 2008, Statistics in Medicine 27): of a slice that is reached at least
    what is required, of the others as of so many slices as are left.
    """
    slices = hits.shape[-2]
    p = exact_p(hits, trials, least).max(axis=-1)
    reached: BoolArray = np.asarray(holm_adjusted(p) <= ALPHA)
    every = np.asarray(reached.all(axis=-1))[..., None, None]
    lower, upper = exact_bounds(hits, trials, ALPHA / slices)
    left = np.maximum((~reached).sum(axis=-1), 1)[..., None, None]
    fewer, _ = exact_bounds(hits, trials, np.broadcast_to(ALPHA / left, hits.shape))
    firm = np.maximum(lower, least)
    of_reached = np.where(every, firm, np.broadcast_to(least, lower.shape))
    of_others = np.minimum(fewer, firm)
    half, _ = exact_bounds(hits, trials, ALPHA / (2 * slices))
    return SlicesShown(
        reached=reached,
        missed=np.asarray((upper < least).any(axis=-1)),
        better=half.sum(axis=-1) > 1,
        lower=np.where(reached[..., None], of_reached, of_others),
        upper=upper,
    )


def level_of(slices: int) -> float:
    """Return the two-sided level whose ends are bounds that hold for so many slices at once."""
    return 1 - 2 * ALPHA / slices


def fewest_labels(least: float, slices: int = 1) -> int:
    """Return the labels of a class below which even a judge without an error is not shown."""
    return math.ceil(round(math.log(ALPHA / slices) / math.log(least), 9))


def labels_needed(of: ClassCounts, least: float, slices: int = 1) -> int | None:
    """Return how many labels of a class would show its rate to reach `least`, if it stays.

    A forecast. None without a label, where the rate does not lie above `least`, and beyond
    `MOST_LABELS`.
    """
    if of.rate is None or of.rate <= least:
        return None
    each = of.trials / of.n
    low, high = 0, MOST_LABELS
    if not _reaches(of.rate, high * each, least, slices):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _reaches(of.rate, middle * each, least, slices):
            high = middle
        else:
            low = middle
    return high


def _reaches(rate: float, trials: float, least: float, slices: int) -> bool:
    return bool(exact_bounds(rate * trials, trials, ALPHA / slices)[0] >= least)
