"""Do judges measure one thing, and does a second one see what the first does not?"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from judge_gym.calibration.checks import Check, Margins, claimed
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import not_estimable
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.metrics.score_agreement import error_correlation, rank_agreement, score_alpha


def between_checks(
    judges: Sequence[str],
    points: FloatArray,
    truth: FloatArray | None,
    margins: Margins,
    rng: np.random.Generator,
) -> list[Check]:
    """Return the checks of two or more judges on one corpus.

    `points` is items x judges, means over runs, NaN where a judge has no score; `truth` is in
    points, NaN where it is not known, None without any. Pairs are compared on the items both
    scored, errors on those whose truth is known.
    """
    checks = [_alike(judges, points, margins, rng)] if len(judges) > 1 else []
    for i, j in combinations(range(len(judges)), 2):
        both = ~np.isnan(points[:, [i, j]]).any(axis=1)
        pair = f"{judges[i]} and {judges[j]}"
        checks.append(
            claimed(
                f"rank agreement: {pair}",
                f"{pair} put texts in a like order",
                rank_agreement(points[both, i], points[both, j], rng),
                Claim(Direction.ABOVE, margins.rank_agreement),
                "Read the texts on which they differ most: the rubric may be read in two ways. "
                "Do not average the two.",
            )
        )
        known = both & (np.zeros(len(points), bool) if truth is None else ~np.isnan(truth))
        checks.append(_errors(pair, points[known][:, [i, j]], truth, known, margins, rng))
    return checks


def _alike(
    judges: Sequence[str], points: FloatArray, margins: Margins, rng: np.random.Generator
) -> Check:
    return claimed(
        "alpha",
        f"the scores of {', '.join(judges)} can stand in for each other",
        score_alpha(points, rng),
        Claim(Direction.ABOVE, margins.alpha),
        "Keep one judge throughout: scores of these cannot be compared with each other.",
    )


def _errors(
    pair: str,
    points: FloatArray,
    truth: FloatArray | None,
    known: np.ndarray[tuple[int], np.dtype[np.bool_]],
    margins: Margins,
    rng: np.random.Generator,
) -> Check:
    if truth is None:
        found = not_estimable("error_correlation", "no item has a known truth")
    else:
        found = error_correlation(points[:, 0], points[:, 1], truth[known], rng)
    return claimed(
        f"errors: {pair}",
        f"{pair} err on different texts",
        found,
        Claim(Direction.BELOW, margins.error_correlation),
        "Ask only one of them: the second repeats the errors of the first.",
    )
