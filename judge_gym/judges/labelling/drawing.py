"""What a person labels next, with which probability it was drawn, and when it is enough."""

import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from judge_gym.alike import folded
from judge_gym.annotations import SCORE_SHOWN, Annotation, Draw
from judge_gym.errors import ConfigError
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.comparing import near_of
from judge_gym.judges.label_files import LabelFile, read_labels, values_of
from judge_gym.judges.people import WHOLE, bind
from judge_gym.judges.systems import system_scores, systems_of
from judge_gym.metrics.cells import BoolArray, FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, not_estimable
from judge_gym.metrics.expert_labels import Labelled
from judge_gym.metrics.points import HIGHEST, to_points
from judge_gym.metrics.stratified_labels import next_labels, stratified_mean
from judge_gym.metrics.system_ranking import Ranking, labels_to_buy, ranking
from judge_gym.records.items import Item, label_in
from judge_gym.seeds import derive_seed

LEAST = 30
"""Labels of one person below which labelling does not stop: their interval may be narrow by chance.

With random draws of 100 and 200 items, by judges that meet 50 to 95% of labels, the interval at a
stop at ±0.1 covered that share in 93 to 99% of 400 simulated runs each.
"""
MOST_CHOICES = 10
"""Most steps of a scale that have a key each; of longer scales a number is typed."""
_BATCH = 10
"""Labels that one allocation among the judge's scores plans."""
_STRATA = 5
"""Groups of the judge's scores among which labels are allocated."""


@dataclass(frozen=True)
class Next:
    """An item to label, how it was drawn, and with which probability among those left."""

    item: Item
    draw: Draw
    probability: float


