"""Entrenchment: polarization held with confidence; overconfidence: confidence beyond agreement."""

from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    IntArray,
    Probes,
    Samples,
    Verdicts,
    item_means,
    set_counts,
)
from judge_gym.metrics.estimate import (
    NO_SPREAD,
    ONE_ITEM,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    Remark,
    RemarkKind,
    caution_below,
    mean_over_items,
    not_estimable,
    remarked,
    resampled_interval,
    widened_to_permutation,
    with_interval,
)
from judge_gym.metrics.inference import PERMUTATIONS
from judge_gym.metrics.polarization import (
    UNBIASED_REPLICATES,
    Divergence,
    measure_polarization,
)

ADVISED_ITEMS = 30


@dataclass(frozen=True)
class Entrenchment:
    """E with its floor, and what it has beyond that floor."""

    estimate: Estimate
    excess: Estimate


def entrenchment(
    verdicts: Verdicts,
    probes: Probes,
    rng: np.random.Generator,
    *,
    family: IntArray | None = None,
    permutations: int = PERMUTATIONS,
) -> Entrenchment:
    """Return E = P · C, in [0, 1] and the unit of P, and E less its floor E0 = P0 · C.

    C is the mean over judges, equally weighted, of their mean probed probability (cell means
    over items). Both factors use the items that every judge scored and was probed on. Interval: t
    with the standard error of resampling the items of both factors together; that of E - E0 is
    never wholly below the permutation null. E is high when confidence alone is high: read it
    beside `overconfidence`. Needs what P needs, and a probe per judge.
    """
    unit = Divergence.JENSEN_SHANNON.unit
    common = verdicts.common_items() & probes.common_items()
    kept = verdicts.rows(common[verdicts.item])
    if not common.any():
        because = "no item was scored by, and probed for, every judge"
        return Entrenchment(*(not_estimable(name, because, unit=unit) for name in _NAMES))
    polarization = measure_polarization(kept, rng, family=family, permutations=permutations)
    if polarization.estimate.estimate is None:
        return Entrenchment(*(replace(polarization.estimate, metric=name) for name in _NAMES))
    confidence = probes.confidence().value[:, common].mean(axis=0)
    floor = polarization.per_item_floor
    whole = _product(_NAMES[0], polarization.estimate, polarization.per_item, confidence, rng)
    whole = replace(whole, floor=float(floor.mean() * confidence.mean()))
    if np.median(kept.sizes()[:, common]) < UNBIASED_REPLICATES:
        whole = remarked(whole, Remark(RemarkKind.TOO_HIGH, advised=UNBIASED_REPLICATES))
    above = polarization.per_item - floor
    excess = _product(_NAMES[1], polarization.estimate, above, confidence, rng)
    reach = polarization.reach * float(confidence.mean())
    return Entrenchment(whole, widened_to_permutation(excess, reach))


_NAMES = ("entrenchment", "entrenchment_excess")


def _product(
    metric: str,
    polarization: Estimate,
    apart: FloatArray,
    confidence: FloatArray,
    rng: np.random.Generator,
) -> Estimate:
    """Return the mean of `apart` times mean confidence (arrays per item), resampled jointly."""
    n_items = len(confidence)

    def product(weights: FloatArray) -> FloatArray:
        return np.asarray((weights @ apart) * (weights @ confidence) / n_items**2)

    value = float(apart.mean() * confidence.mean())
    method = "times mean confidence; t interval, items resampled jointly"
    estimate = Estimate(
        metric, value, None, None, polarization.n, n_items, method=method, unit=polarization.unit
    )
    absent = ONE_ITEM if n_items == 1 else NO_SPREAD
    bounds = UNIT_INTERVAL if metric == _NAMES[0] else SIGNED_UNIT
    return with_interval(estimate, resampled_interval(product, n_items, rng), bounds, absent=absent)


@dataclass(frozen=True)
class Calibration:
    """Overconfidence and Brier score of a set of judges, and of each alone (in judge order)."""

    overconfidence: Estimate
    brier: Estimate
    overconfidence_by_judge: tuple[Estimate, ...]
    brier_by_judge: tuple[Estimate, ...]


