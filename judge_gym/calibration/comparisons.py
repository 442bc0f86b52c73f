"""Judges beside each other: several on one corpus, a new one for an old one, one over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import (
    Check,
    Margins,
    Result,
    adjusted,
    claimed,
    items_needed,
    more_items,
    span,
    would_show,
)
from judge_gym.counting import counted
from judge_gym.formats import p_value, percent, plain, short
from judge_gym.metrics.accuracy import cohens_kappa
from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    IntArray,
    Verdicts,
    numbered,
    sums_by,
)
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.error_correlation import error_correlation
from judge_gym.metrics.estimate import (
    EPSILON,
    BoundedMethod,
    Estimate,
    mean_difference,
    mean_over_items,
    not_estimable,
)
from judge_gym.metrics.inference import binomial_sign_p, sign_flip_p
from judge_gym.metrics.margins import (
    ALPHA,
    Direction,
    MarginClaim,
    difference_p,
    p_at_margin,
)
from judge_gym.metrics.points import BINS, HIGHEST, bin_of
from judge_gym.metrics.score_agreement import bland_altman, concordance, rank_agreement, score_alpha
from judge_gym.model_names import pair_of

DRIFT = "drift"
"""The name of the check of a judge against itself at an earlier time."""
ANSWERS_KEPT = "answers kept"
"""The name of the check that answers still arrive, and can be read, as at an earlier time."""
MOST_LOST = 0.02
"""Share of the answers that may be lost since an earlier time, as `decide.readable` allows."""
CHANGED = "changed"
"""The name of the check of its scores against those of an earlier time, text by text."""


def between_checks(
    judges: Sequence[str],
    points: FloatArray,
    truth: FloatArray | None,
    margins: Margins,
    rng: np.random.Generator,
    refused: Sequence[str] = (),
) -> list[Check]:
    """Return the checks of two or more judges on one corpus.

    `points` is items x judges, means over runs, NaN where a judge has no score; `truth` is in
    points, NaN where it is not known, None without any. Pairs are compared on the items both
    scored, errors on those whose truth is known. Errors of a judge among `refused` are no reason to
    ask it too, however unlike they are.
    """
    checks = [_alike(judges, points, margins, rng)] if len(judges) > 1 else []
    for i, j in combinations(range(len(judges)), 2):
        both = ~np.isnan(points[:, [i, j]]).any(axis=1)
        pair = pair_of(judges[i], judges[j])
        checks.append(
            claimed(
                f"rank agreement: {pair}",
                f"{pair} put texts in a like order",
                rank_agreement(points[both, i], points[both, j], rng),
                MarginClaim(Direction.ABOVE, margins.rank_agreement),
                "Read the texts on which they differ most: the rubric may be read in two ways. "
                "Do not average the two.",
            )
        )
        usable = both & (np.zeros(len(points), bool) if truth is None else ~np.isnan(truth))
        errors = _errors(pair, points[usable][:, [i, j]], truth, usable, margins, rng)
        if not_used := [name for name in (judges[i], judges[j]) if name in refused]:
            errors = _no_second_opinion(errors, not_used)
        checks.append(errors)
    return checks


def _alike(
    judges: Sequence[str], points: FloatArray, margins: Margins, rng: np.random.Generator
) -> Check:
    scored = [name for name, own in zip(judges, points.T, strict=True) if not np.isnan(own).all()]
    return claimed(
        "alpha",
        f"the scores of {', '.join(scored if scored[1:] else judges)} can stand in for each other",
        score_alpha(points, rng),
        MarginClaim(Direction.ABOVE, margins.alpha),
        "Keep one judge throughout: scores of these cannot be compared with each other.",
    )


def _errors(
    pair: str,
    points: FloatArray,
    truth: FloatArray | None,
    usable: np.ndarray[tuple[int], np.dtype[np.bool_]],
    margins: Margins,
    rng: np.random.Generator,
) -> Check:
    if truth is None:
        correlation = not_estimable("error_correlation", "no item has a known truth")
    else:
        correlation = error_correlation(points[:, 0], points[:, 1], truth[usable], rng)
    return claimed(
        f"errors: {pair}",
        f"{pair} err on different texts",
        correlation,
        MarginClaim(Direction.BELOW, margins.error_correlation),
        "Ask only one of them: the second repeats the errors of the first.",
    )


def _no_second_opinion(errors: Check, refused: Sequence[str]) -> Check:
    """Return the check of errors as not applicable, as judges of the pair are not to be used."""
    names = " and ".join(refused)
    because = f"{names} {'is' if len(refused) == 1 else 'are'} not to be used"
    reason = because if errors.estimate.estimate is None else f"{errors.reason}, but {because}"
    return replace(errors, result=Result.NOT_APPLICABLE, reason=reason, action="", needed=None)


FIGURE_NAMES = {
    "cohens_kappa": "Cohen's κ",
    "right_difference": "share judged as labelled, new less old",
    "agreement_gain": "concordance with labels, new less old",
    "agreement_lower": "lower limit of agreement",
    "agreement_upper": "upper limit of agreement",
    "concordance": "concordance correlation",
    "cohens_kappa_quadratic": "κ over five bins, quadratic",
    "rank_agreement": "rank agreement, τ-b",
    "further_from_truth": "further from what is known than the judge in use",
}
"""What figures of two judges are called in tables."""


@dataclass(frozen=True)
class Replacement:
    """What a comparison says: whether the new judge may replace the old, by which checks.

    `figures` are for reading: of scores the limits of agreement, concordance correlation, quadratic
    κ over five bins, τ-b and, with labels, how much better the new judge agrees with them; of
    verdicts Cohen's κ and, with labels, how much more often the new judge is right. `furthest` are
    the places of the items on which they differ most, the furthest first, and none on which they do
    not; of verdicts, those that differ.
    """

    result: Result
    sentence: str
    checks: tuple[Check, ...]
    figures: tuple[Estimate, ...]
    furthest: tuple[int, ...]


def compare_judges(
    old: FloatArray,
    new: FloatArray,
    margins: Margins,
    rng: np.random.Generator,
    shown: int = 20,
    question: IntArray | None = None,
) -> Replacement:
    """Return what the mean points of the same items by the old and the new judge say.

    Arrays are in one order of items; `question` is what each answers, where several answer one.
    Needs two items for the limits of agreement.
    """
    bias, lower, upper = bland_altman(old, new, question)
    most = margins.replacement_limits
    checks = (
        claimed(
            "bias",
            f"the mean score moves by less than {plain(margins.replacement_bias)} points",
            bias,
            MarginClaim(Direction.WITHIN, margins.replacement_bias),
            "Shift thresholds by the bias, or calibrate the new judge on known scores.",
        ),
        claimed(
            "limits",
            f"95% of texts are scored within {plain(most)} points of the old judge",
            _further(lower, upper),
            MarginClaim(Direction.BELOW, most),
            "Read the texts on which they differ most before anything relies on the new judge.",
        ),
    )
    result = _worst(checks)
    apart = np.abs(new - old)
    furthest = [place for place in np.argsort(-apart, kind="stable") if apart[place] > EPSILON]
    return Replacement(
        result,
        _SENTENCES[result],
        checks,
        (lower, upper, concordance(old, new, rng), _kappa(old, new, rng),
         rank_agreement(old, new, rng)),
        tuple(map(int, furthest[:shown])),
    )  # fmt: skip


HALF_WAY = 50.0
"""The mean points of a judge of two verdicts between them; there it has given none."""


def compare_verdicts(
    old: FloatArray,
    new: FloatArray,
    truth: FloatArray,
    margins: Margins,
    rng: np.random.Generator,
    shown: int = 20,
    question: IntArray | None = None,
) -> Replacement:
    """Return what two verdicts on the same items by the old and the new judge say.

    Points are above 50 for the one verdict and below 50 for the other; `truth` likewise, NaN
    without a label. The new judge may replace the old one where fewer than
    `margins.changed_verdicts` of the verdicts differ, by Wilson. With labels, the share that each
    judges as labelled is compared on the same items: `mean_difference`, p by McNemar's exact test.
    Where several items answer one `question`, all is over questions, and p by sign flips of them.
    """
    first, second = old > HALF_WAY, new > HALF_WAY
    differ = (first != second).astype(np.float64)
    check = claimed(
        "changed",
        f"fewer than {percent(margins.changed_verdicts)} of the verdicts differ",
        changed_share("changed_verdicts", differ, question)
        if len(differ)
        else not_estimable("changed_verdicts", "no item has a verdict of both"),
        MarginClaim(Direction.BELOW, margins.changed_verdicts),
        "Read the texts on which they differ before anything relies on the new judge.",
    )
    figures = [_verdict_kappa(first, second, rng, question)]
    known = ~np.isnan(truth)
    if known.any():
        right = [(side == (truth > HALF_WAY))[known] for side in (first, second)]
        apart = right[1].astype(np.float64) - right[0].astype(np.float64)
        asked = None if question is None else numbered(question[known])
        difference = mean_difference(
            "right_difference", apart, unit="share", widest=1.0, question=asked
        )
        flipped = apart if asked is None else sums_by(asked, apart)
        figures.append(replace(difference, p=sign_flip_p(flipped, rng)))
    return Replacement(
        check.result,
        _SENTENCES[check.result],
        (check,),
        tuple(figures),
        tuple(np.flatnonzero(differ)[:shown].tolist()),
    )


def _verdict_kappa(
    first: BoolArray, second: BoolArray, rng: np.random.Generator, question: IntArray | None
) -> Estimate:
    """Return Cohen's κ of two judges' verdicts."""
    n = len(second)
    verdicts = Verdicts(
        judge=np.zeros(n, dtype=np.int64), item=np.arange(n), stages=1 << second.astype(np.int64),
        n_judges=1, n_items=n, n_stages=2, question=question,
    )  # fmt: skip
    return _of_two(cohens_kappa(verdicts, 1 + first.astype(np.int64), rng))


_SENTENCES = {
    Result.PASSES: "The new judge may replace the old one under these margins.",
    Result.FAILS: "The new judge may not replace the old one under these margins.",
    Result.CANNOT_TELL: "The data do not tell whether the new judge may replace the old one.",
    Result.NOT_APPLICABLE: "The two judges cannot be compared on these items.",
}


def _worst(checks: tuple[Check, ...]) -> Result:
    outcomes = {check.result for check in checks}
    order = (Result.FAILS, Result.NOT_APPLICABLE, Result.CANNOT_TELL)
    return next((result for result in order if result in outcomes), Result.PASSES)


def _further(lower: Estimate, upper: Estimate) -> Estimate:
    """Return the limit of agreement that lies further from 0, as a distance."""
    if lower.estimate is None or upper.estimate is None:
        return replace(upper, metric="agreement_limit")
    if abs(upper.estimate) >= abs(lower.estimate):
        return replace(upper, metric="agreement_limit")
    ends = None if lower.upper is None or lower.lower is None else (-lower.upper, -lower.lower)
    return replace(
        lower, metric="agreement_limit", estimate=-lower.estimate,
        lower=ends[0] if ends else None, upper=ends[1] if ends else None,
    )  # fmt: skip


def _kappa(old: FloatArray, new: FloatArray, rng: np.random.Generator) -> Estimate:
    """Return the quadratic κ of both judges' bins of 20 points."""
    n = len(new)
    verdicts = Verdicts(
        judge=np.zeros(n, dtype=np.int64), item=np.arange(n), stages=1 << bin_of(new),
        n_judges=1, n_items=n, n_stages=BINS,
    )  # fmt: skip
    return _of_two(cohens_kappa(verdicts, 1 + bin_of(old), rng, quadratic=True))


