"""What people would say of all texts: a judge's scores, corrected by labels of a part of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from judge_gym.annotations import Draw
from judge_gym.errors import ConfigError
from judge_gym.formats import side_of_0
from judge_gym.judges.base import Judge
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.pairwise_judge import DecidedByOrder
from judge_gym.judges.systems import (
    ComparedSystems,
    draw_to_compare,
    share_questions,
    system_scores,
    systems_of,
)
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    Remark,
    RemarkKind,
    items_for_t,
    mean_over_items,
    not_estimable,
    remarked,
    skewness,
    with_interval,
)
from judge_gym.metrics.expert_labels import (
    MIN_LABELLED,
    Labelled,
    are_shares,
    labels_difference,
    labels_mean,
    prediction_powered_difference,
    prediction_powered_mean,
)
from judge_gym.metrics.inference import welch
from judge_gym.metrics.stratified_labels import (
    NEXT_LABELS,
    NextLabels,
    in_many_rows,
    next_labels,
    stratified_difference,
    stratified_mean,
)
from judge_gym.metrics.system_scores import (
    OneCorrection,
    SystemScores,
    figures_of_system,
    one_correction,
)
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult, mean_scores
from judge_gym.seeds import derive_seed

MOST_SYSTEMS = 6
"""Most categories of texts that are compared with each other."""
GROUPS = 5
"""Groups of the judge's scores among which the next labels are planned."""
WORTH_GROUPS = 0.95
"""Half-width by groups over the narrower of today's and that at random, up to which labels are
planned by groups."""
ALL = "all texts"
_WHOLE = "every text has a label, so no correction is needed"
_BY_GAIN = "labels were drawn by expected gain, not at random"
_TO_RANK = "labels were drawn more often of some categories, to rank them"


@dataclass(frozen=True)
class Corrected:
    """The mean of one set of texts, or the difference of two, estimated in three ways.

    In the unit of the judge's scores; of verdicts, the share of the one with score 1.
    """

    about: str
    rows: int
    """Rows of the file: texts, each as often as it stands there."""
    labelled: int
    judge: Estimate
    """The judge's own mean over all texts: where people differ from it, its interval misses
    theirs."""
    labels: Estimate
    """The mean of people's labels, of the labelled texts alone."""
    corrected: Estimate
    """People's mean over all texts, from both."""
    systems: tuple[str, ...] = ()
    """Of a difference both systems, of which the second is subtracted."""
    bias: Estimate | None = None
    """Where every row has a label, so that none is corrected, the judge's figure less people's."""

    @property
    def whole(self) -> bool:
        """Whether every row has a label: people's figure is then that of labels."""
        return self.bias is not None

    @property
    def people(self) -> Estimate:
        """The best figure of what people say: by labels alone where none is corrected."""
        return self.labels if self.corrected.estimate is None else self.corrected

    @property
    def few(self) -> bool:
        """Whether labels alone are so few that their interval may not hold."""
        return bool(self.labels.remarks)

    @property
    def is_difference(self) -> bool:
        """Whether it is the difference of two systems, not a mean."""
        return len(self.systems) == 2


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
    figures, of_rows = _Figures.of(judge, items, results), items.items
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
    figures: "_Figures", items: ItemFile, every: BoolArray
) -> "tuple[_Figures, SetAside | None]":
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
    plan: NextLabels, of_all: Corrected, used: "_Figures", figures: "_Figures", every: BoolArray
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


def labelled_for_sure(items: Sequence[Item]) -> frozenset[str]:
    """Return the keys of texts that draws by gain take first and with certainty.

    They stand in so many of the rows, or of those of a system, that the mean over rows would
    depend on which of them were drawn.
    """
    found: set[str] = set()
    for name in ("", *_systems(items)):
        counts = Counter(item.key for item in items if name in ("", *item.systems))
        chosen = in_many_rows(np.array(list(counts.values())))
        found |= {key for key, is_sure in zip(counts, chosen, strict=True) if is_sure}
    return frozenset(found)


def _systems(items: Sequence[Item]) -> list[str]:
    """Return the categories that have figures of their own."""
    names = systems_of(items)
    return names if 1 < len(names) <= MOST_SYSTEMS else []


