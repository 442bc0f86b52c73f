"""Does a judge use its scale, and does what it says tell items apart?

Of the corpus at hand: texts of one quality rightly get scores of one size.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from judge_gym.calibration.checks import Check, Margins, Result, claimed, gated
from judge_gym.calibration.editing import Expectation
from judge_gym.metrics.hypotheses_margins import Claim, Direction
from judge_gym.metrics.points import (
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

_ANCHORS = (
    "Describe in the rubric what a score of 20, 40, 60 and 80 looks like, or use fewer stages; "
    "first make sure that the texts differ in quality."
)
_MOVES_NOTHING = "but it puts nearly everything together, so that little can move"
# A count reaches a margin when it equals it.
_HALF = 0.5


def distribution_checks(scores: Scores, margins: Margins, rng: np.random.Generator) -> list[Check]:
    """Return the checks of one judge's scores of the originals, on all their runs."""
    return [
        claimed(
            "bins",
            f"{margins.bins} bins of 20 points hold 5% of the scores each",
            bins_in_use(scores),
            Claim(Direction.ABOVE, margins.bins - _HALF),
            _ANCHORS,
            undecided="Use more items: from 73 on, a bin without a score is known to be unused.",
        ),
        claimed(
            "band",
            f"no 20 points hold {margins.fullest_band:.0%} of the scores",
            fullest_band(scores),
            Claim(Direction.BELOW, margins.fullest_band),
            _ANCHORS,
        ),
        claimed(
            "entropy",
            f"the five bins are used with {margins.entropy:g} of the largest entropy",
            score_entropy(scores, rng),
            Claim(Direction.ABOVE, margins.entropy),
            _ANCHORS,
        ),
        claimed(
            "floor",
            f"fewer than {margins.at_floor:.0%} of items are at the lowest score",
            share_at_floor(scores),
            Claim(Direction.BELOW, margins.at_floor),
            "Use better texts, or a scale with room below: what is at the floor cannot drop.",
            beside=(share_at_floor(scores, floor=HIGHEST),),
        ),
    ]


def held_back(checks: Sequence[Check], spread: Sequence[Check]) -> list[Check]:
    """Return checks of invariance that pass as not applicable where the judge clusters.

    `spread` are the `distribution_checks`. What moves nothing stays put for free.
    """
    if not any(check.name == "band" and check.result is Result.FAILS for check in spread):
        return list(checks)
    return [
        replace(check, result=Result.NOT_APPLICABLE, reason=f"{check.reason}, {_MOVES_NOTHING}")
        if check.name.startswith(f"{Expectation.INVARIANT}:") and check.result is Result.PASSES
        else check
        for check in checks
    ]


def repetition_checks(scores: Scores, margins: Margins, rng: np.random.Generator) -> list[Check]:
    """Return discrimination, and self-agreement as far as discrimination allows.

    A judge that gives every item the same score agrees with itself for free, so that its
    self-agreement says nothing.
    """
    between = discrimination(scores, rng)
    scored = scores.sizes()[0]
    runs = float(scored[scored > 0].mean()) if len(scores) else 1.0
    telling = claimed(
        "discrimination",
        f"{margins.discrimination:.0%} of the variance of scores lies between items",
        between,
        Claim(Direction.ABOVE, margins.discrimination),
        "Do not use this judge: its scores differ as much between runs as between texts. A scale "
        "with fewer stages, or named verdicts, may be told apart.",
        beside=(reliability_of_mean(between, runs),),
    )
    agreeing = claimed(
        "self-agreement",
        f"{margins.near_share:.0%} of pairs of runs lie within {margins.near:g} points",
        runs_near(scores, margins.near),
        Claim(Direction.ABOVE, margins.near_share),
        "Use named verdicts or a scale with fewer stages, or another judge.",
    )
    return [telling, gated(agreeing, telling)]
