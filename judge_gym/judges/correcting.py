"""What people would say of all texts: a judge's scores, corrected by labels of a part of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from judge_gym.annotations import Draw
from judge_gym.formats import side_of_0
from judge_gym.judges.base import Judge
from judge_gym.judges.corrected import ALL, Corrected, RowFigures
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.pairwise_judge import DecidedByOrder
from judge_gym.judges.systems import draw_to_compare
from judge_gym.metrics.cells import BoolArray, IntArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.expert_labels import Labelled
from judge_gym.metrics.stratified_labels import (
    NEXT_LABELS,
    NextLabels,
    next_labels,
    stratified_mean,
)
from judge_gym.metrics.system_scores import OneCorrection
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.seeds import derive_seed

WORTH_GROUPS = 0.95
"""Half-width by groups over the narrower of today's and that at random, up to which labels are
planned by groups."""


@dataclass(frozen=True)
class ExpectedDifference:
    """The half-width of the interval of a difference of systems, now and with `more` labels.

    With labels at random it falls as 1/√n; the judge's scores, which are known already, make it
    fall a little less.
    """

    about: str
    more: int
    now: float
    then: float


@dataclass(frozen=True)
class HalfWidths:
    """Half-widths of the interval of the mean of all texts: now, and with `more` labels."""

    more: int
    now: float
    at_random: float
    """With as many more labels at random, by the method in use."""
    as_planned: float
    """With as many as planned by groups of scores, and estimated by groups."""
    is_first: bool = False
    """Whether labels by gain have no interval yet: more of them by groups give one."""

    @property
    def is_offered(self) -> bool:
        """Whether labels by groups are worth it: they are no random sample any more."""
        return self.is_first or self.as_planned <= WORTH_GROUPS * min(self.now, self.at_random)


@dataclass(frozen=True)
class SetAside:
    """Labels that were drawn by gain, where random ones alone give the narrower interval."""

    labels: int
    alone: float
    """Half-width by the random labels alone."""
    by_groups: float | None
    """Half-width by all labels, by groups of scores; None without an interval."""


@dataclass(frozen=True, eq=False)
class Correction:
    """What labels of the texts, or of a part of them, say of all, and what to label next."""

    rows: tuple[Corrected, ...]
    without_score: int
    """Rows that the judge gave no score; the judge's own mean leaves them out."""
    by_gain: bool
    """Whether labels are random only within groups of the judge's scores."""
    plan: NextLabels | None
    """How many of the next labels go to each group of the judge's scores; None with none left, and
    of pairs of systems, whose labels are drawn at random."""
    chosen: tuple[tuple[Item, float], ...]
    """The texts to label next, each with the probability of its draw."""
    expected: tuple["ExpectedDifference", ...]
    """How narrow the interval of each difference of systems becomes with as many labels."""
    groups: Mapping[float, int]
    """Middle of each group of scores → texts in it without a label."""
    draw: str
    """How labels are drawn to compare systems (`draw_to_compare`)."""
    by_order: DecidedByOrder
    """Of a pairwise judge, the pairs whose winner is a matter of the order."""
    half_widths: HalfWidths | None = None
    """What the next labels are expected to bring to the mean of all texts."""
    set_aside: SetAside | None = None
    one_correction: OneCorrection | None = None
    """Whether the judge errs alike on all systems; None of pairs, and with labels by gain."""
    biases: Mapping[str, Estimate] = field(default_factory=dict)
    """Of pairs, by system the judge's win rate less people's, on pairs with both."""
    with_itself: int = 0
    """Pairs of a system with itself, which say nothing of how it compares."""
    win_rates: bool = False
    """Whether rows of systems are win rates, of pairs."""
    undecided: tuple[str, ...] = ()
    """The differences of systems that are open: the next labels are then drawn at random, as those
    by gain narrow the mean of all texts alone."""
    decided: tuple[str, ...] = ()
    """The differences of systems that labels tell from 0."""

    @property
    def whole(self) -> bool:
        """Whether every text has a label, so that nothing is corrected."""
        return self.rows[0].whole


