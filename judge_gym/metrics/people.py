"""People as the reference: whether a judge may stand in for one of them, and how far off it is.

People's labels are compared with each other and with a judge's item by item, so that their
disagreement is kept. Where one answer is needed, `known_answers` says which they make. A label may
be a set of acceptable labels.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.agreement import ratio_or_nan
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Samples, Verdicts
from judge_gym.metrics.estimate import (
    EPSILON,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    Interval,
    Remark,
    RemarkKind,
    caution_below,
    mean_over_items,
    not_estimable,
    remarked,
    resampled_interval,
    resampled_intervals,
    with_interval,
)
from judge_gym.metrics.masses import jaccard
from judge_gym.metrics.score_agreement import share_differing, worst_and_best

MIN_ITEMS = 30
"""Fewest items of a person who is compared with a judge (Calderon et al. 2025)."""
_DUELS_AT_ONCE = 100_000
MIN_PEOPLE = 2
"""Fewest people of an item."""
ADVISED_PEOPLE = 3
"""People of a data set from which a share of them says something (Calderon et al. 2025)."""
FALSE_DISCOVERIES = 0.05
PASSES = 0.5
"""Least winning rate with which a judge may stand in for people."""


def known_stages(people: Verdicts, *, by_vote: bool) -> FloatArray:
    """Return the stage of each item, 1 to S, that people's labels make; see `known_answers`."""
    given: list[list[list[float]]] = [
        [[] for _ in range(people.n_judges)] for _ in range(people.n_items)
    ]
    for item, who, chosen in zip(
        people.item.tolist(), people.judge.tolist(), people.stages.tolist(), strict=True
    ):
        given[item][who] += [stage + 1 for stage in range(people.n_stages) if chosen >> stage & 1]
    return known_answers(given, by_vote=by_vote)


def known_answers(given: Sequence[Sequence[Sequence[float]]], *, by_vote: bool) -> FloatArray:
    """Return the one label that several make: the definition for every judge, command and page.

    `given` is, by item and annotator, the labels of one: none, one or a set. Of answers
    (`by_vote`) it is the one with the most votes, where each annotator has one, divided among the
    labels of a set; a tie has none. Of numbers it is the mean of the annotators' means. NaN without
    a label, and for a tie.
    """
    made = np.full(len(given), np.nan)
    for place, of_item in enumerate(given):
        several = [labels for labels in of_item if labels]
        if not several:
            continue
        if not by_vote:
            made[place] = np.mean([np.mean(labels) for labels in several])
            continue
        votes: dict[float, Fraction] = defaultdict(Fraction)
        for labels in several:
            for label in labels:
                votes[label] += Fraction(1, len(labels))
        most = max(votes.values())
        first, *others = [label for label, count in votes.items() if count == most]
        if not others:
            made[place] = first
    return made


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels(Samples):
    """Labels of people, or of a judge: `label` numbers the rows of a matrix of alignments."""

    label: IntArray


def labels_of(*verdicts: Verdicts) -> tuple[IntArray, list[Labels]]:
    """Return the sets of stages that occur (bitmasks, ascending), and verdicts numbered by them."""
    sets = np.unique(np.concatenate([some.stages for some in verdicts]))
    return sets, [
        Labels(
            judge=some.judge,
            item=some.item,
            label=np.searchsorted(sets, some.stages),
            n_judges=some.n_judges,
            n_items=some.n_items,
        )
        for some in verdicts
    ]


def same(n_labels: int) -> FloatArray:
    """Return the alignment 1 of equal labels and 0 of others: accuracy, (K, K)."""
    return np.eye(n_labels)


def negative_square(values: FloatArray) -> FloatArray:
    """Return the alignment -(v - w)² of numbers, (K, K).

    It orders two labels as -RMSE over the same people does.
    """
    return np.asarray(-(np.subtract.outer(values, values) ** 2))


def overlap(sets: IntArray) -> FloatArray:
    """Return the alignment |A∩B| / |A∪B| of sets of labels, (K, K); of single labels `same`."""
    return jaccard(sets, sets)


@dataclass(frozen=True)
class PersonTest:
    """A judge compared with one person on what the others say.

    `advantage` is the share of their items on which the judge agrees with the others at least as
    well, `lead` the same share for the person less that of the judge, in [-1, 1]. `p_adjusted` is
    that of `lead` below epsilon, by Benjamini and Yekutieli.
    """

    person: int
    n_items: int
    advantage: float
    lead: float
    p: float
    p_adjusted: float

    @property
    def won(self) -> bool:
        """Whether the judge is taken to be no worse than the person."""
        return self.p_adjusted <= FALSE_DISCOVERIES


