"""People's labels beside a judge: the reference they make, their agreement, and the judge's.

The labels of several people are compared with each other and with the judge one by one, so that
their disagreement is kept. Where a figure needs one label of an item, it is the known answer that
`known_answers` makes of them, for every kind of judge, command and page.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import combinations
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from judge_gym.annotations import Annotation
from judge_gym.counting import counted, first_of
from judge_gym.design.config import shown
from judge_gym.errors import (
    ConfigError,
    DataFileError,
    did_you_mean,
    did_you_mean_id,
    written_alike,
)
from judge_gym.formats import figure
from judge_gym.judges.base import Judge
from judge_gym.judges.label_files import LabelFile
from judge_gym.judges.labels import check_on, wider_scale
from judge_gym.judges.newest_labels import ABSTAIN, contradiction_error, newest_of, text_of
from judge_gym.judges.own_judges import OwnJudge
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.people import (
    DistanceToPeople,
    Labels,
    distance_to_people,
    known_answers,
)
from judge_gym.metrics.points import HIGHEST, bin_of, to_points
from judge_gym.metrics.score_agreement import label_agreement, score_alpha
from judge_gym.records.items import Item, distinct, label_in
from judge_gym.records.judgements import JudgeResult
from judge_gym.seeds import derive_seed

WHOLE = ""
"""The criterion of a label of the whole item."""
MOST_STEPS = 11
"""Most steps of a scale that a confusion matrix shows one by one; others are in five bins."""
MOST_NAMED = 3
_MOST_TIED = 20
"""Most items that a sentence names."""
_BINS = ("0-19", "20-39", "40-59", "60-79", "80-100")


@dataclass(frozen=True, eq=False)
class FromPerson:
    """Labels of one annotator: how many, and their agreement with the other people's reference.

    `with_judge` is the agreement of the judge's scores with this person's labels; None without
    judgements. Both are Lin's concordance, which of two verdicts is Cohen's κ.
    """

    annotator: str
    labels: int
    with_others: Estimate
    with_judge: Estimate | None


@dataclass(frozen=True, eq=False)
class Floor:
    """How well people agree: what a judge can be held to.

    `alpha` is Krippendorff's α among people (interval data; of two verdicts it is the nominal one),
    `pairs` the concordance of every two annotators: Cohen's κ of verdicts, κ with quadratic weights
    of whole steps. `people` are by annotator.
    """

    alpha: Estimate
    people: tuple[FromPerson, ...]
    pairs: Mapping[tuple[str, str], Estimate]

    def __str__(self) -> str:
        """Return it in a sentence."""
        if self.alpha.estimate is None:
            return f"Agreement among people: not known ({self.alpha.because})."
        return (
            f"Agreement among people: Krippendorff's α {figure(self.alpha)} on "
            f"{counted(self.alpha.n_items, 'item')} with labels of two people or more."
        )


@dataclass(frozen=True)
class Hard:
    """An item on which people disagree; `spread` is the standard deviation in points of 100."""

    item: Item
    labels: Mapping[str, float]
    """Annotator → label on the judge's scale."""
    spread: float
    judged: float | None
    """The judge's mean score; None without one."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often the judge (rows) gave a label what a person (columns) gave it another."""

    names: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True, eq=False)