@dataclass(frozen=True)
class Progress:
    """How far an annotator is: items labelled or abstained from, of how many.

    `met` is the share of the annotator's labels that the judge's score meets, over all items.
    `enough` says that its interval is as narrow as wanted.
    """

    done: int
    items: int
    abstained: int
    met: Estimate
    enough: bool


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labelling of items for a judge, into one file; reads that file anew for every question."""

    judge: Judge
    items: tuple[Item, ...]
    """The items, each text once; to rank, once for each system that gave it."""
    file: Path
    """A JSONL file of labels; it need not exist."""
    judged: Mapping[str, float]
    """Item key → the judge's mean score, of the items that are judged."""
    draw: Draw = Draw.RANDOM
    until: float = 0.1
    """Half-width of the 95% interval of the share of labels met at which labelling may stop."""
    criteria: tuple[str, ...] = (WHOLE,)
    """What of an item is labelled: the whole, or criteria of the judge."""
    shows_score: bool = False
    """Whether annotators see the judge's score; a label that follows it is no test of it."""
    sure: frozenset[str] = frozenset()
    """Keys of items that draws by gain take first (`corrected.labelled_for_sure`)."""
    overlap: int = 0
    """How many people label each item; 0 for everyone."""
    adjudicator: str = ""
    """Who decides items on which people differ, and labels no other."""

    def __post_init__(self) -> None:
        """Refuse a file of another format, and draws that need judgements where there are none."""
        if self.file.suffix.lower() != ".jsonl":
            raise ConfigError(
                f"Labels are appended to {self.file}.",
                "Name a file that ends in .jsonl; `judge agreement --export` writes one from CSV.",
            )
        if self.draw is not Draw.RANDOM and not self.judged:
            raise ConfigError(
                f"Draws by {self.draw} need the judge's scores, and none is stored.",
                "Run judge-gym judge score first, or use --draw random.",
            )
        if self.draw is not Draw.RANDOM and self.overlap:
            raise ConfigError(
                f"An overlap is of items that are drawn at random, and --draw is {self.draw}.",
                "Use --draw random, or leave --overlap out.",
            )
        if self.adjudicator and self.overlap == 1:
            raise ConfigError(
                "With an overlap of 1 nobody differs from anybody.", "Use --overlap 2 or more."
            )
        if self.draw is Draw.RANKING and any(item.second_system for item in self.items):
            raise ConfigError(
                "Draws for a ranking are of answers of one system, and these are pairs of two.",
                "Use --draw random: each pair is evidence on both of its systems.",
            )
        if self.draw is Draw.RANKING and len(self._systems) < 2:
            raise ConfigError(
                "Draws for a ranking need items of two systems, and these have fewer.",
                "Name the system of each item in a column system, or use --draw random.",
            )

    def labels(self) -> LabelFile | None:
        """Return the labels so far; None before the first. Raises as `read_labels`."""
        filled = self.file.exists() and self.file.stat().st_size > 0
        return read_labels(self.file) if filled else None

    def progress(self, annotator: str) -> Progress:
        """Return how far an annotator is: of an adjudicator, with the items that differ."""
        if self.decides(annotator):
            return self._decided(annotator)
        rows = self._rows(annotator)
        done = {row.item for row in rows}
        met = self._met(annotator)
        narrow = (
            met.lower is not None
            and met.upper is not None
            and (met.upper - met.lower) / 2 <= self.until
        )
        if self.draw is Draw.RANKING:
            found = self._ranking(annotator)
            narrow = bool(found.ranked.all() and found.outcomes.all())
        with_label = {row.item for row in rows if row.labels}
        return Progress(
            len(done), len(done) + len(self._left(annotator, {})), len(done - with_label), met,
            enough=narrow and len(with_label) >= LEAST,
        )  # fmt: skip

    def decides(self, annotator: str) -> bool:
        """Whether this is the adjudicator."""
        return bool(self.adjudicator) and folded(annotator) == folded(self.adjudicator)

    def _left(self, annotator: str, held: Mapping[str, str]) -> list[Item]:
        """Return the items that an annotator may label: of these, as few people as are wanted have
        labelled them or are at them."""
        done = {row.item for row in self._rows(annotator)}
        left = [item for item in self.items if item.id not in done]
        if not self.overlap:
            return left
        people = self._people()
        for name, item in held.items():
            if name != annotator:
                people.setdefault(item, set()).add(name)
        return [item for item in left if len(people.get(item.id, ())) < self.overlap]

    def _people(self) -> dict[str, set[str]]:
        """Return item → who gave it a label."""
        found: dict[str, set[str]] = {}
        for name, rows in self._labelled_by().items():
            for row in rows:
                if row.labels and not row.decides:
                    found.setdefault(row.item, set()).add(name)
        return found

    def _labelled_by(self) -> dict[str, list[Annotation]]:
        labels = self.labels()
        names = {row.annotator for row in labels.rows} if labels else set()
        return {name: self._rows(name) for name in sorted(names)}

    def others(self, item: Item) -> dict[str, list[Annotation]]:
        """Return who labelled an item, with their labels, for the adjudicator."""
        return {
            name: own
            for name, rows in self._labelled_by().items()
            if (own := [row for row in rows if row.item == item.id and not row.decides])
        }

    def differing(self) -> list[Item]:
        """Return the items on which people differ in a criterion, once as many labelled them as are
        wanted, in the order of the items."""
        given: dict[str, dict[str, dict[str, float]]] = {}
        for name, rows in self._labelled_by().items():
            for row in rows:
                if row.labels and not row.decides and not self.decides(name):
                    scores = [self.judge.score_of(label_in(text) or text) for text in row.labels]
                    of_item = given.setdefault(row.item, {}).setdefault(row.criterion, {})
                    of_item[name] = sum(scores) / len(scores)
        return [
            item
            for item in self.items
            if any(
                len(of) >= max(2, self.overlap) and len(set(of.values())) > 1
                for of in given.get(item.id, {}).values()
            )
        ]

    def _decided(self, annotator: str) -> Progress:
        done = {row.item for row in self._rows(annotator) if row.decides}
        open_items = {item.id for item in self.differing()} - done
        none = not_estimable("labels_met", "labels of an adjudicator meet no judge", unit="share")
        return Progress(len(done), len(done) + len(open_items), 0, none, enough=False)

    def next(
        self,
        annotator: str,
        skipped: Collection[str] = (),
        held: Mapping[str, str] | None = None,
    ) -> Next | None:
        """Return what an annotator labels next, the same until something is labelled or skipped.

        `skipped` are ids of items, which come again after all others. `held` is annotator → the
        item at which they are, which counts as theirs. None when all are labelled.
        """
        held = held or {}
        done = {row.item for row in self._rows(annotator)}
        if self.decides(annotator):
            left = [item for item in self.differing() if item.id not in done]
        else:
            left = self._left(annotator, held)
        fresh = [item for item in left if item.id not in skipped]
        if not left:
            return None
        if not fresh:  # the one that was skipped first
            fresh = [next(item for name in skipped for item in left if item.id == name)]
        if self.decides(annotator):
            return Next(fresh[0], Draw.ADJUDICATION, 1.0)
        if self.overlap and (mine := [one for one in fresh if one.id == held.get(annotator)]):
            return Next(mine[0], Draw.RANDOM, 1 / len(fresh))
        if self.draw is Draw.GAIN:
            if first := [item for item in fresh if item.key in self.sure]:
                return Next(first[0], Draw.GAIN, 1.0)
            if drawn := self._by_gain(annotator, fresh, len(done)):
                return drawn
        if self.draw is Draw.RANKING:
            return self._by_ranking(annotator, fresh, len(done))
        order = np.random.default_rng(self._seed("order")).permutation(len(self.items))
        names = {item.id for item in fresh}
        chosen = next(self.items[place] for place in order if self.items[place].id in names)
        return Next(chosen, Draw.RANDOM, 1 / len(fresh))

    def add(self, annotator: str, drawn: Next, labels: Mapping[str, str], note: str = "") -> None:
        """Append labels of an item by criterion, or an abstention for a criterion with "abstain".

        Raises `ConfigError` for a label that is none of the judge's; then nothing is stored.
        """
        if set(labels) != set(self.criteria):
            raise ConfigError(
                "A criterion is missing or unknown.",
                f"Label {', '.join(name or 'the whole' for name in self.criteria)}.",
            )
        for text in labels.values():
            if text != "abstain":
                label = label_in(text)
                if label is None:
                    raise ConfigError("The label is empty.", "Give a label, or abstain.")
                self.judge.score_of(label)
        now = datetime.now(UTC)
        rows = [
            Annotation(
                item=drawn.item.id,
                annotator=annotator,
                kind="person",
                labels=() if text == "abstain" else (text,),
                line=0,
                criterion=criterion,
                time=now,
                note=note,
                item_key=drawn.item.key,
                draw=self._draw_of(drawn),
                probability=drawn.probability,
            )
            for criterion, text in labels.items()
        ]
        _append(self.file, [json.dumps(values_of(row), ensure_ascii=False) for row in rows])

    def _draw_of(self, drawn: Next) -> str:
        shown = self.shows_score and drawn.draw is not Draw.ADJUDICATION
        return f"{drawn.draw}{SCORE_SHOWN}" if shown else drawn.draw

    def undo(self, annotator: str) -> Item | None:
        """Remove the labels that an annotator gave last; returns their item, None without any."""
        labels = self.labels()
        own = [row for row in labels.every if row.annotator == annotator] if labels else []
        if not own:
            return None
        last = max(own, key=lambda row: row.line)
        gone = {
            row.line for row in own
            if (row.item, row.time) == (last.item, last.time) and row.time is not None
        } | {last.line}  # fmt: skip
        lines = self.file.read_text(encoding="utf-8").splitlines()
        kept = [line for number, line in enumerate(lines, start=1) if number not in gone]
        _replace(self.file, kept)
        return next((item for item in self.items if item.id == last.item), None)

    def _rows(self, annotator: str) -> list[Annotation]:
        labels = self.labels()
        by_name = {item.id: item for item in self.items}
        return [
            row
            for row in (labels.rows if labels else ())
            if row.annotator == annotator
            and row.criterion in self.criteria
            and row.item in by_name
            and row.item_key in ("", by_name[row.item].key)
        ]

    def _seed(self, of: str) -> int:
        return derive_seed("labelling", of, *(item.key for item in self.items))

    def _met(self, annotator: str) -> Estimate:
        """Return the share of items on which the judge meets this annotator's label."""
        if not self.judged:
            return not_estimable("labels_met", "the judge has no stored score", unit="share")
        met, at = self._met_by_item(annotator)
        given = met[~np.isnan(met) & ~np.isnan(at)]
        if self.draw is Draw.RANDOM:
            return clustered_share("labels_met", given.astype(np.int64), np.ones_like(given, int))
        if self.draw is Draw.RANKING:  # random within categories
            numbers = np.unique([item.part for item in self.items], return_inverse=True)[1]
            at = numbers.astype(np.float64)
            has = ~np.isnan(met)
            labelled = Labelled(met[has], at[has], at[~has])
        else:
            labelled = self._labelled(met, at)
        return stratified_mean(labelled, bounds=UNIT_INTERVAL)

    def _met_by_item(self, annotator: str) -> tuple[FloatArray, FloatArray]:
        """Return by item whether the judge meets the label, and the judge's points; else NaN."""
        whole = bind(self.judge, self.items, self.labels()).values.get(WHOLE, {}).get(annotator, {})
        low, high = self.judge.score_range
        labels, judged = (
            to_points(np.array([of.get(item.key, np.nan) for item in self.items]), low, high)
            for of in (whole, self.judged)
        )
        near = near_of(self.judge)
        met = np.where(np.isnan(labels), np.nan, np.abs(labels - judged) <= near)
        return met, judged

    @property
    def _systems(self) -> list[str]:
        return systems_of(self.items)

    def _ranking(self, annotator: str) -> Ranking:
        """Return how an annotator's labels and the judge's scores rank the categories.

        Items with the same context answer one question.
        """
        whole = bind(self.judge, self.items, self.labels()).values.get(WHOLE, {}).get(annotator, {})
        items = [item for item in self.items if item.part]
        low, high = self.judge.score_range
        labels, judged = (
            to_points(np.array([of.get(item.key, np.nan) for item in items]), low, high) / HIGHEST
            for of in (whole, self.judged)
        )
        given = system_scores(items, judged, labels)
        return ranking(given, np.random.default_rng(self._seed("ranking")))

    def _by_ranking(self, annotator: str, left: Sequence[Item], done: int) -> Next:
        """Draw a category by its planned labels, then an item of it; the fewest labelled first."""
        found, systems = self._ranking(annotator), self._systems
        counts = labels_to_buy(found, _BATCH).counts if found.ranked.all() else found.labels * 0
        if not found.ranked.all():
            counts[found.labels == found.labels[~found.ranked].min()] = 1
        waiting = {name: count for name, count in zip(systems, counts.tolist(), strict=True)
                   if count and any(item.part == name for item in left)}  # fmt: skip
        names = waiting or Counter(item.part for item in left)
        rng = np.random.default_rng(
            derive_seed("labelling", annotator, done, sorted(item.id for item in left))
        )
        shares = np.array(list(names.values())) / sum(names.values())
        chosen = int(rng.choice(len(names), p=shares))
        of_system = [item for item in left if item.part == list(names)[chosen]]
        item = of_system[rng.choice(len(of_system))]
        return Next(item, Draw.RANKING, float(shares[chosen]) / len(of_system))

    def _labelled(self, met: FloatArray, at: FloatArray) -> Labelled:
        step = HIGHEST / (_STRATA - 1)
        strata = np.round(at / step) * step
        has, left = ~np.isnan(met) & ~np.isnan(at), np.isnan(met) & ~np.isnan(at)
        sure = np.array([item.key in self.sure for item in self.items])
        return Labelled(
            met[has], strata[has], strata[left], sure=np.concatenate([sure[has], sure[left]])
        )

    def _by_gain(self, annotator: str, left: Sequence[Item], done: int) -> Next | None:
        """Draw a group of the judge's scores by its planned labels, then an item of it."""
        met, at = self._met_by_item(annotator)
        plan = next_labels(self._labelled(met, at), _BATCH)
        if plan is None:
            return None
        names = {item.id for item in left}
        fresh: BoolArray = np.array([item.id in names for item in self.items])
        step = HIGHEST / (_STRATA - 1)
        strata = np.round(at / step) * step
        counts = {
            score: count
            for score, count in plan.rows
            if count and (fresh & (strata == score)).any()
        }
        if not counts:
            return None
        rng = np.random.default_rng(derive_seed("labelling", annotator, done, sorted(names)))
        shares = np.array(list(counts.values())) / sum(counts.values())
        chosen = rng.choice(len(counts), p=shares)
        places = np.flatnonzero(fresh & (strata == list(counts)[chosen]))
        item = self.items[rng.choice(places)]
        return Next(item, Draw.GAIN, float(shares[chosen]) / len(places))


def choices_of(judge: Judge) -> list[tuple[str, str, str]]:
    """Return key, label and name of each label that one key gives; empty where one is typed."""
    if judge.verdict_scores:
        names = judge.verdict_scores
        return [(str(place), name, name) for place, name in enumerate(names, start=1)]
    scale = getattr(judge, "scale", None)
    if scale is None or scale.highest - scale.lowest >= MOST_CHOICES:
        return []
    anchors = dict(scale.named)
    steps = range(scale.lowest, scale.highest + 1)
    by_value = scale.lowest >= 0 and scale.highest <= 9
    return [
        (str(step if by_value else (place + 1) % 10), str(step), anchors.get(step, ""))
        for place, step in enumerate(steps)
    ]


def _append(file: Path, lines: Sequence[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as handle:
        if handle.tell():
            handle.seek(-1, os.SEEK_END)
            if handle.read(1) != b"\n":
                handle.write(b"\n")
        handle.write("".join(f"{line}\n" for line in lines).encode())
        handle.flush()
        os.fsync(handle.fileno())


def _replace(file: Path, lines: Sequence[str]) -> None:
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    partial.replace(file)