@dataclass(frozen=True)
class AlternativeAnnotator:
    """The alternative annotator test: its figures, and the test of each person."""

    winning_rate: Estimate
    advantage: Estimate
    lead: Estimate
    people: tuple[PersonTest, ...]


def alternative_annotator(
    people: Labels,
    judge: Labels,
    alignment: FloatArray,
    epsilon: float,
    rng: np.random.Generator,
    *,
    min_items: int = MIN_ITEMS,
) -> AlternativeAnnotator:
    """Test whether a judge may stand in for people (alt-test), from a label per person and item.

    Each person is left out in turn. On an item the judge wins when its label's mean `alignment`
    with the other people's labels is at least that of the person's label. The null hypothesis that
    the person wins on a share of items larger by `epsilon` or more is tested by a one-sided t test,
    adjusted over people for false discoveries (Benjamini and Yekutieli 2001) at 5%.

    The winning rate ω is the share of people for whom it is rejected, and 0.5 passes. The
    advantage probability ρ is the mean over people of the share of items that the judge wins,
    ties included, and the lead that of people's share less the judge's; t intervals with the
    standard error of resampling items, people being fixed.
    Replicates of a judge count as draws of it: an item counts their mean. Needs two people
    an item, and a person with `min_items` of these. Source: Calderon, Reichart and Dror, ACL 2025.
    """
    wins, leads, taken = _duels(people, judge, alignment)
    n, n_items = len(judge), int(taken.any(axis=0).sum())
    counts = taken.sum(axis=1)
    kept = np.flatnonzero(counts >= min_items)
    if not len(kept):
        return _nobody_tested(int(counts.max(initial=0)), min_items, n, n_items)
    wins, leads, taken = wins[kept], leads[kept], taken[kept]
    tests = _person_tests(kept, wins, leads, taken, epsilon)
    rate = _winning_rate(tests, epsilon, n, n_items)
    advantage = _over_people(
        "alt_test_advantage", "probability", wins, taken, n, rng, UNIT_INTERVAL
    )
    lead = _over_people("alt_test_lead", "share", leads, taken, n, rng, SIGNED_UNIT)
    if left_out := len(counts) - len(kept):
        remark = Remark(RemarkKind.PEOPLE_LEFT_OUT, left_out, min_items)
        rate, advantage, lead = (remarked(one, remark) for one in (rate, advantage, lead))
    if len(kept) < ADVISED_PEOPLE:
        remark = Remark(RemarkKind.FEW_PEOPLE, len(kept), ADVISED_PEOPLE)
        rate, advantage, lead = (remarked(one, remark) for one in (rate, advantage, lead))
    return AlternativeAnnotator(rate, advantage, lead, tests)


def _nobody_tested(most: int, min_items: int, n: int, n_items: int) -> AlternativeAnnotator:
    """Return the test without a person who has enough items; `most` is the most of one person."""
    because = (
        f"it needs a person with {min_items} items that the judge and another person "
        f"labelled, and the most of one person are {most}"
    )

    def missing(metric: str, unit: str) -> Estimate:
        return not_estimable(metric, because, n=n, n_items=n_items, unit=unit)

    return AlternativeAnnotator(
        missing("alt_test_winning_rate", "share"),
        missing("alt_test_advantage", "probability"),
        missing("alt_test_lead", "share"),
        (),
    )


def _person_tests(
    people: IntArray, wins: FloatArray, leads: FloatArray, taken: BoolArray, epsilon: float
) -> tuple[PersonTest, ...]:
    """Return the test of each person (rows), with the p values adjusted over all of them."""
    won = [row[there] for row, there in zip(wins, taken, strict=True)]
    led = [row[there] for row, there in zip(leads, taken, strict=True)]
    p_values = [_below(lead, epsilon) for lead in led]
    adjusted = benjamini_yekutieli(p_values)
    return tuple(
        PersonTest(
            person=int(person),
            n_items=len(lead),
            advantage=float(win.mean()),
            lead=float(lead.mean()),
            p=p,
            p_adjusted=p_adjusted,
        )
        for person, win, lead, p, p_adjusted in zip(
            people, won, led, p_values, adjusted, strict=True
        )
    )