class People:
    """Labels of people of the items of a judge, on one scale; see `bind`."""

    judge: Judge
    items: tuple[Item, ...]
    """The items, each text once."""
    bounds: tuple[float, float]
    """The lowest and the highest label."""
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    """Criterion → annotator → item key → label. Of a set of labels it is their mean."""
    sets: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]] = field(default_factory=dict)
    """The same of those who gave several labels, or the text several times under other ids: each
    of them, on the same scale."""
    decided: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Criterion → item key → the label of an adjudicator: the known answer, and nobody's own."""
    stale: int = 0
    """Labels of texts that have changed since; they are left out."""
    others: tuple[Annotation, ...] = ()
    """Labels of items that are not among these; they are left out."""
    apart: tuple[tuple[Annotation, ...], ...] = ()
    """Labels that one person gave one text under several ids and that differ: each counts."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that have labels, the whole first."""
        return tuple(sorted(self.values, key=lambda name: (name != WHOLE, name)))

    def annotators(self, criterion: str = WHOLE) -> tuple[str, ...]:
        """Return who labelled a criterion, by name."""
        return tuple(sorted(self.values.get(criterion, {})))

    def points(self, criterion: str = WHOLE) -> FloatArray:
        """Return the labels in points of 100, items x annotators; NaN where there is none."""
        of = self.values.get(criterion, {})
        table = [
            [of[name].get(item.key, np.nan) for name in self.annotators(criterion)]
            for item in self.items
        ]
        given = np.array(table, dtype=np.float64).reshape(len(self.items), -1)
        return to_points(given, *self.bounds)

    @cached_property
    def reference(self) -> dict[str, float]:
        """Item key → the known answer that people's labels make; see `known_answers`."""
        lowest, highest = self.bounds
        made = self.reference_points()
        return {
            item.key: float(lowest + (highest - lowest) * point / HIGHEST)
            for item, point in zip(self.items, made, strict=True)
            if not np.isnan(point)
        }

    def reference_points(self, criterion: str = WHOLE, without: int | None = None) -> FloatArray:
        """Return the reference in points, by item; NaN without one.

        `without` is the place of an annotator whose labels are left out.
        """
        given = [row for place, row in enumerate(self.given(criterion)) if place != without]
        by_item = list(zip(*given, strict=True)) if given else [()] * len(self.items)
        made = known_answers(by_item, by_vote=self.by_vote(criterion))
        decided = self.decided_points(criterion) if without is None else {}
        for place, item in enumerate(self.items):
            made[place] = decided.get(item.key, made[place])
        return made

    def decided_points(self, criterion: str = WHOLE) -> dict[str, float]:
        """Return item key → the label of an adjudicator in points."""
        given = self.decided.get(criterion, {})
        points = to_points(np.array(list(given.values()), dtype=np.float64), *self.bounds)
        return dict(zip(given, points.tolist(), strict=True))

    def given(self, criterion: str = WHOLE) -> list[list[tuple[float, ...]]]:
        """Return each annotator's labels of every item in points, none, one or a set."""
        sets, points = self.sets.get(criterion, {}), self.points(criterion)
        return [
            [
                tuple(to_points(np.array(sets[name][item.key]), *self.bounds).tolist())
                if item.key in sets.get(name, {})
                else (() if np.isnan(one) else (float(one),))
                for item, one in zip(self.items, column, strict=True)
            ]
            for name, column in zip(self.annotators(criterion), points.T, strict=True)
        ]

    def by_vote(self, criterion: str = WHOLE) -> bool:
        """Whether labels are answers, of which the majority counts, and no numbers on a scale.

        They are where the scale of labels has two steps (verdicts, `No` and `Yes`, 0 and 1), and
        every label is one of the answers.
        """
        lowest, highest = self.bounds
        given = {label for row in self.given(criterion) for labels in row for label in labels}
        return highest - lowest == 1 and given <= self._answers

    @property
    def _answers(self) -> set[float]:
        """The points of the answers between which people decide."""
        scores = self.judge.verdict_scores.values() or self.judge.score_range
        return set(to_points(np.array(list(scores)), *self.judge.score_range).tolist())

    def _is_answer(self, points: FloatArray) -> BoolArray:
        """Return which labels are one answer; a set of several has a mean between them."""
        return np.isin(points, list(self._answers))

    @cached_property
    def tied(self) -> tuple[str, ...]:
        """The ids of texts that have labels and no majority."""
        labelled = {key for of in self.values.get(WHOLE, {}).values() for key in of}
        labelled |= set(self.decided.get(WHOLE, {}))
        return tuple(
            item.id
            for item in self.items
            if item.key in labelled and item.key not in self.reference
        )

    @property
    def undecided(self) -> int:
        """How many items have labels and no majority."""
        return len(self.tied)

    def floor(
        self, criterion: str = WHOLE, results: Mapping[str, Sequence[JudgeResult]] | None = None
    ) -> Floor:
        """Return how well people agree among themselves, and each of them with the judge.

        `results` are the judge's by item key. Figures need what `score_alpha` and
        `label_agreement` need, and have a reason where they are missing.
        """
        points, names = self.points(criterion), self.annotators(criterion)
        judged = None if results is None else self.judged(results, criterion)
        return Floor(
            alpha_among(points, criterion),
            tuple(
                FromPerson(
                    name,
                    int((~np.isnan(points[:, place])).sum()),
                    _agreed(self.reference_points(criterion, place), points[:, place]),
                    None if judged is None else _agreed(points[:, place], judged),
                )
                for place, name in enumerate(names)
            ),
            {
                (names[one], names[other]): _agreed(points[:, one], points[:, other])
                for one, other in combinations(range(len(names)), 2)
            },
        )

    def judged(
        self, results: Mapping[str, Sequence[JudgeResult]], criterion: str = WHOLE
    ) -> FloatArray:
        """Return the judge's mean points of the items, of the whole or a criterion; NaN without."""
        means = []
        for item in self.items:
            scores = [
                result.score if criterion == WHOLE else result.subscores.get(criterion)
                for result in results.get(item.key, ())
            ]
            given = [score for score in scores if score is not None]
            means.append(float(np.mean(given)) if given else float("nan"))
        return to_points(np.array(means, dtype=np.float64), *self.judge.score_range)

    def distance(
        self, results: Mapping[str, Sequence[JudgeResult]], criterion: str = WHOLE
    ) -> DistanceToPeople:
        """Return how far the judge is from people, and by how much more than they are from another.

        As a share of the scale; see `distance_to_people`. The judge's score is its mean.
        """
        points, judged = self.points(criterion), self.judged(results, criterion)
        item, person = np.nonzero(~np.isnan(points))
        at = np.flatnonzero(~np.isnan(judged))
        given, own = points[item, person], judged[at]
        values, place = np.unique(np.concatenate([given, own]), return_inverse=True)
        apart = np.abs(np.subtract.outer(values, values)) / HIGHEST
        n_items = len(self.items)
        people = Labels(
            judge=person, item=item, label=place[: len(given)],
            n_judges=max(points.shape[1], 1), n_items=n_items,
        )  # fmt: skip
        of_judge = Labels(
            judge=np.zeros(len(at), dtype=np.int64), item=at, label=place[len(given) :],
            n_judges=1, n_items=n_items,
        )  # fmt: skip
        return distance_to_people(people, of_judge, apart, "distance_to_people", "share")

    def confusion(
        self, results: Mapping[str, Sequence[JudgeResult]], criterion: str = WHOLE
    ) -> Confusion:
        """Return the judge's mean score against each person's label, a count per label."""
        points, judged = self.points(criterion), self.judged(results, criterion)
        names, classes = self._classes(criterion)
        both = ~np.isnan(points) & ~np.isnan(judged)[:, None]
        if self.by_vote(criterion):
            both &= self._is_answer(points) & self._is_answer(judged)[:, None]
        item, _ = np.nonzero(both)
        given = points[both]
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(counts, (classes(judged[item]), classes(given)), 1)
        return Confusion(names, counts)

    def _classes(self, criterion: str) -> tuple[tuple[str, ...], Callable[[FloatArray], IntArray]]:
        """Return the names of classes, the worst first, and points → class."""
        lowest, highest = self.bounds
        scores = self.judge.verdict_scores if self.by_vote(criterion) else {}
        verdicts = sorted(scores.items(), key=lambda one: one[1])
        steps = len(verdicts) or round(highest - lowest) + 1
        if steps > MOST_STEPS or (not verdicts and highest - lowest != round(highest - lowest)):
            return _BINS, bin_of
        names = tuple(name for name, _ in verdicts) or tuple(
            f"{lowest + step:g}" for step in range(steps)
        )

        def nearest(points: FloatArray) -> IntArray:
            return np.floor(points / HIGHEST * (steps - 1) + 0.5).astype(np.int64)

        return names, nearest

    def hardest(
        self, results: Mapping[str, Sequence[JudgeResult]] | None = None, criterion: str = WHOLE
    ) -> list[Hard]:
        """Return the items on which people disagree, the most first."""
        points = self.points(criterion)
        judged = self.judged(results or {}, criterion)
        of = self.values.get(criterion, {})
        lowest, highest = self.judge.score_range
        found = [
            Hard(
                item,
                {name: of[name][item.key] for name in sorted(of) if item.key in of[name]},
                float(np.nanstd(row)),
                None if np.isnan(score) else float(lowest + (highest - lowest) * score / HIGHEST),
            )
            for item, row, score in zip(self.items, points, judged, strict=True)
            if (~np.isnan(row)).sum() > 1 and np.nanstd(row) > 0
        ]
        return sorted(found, key=lambda hard: (-hard.spread, hard.item.id))

    def said(self) -> str:
        """Return what the labels make of the items, for a person."""
        how = "majority" if self.by_vote() else "mean"
        people = len(self.annotators())
        of = f"the {how} of {people} people's labels" if people > 1 else "one person's labels"
        sentence = (
            f"Reference: {of} on {len(self.reference)} of {counted(len(self.items), 'text')}."
            if people
            else "No label is of the whole item."
        )
        if decided := len(self.decided.get(WHOLE, {})):
            sentence += f" {counted(decided, 'text')} of these decided by an adjudicator."
        parts = [f"criterion {name} {self._count(name)}" for name in self.criteria if name]
        if parts:
            sentence += f" Labels of {', '.join(parts)}."
        if self.undecided:
            tied = first_of([repr(name) for name in self.tied], _MOST_TIED)
            sentence += (
                f" {counted(self.undecided, 'text')} without a majority: no reference. Ask one "
                f"more person about {tied}."
            )
        if self.apart:
            sentence += self._said_apart()
        if self.stale:
            sentence += (
                f" {counted(self.stale, 'label')} of texts that have changed since: left out."
            )
        if names := sorted({row.item for row in self.others}):
            shown_names = ", ".join(map(repr, names[:MOST_NAMED]))
            more = "" if len(names) <= MOST_NAMED else " and others"
            sentence += (
                f" {counted(len(self.others), 'label')} of {counted(len(names), 'other item')} "
                f"({shown_names}{more}): left out."
            )
            if alike := written_alike(names, [item.id for item in self.items]):
                name, of = next(iter(alike.items()))
                sentence += (
                    f" {len(alike):,} of these {'is' if len(alike) == 1 else 'are'} an item's id "
                    f"but for case, zeros or punctuation, such as {name!r} for {of!r}: write them "
                    "alike in both files."
                )
        return sentence

    def _said_apart(self) -> str:
        """Return where one person labelled one text under several ids, and not alike."""
        named = [
            f"{rows[0].annotator!r} "
            + " and ".join(f"{text_of(row)!r} of {row.item!r} (line {row.line})" for row in rows)
            for rows in self.apart[:MOST_NAMED]
        ]
        if (more := len(self.apart) - MOST_NAMED) > 0:
            named.append(f"and {more:,} more")
        times = counted(len(self.apart), "time")
        return (
            f" {times} one person labelled equal texts of several ids differently, and each label "
            f"counts as a part of that person's: {'; '.join(named)}."
        )

    def _count(self, criterion: str) -> int:
        return sum(map(len, self.values[criterion].values()))


