"""What a check says of a judge: tested, estimated, with a result and what to do about it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from judge_gym.design.fields import Frozen, Legal
from judge_gym.errors import did_you_mean
from judge_gym.formats import short
from judge_gym.metrics.class_rates import SENSITIVITY, SPECIFICITY
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    BoundedMethod,
    Estimate,
    items_for_share_unseen,
    largest_share_unseen,
    normal_quantile,
)
from judge_gym.metrics.inference import holm
from judge_gym.metrics.margins import Conclusion, Direction, MarginClaim, conclude
from judge_gym.metrics.points import HIGHEST
from judge_gym.metrics.score_agreement import BEYOND_LIMITS
from judge_gym.planted.editing import Expectation
from judge_gym.planted.perturbations import perturbations

ALPHA = 0.025
"""Level of every one-sided test, after Holm: the 95% interval on the side that counts."""


def _known(name: str) -> str:
    if name not in perturbations():
        allowed = ", ".join(perturbations())
        close = did_you_mean(name, list(perturbations()))
        raise ValueError(f"there is no perturbation {name!r}. {close}Use {allowed}")
    return name


Known = Annotated[str, AfterValidator(_known)]
"""The name of a perturbation."""
_WEIGHTS = Legal("a mapping of perturbations to warns, blocks or blocks together")
_FAR = 7
"""Half an interval over the distance to its margin, from which 50 times the items are needed."""


class Margins(Frozen):
    """What counts as enough, said before a judge is run; points are of 100."""

    smallest_effect: float = Field(default=0.5, gt=0)
    """Drop, in standard deviations of the item differences (d_z), that a judge has to show."""
    equivalence: float = Field(default=5.0, gt=0, le=100)
    """Points by which a score may move where it should not."""
    bins: int = Field(default=3, ge=1, le=5)
    """Bins of 20 points that hold 5% of the scores."""
    fullest_band: float = Field(default=0.6, gt=0, lt=1)
    """Largest share of scores within 20 points."""
    entropy: float = Field(default=0.5, gt=0, lt=1)
    """Least entropy of the five bins, as a share of the largest."""
    at_floor: float = Field(default=0.25, gt=0, lt=1)
    """Largest share of items at the lowest score, from where nothing can drop."""
    discrimination: float = Field(default=0.5, gt=0, lt=1)
    """Least share of the variance of scores that lies between items."""
    near: float = Field(default=10.0, ge=0, le=100)
    """Points within which two runs of an item agree."""
    rank_agreement: float = Field(default=0.3, ge=0, lt=1)
    """Least τ-b of two judges that are taken for measures of one thing."""
    alpha: float = Field(default=0.667, gt=0, lt=1)
    """Least Krippendorff's α of judges whose scores are used in place of each other."""
    error_correlation: float = Field(default=0.5, gt=0, le=1)
    """Largest correlation of errors of judges that are asked for a second opinion."""
    replacement_bias: float = Field(default=5.0, gt=0, le=100)
    """Points by which a new judge may score higher or lower than the old one on average."""
    replacement_limits: float = Field(default=20.0, gt=0, le=100)
    """Points within which 95% of items have to be scored like by the old judge."""
    changed_verdicts: float = Field(default=0.1, gt=0, lt=1)
    """Share of verdicts that may come out otherwise by the same judge, or by one like it."""
    accuracy_loss: float = Field(default=0.05, gt=0, lt=1)
    """Share of right scores that asking a cheaper judge may cost."""


class Weight(StrEnum):
    """What it means for the verdict that a judge fails the check of a perturbation."""

    WARNS = "warns"
    BLOCKS = "blocks"
    BLOCKS_TOGETHER = "blocks together"


