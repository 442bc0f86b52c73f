"""When a cheap judge is enough, and when to ask a stronger one or one of a second family.

A policy asks one judge, and a second about some items; what it costs and how often it is right is
measured on items with known truth, paired over the same items. A judge's own repeats are never
offered as a second opinion: they share its mistakes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.calibration.checks import more_items
from judge_gym.formats import percent
from judge_gym.metrics.cells import BoolArray, FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import SIGNED_UNIT, Estimate, mean_over_items, not_estimable, wilson
from judge_gym.metrics.margins import Direction, MarginClaim

SHARES = (0.1, 0.25, 0.5)
"""Shares of items, the most doubtful first, of which a stronger judge is asked."""


@dataclass(frozen=True, eq=False)
class MeasuredJudge:
    """A judge as measured, one entry per item, in one order for all judges.

    `right` says whether its answer is right by the known truth, `cost` what asking it cost, in
    dollars, NaN where that is not known. `doubt` orders items by how unsure it was, the largest
    first: the spread of its runs, or how near its score lies to the threshold. `answer` is what it
    said, to see disagreement.
    """

    judge: str
    family: str
    answer: FloatArray
    right: BoolArray
    cost: FloatArray
    doubt: FloatArray


@dataclass(frozen=True)
class PolicyFigures:
    """A policy with its accuracy, its cost per item in dollars, and the share it asks twice.

    `first` is the judge that is asked first. `loss` is the accuracy of the judge that is best on
    these items less that of the policy, paired over them; the best one loses nothing.
    """

    name: str
    first: str
    accuracy: Estimate
    cost: Estimate
    asked_twice: Estimate
    loss: Estimate

    @property
    def is_alone(self) -> bool:
        """Whether one judge is asked, and nobody else."""
        return self.name == _alone(self.first)

    @property
    def is_best(self) -> bool:
        """Whether this is the judge alone that `loss` compares with."""
        return self.loss.lower == self.loss.upper == 0


def policies(
    first: MeasuredJudge, second: MeasuredJudge, others: Sequence[MeasuredJudge] = ()
) -> list[PolicyFigures]:
    """Return the figures of each policy, from cheap to dear as measured.

    `first` is the cheap judge, `second` the stronger one, `others` judges of a second family:
    each alone; the cheap one with the stronger asked about the most doubtful items (`SHARES`, set
    beforehand, so that nothing is fitted to the truth); and the cheap one with the stronger asked
    wherever a judge of another family disagrees. Judges of the first one's family are no second
    opinion and give no such policy. Raises ValueError for arrays of different length.
    """
    judges = (first, second, *others)
    if len({len(side) for judge in judges for side in (judge.answer, judge.right, judge.cost)}) > 1:
        raise ValueError("judges measured on different items")
    never = np.zeros(len(first.right), dtype=np.bool_)
    plans = [(_alone(judge.judge), judge.judge, judge.right, judge.cost, never) for judge in judges]
    for share in SHARES:
        escalated = _most_doubtful(first.doubt, share)
        plans.append(
            (f"{first.judge}, then {second.judge} on the {percent(share)} in most doubt",
             first.judge,
             np.where(escalated, second.right, first.right),
             first.cost + escalated * second.cost, escalated)
        )  # fmt: skip
    for other in others:
        if other.family == first.family:
            continue
        escalated = first.answer != other.answer
        plans.append(
            (f"{first.judge} and {other.judge}, then {second.judge} where they differ",
             first.judge,
             np.where(escalated, second.right, first.right),
             first.cost + other.cost + escalated * second.cost, escalated)
        )  # fmt: skip
    best = max(judges, key=lambda judge: float(judge.right.mean()) if len(judge.right) else 0.0)
    figures = [_figures(*plan, best.right) for plan in plans]
    return sorted(
        figures, key=lambda figure: np.inf if figure.cost.estimate is None else figure.cost.estimate
    )


def _alone(judge: str) -> str:
    return f"{judge} alone"


def sufficient(figures: Sequence[PolicyFigures], margin: float) -> PolicyFigures | None:
    """Return the cheapest policy shown to lose less than `margin` of the best judge's accuracy.

    The upper end of its paired loss lies below the margin, which is in (0, 1). The best judge
    alone loses nothing to itself, however seldom it is right, and is always such a policy.
    """
    return next(
        (
            figure
            for figure in figures
            if figure.loss.upper is not None and figure.loss.upper < margin
        ),
        None,
    )


def undecided(figures: Sequence[PolicyFigures], margin: float) -> tuple[PolicyFigures, str] | None:
    """Return the cheapest policy that may be enough, and what would decide it.

    It costs less than the one that is `sufficient` and loses less than `margin` on these items,
    which does not show that it does on others.
    """
    first = next((figure for figure in figures if (figure.loss.estimate or 0.0) < margin), None)
    if first is None or first is sufficient(figures, margin):
        return None
    loss = first.loss
    if not loss.estimate:
        # No item differs: the end comes nearer as 1/n, as that of a share of 0 does.
        loss = replace(loss, lower=0.0)
    return first, more_items(loss, MarginClaim(Direction.BELOW, margin))


def _figures(
    name: str, first: str, right: BoolArray, cost: FloatArray, escalated: BoolArray, best: BoolArray
) -> PolicyFigures:
    n = len(right)
    ones = np.ones(n, dtype=np.int64)
    loss = mean_over_items(
        "accuracy_loss", best.astype(np.float64) - right, n=n, unit="share", bounds=SIGNED_UNIT
    )
    if right is best:
        loss = replace(loss, lower=0.0, upper=0.0, method="it is the best judge alone", because="")
    elif loss.lower is None and n and not loss.estimate:
        # No item differs: the share on which one could is bounded all the same.
        most = wilson(0, n)[1]
        method = "no item differs; Wilson interval of the share that could"
        loss = replace(loss, lower=-most, upper=most, method=method, because="")
    return PolicyFigures(
        name,
        first,
        clustered_share("accuracy", right.astype(np.int64), ones),
        _cost(cost),
        clustered_share("asked_twice", escalated.astype(np.int64), ones),
        loss,
    )


def _cost(cost: FloatArray) -> Estimate:
    if np.isnan(cost).any():
        because = "a model has no price, or a judge is one's own"
        return not_estimable("cost_per_item", because, n=len(cost), unit="dollars")
    return mean_over_items("cost_per_item", cost, n=len(cost), unit="dollars", bounds=(0.0, np.inf))


def _most_doubtful(doubt: FloatArray, share: float) -> BoolArray:
    """Return the share of items in most doubt; among equals the first ones."""
    chosen = np.zeros(len(doubt), dtype=np.bool_)
    chosen[np.argsort(-doubt, kind="stable")[: round(share * len(doubt))]] = True
    return chosen