def alpha_among(points: FloatArray, criterion: str = WHOLE) -> Estimate:
    """Return Krippendorff's α of labels (items x annotators, NaN without), in any order of items.

    Of the labels alone.
    """
    points = points[np.lexsort([np.zeros(len(points)), *points.T])]
    rng = np.random.default_rng(derive_seed("people", criterion, points.tolist()))
    found = score_alpha(points, rng)
    if found.estimate is None and not (np.isfinite(points).sum(axis=1) > 1).any():
        return replace(found, because="no item has the labels of two people")
    return found


def _agreed(labels: FloatArray, judged: FloatArray) -> Estimate:
    both = ~np.isnan(labels) & ~np.isnan(judged)
    return label_agreement(labels[both], judged[both])


def bind(
    judge: Judge,
    items: Sequence[Item],
    labels: LabelFile | None,
    truth: str = "",
    scale: tuple[float, float] | None = None,
    ids: str = "",
) -> People:
    """Return people's labels as scores of a judge.

    `items` may hold labels of their own, in their column `truth`: those are of one more annotator.
    `ids` says what the ids of items are, for errors.
    Numbers are on `scale`, or else on the judge's. An annotator who marked every criterion of a
    rubric, and gave no label of the whole, is taken to have given the judge's weighted mean. Labels
    of other items are left out and counted. Raises `DataFileError` with file, line, column and
    value where all are of other items, for an unknown criterion, and for a label that is none of
    the judge's.
    """
    binding = _LabelBinding(judge, distinct(items), scale, labels)
    for item in distinct(items):
        if item.truth is not None:
            own = Annotation(item.id, f"column {truth!r}", "person", (str(item.truth),), 0)
            binding.add(own, item, WHOLE)
    by_name = {item.id: item for item in items}
    by_key = {item.key: item for item in items}
    for row in labels.rows if labels else ():
        found = by_name.get(row.item) or by_key.get(row.item)
        if found is None:
            binding.others.append(row)
        elif row.item_key and row.item_key != found.key:
            binding.stale += 1
        else:
            binding.add(row, found, binding.criterion(row))
    binding.check_others(by_name, ids)
    return binding.people()