class Decide(Frozen):
    """The rule of the verdict, in the order in which it is applied; shares are of 1."""

    readable: float = Field(default=0.98, gt=0, lt=1)
    """Least share of answers that can be read: have a score, a verdict or an abstention."""
    agreement: float = Field(default=0.4, ge=0, lt=1)
    """Least agreement with people's labels beyond chance: κ of verdicts, concordance of scores."""
    below_people: float = Field(default=0.1, gt=0, lt=1)
    """Where `people` are given: how much less a judge may agree with a person than people do with
    each other."""
    self_agreement: float = Field(default=0.9, gt=0, lt=1)
    """Least share of pairs of runs that lie within `margins.near` points."""
    perturbations: Annotated[dict[Known, Weight], _WEIGHTS] = Field(
        default={
            "inject_errors": Weight.BLOCKS_TOGETHER,
            "vague_ify": Weight.BLOCKS_TOGETHER,
        }
    )
    """Perturbation → what failing its check means: `blocks` (do not use), `warns` (use with care),
    or `blocks together` (do not use if the judge fails every one of these; there are two or more).
    One that is not named warns."""

    def weight(self, perturbation: str) -> Weight:
        """Return what failing the check of a perturbation means."""
        return self.perturbations.get(perturbation, Weight.WARNS)


class Result(StrEnum):
    """What a check found."""

    PASSES = "passes"
    FAILS = "fails"
    CANNOT_TELL = "cannot tell"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Check:
    """One property of a judge.

    `name` is stable, `question` says what was tested. `estimate` carries n, interval and the raw
    p; `p_adjusted` is after Holm over the checks of its family. `reason` says why the result is
    what it is, `action` what to do; it is empty where nothing is to be done. `beside` are figures
    to be read with the estimate. `perturbation` names what was done to the texts, empty for a
    check of the originals; `expectation` is what it was expected to do to the score, None for
    other checks.
    """

    name: str
    question: str
    estimate: Estimate
    result: Result
    reason: str
    action: str = ""
    beside: tuple[Estimate, ...] = ()
    p_adjusted: float | None = None
    perturbation: str = ""
    expectation: Expectation | None = None
    needed: int | None = None
    """How many items would decide it, where it is open and that can be forecast."""


def is_open(check: Check) -> bool:
    """Whether a check can be made and its data cannot tell."""
    return check.result is Result.CANNOT_TELL


def moves_wrong_way(check: Check) -> bool:
    """Whether scores are shown to move against what was expected: up for a drop, down for a rise.

    Their mean change is counted in the expected direction, and its whole interval lies below 0. So
    does a change that is the same for all items.
    """
    if check.expectation not in (Expectation.DROP, Expectation.RISE):
        return False
    end = check.estimate.estimate if check.estimate.upper is None else check.estimate.upper
    return check.result is Result.FAILS and end is not None and end < -EPSILON


_RESULTS = {
    Conclusion.SUPPORTED: Result.PASSES,
    Conclusion.REFUTED: Result.FAILS,
    Conclusion.INCONCLUSIVE: Result.CANNOT_TELL,
    Conclusion.NOT_TESTABLE: Result.NOT_APPLICABLE,
}


def claimed(
    name: str, question: str, estimate: Estimate, claim: MarginClaim, failed: str,
    beside: tuple[Estimate, ...] = (), undecided: str = "",
) -> Check:  # fmt: skip
    """Return the check that the interval of `estimate` lies where `claim` puts the value.

    `failed` is the action when it does not, `undecided` when that is open; without it, how many
    items it takes. Without an interval an estimate decides nothing.
    """
    result = _RESULTS[conclude(estimate, claim)]
    actions = {
        Result.FAILS: failed,
        Result.CANNOT_TELL: undecided or more_items(estimate, claim),
    }
    needed = items_needed(estimate, claim) if result is Result.CANNOT_TELL else None
    reason, action = span(estimate), actions.get(result, "")
    return Check(name, question, estimate, result, reason, action, beside, needed=needed)


