"""May a new judge take the place of an old one? Agreement of their scores on one corpus.

A high correlation is not enough: it stays high when every score moves. The new judge may replace
the old when its bias and its limits of agreement lie within the margins, by their intervals.
"""

from dataclasses import dataclass, replace

import numpy as np

from judge_gym.calibration.checks import Check, Margins, Result, claimed
from judge_gym.formats import plain
from judge_gym.metrics.accuracy import cohens_kappa
from judge_gym.metrics.cells import FloatArray, Verdicts
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.points import BINS, bin_of
from judge_gym.metrics.score_agreement import bland_altman, concordance, rank_agreement

FIGURE_NAMES = {
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

    `figures` are for reading: concordance correlation, quadratic κ over five bins, τ-b.
    `furthest` are the places of the items on which they differ most, the furthest first.
    """

    result: Result
    sentence: str
    checks: tuple[Check, ...]
    figures: tuple[Estimate, ...]
    furthest: tuple[int, ...]


def compare_judges(
    old: FloatArray, new: FloatArray, margins: Margins, rng: np.random.Generator, shown: int = 20
) -> Replacement:
    """Return what the mean points of the same items by the old and the new judge say.

    Both arrays are in one order of items. Needs two items for the limits of agreement.
    """
    bias, lower, upper = bland_altman(old, new)
    most = margins.replacement_limits
    checks = (
        claimed(
            "bias",
            f"the mean score moves by less than {plain(margins.replacement_bias)} points",
            bias,
            Claim(Direction.WITHIN, margins.replacement_bias),
            "Shift thresholds by the bias, or calibrate the new judge on known scores.",
        ),
        claimed(
            "limits",
            f"95% of texts are scored within {plain(most)} points of the old judge",
            _further(lower, upper),
            Claim(Direction.BELOW, most),
            "Read the texts on which they differ most before anything relies on the new judge.",
        ),
    )
    result = _worst(checks)
    return Replacement(
        result,
        _SENTENCES[result],
        checks,
        (lower, upper, concordance(old, new, rng), _kappa(old, new, rng),
         rank_agreement(old, new, rng)),
        tuple(np.argsort(-np.abs(new - old), kind="stable")[:shown].tolist()),
    )  # fmt: skip


_SENTENCES = {
    Result.PASSES: "The new judge may replace the old one under these margins.",
    Result.FAILS: "The new judge may not replace the old one under these margins.",
    Result.INCONCLUSIVE: "The data do not tell whether the new judge may replace the old one.",
    Result.NOT_APPLICABLE: "The two judges cannot be compared on these items.",
}


def _worst(checks: tuple[Check, ...]) -> Result:
    found = {check.result for check in checks}
    order = (Result.FAILS, Result.NOT_APPLICABLE, Result.INCONCLUSIVE)
    return next((result for result in order if result in found), Result.PASSES)


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
    return cohens_kappa(verdicts, 1 + bin_of(old), rng, quadratic=True)