def calibration(verdicts: Verdicts, probes: Probes) -> Calibration:
    """Return how the probed probabilities compare with the agreement that the other judges show.

    The probe asks for the share x of experts who would choose this verdict; the realised share
    q is that of the other judges' samples on the item with the identical set, judges weighted
    equally. Overconfidence: mean of x - q, in [-1, 1]. Brier: mean squared error of x against
    each such sample, x² - 2xq + q, in [0, 1] (Brier 1950). Cell means, then judges weighted
    equally, then items; only items that every judge scored and was probed on; t interval over
    items. Needs two judges; 30 items advised.
    """
    common = verdicts.common_items() & probes.common_items()
    judges = verdicts.n_judges
    if judges < 2:
        return _uncalibrated("no other judge scores these items under the same rubric", judges)
    if not common.any():
        return _uncalibrated("no item was scored by, and probed for, every judge", judges)
    probes = probes.rows(common[probes.item])
    x, q = probes.probability, realised_agreement(verdicts, probes)
    gap, squared = probes.means(x - q).value, probes.means(x * x - 2 * x * q + q).value
    sizes = probes.sizes()
    return Calibration(
        _figure("overconfidence", gap, sizes, common),
        _figure("brier_score", squared, sizes, common),
        tuple(
            _figure("overconfidence", gap[[judge]], sizes[[judge]], common)
            for judge in range(judges)
        ),
        tuple(
            _figure("brier_score", squared[[judge]], sizes[[judge]], common)
            for judge in range(judges)
        ),
    )


def letter_calibration(
    samples: Samples, probability: FloatArray, correct: BoolArray
) -> tuple[Estimate, Estimate]:
    """Return how token probabilities of verdicts compare with whether the verdicts are right.

    `probability` p is that of the letter given, r is 1 where it stands for the true stage.
    Overconfidence: mean of p - r, in [-1, 1]. Brier: mean (p - r)², in [0, 1] (Brier 1950). Means
    over an item's samples, then over items; t interval over items. `samples` are of one judge.
    Needs one sample; 30 items advised.
    """
    gap = probability - correct
    figures = []
    for metric, values, bounds in (
        ("letter_overconfidence", gap, SIGNED_UNIT),
        ("letter_brier_score", gap**2, UNIT_INTERVAL),
    ):
        cells = samples.means(values)
        per_item, _ = item_means(cells.value, cells.present)
        estimate = mean_over_items(
            metric, per_item, n=len(samples), unit="probability", bounds=bounds
        )
        figures.append(caution_below(estimate, ADVISED_ITEMS))
    return figures[0], figures[1]


def realised_agreement(verdicts: Verdicts, probes: Probes) -> FloatArray:
    """Return per probe the mean share of the other judges' samples with the identical set.

    In [0, 1]. Needs two judges, and a sample of each of them on every probed item.
    """
    counted = set_counts(verdicts)
    column, seen = counted.column_of(probes.stages)
    chosen = np.where(seen, counted.counts[:, probes.item, column], 0)
    shares = chosen / verdicts.sizes()[:, probes.item]
    own = shares[probes.judge, np.arange(len(probes))]
    return np.asarray((shares.sum(axis=0) - own) / (verdicts.n_judges - 1))


def _figure(metric: str, cells: FloatArray, sizes: IntArray, common: BoolArray) -> Estimate:
    bounds = SIGNED_UNIT if metric == "overconfidence" else UNIT_INTERVAL
    per_item = cells[:, common].mean(axis=0)
    estimate = mean_over_items(
        metric,
        per_item,
        n=sizes[:, common].sum(axis=0),
        unit="probability",
        bounds=bounds,
        items=common,
    )
    return caution_below(estimate, ADVISED_ITEMS)


def _uncalibrated(because: str, n_judges: int) -> Calibration:
    gap = not_estimable("overconfidence", because, unit="probability")
    squared = not_estimable("brier_score", because, unit="probability")
    return Calibration(gap, squared, (gap,) * n_judges, (squared,) * n_judges)