def span(estimate: Estimate) -> str:
    """Return the value with its interval in words, or why there is none."""
    if estimate.estimate is None:
        return estimate.reason
    unit = " points" if estimate.unit == "points" else ""
    value = f"{rounded(estimate.estimate)}{unit}"
    if estimate.lower is None or estimate.upper is None:
        return f"{value}, {estimate.reason}" if estimate.reason else value
    return f"{value}, 95% interval {rounded(estimate.lower)} to {rounded(estimate.upper)}"


def rounded(value: float) -> str:
    """Return three significant digits; what is left over by arithmetic is 0."""
    return short(0.0 if abs(value) <= EPSILON else value)


_COUNTED = {
    SENSITIVITY: "items that people passed",
    SPECIFICITY: "items that people failed",
}
"""Metric → what its n counts, where that is a class of the items."""
_FROM_SPREAD = ("coefficient", "agreement beyond chance")
"""Units of figures that compare how items differ, and need items that do."""


def more_items(
    estimate: Estimate, claim: MarginClaim, noun: str = "", *, tests: float = 1.0
) -> str:
    """Return in words how many items would decide the claim if the estimate stayed where it is.

    `noun` is what the estimate counts: items, or those of its class. `tests`: see `items_needed`.
    """
    noun = noun or _COUNTED.get(estimate.metric, "items")
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        varied = ", of different quality" if estimate.unit in _FROM_SPREAD else ""
        return f"Use more {noun}{varied}."
    return would_show(estimate, claim, items_needed(estimate, claim, tests), noun)


def would_show(estimate: Estimate, claim: MarginClaim, needed: int | None, noun: str) -> str:
    """Return in words that `needed` items would decide the claim; None where none would."""
    if needed is None and estimate.items_lower is None:
        return f"Use many more {noun}: the value lies at the margin."
    if needed is None:
        return (
            "Use more wordings or rubric draws: those used differ so much that it stays open with "
            f"any number of {noun}."
        )
    low, high = claim.region
    holds = estimate.estimate is not None and low < estimate.estimate < high
    shows = "it" if holds else "that it does not hold"
    return f"Use more {noun}: about {needed:,} would show {shows}, you have {estimate.n_items}."


def items_needed(estimate: Estimate, claim: MarginClaim, tests: float = 1.0) -> int | None:
    """Return how many items would decide the claim if the estimate stayed where it is.

    A forecast from one estimate, of two digits. None without an interval, at the margin, and where
    what wordings or rubric draws add to its error is too much alone. It is decided at 5% over
    `tests`, as Holm's correction has it.
    """
    value = estimate.estimate
    if value is None or estimate.lower is None or estimate.upper is None:
        return None
    edges = [edge for edge in claim.region if math.isfinite(edge)]
    if not claim.region[0] < value < claim.region[1]:
        edges = [min(edges, key=lambda edge_value: abs(value - edge_value))]
    all_needed = [_items_to_exclude(estimate, value, edge, tests) for edge in edges]
    if None in all_needed:
        return None
    needed = max(estimate.n_items + 1, *(items for items in all_needed if items is not None))
    return two_digits(needed)


def two_digits(needed: int) -> int:
    """Return a forecast of items, rounded up to two digits."""
    step = 10 ** max(0, len(str(needed)) - 2)
    return int(math.ceil(needed / step) * step)


def items_if_unchanged(claim: MarginClaim, tests: float = 1.0) -> int:
    """Return how many items show that nothing moved by the margin, where none of them does.

    Of a mean of points, that lies within the margin, as `mean_difference` has it of equal scores;
    of a share below it, as Wilson's interval of none has it. `tests`: see `items_needed`.
    """
    level = 1 - (1 - LEVEL) / tests
    if claim.direction is Direction.WITHIN:
        share = claim.margin / HIGHEST
        return max(2, items_for_share_unseen(share, level)) if share < 1 else 2
    z = normal_quantile()
    return math.floor(z * normal_quantile(level) / claim.margin - z**2) + 1


