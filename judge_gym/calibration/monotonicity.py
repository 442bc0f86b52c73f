"""Does a judge see what was done to a text: drops where it got worse, stays where it did not?

The item is the unit: runs are averaged first, and an item whose text could not be changed is no
item of that perturbation. Tests are one-sided, so that a rise never passes for a drop; Holm
corrects over all perturbations of a judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.calibration.checks import (
    ALPHA,
    Check,
    Margins,
    Result,
    adjusted,
    moves_wrong_way,
    rounded,
    span,
)
from judge_gym.counting import counted
from judge_gym.formats import percent, plain, short
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import EPSILON, Estimate, mean_over_items, not_estimable, t_interval
from judge_gym.metrics.inference import (
    equivalence_items,
    equivalence_p,
    items_needed,
    page_trend,
    paired_t_p,
    sign_flip_p,
    standardised_effects,
)
from judge_gym.metrics.points import HIGHEST
from judge_gym.planted.editing import Expectation

LEAST_ITEMS = 6
"""Fewest items whose signs alone can reach the level: 1/2⁶ < 0.025."""
LEAST_LEVELS = 3


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean points of the same items before and after a perturbation, in one order.

    `not_applicable` counts items whose text it could not be applied to, `changed` those it was
    applied to, scored or not.
    """

    perturbation: str
    expectation: Expectation
    original: FloatArray
    perturbed: FloatArray
    not_applicable: int = 0
    changed: int = 0

    @property
    def ordered(self) -> tuple[FloatArray, FloatArray]:
        """Both conditions, so that second less first is above 0 where items moved as expected."""
        pair = self.original, self.perturbed
        return pair[::-1] if self.expectation is Expectation.DROP else pair

    @property
    def differences(self) -> FloatArray:
        """How far each item moved: down for a drop, else up."""
        return self.ordered[1] - self.ordered[0]


