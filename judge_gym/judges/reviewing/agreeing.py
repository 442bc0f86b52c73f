"""Whether a judge in use answers, agrees with people's labels, and with itself text by text.

A mean that stays can hide that every text is judged otherwise, so drift is not all there is to ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from judge_gym.calibration.checks import Check, Decide, Margins, Result, claimed
from judge_gym.calibration.comparisons import answers_kept_check
from judge_gym.calibration.verdict import agreement_check, readable_check
from judge_gym.formats import plain
from judge_gym.judges import Item, Judge
from judge_gym.judges.calibrating.assessing import Results, known_points
from judge_gym.judges.calibrating.comparing import near_of
from judge_gym.judges.calibrating.judging import readable_of, readable_shares
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.judges.reviewing.moving import mean_points
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.margins import Direction, MarginClaim
from judge_gym.metrics.score_agreement import agreement_gain, label_agreement

KEPT, ALIKE = "agreement kept", "alike"
"""Names of checks: agreement with labels did not fall, texts have the scores that they had."""


@dataclass(frozen=True)
class Since:
    """What became of a judge since an earlier review; None where labels or scores are missing."""

    answers: Check
    kept: Check | None
    alike: Check | None

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(check for check in (self.answers, self.kept, self.alike) if check)

    @property
    def grounds(self) -> list[str]:
        """Why to reconsider the judge: lost answers; of the others labels decide, if they can."""
        decided = self.kept and self.kept.result in (Result.PASSES, Result.FAILS)
        of_scores = self.kept if decided else self.alike
        return [
            check.reason
            for check in (self.answers, of_scores)
            if check and check.result is Result.FAILS
        ]


def own_checks(
    judge: Judge, texts: Texts, now: Results, scale: tuple[float, float] | None
) -> tuple[Check, ...]:
    """Return whether the answers of a judge can be read, and agree with people's labels if any.

    As `Decide` asks; none before the first answer.
    """
    given = [now[item.key] for item in texts.originals if now[item.key]]
    if not given:
        return ()
    counts = np.array([(sum(one.failure is None for one in some), len(some)) for some in given])
    answers = readable_of(judge, [one for some in given for one in some])
    readable = readable_check(counts[:, 0], counts[:, 1], answers, Decide().readable)
    labelled = labels_check(judge, texts, now, scale)
    return (readable, labelled) if labelled else (readable,)


def labels_check(
    judge: Judge, texts: Texts, now: Results, scale: tuple[float, float] | None
) -> Check | None:
    """Return whether a judge agrees with people's labels, as `Decide` asks; None without labels."""
    originals, times = texts.originals, texts.times(texts.originals)
    labels = _labels(judge, originals, scale)
    known = ~np.isnan(labels)
    if not known.any():
        return None
    judged = mean_points(judge, originals, now)
    both = known & ~np.isnan(judged)
    answered = np.array([bool(now[item.key]) for item in originals])
    return agreement_check(
        labels[both],
        judged[both],
        Decide().agreement,
        near_of(judge),
        verdicts=judge.decides,
        unscored=times[known & answered & np.isnan(judged)],
        times=times[both],
    )


def since_review(
    judge: Judge,
    texts: Sequence[Item],
    results: tuple[Results, Results],
    day: date,
    scale: tuple[float, float] | None,
    margins: Margins,
) -> Since:
    """Return what became of a judge, by its results of the review on `day` and of now."""
    judged = [item.key for item in texts if results[0][item.key] and results[1][item.key]]
    was, is_now = (readable_shares(some[key] for key in judged) for some in results)
    answers = readable_of(judge, [one for key in judged for one in results[1][key]])
    answers_kept = answers_kept_check(was, is_now, answers, f"on {day}")
    before, now = (mean_points(judge, texts, some) for some in results)
    both = ~np.isnan(before) & ~np.isnan(now)
    labels = _labels(judge, texts, scale)
    known = both & ~np.isnan(labels)
    kept = _kept(labels[known], before[known], now[known], day) if known.any() else None
    alike = None if judge.decides else _alike(before[both], now[both], day, margins)
    return Since(answers_kept, kept, alike)


def _kept(labels: FloatArray, before: FloatArray, now: FloatArray, day: date) -> Check:
    less = Decide().below_people
    check = claimed(
        KEPT,
        f"it agrees with people's labels at most {plain(less)} less than on {day}",
        agreement_gain(labels, before, now),
        MarginClaim(Direction.ABOVE, -less),
        "Read the texts on which it no longer gives the label, before relying on it.",
    )
    if np.array_equal(before, now):
        same = f"0, the same answers as on {day}"
        return replace(check, result=Result.PASSES, reason=same, action="")
    reason = f"agreement with people's labels, now less on {day}: {check.reason}"
    return replace(check, reason=reason)


def _alike(before: FloatArray, now: FloatArray, day: date, margins: Margins) -> Check:
    check = claimed(
        ALIKE,
        f"its scores of each text can stand in for those of {day}: their concordance is above "
        f"{plain(margins.alpha)}",
        replace(label_agreement(before, now), metric="agreement_with_before"),
        MarginClaim(Direction.ABOVE, margins.alpha),
        "Read the texts that moved most, and calibrate it again before relying on it.",
    )
    if len(now) and np.array_equal(before, now):
        return replace(
            check, result=Result.PASSES, reason=f"the same scores as on {day}", action=""
        )
    return replace(check, reason=f"concordance of its scores now and on {day}: {check.reason}")


def _labels(judge: Judge, texts: Sequence[Item], scale: tuple[float, float] | None) -> FloatArray:
    return np.array([known_points(judge, item, scale) for item in texts], dtype=np.float64)