def _of_two(kappa: Estimate) -> Estimate:
    """Return κ of two judges: the first is no truth, which a missing κ would speak of."""
    because = "the old judge says the same of every text, as far as κ tells scores apart"
    return replace(kappa, because=because) if kappa.estimate is None else kappa


@dataclass(frozen=True, eq=False)
class Drift:
    """How the items of one judge moved: in points, or for `verdicts` 1 where it changed, else 0.

    A verdict that is missing now has changed; a score that is missing has not moved by any points.
    """

    moved: FloatArray
    verdicts: bool = False


def drift_checks(drifts: Sequence[Drift], margins: Margins, tests: int = 1) -> list[Check]:
    """Return a check per judge: that it judges as it did.

    Scores: the mean paired difference lies within ± `margins.equivalence` points, by
    `mean_difference`, as the bias of two judges does. Verdicts: the share that changed lies below
    `margins.changed_verdicts`, by Wilson. The p is two-sided, of the value being at its margin
    (within it, that of two one-sided tests doubled), after Holm over the judges; a check passes or
    fails below 0.05, else it is inconclusive.

    Few texts may all move by far more than the margin, and bound the mean of all texts by little.
    So where the interval is not by t, a check also fails if it is shown that most texts moved
    beyond the margin one way: by the exact sign test, both p doubled as they are two.

    An open check says how many items would decide it among `tests` or more, those of later looks.
    """
    raw = [_measured_drift(drift, margins) for drift in drifts]
    return [
        _judged_drift(drift, check, p, margins, tests)
        for drift, check, p in zip(drifts, raw, adjusted(raw), strict=True)
    ]


