"""Accuracy of judges on a benchmark: by category, in both orders, beside others and as published.

A pair is correct when the votes of its judgements, one in each order, sum to the better answer (Tan
et al. 2024). A judge that always prefers the first answer has accuracy 0. Orders that failed
or cannot be read do not vote, and a pair without a vote is not correct.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from pydantic import Field

from judge_gym.design.config import read_model, read_tree
from judge_gym.design.fields import Frozen
from judge_gym.formats import number
from judge_gym.metrics.accuracy import (
    accuracy_by_pair,
    both_orders_correct,
    cohens_kappa,
    order_inconsistency,
    votes,
)
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Verdicts
from judge_gym.metrics.estimate import SIGNED_UNIT, Estimate, mean_over_items, wilson, with_interval
from judge_gym.metrics.inference import holm_over
from judge_gym.metrics.score_agreement import bland_altman, concordance, rank_agreement


class PublishedAccuracy(Frozen):
    """A published accuracy."""

    benchmark: str = Field(min_length=1)
    """The name of the benchmark's mapping."""
    part: str = ""
    """The part of the benchmark it is of."""
    judge: str = Field(min_length=1)
    """The judge as its source names it."""
    correct: int = Field(ge=0)
    """Pairs judged rightly."""
    pairs: int = Field(gt=0)
    """Pairs judged."""

    @property
    def name(self) -> str:
        """The judge and the part, which tell it from the others of its benchmark."""
        return f"{self.judge}, {self.part}"

    @property
    def accuracy(self) -> float:
        """The share of pairs judged rightly, in [0, 1]."""
        return self.correct / self.pairs


@cache
def published_accuracies() -> tuple[PublishedAccuracy, ...]:
    """Return the accuracies of `published.yaml`, whose header names their sources."""
    with as_file(files(__package__).joinpath("published.yaml")) as path:
        return tuple(read_model(PublishedAccuracy, entry) for entry in read_tree(path).entries)


def above_published(accuracy: Estimate, published: PublishedAccuracy) -> Estimate:
    """Return a judge's accuracy minus the published one, in [-1, 1].

    Interval: Newcombe's from both Wilson intervals, for independent samples; too wide if the pairs
    are the same. An accuracy that is not estimable is returned unchanged. Source:
    Newcombe 1998, Statistics in Medicine 17.
    """
    own, low, high = accuracy.estimate, accuracy.lower, accuracy.upper
    if own is None or low is None or high is None:
        return accuracy
    other = published.accuracy
    other_low, other_high = wilson(published.correct, published.pairs)
    difference = own - other
    below = ((own - low) ** 2 + (other_high - other) ** 2) ** 0.5
    above = ((high - own) ** 2 + (other - other_low) ** 2) ** 0.5
    estimate = Estimate(
        "accuracy_above_published", difference, None, None, accuracy.n, accuracy.n_items,
        method=f"less {number(other, 3)} on {published.pairs} pairs; Newcombe",
        unit="share",
    )  # fmt: skip
    return with_interval(estimate, (difference - below, difference + above), SIGNED_UNIT)


FIRST, TIE, SECOND = 1, 2, 3
"""The stages of a pair, in the file's own order whatever was shown first."""
EVERYTHING = ""
"""The category that stands for all items."""


@dataclass(frozen=True, eq=False)
class PairDecisions:
    """The decisions of one judge on pairs, an entry per judgement.

    `item` is the index of the pair in the file, `chosen` FIRST, TIE or SECOND, 0 without a
    verdict; `reversed_order` says whether the second answer was shown first.
    """

    item: IntArray
    chosen: IntArray
    reversed_order: BoolArray


def pair_figures(
    decisions: PairDecisions, better: IntArray, category: Sequence[str], rng: np.random.Generator
) -> dict[str, list[Estimate]]:
    """Return category → accuracy, order inconsistency, position bias and κ; `EVERYTHING` first.

    `better` holds FIRST or SECOND per pair. Accuracy has a Wilson interval over pairs, κ compares
    the decision over both orders with the truth.
    """
    return {
        name: _of_pairs(_within(decisions, chosen), better, rng)
        for name, chosen in _parts(category).items()
    }


def judges_apart(
    decisions: Mapping[str, PairDecisions], better: IntArray, rng: np.random.Generator
) -> dict[tuple[str, str], Estimate]:
    """Return per pair of judges the second's accuracy minus the first's, p by exact McNemar.

    Paired over the items that both judged, p adjusted by Holm over all pairs of judges.
    """
    judges = list(decisions)
    right_of = [_right(decisions[judge], better) for judge in judges]
    rows = [
        (number, item, right)
        for number, of_items in enumerate(right_of)
        for item, right in of_items.items()
    ]
    if not rows:
        return {}
    judge, item, right = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    verdicts = Verdicts(
        judge=judge, item=item, stages=1 << right,
        n_judges=len(judges), n_items=len(better), n_stages=2,
    )  # fmt: skip
    estimates = accuracy_by_pair(verdicts, np.full(len(better), 2, dtype=np.int64), rng)
    tested = [
        estimate
        if estimate.p is None
        else replace(
            estimate, method=estimate.method.replace("p by sign flips", "p by exact McNemar")
        )
        for estimate in estimates.values()
    ]
    adjusted = holm_over(tested)
    return {
        (judges[first], judges[second]): estimate
        for (first, second), estimate in zip(estimates, adjusted, strict=True)
    }