def _winning_rate(tests: Sequence[PersonTest], epsilon: float, n: int, n_items: int) -> Estimate:
    """Return the share of people than whom the judge is taken to be no worse."""
    return Estimate(
        "alt_test_winning_rate",
        sum(test.won for test in tests) / len(tests),
        None,
        None,
        n,
        n_items,
        method=f"alt-test of {len(tests)} people, epsilon {epsilon:g}; passes at {PASSES:g}",
        unit="share",
        because="it counts tests that share the judge's labels",
    )


def _over_people(
    metric: str,
    unit: str,
    values: FloatArray,
    taken: BoolArray,
    n: int,
    rng: np.random.Generator,
    bounds: tuple[float, float],
) -> Estimate:
    """Return the mean over people of their means over items (both people x items)."""
    some = taken.any(axis=0)
    given, kept = values[:, some], taken[:, some].astype(np.float64)

    def mean(weights: FloatArray) -> FloatArray:
        total = weights @ kept.T
        share = np.divide(
            weights @ given.T, total, where=total > 0, out=np.full(total.shape, np.nan)
        )
        return np.asarray(share.mean(axis=1))

    n_items = int(some.sum())
    value = float(mean(np.ones((1, n_items)))[0])
    method = f"mean over {len(values)} people; t interval, items resampled"
    estimate = Estimate(metric, value, None, None, n, n_items, method=method, unit=unit)
    return with_interval(estimate, resampled_interval(mean, n_items, rng), bounds)