def effect_checks(
    effects: Sequence[Effect], margins: Margins, rng: np.random.Generator
) -> list[Check]:
    """Return a check per perturbation: that it moves the score as expected, or not at all.

    A drop (or rise) passes when its one-sided paired t test is below 0.025 after Holm, and fails
    when the interval of d_z lies below `margins.smallest_effect`, though it be significant. An
    invariance passes by two one-sided tests against ± `margins.equivalence`, and fails when the
    interval of the mean change lies beyond it. Where no item differs from another, sign flips stand
    in for t, and an invariance is that of most texts: the `reason` has the share of others that may
    move (Clopper and Pearson). Anything else is inconclusive, with the items that it takes. The
    `reason` has the interval at the level that was tested.
    """
    raw = [_measured(effect, margins, rng) for effect in effects]
    tests = sum(check.estimate.p is not None for check in raw)
    return [
        _judged(effect, check, p, margins, tests)
        for effect, check, p in zip(effects, raw, adjusted(raw), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class SeverityCurve:
    """Mean points of items x severities, ascending from the original at 0.

    `alike` counts items that are left out, as two severities make the same text of them.
    """

    perturbation: str
    expectation: Expectation
    severities: FloatArray
    points: FloatArray
    alike: int = 0

    @property
    def without(self) -> str:
        """Which items are left out, as the end of a sentence; empty without any."""
        if not self.alike:
            return ""
        items = counted(len(self.points) + self.alike, "item")
        return f"; {self.alike} of {items} left out, the same text at two severities"


def curve_checks(curves: Sequence[SeverityCurve]) -> list[Check]:
    """Return a check per perturbation that should move the score: the more of it, the further.

    Page's trend over severities, one-sided, Holm over perturbations; it fails when the trend the
    other way is as clear. Needs three severities, the original among them. The estimate is the
    mean over items of the least-squares slope, in points from severity 0 to 1.
    """
    graded = [curve for curve in curves if curve.expectation is not Expectation.INVARIANT]
    raw = [_trend(curve) for curve in graded]
    return [
        _judged_trend(curve, check, p)
        for curve, check, p in zip(graded, raw, adjusted(raw), strict=True)
    ]


def severity_means(curve: SeverityCurve) -> list[Estimate]:
    """Return the mean points at each severity, with t intervals over items."""
    items = len(curve.points)
    return [
        mean_over_items("points_at_severity", points, n=items, unit="points", bounds=(0.0, 100.0))
        for points in curve.points.T
    ]


def _measured(effect: Effect, margins: Margins, rng: np.random.Generator) -> Check:
    """Return the check before its p is corrected; its result is still open."""
    moved, n = effect.differences, len(effect.original)
    word = {Expectation.DROP: "lowers", Expectation.RISE: "raises"}.get(effect.expectation)
    question = f"{effect.perturbation} {word} the score"
    if not word:
        most = plain(margins.equivalence)
        what = "most texts" if _by_signs(effect) else "the score"
        question = f"{effect.perturbation} moves {what} by less than {most} points"
    name = f"{effect.expectation}:{effect.perturbation}"
    metric = f"score_{effect.expectation}" if word else "score_change"
    change = mean_over_items(metric, moved, n=n, unit="points", bounds=(-100.0, 100.0))
    p = None
    if n and word:
        by_t = paired_t_p(moved)
        p = sign_flip_p(moved, rng, above=True) if by_t is None else by_t
    elif n:
        p = _equivalence(moved, margins.equivalence, rng)
    tested = "a one-sided test" if word else "two one-sided tests"
    if p is not None:
        change = replace(change, p=p, method=f"{change.method}; p by {tested}")
    beside = tuple(standardised_effects(*effect.ordered))
    return Check(
        name, question, change, Result.CANNOT_TELL, "", beside=beside,
        perturbation=effect.perturbation, expectation=effect.expectation,
    )  # fmt: skip


def _by_signs(effect: Effect) -> bool:
    """Return whether signs stand in for t, as all items moved alike: they test most texts."""
    return t_interval(effect.differences) is None


def _equivalence(moved: FloatArray, margin: float, rng: np.random.Generator) -> float:
    """Return the TOST p, by sign flips about the margins where no item differs from another."""
    by_t = equivalence_p(moved, -margin, margin)
    if by_t is not None:
        return by_t
    return max(sign_flip_p(side, rng, above=True) for side in (margin - moved, margin + moved))


def _judged(effect: Effect, check: Check, p: float | None, margins: Margins, tests: int) -> Check:
    items = check.estimate.n_items
    if p is None:
        because, action = _untested(effect)
        absent = not_estimable(check.estimate.metric, because, unit="points")
        return replace(
            check, estimate=absent, result=Result.NOT_APPLICABLE, reason=because, action=action
        )
    if effect.expectation is Expectation.INVARIANT:
        result = _stayed(check, p, margins)
    else:
        result = _moved(check, p, margins)
    reason = _tested(effect, check, p, result)
    if effect.not_applicable:
        reason += f"; not applicable to {effect.not_applicable} of {_all(effect)} items"
    found = replace(check, result=result, reason=reason, p_adjusted=p)
    if moves_wrong_way(found):
        action = _REWARDS[effect.expectation].format(effect.perturbation)
    else:
        action = _action(effect, result, items, margins, tests)
    return replace(found, action=action)


def _untested(effect: Effect) -> tuple[str, str]:
    """Return why no item has both scores, and what to do about it."""
    if effect.changed:
        scored = (
            f"of {counted(effect.changed, 'changed text')} none has a score beside its original"
        )
        return scored, "See why answers have no score: the check that they can be read says so."
    if effect.not_applicable:
        because = f"it could be applied to none of {counted(effect.not_applicable, 'item')}"
        return because, "Use texts that this perturbation can change, or leave it out."
    return "no text was changed", "Rerun the command to have the texts changed."


def _tested(effect: Effect, check: Check, p: float, result: Result) -> str:
    """Return the figure that was tested: the mean change with its interval at the level of Holm."""
    estimate, raw = check.estimate, check.estimate.p
    sentence = span(replace(estimate, lower=None, upper=None, because=""))
    level = 1 - 2 * ALPHA * (raw / p if raw and p else 1.0)
    interval = t_interval(effect.differences, level)
    if interval:
        low, high = (max(-HIGHEST, min(HIGHEST, end)) for end in interval)
        sentence += f", {short(100 * level)}% interval {rounded(low)} to {rounded(high)}"
    elif estimate.n_items > 1:
        sentence += f" for each of {estimate.n_items} texts"
        if effect.expectation is Expectation.INVARIANT:
            # Clopper and Pearson's bound where none of n was seen, at the level that was tested.
            others = 1 - (ALPHA * (raw / p if raw and p else 1.0)) ** (1 / estimate.n_items)
            sentence += f", and of other texts up to {percent(others)} may move otherwise"
    dz = check.beside[0]
    if (
        result is Result.FAILS
        and effect.expectation is not Expectation.INVARIANT
        and dz.lower is not None
    ):
        sentence += f"; d_z {span(dz)}"
    return f"{sentence}; p {short(p)} after Holm"


def _all(effect: Effect) -> int:
    return len(effect.original) + effect.not_applicable


def _moved(check: Check, p: float, margins: Margins) -> Result:
    effect, mean = check.beside[0], check.estimate.estimate or 0.0
    if effect.upper is not None and effect.upper < margins.smallest_effect:
        return Result.FAILS
    if p < ALPHA:
        return Result.PASSES
    unmoved = effect.estimate is None and mean <= EPSILON
    enough = check.estimate.n_items >= LEAST_ITEMS
    return Result.FAILS if unmoved and enough else Result.CANNOT_TELL


def _stayed(check: Check, p: float, margins: Margins) -> Result:
    estimate, margin = check.estimate, margins.equivalence
    if p < ALPHA:
        return Result.PASSES
    if estimate.lower is not None and estimate.upper is not None:
        beyond = estimate.lower >= margin or estimate.upper <= -margin
    else:
        beyond = abs(estimate.estimate or 0.0) >= margin and estimate.n_items >= LEAST_ITEMS
    return Result.FAILS if beyond else Result.CANNOT_TELL


def _action(effect: Effect, result: Result, items: int, margins: Margins, tests: int) -> str:
    if result is Result.PASSES:
        return ""
    if result is Result.FAILS:
        return _MEND[effect.expectation].format(effect.perturbation)
    if effect.expectation is Expectation.INVARIANT:
        spread = float(effect.differences.std(ddof=1)) if items > 1 else margins.equivalence
        needed = equivalence_items(spread, margins.equivalence, tests=tests)
        to = f"to show a change below {plain(margins.equivalence)} points"
    else:
        needed = max(LEAST_ITEMS, items_needed(margins.smallest_effect, tests=tests))
        to = f"to find an effect of d_z {plain(margins.smallest_effect)}"
    if items < needed:
        return f"Use more items: {needed} items needed {to}, you have {items}."
    return "Use more items, or texts of which more can be changed: the effect is near the margin."


_MEND = {
    Expectation.DROP: (
        "The judge does not see {}: have it look for that, such as by a criterion or an example, "
        "or use another judge."
    ),
    Expectation.RISE: "The judge does not reward {}: have it look for that.",
    Expectation.INVARIANT: (
        "The judge reacts to {} though nothing of substance changed: have it leave that out "
        "of account, or use another judge."
    ),
}


_REWARDS = {
    Expectation.DROP: "The judge rewards {}: do not use it where that can happen.",
    Expectation.RISE: "The judge scores {} lower: do not use it where that can happen.",
}
"""What to do where scores move the wrong way."""


def _trend(curve: SeverityCurve) -> Check:
    question = f"more {curve.perturbation}, further from the original score"
    name = f"trend:{curve.perturbation}"
    items, levels = curve.points.shape
    if levels < LEAST_LEVELS or items < 2:
        because = f"it needs {LEAST_LEVELS} severities and 2 items; there are {levels} and {items}"
        because += curve.without
        absent = not_estimable("severity_slope", because, n=items, n_items=items, unit="points")
        return Check(
            name, question, absent, Result.NOT_APPLICABLE, absent.reason,
            perturbation=curve.perturbation,
        )  # fmt: skip
    rising = -curve.points if curve.expectation is Expectation.DROP else curve.points
    centred = curve.severities - curve.severities.mean()
    slopes = rising @ centred / (centred @ centred)
    slope = mean_over_items("severity_slope", slopes, n=rising.size, unit="points")
    method = f"{slope.method}; p by Page's trend over {levels} severities"
    page, p = page_trend(rising)
    statistic = Estimate("page_l", page, None, None, rising.size, items, method="Page's L", p=p)
    slope = replace(slope, p=p, method=method)
    return Check(
        name, question, slope, Result.CANNOT_TELL, "", beside=(statistic,),
        perturbation=curve.perturbation,
    )  # fmt: skip


def _judged_trend(curve: SeverityCurve, check: Check, p: float | None) -> Check:
    items, levels = curve.points.shape
    if p is None:
        lacking = []
        if levels < LEAST_LEVELS:
            lacking.append("Score three severities, the original among them.")
        if items < 2 and curve.alike:
            lacking.append(
                f"Use longer texts, or severities further apart: two or more texts need {levels} "
                "that differ."
            )
        elif items < 2:
            lacking.append(
                f"Use texts that {curve.perturbation} can change: two or more need a score at "
                "every severity."
            )
        return replace(check, action=" ".join(lacking))
    falling = curve.points if curve.expectation is Expectation.DROP else -curve.points
    result, action = Result.CANNOT_TELL, "Use more items, or more severities."
    if not np.ptp(curve.points, axis=1).any():
        action = (
            f"No score moved at any severity of {curve.perturbation}, which more items do not "
            "change: see by the texts whether the judge should have noticed it."
        )
    if p < ALPHA:
        result, action = Result.PASSES, ""
    elif page_trend(falling)[1] < ALPHA:
        result = Result.FAILS
        action = _REWARDS[curve.expectation].format(curve.perturbation)
    reason = f"{span(check.estimate)}; p {short(p)} after Holm{curve.without}"
    return replace(check, result=result, reason=reason, action=action, p_adjusted=p)