@dataclass(frozen=True, eq=False)
class _Figures:
    """Labels and the judge's mean scores, NaN without one, by row of the file.

    Every row counts, also where several have one text: an answer that a system gives to every
    second question is half of what it says. `text` numbers the texts from 0.
    """

    judge: Judge
    items: Sequence[Item]
    given: FloatArray
    judged: FloatArray
    known: BoolArray
    """The rows that were labelled; where labels were `drawn`, those whose text was."""
    text: IntArray
    drawn: bool
    """Whether labels are of texts that were drawn, each once, and not of rows."""
    by_gain: bool
    to_rank: bool
    """Whether labels are random within categories, and not over all."""
    sure: BoolArray
    """The rows whose text stands in so many that it is labelled whatever is drawn."""

    @classmethod
    def of(
        cls, judge: Judge, items: ItemFile, results: Mapping[str, Sequence[JudgeResult]]
    ) -> "_Figures":
        """Return those of a file; raises `ConfigError` where nothing can be corrected."""
        means = mean_scores(results)
        keys, labels = [item.key for item in items.items], map(judge.label, items.items)
        given = np.array([np.nan if label is None else label for label in labels], dtype=np.float64)
        has = ~np.isnan(given)
        if not has.any() or not means:
            raise ConfigError(
                f"{items.path}: No scored text has a label, so there is nothing to correct.",
                "Name all texts with --items, and labels of a random part of them with --labels.",
            )
        whole = bool(has.all())
        draws = {row.drawn_by for row in items.labels.rows} if items.labels else set()
        draws = set() if whole else draws  # it does not matter how all of them were drawn
        return cls(
            judge,
            items.items,
            given,
            judged=np.array([means.get(key, np.nan) for key in keys], dtype=np.float64),
            known=has if whole or items.drawn else has & np.array(items.labelled),
            text=np.unique(keys, return_inverse=True)[1],
            drawn=items.drawn and not whole,
            by_gain=Draw.GAIN in draws,
            to_rank=Draw.RANKING in draws,
            sure=np.isin(keys, list(labelled_for_sure(items.items))),
        )

    def unlabelled(self, items: ItemFile) -> BoolArray:
        """Return the rows whose text may be labelled next.

        Without those whose label is not known because people's labels of them are tied, but for
        texts that are labelled for sure.
        """
        tied = np.isin(self.text, self.text[np.array(items.labelled)]) & ~self.sure
        return np.isnan(self.given) & ~tied

    @property
    def bounds(self) -> tuple[float, float]:
        return self.judge.score_range

    @cached_property
    def scores(self) -> FloatArray:
        """The judge's scores, and their mean where there is none.

        Labels correct any score. Left out, rows that the judge would not score would leave people's
        mean, too.
        """
        missing = np.isnan(self.judged)
        return np.where(missing, self.judged[~missing].mean(), self.judged)

    @cached_property
    def groups(self) -> FloatArray:
        """The middle of the group that each of the scores is in."""
        low, high = self.bounds
        step = (high - low) / (GROUPS - 1)
        return np.asarray(low + np.floor((self.scores - low) / step + 0.5) * step)

    def part(self, chosen: BoolArray) -> Labelled:
        """Return labels and scores of the chosen rows.

        Of drawn texts, each with the weight of its rows over their mean (Horvitz and Thompson 1952,
        Journal of the American Statistical Association 47): their mean is then that over rows.
        """
        rows, weight = np.flatnonzero(chosen), np.ones(int(chosen.sum()))
        if self.drawn:
            rows, counts = self._texts(chosen)
            weight = counts / counts.mean()
        known, scores = self.known[rows], self.scores[rows] * weight
        return Labelled((self.given[rows] * weight)[known], scores[known], scores[~known])

    def by_group(self, chosen: BoolArray) -> Labelled:
        """Return labels and groups of scores of the texts of the chosen rows."""
        rows, counts = self._texts(chosen)
        return self._grouped(rows, counts, self.known[rows])

    def to_label(self, firsts: IntArray, left: BoolArray) -> Labelled:
        """Return labels and groups of scores of texts, by their first rows: those `left` to label
        and those with a label."""
        known, counts = ~np.isnan(self.given[firsts]), np.bincount(self.text)
        some = known | left
        return self._grouped(firsts[some], counts[some], known[some])

    def _texts(self, chosen: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the first of the chosen rows of each text, and how many have it."""
        rows = np.flatnonzero(chosen)
        _, firsts, counts = np.unique(self.text[rows], return_index=True, return_counts=True)
        return rows[firsts], counts

    def _grouped(self, rows: IntArray, counts: IntArray, known: BoolArray) -> Labelled:
        groups, order = self.groups[rows], np.argsort(~known, kind="stable")
        return Labelled(
            self.given[rows][known], groups[known], groups[~known],
            counts[order].astype(np.float64), self.sure[rows][order],
        )  # fmt: skip

    def of_systems(self) -> Iterator[Corrected]:
        """Yield the mean of each of two to six systems, and the difference of every two.

        Of pairs of two systems their win rates.
        """
        names = _systems(self.items)
        if self._pairs_systems:
            yield from self._win_rates(names)
            return
        chosen = {name: np.array([item.part == name for item in self.items]) for name in names}
        for name in names:
            yield self.mean(name, chosen[name])
        for first, second in combinations(names, 2):
            about, of = f"{second} less {first}", (chosen[first], chosen[second])
            if self._may_share_questions:
                row = self._row(about, self._compared(of[0] | of[1]), [0, 1])
            else:
                row = self.difference((first, second), *of)
            yield replace(row, systems=(second, first))

    def _win_rates(self, names: Sequence[str]) -> Iterator[Corrected]:
        """Yield how often each system wins, and the difference of every two."""
        if not names:
            return
        of_all = self._compared(np.ones(len(self.items), dtype=np.bool_))
        for place, name in enumerate(names):
            yield self._row(f"{name} wins", of_all, [place])
        for first, second in combinations(range(len(names)), 2):
            row = self._row(f"{names[second]} less {names[first]}", of_all, [first, second])
            yield replace(row, systems=(names[second], names[first]))

    @cached_property
    def _said(self) -> SystemScores:
        """What judge and people say of systems, on 0 to 1."""
        low, high = self.bounds
        labels = np.where(self.known, self.given, np.nan)
        judged, people = ((of - low) / (high - low) for of in (self.judged, labels))
        return system_scores(self.items, judged, people)

    @property
    def one_correction(self) -> OneCorrection | None:
        """Whether the judge errs alike on all systems, where labels are at random."""
        names = _systems(self.items)
        if self.by_gain or not names or self._pairs_systems:
            return None
        said, rng = self._said, np.random.default_rng(derive_seed("errors", self.judge.key))
        binary = bool(np.isin(said.people[said.both], (0, 1)).all())
        return one_correction(replace(said, binary=binary), rng)

    @property
    def biases(self) -> dict[str, Estimate]:
        """Of pairs of systems, how much oftener each wins by the judge than by people."""
        if self.by_gain or not self._pairs_systems:
            return {}
        return {
            name: found
            for place, name in enumerate(systems_of(self.items))
            for found in figures_of_system(self._said, place)
            if found.metric == "system_bias"
        }

    @cached_property
    def _may_share_questions(self) -> bool:
        """Whether several texts answer one question, and labels are of rows, or of texts that stand
        in one row each."""
        once = not self.drawn or len(np.unique(self.text)) == len(self.text)
        return not self.by_gain and once and share_questions(self.items)

    @property
    def _pairs_systems(self) -> bool:
        return any(item.second_system for item in self.items)

    def _compared(self, chosen: BoolArray, *, as_one: bool = False) -> ComparedSystems:
        """Return what the chosen rows say of their systems, by the questions that they answer.

        With `as_one` as if one system had given them all.
        """
        labels = np.where(self.known, self.given, np.nan)
        items = [item for item, one in zip(self.items, chosen, strict=True) if one]
        if as_one:
            items = [item.model_copy(update={"system": ALL}) for item in items]
        rng = np.random.default_rng(derive_seed("systems", self.judge.key))
        return ComparedSystems.of(items, self.judged[chosen], labels[chosen], self.bounds, rng)

    def _row(self, about: str, of: ComparedSystems, systems: list[int]) -> Corrected:
        """Return the mean of one system, or of two the second's less the first's."""
        judge, labels, corrected = (
            of.mean(*systems) if len(systems) == 1 else of.difference(*systems)
        )
        labelled, rows = of.labelled(systems), of.rows(systems)
        bias = of.bias(systems) if labelled == rows else None
        if bias is not None:
            corrected = not_estimable(labels.metric, _WHOLE, n_items=labelled)
        elif self.by_gain:
            labels = corrected = not_estimable(labels.metric, _BY_GAIN, n_items=labelled)
        said = of.scores.people
        sides = [said[(of.scores.system == one) & np.isfinite(said)] for one in systems]
        labels = _cautioned(labels, sides, UNIT_INTERVAL)
        return Corrected(about, rows, labelled, judge, labels, corrected, bias=bias)

    def _bias(self, chosen: BoolArray) -> FloatArray | None:
        """Return the judge's scores less labels, where every chosen row has a label."""
        if not chosen.any() or np.isnan(self.given[chosen]).any():
            return None
        return (self.judged - self.given)[chosen & ~np.isnan(self.judged)]

    def mean(self, about: str, chosen: BoolArray) -> Corrected:
        """Return the mean of rows; over their questions where several texts answer one."""
        to_rank = self.to_rank and about == ALL
        if self._may_share_questions and not to_rank and not self._pairs_systems:
            return self._row(about, self._compared(chosen, as_one=True), [0])
        part, apart = self.part(chosen), self._bias(chosen)
        low, high = self.bounds
        bias = None
        if apart is not None:
            labels = labels_mean(self.given[chosen], bounds=self.bounds)
            corrected = not_estimable("labels_mean", _WHOLE, n_items=len(part.expert))
            bias = mean_over_items(
                "judge_bias", apart, n=len(apart), unit="score", bounds=(low - high, high - low)
            )
        elif to_rank:
            labels = corrected = not_estimable("labels_mean", _TO_RANK, n_items=len(part.expert))
        elif self.by_gain:
            corrected = stratified_mean(self.by_group(chosen), bounds=self.bounds)
            labels = not_estimable("labels_mean", _BY_GAIN, n_items=len(part.expert))
        else:
            corrected = prediction_powered_mean(
                part.expert, part.judge, part.judge_alone, bounds=self.bounds
            )
            labels = labels_mean(part.expert, bounds=self.bounds)
        scores = self._scored(chosen)
        own = mean_over_items("judge_mean", scores, n=len(scores), unit="score", bounds=self.bounds)
        rows, labelled = int(chosen.sum()), len(part.expert)
        given = part.expert if bias is None else self.given[chosen]
        labels = _cautioned(labels, [given], self.bounds)
        return Corrected(about, rows, labelled, own, labels, corrected, bias=bias)

    def difference(self, names: tuple[str, str], first: BoolArray, second: BoolArray) -> Corrected:
        """Return the mean of the second less that of the first, as of independent texts."""
        about = f"{names[1]} less {names[0]}"
        parts = self.part(first), self.part(second)
        sides = [part.expert for part in parts]
        labelled = sum(map(len, sides))
        metric, n, bias = "difference", int(first.sum() + second.sum()), None
        if self._bias(first | second) is not None:
            sides = [self.given[first], self.given[second]]
            labels = labels_difference(*sides, bounds=self.bounds)
            corrected = not_estimable(metric, _WHOLE, n_items=labelled)
            bias = self._difference_of("judge_bias", self.judged - self.given, first, second)
        elif self.by_gain:
            labels = not_estimable(metric, _BY_GAIN, n_items=labelled)
            corrected = stratified_difference(
                self.by_group(first), self.by_group(second), scale=self.bounds
            )
        else:
            labels = labels_difference(*sides, bounds=self.bounds)
            corrected = prediction_powered_difference(*parts, scale=self.bounds, names=names)
        alone = self._difference_of("judge_difference", self.judged, first, second)
        labels = _cautioned(labels, sides, self.bounds)
        return Corrected(about, n, labelled, alone, labels, corrected, bias=bias)

    def _difference_of(
        self, metric: str, values: FloatArray, first: BoolArray, second: BoolArray
    ) -> Estimate:
        """Return the difference of means of values of scored rows; t interval after Welch."""
        one, other = (values[chosen & ~np.isnan(self.judged)] for chosen in (first, second))
        n, (low, high) = len(one) + len(other), self.bounds
        bounds = (low - high, high - low)
        if not len(one) or not len(other):
            return not_estimable(metric, "the judge scored no text of one of them", n=n, n_items=n)
        at = float(other.mean() - one.mean())
        found = Estimate(metric, at, None, None, n, n, method="t interval, Welch")
        if min(len(one), len(other)) < 2 or not (np.ptp(one) or np.ptp(other)):
            return with_interval(found, None, bounds)
        return with_interval(found, welch(one, other)[0], bounds)

    def _scored(self, chosen: BoolArray) -> FloatArray:
        return self.judged[chosen & ~np.isnan(self.judged)]


def _cautioned(
    labels: Estimate, sides: Sequence[FloatArray], bounds: tuple[float, float]
) -> Estimate:
    """Return a figure of labels alone, with a remark where a side has too few for its t interval.

    Of labels that crowd at one end, more are advised; of shares not, whose interval is another.
    """
    for side in sides if labels.estimate is not None else ():
        crowd = 0 if are_shares(side, bounds) else items_for_t(skewness(side))
        if len(side) < (advised := max(MIN_LABELLED, crowd)):
            return remarked(labels, Remark(RemarkKind.FEW_ITEMS, len(side), advised))
    return labels


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
    figures: _Figures,
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