def changed_share(metric: str, changed: FloatArray, question: IntArray | None = None) -> Estimate:
    """Return the share of items whose verdict differs, from 1 and 0 per item, by Wilson.

    Items of one `question` count together.
    """
    once = np.ones(len(changed), dtype=np.int64)
    return clustered_share(metric, changed.astype(np.int64), once, question)


def changed_check(
    moved: FloatArray, near: float, most: float, may: str = "another model may answer"
) -> Check:
    """Return the check that fewer than a share `most` of the texts are scored otherwise.

    `moved` is in points by text: one that moved by more than `near` is, and one that lost its score
    (NaN). A mean that stays can hide that every text is: by Wilson. `may` says why it fails.
    """
    otherwise = (np.isnan(moved) | (np.abs(moved) > near)).astype(np.float64)
    return claimed(
        CHANGED,
        f"fewer than {percent(most)} of the texts are scored more than {plain(near)} points apart "
        "from before",
        changed_share("changed_scores", otherwise)
        if len(moved)
        else not_estimable("changed_scores", "no text had a score before"),
        MarginClaim(Direction.BELOW, most),
        f"Read the texts that moved most: {may}. Calibrate it before relying on it.",
    )


def at_look(check: Check, claim: MarginClaim, look: int) -> Check:
    """Return a check that fails at most once in 20 streams at its margin, however often one looks.

    At the `look`-th look, from 1, it fails if its one-sided p lies below 0.05 / (look·(look + 1)),
    which sums to 0.05 over all looks; at the first that is as its interval says. What fails by its
    interval alone is open. A pass is of this look only.
    """
    p = check.p_adjusted if check.p_adjusted is not None else p_at_margin(check.estimate, claim)
    level = ALPHA / (look * (look + 1))
    if check.result is not Result.FAILS or p is None or p / 2 <= level:
        return check
    reason = f"{check.reason}; at look {look} it fails below a one-sided p of {short(level)}"
    action = "Judge the texts again, or more of them: this may be chance of so many looks."
    return replace(check, result=Result.CANNOT_TELL, reason=reason, action=action)