def labelled_by_day(
    judge: Judge,
    items: Sequence[Item],
    labels: LabelFile | None,
    time_zone: str,
    scale: tuple[float, float] | None = None,
) -> dict[date, FloatArray]:
    """Return the day of labels → the reference that they alone make, in points by text.

    NaN where a text has none of that day. Labels that a newer one replaced count on their day;
    those without a time are left out. Days are those of `time_zone`.
    """
    plain = [item.model_copy(update={"truth": None}) for item in distinct(items)]
    names = {name for item in plain for name in (item.id, item.key)}
    days: dict[date, list[Annotation]] = defaultdict(list)
    for row in labels.every if labels else ():
        if row.time is not None and row.item in names:
            days[row.time.astimezone(ZoneInfo(time_zone)).date()].append(row)
    return {
        day: bind(
            judge, plain, replace(labels, rows=tuple(rows), earlier=()), scale=scale
        ).reference_points()
        for day, rows in sorted(days.items())
        if labels is not None
    }


class _LabelBinding:
    def __init__(
        self,
        judge: Judge,
        items: Sequence[Item],
        scale: tuple[float, float] | None,
        labels: LabelFile | None,
    ) -> None:
        self._judge, self._items, self._scale, self._labels = judge, items, scale, labels
        # The orders of a pair and the members of a judge of judges are no criteria.
        self._criteria = {
            part.lower(): part
            for part in judge.parts
            if not judge.judges_pairs and not judge.made_of
        }
        self._rows: dict[tuple[str, str, str], dict[str, list[Annotation]]] = defaultdict(
            lambda: defaultdict(list)
        )
        """Criterion, annotator and text → id of an item with it → the rows."""
        self._decided: dict[str, dict[str, float]] = {}
        self.stale = 0
        self.others: list[Annotation] = []
        """Labels of items that are not among these, which may be a part of those labelled."""

    def check_others(self, names: Collection[str], ids: str) -> None:
        """Raise where no label is of one of the items."""
        if not self.others or self._labels is None or len(self.others) < len(self._labels.rows):
            return
        row = self.others[0]
        raise self.fault(
            row, f"item is {row.item!r}, and no label is of one of the items",
            f"{did_you_mean_id(row.item, names)}Use an item's id or its 16-digit key. "
            + (ids or f"Its ids are such as {', '.join(map(repr, list(names)[:3]))}."),
        )  # fmt: skip

    def fault(self, row: Annotation, what: str, remedy: str) -> DataFileError:
        where = self._labels.place(row) if self._labels else "the items"
        return DataFileError(f"{where}: {what}.", remedy)

    def criterion(self, row: Annotation) -> str:
        name = row.criterion.strip()
        if not name or isinstance(self._judge, OwnJudge):
            return name
        if name.lower() in self._criteria:
            return self._criteria[name.lower()]
        has = ", ".join(self._criteria.values()) or "none"
        raise self.fault(
            row, f"criterion is {name!r}, which judge {self._judge.name!r} does not have",
            f"{did_you_mean(name, self._criteria.values())}Its criteria are: {has}.",
        )  # fmt: skip

    def add(self, row: Annotation, item: Item, criterion: str) -> None:
        given = self._numbers(row)  # raises for a label that is none
        if row.decides:
            if given:  # the newest, as rows are in the order of their file
                self._decided.setdefault(criterion, {})[item.key] = float(np.mean(given))
            return
        self._rows[criterion, row.annotator, item.key][item.id].append(row)

    def people(self) -> People:
        values: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        sets: dict[str, dict[str, dict[str, tuple[float, ...]]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        counting = self._counting()
        for (criterion, annotator, key), rows in counting.items():
            given = [number for row in rows for number in self._numbers(row)]
            if given:
                values[criterion][annotator][key] = float(np.mean(given))
            if len(set(given)) > 1:
                sets[criterion][annotator][key] = tuple(given)
        if isinstance(self._judge, RubricJudge):
            self._add_totals(self._judge, values)
        return People(
            judge=self._judge,
            items=tuple(self._items),
            bounds=self._scale or self._judge.score_range,
            values={name: dict(of) for name, of in values.items() if of},
            sets={name: dict(of) for name, of in sets.items()},
            decided=self._decided,
            stale=self.stale,
            others=tuple(self.others),
            apart=tuple(
                tuple(rows)
                for rows in counting.values()
                if len({self._numbers(row) for row in rows if row.labels}) > 1
            ),
        )

    def _counting(self) -> dict[tuple[str, str, str], list[Annotation]]:
        """Return criterion, annotator and text → the newest label of each id that the text has.

        Raises `DataFileError` that names all labels of one item that contradict each other.
        """
        newest: dict[tuple[str, str, str], list[Annotation]] = {}
        contradicting: list[Sequence[Annotation]] = []
        for place, by_id in self._rows.items():
            for rows in by_id.values():
                if found := newest_of(rows, self._numbers):
                    newest.setdefault(place, []).append(found)
                else:
                    contradicting.append(rows)
        if contradicting:
            path = self._labels.path if self._labels else Path("the items")
            raise contradiction_error(path, contradicting)
        return newest

    def _numbers(self, row: Annotation) -> tuple[float, ...]:
        """Return the labels of a row on the scale of labels, ascending."""
        return tuple(sorted(self._value(row, label) for label in row.labels))

    def _add_totals(
        self, judge: RubricJudge, values: dict[str, dict[str, dict[str, float]]]
    ) -> None:
        """Add the weighted mean of an annotator's marks where there is no label of the whole."""
        if not set(judge.parts) <= set(values):
            return
        first, *others = (values[part] for part in judge.parts)
        for annotator, marks in first.items():
            keys = set(marks).intersection(*(of.get(annotator, {}) for of in others))
            for key in sorted(keys):
                if (WHOLE, annotator, key) not in self._rows:
                    given = {part: values[part][annotator][key] for part in judge.parts}
                    values[WHOLE][annotator][key] = judge.total(given)

    def _value(self, row: Annotation, text: str) -> float:
        """Return a label as a number on the scale of labels; raises for one that is none.

        The error also has the labels of other rows that are none, so that all can be mended at
        once.
        """
        try:
            return self._number(text)
        except ConfigError as error:
            column = self._labels.column_of(row) if self._labels else "truth"
            none = f" For no label, write {ABSTAIN}." if self._labels else ""
            raise self.fault(
                row,
                f"item {row.item!r}: {column} is {shown(label_in(text))}. "
                f"{error.message.rstrip('.')}{self._other_faults(row)}",
                f"{self._wider()}{error.remedy}{none}",
            ) from None

    def _other_faults(self, first: Annotation) -> str:
        """Return which labels of other rows are none either, as the end of a sentence."""
        counts: Counter[str] = Counter()
        for row in self._labels.rows if self._labels else ():
            for text in row.labels if row is not first else ():
                try:
                    self._number(text)
                except ConfigError:
                    counts[str(shown(label_in(text)))] += 1
        if not counts:
            return ""
        words = [f"{word} ({count})" for word, count in counts.most_common()]
        return f". So with {counted(counts.total(), 'other label')}: {first_of(words, 8)}"

    def _wider(self) -> str:
        """Return what to write if all labels are on the judge's scale, and a space; "" if not."""
        scale = getattr(self._judge, "scale", None) if self._scale is None else None
        rows = self._labels.rows if self._labels else ()
        given = [label_in(text) for row in rows for text in row.labels]
        return wider_scale(scale, given) if scale else ""

    def _number(self, text: str) -> float:
        """Return a label as a number on the scale of labels; raises `ConfigError` for none."""
        label = label_in(text)
        assert label is not None
        if self._scale is None:
            return self._judge.score_of(label)
        if not isinstance(label, str):
            check_on(self._scale, label)
            return label
        points = to_points(np.array([self._judge.score_of(label)]), *self._judge.score_range)
        lowest, highest = self._scale
        return float(lowest + (highest - lowest) * points[0] / HIGHEST)