def score_figures(
    judged: FloatArray, truth: FloatArray, category: Sequence[str], rng: np.random.Generator
) -> dict[str, list[Estimate]]:
    """Return category → mean absolute error, bias, concordance and τ-b against known scores.

    Both arrays are in points, one entry per item. Concordance and τ-b need four items.
    """
    return {
        name: _of_scores(judged[chosen], truth[chosen], rng)
        for name, chosen in _parts(category).items()
    }


def _of_scores(judged: FloatArray, truth: FloatArray, rng: np.random.Generator) -> list[Estimate]:
    error = mean_over_items(
        "absolute_error", np.abs(judged - truth), n=len(judged), unit="points", bounds=(0.0, 100.0)
    )
    return [
        error,
        bland_altman(truth, judged)[0],
        concordance(truth, judged, rng),
        rank_agreement(truth, judged, rng),
    ]


def _of_pairs(
    decisions: PairDecisions, better: IntArray, rng: np.random.Generator
) -> list[Estimate]:
    stages = np.where(decisions.chosen > 0, 1 << np.maximum(decisions.chosen - 1, 0), 0)
    vote = votes(stages, better[decisions.item], SECOND)
    scored = decisions.chosen > 0
    accuracy = both_orders_correct(
        decisions.item, vote, ~decisions.reversed_order, len(better), scored
    )
    given = _verdicts(decisions.item[scored], stages[scored], len(better))
    inconsistent = order_inconsistency(given, decisions.reversed_order[scored])
    toward = np.bincount(decisions.item, weights=_direction(decisions), minlength=len(better))
    judged = np.unique(decisions.item) if scored.any() else decisions.item[:0]
    balance = 1 << (np.sign(toward[judged]).astype(np.int64) + 1)
    kappa = cohens_kappa(_verdicts(judged, balance, len(better)), better, rng)
    return [replace(accuracy, metric="accuracy"), inconsistent, _position_bias(decisions), kappa]


def _position_bias(decisions: PairDecisions) -> Estimate:
    """Return the mean of +1 for the answer shown first, -1 for the second, in [-1, 1].

    Over pairs decided in both orders, where mistakes independent of the order cancel. The rest is
    the excess of decisions for the first position over those for the second.
    """
    scored = decisions.chosen > 0
    shown_first = np.where(decisions.reversed_order, 1.0, -1.0) * _direction(decisions)
    counts = np.bincount(decisions.item[scored])
    both = counts == 2
    per_pair = np.bincount(decisions.item, weights=shown_first, minlength=len(both))
    return mean_over_items(
        "position_bias", per_pair[: len(both)][both] / 2, n=2 * int(both.sum()), unit="share",
        bounds=SIGNED_UNIT,
    )  # fmt: skip


def _right(decisions: PairDecisions, better: IntArray) -> dict[int, int]:
    """Return judged pair → whether the decision over both orders is correct.

    Empty for a judge without any verdict, whose accuracy is unknown.
    """
    if not (decisions.chosen > 0).any():
        return {}
    toward = np.bincount(decisions.item, weights=_direction(decisions), minlength=len(better))
    right = toward * (better - TIE) > 0
    return {int(item): int(right[item]) for item in np.unique(decisions.item)}


def _direction(decisions: PairDecisions) -> FloatArray:
    """Return -1 for the first answer, 1 for the second, 0 for a tie or no verdict."""
    return np.where(decisions.chosen > 0, decisions.chosen - TIE, 0).astype(np.float64)


def _verdicts(item: IntArray, stages: IntArray, n_items: int) -> Verdicts:
    return Verdicts(
        judge=np.zeros(len(item), dtype=np.int64), item=item, stages=stages,
        n_judges=1, n_items=n_items, n_stages=SECOND,
    )  # fmt: skip


def _within(decisions: PairDecisions, chosen: BoolArray) -> PairDecisions:
    kept = chosen[decisions.item]
    return PairDecisions(
        decisions.item[kept], decisions.chosen[kept], decisions.reversed_order[kept]
    )


def _parts(category: Sequence[str]) -> dict[str, BoolArray]:
    """Return category → its items, all of them first; one category alone is all of them."""
    of_items = np.array(category, dtype=np.str_)
    named = sorted(set(of_items.tolist()) - {EVERYTHING})
    parts = {EVERYTHING: np.ones(len(of_items), dtype=np.bool_)}
    return parts | {name: of_items == name for name in named if len(named) > 1}