def _duels(
    people: Labels, judge: Labels, alignment: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return, people x items, the judge's wins, the person's lead, and where they were compared."""
    counts = _counts(people, len(alignment))
    total = counts @ alignment.T
    several = counts.sum(axis=1) >= MIN_PEOPLE
    shape = (people.n_judges, people.n_items)
    own = np.full(shape, -1, dtype=np.int64)
    own[people.judge, people.item] = people.label
    wins, leads = np.zeros(shape), np.zeros(shape)
    draws = np.bincount(judge.item, minlength=people.n_items)
    for start in range(0, len(judge.item), _DUELS_AT_ONCE):
        item, label = (of[start : start + _DUELS_AT_ONCE] for of in (judge.item, judge.label))
        there = own[:, item]
        # Sums over the same other people: they compare as means do.
        of_person = total[item, there] - alignment[there, there]
        of_judge = total[item, label] - alignment[label, there]
        judge_wins, person_wins = of_judge >= of_person - EPSILON, of_person >= of_judge - EPSILON
        np.add.at(wins.T, item, judge_wins.T)
        np.add.at(leads.T, item, (person_wins.astype(np.float64) - judge_wins).T)
    taken = (own >= 0) & several & (draws > 0)
    each = np.maximum(draws, 1)
    return np.where(taken, wins / each, 0.0), np.where(taken, leads / each, 0.0), taken


def _counts(labels: Labels, n_labels: int) -> FloatArray:
    """Return how often each item got each label, items x K."""
    code = labels.item * n_labels + labels.label
    counts = np.bincount(code, minlength=labels.n_items * n_labels)
    return counts.reshape(labels.n_items, n_labels).astype(np.float64)


def _below(values: FloatArray, bound: float) -> float:
    """Return the p of a mean at or above `bound`, by a one-sided t test."""
    from scipy.special import stdtr

    gap = float(values.mean()) - bound
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    if error <= EPSILON:
        return 0.0 if gap < -EPSILON else 1.0
    return float(stdtr(len(values) - 1, gap / error))


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for false discoveries under any dependence, in the order given.

    Source: Benjamini and Yekutieli 2001, Annals of Statistics 29.
    """
    from statsmodels.stats.multitest import fdrcorrection  # takes seconds to import

    return [float(p) for p in fdrcorrection(p_values, method="negcorr")[1]]


@dataclass(frozen=True)
class DistanceToPeople:
    """How far a judge is from people, beside how far they are from each other.

    `excess` is the first less the second, item by item.
    """

    distance: Estimate
    excess: Estimate


def distance_to_people(
    people: Labels, judge: Labels, distance: FloatArray, metric: str, unit: str
) -> DistanceToPeople:
    """Return the mean distance of a judgement from people's labels, with people's own as floor.

    `distance` (K, K) holds distances between labels in [0, 1]. For each person left out, a
    judgement and that person's own label are both compared with the labels of the others: the floor
    is what one more person would have, so an excess above 0 says that the judge is further from
    people than they are from each other, and below 0 that it is nearer to what they have in common.
    Means over people, then over the judge's replicates, then over items; t intervals over items.
    Needs an item with two people and a judgement; 30 items advised: of a judge that is one more
    person, the excess misses 0 in 6 to 8% of data sets of 30 items, and in 6 to 13% of 16
    (docs/reference/coverage.md).
    """
    counts = _counts(people, len(distance))
    given = _counts(judge, len(distance))
    n_people, n_given = counts.sum(axis=1), given.sum(axis=1)
    kept = (n_people >= MIN_PEOPLE) & (n_given > 0)
    counts, given = counts[kept], given[kept]
    n_people, n_given = n_people[kept], n_given[kept]
    of_judge = ((given @ distance) * counts).sum(axis=1) / (n_given * n_people)
    pairs = ((counts @ distance) * counts).sum(axis=1) - counts @ np.diag(distance)
    of_people = pairs / (n_people * (n_people - 1))
    n = int(n_given.sum())
    if not kept.any():
        because = "no item has the labels of two people and a judgement"
        missing = [not_estimable(name, because, unit=unit) for name in (metric, f"{metric}_excess")]
        return DistanceToPeople(*missing)
    far = mean_over_items(metric, of_judge, n=n, unit=unit, bounds=UNIT_INTERVAL)
    excess = mean_over_items(
        f"{metric}_excess", of_judge - of_people, n=n, unit=unit, bounds=SIGNED_UNIT
    )
    floor = float(of_people.mean())
    method = f"{far.method}; floor: each person against the others"
    far = replace(far, floor=floor, method=method)
    return DistanceToPeople(caution_below(far, MIN_ITEMS), caution_below(excess, MIN_ITEMS))


@dataclass(frozen=True)
class BesidePeople:
    """Agreement beyond chance of people with each other and of a judge with one of them.

    `excess` is the judge's less people's.
    """

    people: Estimate
    judge: Estimate
    excess: Estimate


def agreement_beside_people(
    labels: FloatArray, judged: FloatArray, rng: np.random.Generator
) -> BesidePeople:
    """Return the agreement of a judge with a person, beside that of two people, at most 1.

    `labels` is people x items x dimensions (one of scores, one per class of nominal labels), NaN
    where a person gave none; `judged` is items x dimensions. Agreement is 1 - D/E: D is the mean
    squared distance of two labels of one item, E that of labels drawn independently, over the
    items with two people or more, each with the same weight. Of people it is Krippendorff's α for
    interval data where all items have as many labels, of two verdicts and of classes a form of κ; a
    judge that does not depend on the item has 0. Needs 4 such items, and labels that vary. Source:
    Krippendorff 2019, Content Analysis, chapter 12; Lin 1989.

    Intervals: t, items resampled; or, if wider, what Wilson's interval of the share of items missed
    makes of it, as in `label_agreement`, and for the difference what both of these make of it
    (Zou and Donner 2008, Statistics in Medicine 27). Few misses are seldom seen, and resampled
    items do not tell of those that were not.
    """
    given: BoolArray = np.asarray(~np.isnan(labels).any(axis=2))
    count: IntArray = given.sum(axis=0)
    kept = np.flatnonzero(count >= MIN_PEOPLE)
    n_items, n = len(kept), int(count[kept].sum())
    names = ("people_agreement", "judge_agreement", "judge_agreement_excess")
    if n_items < MIN_OF_AGREEMENT:
        because = f"it needs {MIN_OF_AGREEMENT} items with two people, and {there_are(n_items)}"
        return BesidePeople(*(not_estimable(name, because, n=n, n_items=n_items) for name in names))
    moments = _Moments.of(labels[:, kept], given[:, kept], count[kept], judged[kept])
    values = moments.agreements(np.ones((1, n_items)))[:, 0]
    if not np.isfinite(values).all():
        because = "people's labels are all the same"
        return BesidePeople(*(not_estimable(name, because, n=n, n_items=n_items) for name in names))
    near = resampled_intervals(moments.agreements, 3, n_items, rng)
    ends = _widened(values, near, moments.extremes(labels[:, kept], given[:, kept]))
    bounds = (UP_TO_ONE, UP_TO_ONE, (-2.0, 2.0))
    unit = "agreement beyond chance"
    method = f"{n} labels of people; t interval, items resampled"
    return BesidePeople(
        *(
            with_interval(
                Estimate(name, float(value), None, None, n, n_items, method=method, unit=unit),
                interval,
                within,
            )
            for name, value, interval, within in zip(names, values, ends, bounds, strict=True)
        )
    )


def _widened(
    values: FloatArray, near: Sequence[Interval | None], extremes: Sequence[Interval]
) -> list[Interval | None]:
    """Return the intervals of people, the judge and their difference: the wider, end by end.

    `extremes` are intervals of people and of the judge. One that shows no spread has none.
    """
    people = float(values[0])
    apart = tuple(end - people for end in extremes[1])
    return [
        None if one is None else (min(one[0], other[0]), max(one[1], other[1]))
        for one, other in zip(near, (*extremes, apart), strict=True)
    ]


MIN_OF_AGREEMENT = 4
UP_TO_ONE = (-np.inf, 1.0)


@dataclass(frozen=True, eq=False)
class _Moments:
    """What agreements are made of, by item; the first and the last have a row per item alone."""

    apart: FloatArray
    """Squared distance of two people, and of the judge and a person, (n, 2)."""
    square: FloatArray
    """Mean square of people's labels, and the square of the judge's, (n, 2)."""
    mean: FloatArray
    """People's mean label, (n, d)."""
    judged: FloatArray

    @classmethod
    def of(
        cls, labels: FloatArray, given: BoolArray, count: IntArray, judged: FloatArray
    ) -> "_Moments":
        values = np.where(given[:, :, None], labels, 0.0)
        mean = values.sum(axis=0) / count[:, None]
        square = (values**2).sum(axis=(0, 2)) / count
        between = 2 * count / (count - 1) * (square - (mean**2).sum(axis=1))
        own = (judged**2).sum(axis=1)
        to_judge = own - 2 * (judged * mean).sum(axis=1) + square
        return cls(
            np.column_stack([between, to_judge]), np.column_stack([square, own]), mean, judged
        )

    def agreements(self, weights: FloatArray) -> FloatArray:
        """Return people's, the judge's and their difference, 3 x draws; NaN without spread."""
        apart = weights @ self.apart / weights.sum(axis=1, keepdims=True)
        chance = self._chance(weights)
        people, judge = (1 - ratio_or_nan(apart, np.where(chance > EPSILON, chance, 0.0))).T
        return np.stack([people, judge, judge - people])

    def _chance(self, weights: FloatArray) -> FloatArray:
        """Return the squared distances of `apart` of labels drawn independently, draws x 2."""
        total = weights.sum(axis=1, keepdims=True)
        square, mean, judged = (
            weights @ part / total for part in (self.square, self.mean, self.judged)
        )
        of_people = 2 * (square[:, 0] - (mean**2).sum(axis=1))
        of_judge = square[:, 1] - 2 * (judged * mean).sum(axis=1) + square[:, 0]
        return np.column_stack([of_people, of_judge])

    def extremes(self, labels: FloatArray, given: BoolArray) -> list[Interval]:
        """Return the agreement of people and of the judge at the ends of `worst_and_best`."""
        chance = self._chance(np.ones((1, len(self.apart))))[0]
        label = labels[given]
        return [
            worst_and_best(apart, share_differing(label, other), float(of))
            for apart, other, of in zip(self.apart.T, (label, self.judged), chance, strict=True)
        ]


def ordinal_distance(sets: IntArray, values: FloatArray) -> FloatArray:
    """Return |v - w| over the range of `values` (one per stage), (K, K), in [0, 1].

    Of sets the mean over the pairs of their stages. Needs two values that differ.
    """
    chosen = ((sets[:, None] >> np.arange(len(values))) & 1).astype(np.float64)
    share = chosen / chosen.sum(axis=1, keepdims=True)
    apart = np.abs(np.subtract.outer(values, values)) / np.ptp(values)
    return np.asarray(share @ apart @ share.T)


def with_people(people: Verdicts, judge: Verdicts) -> Verdicts:
    """Return people's labels as replicates of a first rater, and the judge's as of a second."""
    return Verdicts(
        judge=np.repeat([0, 1], [len(people), len(judge)]),
        item=np.concatenate([people.item, judge.item]),
        stages=np.concatenate([people.stages, judge.stages]),
        n_judges=2,
        n_items=people.n_items,
        n_stages=people.n_stages,
    )


def mean_values(sets: IntArray, values: FloatArray) -> FloatArray:
    """Return the mean of the values (one per stage) of each set, (K,)."""
    chosen = ((sets[:, None] >> np.arange(len(values))) & 1).astype(np.float64)
    return np.asarray(chosen @ values / chosen.sum(axis=1))