def answers_kept_check(
    before: FloatArray, now: FloatArray, answers: Answers, then: str = "before"
) -> Check:
    """Return the check that a judge answers as it did: no more than `MOST_LOST` are lost.

    Arrays are, by text that was judged both times, the share of its answers that could be read:
    that have a score, a verdict or an abstention. By Wilson where every text has its answer or has
    lost it, else by t. It passes where the share itself does, as what can be read is counted.
    `answers` are those of now.
    """
    fell = before - now
    if len(fell) and set(np.unique(fell)) <= {0.0, 1.0}:
        lost = changed_share("lost_answers", fell)
    else:
        lost = mean_over_items("lost_answers", fell, n=len(fell), unit="share", bounds=(-1.0, 1.0))
    check = claimed(
        ANSWERS_KEPT,
        f"at most {percent(MOST_LOST)} of the answers that came {then} are lost",
        lost,
        MarginClaim(Direction.BELOW, MOST_LOST),
        answers.remedy,
        undecided=answers.remedy,
    )
    if lost.estimate is not None and lost.estimate <= MOST_LOST:
        check = replace(check, result=Result.PASSES, action="")
    gone = int((fell > 0).sum())
    if not gone:
        return replace(check, reason=f"every text is answered as {then}") if len(fell) else check
    lead = f"{gone} of {counted(len(fell), 'answer')} no longer arrive or cannot be read"
    return replace(check, reason=f"{lead} ({answers.why}), share lost {check.reason}")


