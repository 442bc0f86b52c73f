"""Does a judge still judge as it did? The same items, asked anew, beside what it said before.

The item is the unit: its repeats are averaged, or its most frequent verdict taken, before two days
are compared. Only an interval tells: a mean that moved is no drift while the interval of how far
reaches across the margin, and none was shown to be absent while it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.calibration.checks import Check, Margins, Result, adjusted, more_items, span
from judge_gym.formats import percent, plain, short
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate, mean_over_items
from judge_gym.metrics.inference import sign_flip_p
from judge_gym.metrics.margins import ALPHA, Claim, Direction, p_at_margin


@dataclass(frozen=True, eq=False)
class Drift:
    """How the items of one judge moved: in points, or for `verdicts` 1 where it changed, else 0."""

    moved: FloatArray
    verdicts: bool = False


def drift_checks(
    drifts: Sequence[Drift], margins: Margins, rng: np.random.Generator
) -> list[Check]:
    """Return a check per judge: that it judges as it did.

    Scores: the mean paired difference lies within ± `margins.equivalence` points, by t. Verdicts:
    the share that changed lies below `margins.changed_verdicts`, by Wilson. The p is two-sided, of
    the value being at its margin (within it, that of two one-sided tests doubled), after Holm over
    the judges; a check passes or fails below 0.05, else it is inconclusive. Where every item moved
    alike, the signs about the margin stand in for the t test, which takes six items.
    """
    raw = [_measured(drift, margins, rng) for drift in drifts]
    return [
        _judged(drift, check, p, margins)
        for drift, check, p in zip(drifts, raw, adjusted(raw), strict=True)
    ]


def changed_share(metric: str, changed: FloatArray) -> Estimate:
    """Return the share of items whose verdict differs, from 1 and 0 per item, by Wilson."""
    return clustered_share(metric, changed.astype(np.int64), np.ones(len(changed), dtype=np.int64))


def _measured(drift: Drift, margins: Margins, rng: np.random.Generator) -> Check:
    n = len(drift.moved)
    if drift.verdicts:
        question = f"fewer than {percent(margins.changed_verdicts)} of the verdicts changed"
        found = changed_share("changed_verdicts", drift.moved)
    else:
        question = f"the mean score moved by less than {plain(margins.equivalence)} points"
        found = mean_over_items(
            "score_drift", drift.moved, n=n, unit="points", bounds=(-100.0, 100.0)
        )
    p = p_at_margin(found, _claim(drift, margins))
    if p is None and n and not drift.verdicts:
        p = _by_signs(drift.moved, margins.equivalence, rng)
    return Check("drift", question, replace(found, p=p), Result.INCONCLUSIVE, "")


def _claim(drift: Drift, margins: Margins) -> Claim:
    if drift.verdicts:
        return Claim(Direction.BELOW, margins.changed_verdicts)
    return Claim(Direction.WITHIN, margins.equivalence)


def _by_signs(moved: FloatArray, margin: float, rng: np.random.Generator) -> float:
    """Return the two-sided p of the mean being at the margin nearest to it, by sign flips."""
    sides = (margin - moved, margin + moved)
    if abs(float(moved.mean())) < margin:
        one_sided = max(sign_flip_p(side, rng, above=True) for side in sides)
    else:
        one_sided = min(sign_flip_p(-side, rng, above=True) for side in sides)
    return min(1.0, 2 * one_sided)


def _judged(drift: Drift, check: Check, p: float | None, margins: Margins) -> Check:
    found, claim = check.estimate, _claim(drift, margins)
    if found.estimate is None:
        return replace(check, result=Result.NOT_APPLICABLE, reason=found.reason)
    told = span(found) if p is None else f"{span(found)}; p {short(p)} after Holm"
    check = replace(check, reason=told, p_adjusted=p)
    if p is None or p >= ALPHA:
        return replace(check, result=Result.INCONCLUSIVE, action=more_items(found, claim))
    low, high = claim.region
    if low < found.estimate < high:
        return replace(check, result=Result.PASSES)
    action = "Read the texts that moved most, and calibrate it again before relying on it."
    return replace(check, result=Result.FAILS, action=action)