def correct(
    judge: Judge,
    items: ItemFile,
    results: Mapping[str, Sequence[JudgeResult]],
    *,
    more: int = NEXT_LABELS,
) -> Correction:
    """Return the corrected figures of a judge; `results` are by the key of the item.

    Labels have to be of a random part of the texts, or random within groups of the judge's scores,
    as `judge-gym judge label --draw gain` draws, or of every text: then nothing is corrected.
    Raises `ConfigError` when no text has a label.
    """
    figures, of_rows = RowFigures.of(judge, items, results), items.items
    every = np.ones(len(of_rows), dtype=np.bool_)
    used, set_aside = _narrower(figures, items, every)
    found = [used.mean(ALL, every), *used.of_systems()]
    # To label a text once is enough, however often it stands there.
    firsts = np.unique(figures.text, return_index=True)[1]
    left = figures.unlabelled(items)[firsts]
    texts, draw = [of_rows[place] for place in firsts], draw_to_compare(of_rows)
    of_pairs = draw == "random" and not figures.by_gain
    plan = None if of_pairs else next_labels(figures.to_label(firsts, left), more)
    halves = None if plan is None else _half_widths(plan, found[0], used, figures, every)
    compared = _compared_systems(of_rows, found)
    decided = tuple(row.about for row in compared if side_of_0(row.people) and not row.few)
    undecided = tuple(row.about for row in compared if row.about not in decided)
    if figures.by_gain:
        undecided = ()
    if halves and (undecided or not halves.is_offered):
        plan = None
    chosen = (
        _at_random(judge, texts, left, more)
        if plan is None
        else _drawn(judge, texts, figures, firsts, left, plan)
    )
    middles = figures.groups[firsts]
    return Correction(
        tuple(found),
        int(np.isnan(figures.judged).sum()),
        used.by_gain,
        plan,
        chosen,
        tuple(_expected(found, len(chosen), int(left.sum()))),
        {float(one): int(((middles == one) & left).sum()) for one in np.unique(middles)},
        draw,
        DecidedByOrder.of(one for some in results.values() for one in some),
        halves,
        set_aside,
        used.one_correction,
        used.biases,
        sum(bool(item.system) and item.system == item.second_system for item in of_rows),
        any(item.second_system for item in of_rows),
        undecided,
        decided,
    )


def _compared_systems(items: Sequence[Item], rows: Sequence[Corrected]) -> list[Corrected]:
    """Return the differences of systems; none where items name categories alone, which nobody
    chooses between."""
    if not all(item.system for item in items):
        return []
    return [row for row in rows if row.is_difference]


def _narrower(
    figures: RowFigures, items: ItemFile, every: BoolArray
) -> tuple[RowFigures, SetAside | None]:
    """Return figures by all labels, or by the random ones alone where these are narrower.

    Labels by gain are estimated by groups of scores, with whatever random ones stand beside them:
    few of them may make the interval of many random ones wider.
    """
    if not figures.by_gain or items.labels is None:
        return figures, None
    rows = tuple(row for row in items.labels.rows if row.drawn_by != Draw.GAIN)
    of_random = replace(items, labels=replace(items.labels, rows=rows))
    own, text = np.array(of_random.labelled), figures.text
    known = ~np.isnan(figures.given) & (np.isin(text, text[own]) if of_random.drawn else own)
    alone = replace(figures, known=known, drawn=of_random.drawn, by_gain=False)
    if not known.any():
        return figures, None
    halves = [_half(one.mean(ALL, every).corrected) for one in (alone, figures)]
    if halves[0] is None or (halves[1] is not None and halves[1] <= halves[0]):
        return figures, None
    aside = len(np.unique(text[figures.known])) - len(np.unique(text[known]))
    return alone, SetAside(aside, halves[0], halves[1])


