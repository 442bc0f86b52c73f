"""Does a judge use its scale, and does what it says tell items apart?

Of the corpus at hand: texts of one quality rightly get scores of one size.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from judge_gym.calibration.checks import Check, Margins, Result, claimed, gated
from judge_gym.calibration.monotonicity import LEAST_ITEMS
from judge_gym.formats import percent, plain
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.metrics.points import (
    BINS,
    HIGHEST,
    Scores,
    bins_in_use,
    discrimination,
    fullest_band,
    reliability_of_mean,
    runs_near,
    score_entropy,
    share_at_floor,
)
from judge_gym.planted.editing import Expectation

_DIFFER = "first make sure that the texts differ in quality."
_ANCHORS = (
    "Describe in the rubric what scores along the whole scale look like, or use fewer stages; "
    f"{_DIFFER}"
)
_TWO_ANCHORS = f"Describe in the rubric what makes a text pass, and what makes it fail; {_DIFFER}"
_MOVES_NOTHING = "but its scores of the originals lie nearly all together: staying says little"
# A count reaches a margin when it equals it.
_HALF = 0.5
SELF_AGREEMENT = "self-agreement"
_BAR = 5


def score_counts(scores: Scores) -> list[tuple[float, int]]:
    """Return how many scores lie in each 5 points of the scale, by where the 5 points begin."""
    counts, edges = np.histogram(scores.points, bins=int(HIGHEST) // _BAR, range=(0, HIGHEST))
    return list(zip(edges[:-1].tolist(), counts.tolist(), strict=True))


def distribution_checks(
    scores: Scores,
    margins: Margins,
    rng: np.random.Generator,
    *,
    steps: int = BINS,
    labels: FloatArray | None = None,
) -> list[Check]:
    """Return the checks of one judge's scores of the originals, on all their runs.

    `steps` are those of its scale: of fewer than five no more bins can be used, and the shares
    allowed rise as an even use of them does. Of two, only whether both are used is checked: which
    share each verdict has is up to the texts. `labels` are people's, in points: of half
    the texts or more, what they do not do themselves is not applicable to the judge.
    """
    reachable = min(max(steps, 2), BINS)
    spread = _spread(scores, margins, rng, reachable)
    if labels is None or 2 * len(labels) < scores.n_items:
        return [check for check, _ in spread]
    people = Scores(
        judge=np.zeros(len(labels), dtype=np.int64), item=np.arange(len(labels)), points=labels,
        n_judges=1, n_items=len(labels),
    )  # fmt: skip
    theirs = _spread(people, margins, rng, reachable)
    return [
        check if _holds(label.estimate, claim) else _excused(check)
        for (check, claim), (label, _) in zip(spread, theirs, strict=True)
    ]


def _spread(
    scores: Scores, margins: Margins, rng: np.random.Generator, reachable: int
) -> list[tuple[Check, MarginClaim]]:
    bins = min(margins.bins, reachable)
    band, floor = (_allowed(share, reachable) for share in (margins.fullest_band, margins.at_floor))
    above = (
        MarginClaim(Direction.ABOVE, bins - _HALF),
        MarginClaim(Direction.ABOVE, margins.entropy),
    )
    below = (MarginClaim(Direction.BELOW, band), MarginClaim(Direction.BELOW, floor))
    used = claimed(
        "bins",
        "both verdicts hold 5% of the scores"
        if reachable == 2
        else f"{bins} bins of 20 points hold 5% of the scores each",
        bins_in_use(scores, reachable),
        above[0],
        _TWO_ANCHORS if reachable == 2 else _ANCHORS,
        undecided="Use more items: from 73 on, a bin without a score is known to be unused.",
    )
    if reachable == 2:
        return [(used, above[0])]
    together = claimed(
        "band",
        f"no 20 points hold {percent(band)} of the scores",
        fullest_band(scores),
        below[0],
        _ANCHORS,
    )
    even = claimed(
        "entropy",
        f"the {reachable} bins are used with {plain(margins.entropy)} of the largest entropy",
        score_entropy(scores, rng, reachable),
        above[1],
        _ANCHORS,
    )
    lowest = claimed(
        "floor",
        f"fewer than {percent(floor)} of items are at the lowest score",
        share_at_floor(scores),
        below[1],
        "Use better texts, or a scale with room below: what is at the floor cannot drop.",
        beside=(share_at_floor(scores, floor=HIGHEST),),
    )
    return [(used, above[0]), (together, below[0]), (even, above[1]), (lowest, below[1])]


def _allowed(share: float, reachable: int) -> float:
    """Return a share of five steps as that of fewer: as far from an even use as it was."""
    return 1 / reachable + (share - 1 / BINS) / (1 - 1 / BINS) * (1 - 1 / reachable)


def _holds(label: Estimate, claim: MarginClaim) -> bool:
    low, high = claim.region
    return label.estimate is None or low < label.estimate < high


def _excused(check: Check) -> Check:
    if check.result is Result.PASSES:
        return check
    reason = f"{check.reason}; people's labels of these texts are spread no wider"
    return replace(check, result=Result.NOT_APPLICABLE, reason=reason, action="")


def held_back(checks: Sequence[Check], spread: Sequence[Check], margins: Margins) -> list[Check]:
    """Return checks of invariance that pass as not applicable where the judge clusters.

    `spread` are the `distribution_checks`. What moves nothing stays put for free. A judge whose
    mean one of the perturbations moves beyond the margin of an invariance does not: where it
    stays, that says what it says of any judge.
    """
    named = {check.name: check.result for check in spread}
    # Of two verdicts there is no band: whether one is never used says as much.
    clusters = named.get("band", named.get("bins")) is Result.FAILS
    if not clusters or any(_moves(check.estimate, margins.equivalence) for check in checks):
        return list(checks)
    return [
        replace(check, result=Result.NOT_APPLICABLE, reason=f"{check.reason}, {_MOVES_NOTHING}")
        if check.expectation is Expectation.INVARIANT and check.result is Result.PASSES
        else check
        for check in checks
    ]


def _moves(change: Estimate, margin: float) -> bool:
    """Return whether a mean change is shown to lie beyond a margin, to either side."""
    if change.lower is not None and change.upper is not None:
        return change.lower >= margin or change.upper <= -margin
    same_for_all = change.n_items >= LEAST_ITEMS
    return same_for_all and change.estimate is not None and abs(change.estimate) >= margin


def repetition_checks(
    scores: Scores, margins: Margins, rng: np.random.Generator, least: float
) -> list[Check]:
    """Return discrimination, and self-agreement (`least`) as far as discrimination allows.

    A judge that gives every item the same score agrees with itself for free, so that its
    self-agreement says nothing.
    """
    between = discrimination(scores, rng)
    scored = scores.sizes()[0]
    runs = float(scored[scored > 0].mean()) if len(scores) else 1.0
    telling = claimed(
        "discrimination",
        f"{percent(margins.discrimination)} of the variance of scores lies between items",
        between,
        MarginClaim(Direction.ABOVE, margins.discrimination),
        "Do not use this judge: its scores differ as much between runs as between texts. A scale "
        "with fewer stages, or named verdicts, may be told apart.",
        beside=(reliability_of_mean(between, runs),),
    )
    agreeing = claimed(
        SELF_AGREEMENT,
        f"{percent(least)} of pairs of runs lie within {plain(margins.near)} points",
        runs_near(scores, margins.near),
        MarginClaim(Direction.ABOVE, least),
        "Use named verdicts or a scale with fewer stages, or another judge.",
    )
    return [telling, gated(agreeing, telling)]