def _items_to_exclude(estimate: Estimate, value: float, edge: float, tests: float) -> int | None:
    """Return how many items would have an interval that ends before `edge`; None at the edge."""
    if estimate.lower is None or estimate.upper is None:
        return None
    half = value - estimate.lower if edge < value else estimate.upper - value
    distance, level = abs(value - edge), 1 - (1 - LEVEL) / tests
    share = _share_to_exclude(estimate, half, distance)
    if share is not None:
        return items_for_share_unseen(share, level)
    if distance * _FAR < half:
        return None
    wanted = distance * normal_quantile() / normal_quantile(level)
    of_items = _half_over_items(estimate, above=edge > value) or half
    stays = half**2 - of_items**2  # what wordings and rubric draws add, whatever the items
    if stays >= wanted**2:
        return None
    ratio = of_items / math.sqrt(wanted**2 - max(0.0, stays))
    if value in (estimate.lower, estimate.upper):
        # A share of 0 or 1: the far end of Wilson's interval comes nearer as 1/n, not as 1/√n.
        z2 = normal_quantile() ** 2
        return math.ceil((estimate.n_items + z2) * ratio - z2)
    return math.ceil(estimate.n_items * ratio**2)


def _half_over_items(estimate: Estimate, *, above: bool) -> float | None:
    """Return half the interval over items alone, on one side; None where that is the interval."""
    if estimate.estimate is None or estimate.items_lower is None or estimate.items_upper is None:
        return None
    if above:
        return estimate.items_upper - estimate.estimate
    return estimate.estimate - estimate.items_lower


def _share_to_exclude(estimate: Estimate, half: float, distance: float) -> float | None:
    """Return the share of items that may not move otherwise; None where some do.

    `half` is half of the interval on the side of the margin, `distance` how far that is.
    """
    if estimate.method == BoundedMethod.LIMITS_ALIKE:
        return BEYOND_LIMITS
    if estimate.method != BoundedMethod.ALL_ALIKE or distance <= EPSILON:
        return None
    return distance * largest_share_unseen(estimate.n_items) / half


def adjusted(checks: Sequence[Check]) -> list[float | None]:
    """Return the p of each check after Holm over those that have one."""
    tested = [(place, check.estimate.p) for place, check in enumerate(checks)]
    family = [(place, p) for place, p in tested if p is not None]
    p_values: list[float | None] = [None] * len(checks)
    for (place, _), p in zip(family, holm([p for _, p in family]), strict=True):
        p_values[place] = p
    return p_values


def pending(check: Check, made: int, expected: int) -> Check:
    """Return the check, as open where it is undecided and judgements that it needs are missing.

    `made` of the `expected` judgements exist. Other texts would not decide it before the rest does.
    """
    estimate = check.estimate
    decided = check.result in (Result.PASSES, Result.FAILS) or (
        check.result is Result.NOT_APPLICABLE and estimate.estimate is not None
    )
    if decided or made >= expected:
        return check
    reason = f"judgements are missing: {made:,} of {expected:,} exist"
    if estimate.estimate is None:
        estimate = replace(estimate, because=reason)
    else:
        reason = f"{check.reason}; {reason}"
    action = (
        "Rerun the command to make the missing judgements; if a budget stopped it, raise it first."
    )
    return replace(
        check, estimate=estimate, result=Result.CANNOT_TELL, reason=reason, action=action
    )


def gated(check: Check, gate: Check) -> Check:
    """Return the check, which can say no more than the one it rests on."""
    if gate.result is Result.PASSES or check.result is Result.NOT_APPLICABLE:
        return check
    if gate.result is Result.CANNOT_TELL and check.result is Result.FAILS:
        return check
    result = {Result.CANNOT_TELL: Result.CANNOT_TELL}.get(gate.result, Result.NOT_APPLICABLE)
    outcome_text = {Result.CANNOT_TELL: "is not shown", Result.FAILS: "fails"}.get(
        gate.result, "is not applicable"
    )
    reason = f"{check.reason}, but {gate.name} {outcome_text}"
    return replace(check, result=result, reason=reason, action=gate.action)