def _measured_drift(drift: Drift, margins: Margins) -> Check:
    moved, claim = drift.moved, _claim(drift, margins)
    if drift.verdicts:
        question = f"fewer than {percent(margins.changed_verdicts)} of the verdicts changed"
        change = changed_share("changed_verdicts", moved)
        p = p_at_margin(change, claim)
    else:
        question = f"the mean score moved by less than {plain(margins.equivalence)} points"
        change = mean_difference("score_drift", moved, unit="points", widest=HIGHEST)
        p = difference_p(change, moved, claim, widest=HIGHEST)
        if p is not None and _is_beyond(change, claim):
            beyond = _beyond(moved, claim)
            most = 2 * binomial_sign_p(beyond, len(moved) - beyond, above=True)
            p = min(1.0, 2 * min(p, most))
    return Check(DRIFT, question, replace(change, p=p), Result.CANNOT_TELL, "")


def _is_beyond(change: Estimate, claim: MarginClaim) -> bool:
    """Whether a mean lies beyond its margin, and its interval is not by t."""
    low, high = claim.region
    by_t = not isinstance(change.method, BoundedMethod)
    return not by_t and change.estimate is not None and not low < change.estimate < high


def _beyond(moved: FloatArray, claim: MarginClaim) -> int:
    """Return how many items moved beyond the margin, on the side of their mean."""
    side = 1 if moved.mean() > 0 else -1
    return int((side * moved > claim.margin + EPSILON).sum())


def _claim(drift: Drift, margins: Margins) -> MarginClaim:
    if drift.verdicts:
        return MarginClaim(Direction.BELOW, margins.changed_verdicts)
    return MarginClaim(Direction.WITHIN, margins.equivalence)


def _judged_drift(
    drift: Drift, check: Check, p: float | None, margins: Margins, later: int
) -> Check:
    estimate, claim = check.estimate, _claim(drift, margins)
    if estimate.estimate is None:
        return replace(check, result=Result.NOT_APPLICABLE, reason=estimate.reason)
    is_beyond, n = not drift.verdicts and _is_beyond(estimate, claim), estimate.n_items
    beyond = _beyond(drift.moved, claim) if is_beyond else 0
    said = [span(estimate)]
    if is_beyond:
        way = "up" if estimate.estimate > 0 else "down"
        said.append(
            f"{beyond} of {counted(n, 'text')} moved by more than {plain(claim.margin)} {way}"
        )
    if p is not None:
        said.append(f"p {p_value(p)} after Holm")
    check = replace(check, reason="; ".join(said), p_adjusted=p)
    if p is None or p >= ALPHA:
        tests = max(later, p / estimate.p if p and estimate.p else 1.0)
        needed = items_needed(estimate, claim, 2 * tests if is_beyond else tests)
        action = more_items(estimate, claim, tests=tests)
        if is_beyond:
            if beyond == n:  # 4·tests / 2^n is below 0.05
                by_sign = math.floor(math.log2(4 * tests / ALPHA)) + 1
                needed = by_sign if needed is None else min(needed, by_sign)
            action = would_show(estimate, claim, needed, "items")
        return replace(check, result=Result.CANNOT_TELL, action=action, needed=needed)
    low, high = claim.region
    if low < estimate.estimate < high:
        return replace(check, result=Result.PASSES)
    action = "Read the texts that moved most, and calibrate it again before relying on it."
    return replace(check, result=Result.FAILS, action=action)