def _half_widths(
    plan: NextLabels, of_all: Corrected, used: RowFigures, figures: RowFigures, every: BoolArray
) -> HalfWidths:
    """Return what as many labels bring at random and as planned, from the interval in use."""
    more, now = int(plan.counts.sum()), _half(of_all.corrected)
    if now is None:
        return HalfWidths(more, plan.now, plan.at_random, plan.allocated, used.by_gain)
    grouped = stratified_mean(figures.by_group(every), bounds=figures.bounds)
    # The plan's own half-widths leave out what the estimate adds; their ratios stand.
    planned = plan.allocated / plan.now * (_half(grouped) or plan.now)
    at_random = now * plan.at_random / plan.now
    if not used.by_gain:
        at_random = now * _narrowed(used.part(every), more)
    return HalfWidths(more, now, at_random, planned)


def _narrowed(part: Labelled, more: int) -> float:
    """Return the half-width with `more` labels at random over that of today's.

    The variance of a mean that scores correct is, by what they share with labels (r²),
    (1 - r²) / n + r² / N of the variance of labels: labels of n of N texts narrow the first only.
    """
    shared = 0.0
    if np.ptp(part.expert) and np.ptp(part.judge):
        shared = float(np.corrcoef(part.expert, part.judge)[0, 1] ** 2)
    now, then = (
        (1 - shared) / n + shared / part.n for n in (len(part.expert), len(part.expert) + more)
    )
    return float((then / now) ** 0.5)


def _half(estimate: Estimate) -> float | None:
    """Return half the width of an interval; None without one."""
    if estimate.lower is None or estimate.upper is None:
        return None
    return (estimate.upper - estimate.lower) / 2


def _expected(rows: Sequence[Corrected], more: int, left: int) -> Iterator[ExpectedDifference]:
    """Yield the half-widths of differences with `more` of the labels that are `left` at random."""
    for row in rows:
        one = row.corrected
        if not row.is_difference or one.lower is None or one.upper is None or not more:
            continue
        # Of its texts as large a share as of all that are left.
        own = round(more * min(1.0, (row.rows - row.labelled) / max(1, left)))
        half = (one.upper - one.lower) / 2
        then = half * (row.labelled / (row.labelled + own)) ** 0.5
        yield ExpectedDifference(row.about, own, half, float(then))


def _at_random(
    judge: Judge, texts: Sequence[Item], left: BoolArray, more: int
) -> tuple[tuple[Item, float], ...]:
    """Draw texts at random among those `left`."""
    keys = sorted(item.key for item in texts)
    rng = np.random.default_rng(derive_seed("next labels", judge.key, keys))
    places = np.flatnonzero(left)
    chosen = rng.permutation(places)[:more]
    return tuple((texts[place], len(chosen) / len(places)) for place in chosen)


def _drawn(
    judge: Judge,
    texts: Sequence[Item],
    figures: RowFigures,
    firsts: IntArray,
    left: BoolArray,
    plan: NextLabels,
) -> tuple[tuple[Item, float], ...]:
    """Draw the planned number of texts at random among those of a group without a label.

    Those in many rows come first, each with certainty, those in most rows before the others.
    """
    chosen: list[tuple[Item, float]] = []
    keys = sorted(item.key for item in texts)
    rng = np.random.default_rng(derive_seed("next labels", judge.key, keys))
    middles, counts = figures.groups[firsts], np.bincount(figures.text)
    sure = figures.sure[firsts]
    for middle, count in plan.rows:
        places = np.flatnonzero((middles == middle) & left)
        first = places[sure[places]]
        first = first[np.argsort(-counts[first], kind="stable")][:count]
        others, more = places[~sure[places]], count - len(first)
        chosen += [(texts[place], 1.0) for place in first]
        chosen += [(texts[place], more / len(others)) for place in rng.permutation(others)[:more]]
    return tuple(chosen)
