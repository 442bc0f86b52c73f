"""What a judge and people's labels say of texts, and of systems: means and differences of rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from judge_gym.annotations import Draw
from judge_gym.errors import ConfigError
from judge_gym.judges.base import Judge
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.systems import ComparedSystems, share_questions, system_scores, systems_of
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
from judge_gym.metrics.stratified_labels import in_many_rows, stratified_difference, stratified_mean
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


@dataclass(frozen=True, eq=False)
class RowFigures:
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
    ) -> "RowFigures":
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
