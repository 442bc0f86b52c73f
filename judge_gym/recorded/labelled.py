"""A file of people's labels beside judgements: a row for a label, or a column for a person."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from judge_gym.counting import counted
from judge_gym.errors import DataFileError, did_you_mean
from judge_gym.evidence.columns import root_of
from judge_gym.evidence.label_exports import LabelRows
from judge_gym.recorded.content import Left, LeftRecord
from judge_gym.recorded.files import RecordedFiles, labels_file, name_of
from judge_gym.recorded.items import NO_LABEL, left_label
from judge_gym.recorded.judged import LeftLabel, RecordedWindow, Unread
from judge_gym.recorded.mapped_columns import LabelsFile
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.noting import STATUS
from judge_gym.recorded.record import Record, Refusals, RowError
from judge_gym.recorded.systems import key_of

_NOT_GIVEN = frozenset(
    {"discarded", "draft", "pending", "rejected", "skipped", "cancelled", "canceled", "deleted",
     "invalid", "withdrawn", "error", "failed"}
)  # fmt: skip
"""What a status says of a label that does not count."""


def add_labels(
    files: RecordedFiles,
    recorded: Recorded,
    windows: Mapping[str, RecordedWindow],
    unread: Unread,
) -> None:
    """Add the labels of the file that a mapping names; nothing without one.

    Labels of items that nobody judged are named in `unread`. Raises `EvidenceError` for a label
    that stands for no stage, one that is there twice, and an item of several systems that the
    labels do not tell apart.
    """
    file, columns = labels_file(files, recorded), recorded.labels
    if file is None or columns is None:
        return
    labels, refusals = _Labels(recorded, columns, windows, unread), Refusals(recorded.scale)
    named = (columns.item or recorded.item.key, columns.person, columns.label, *columns.people)
    rows = LabelRows(columns.chosen, list(filter(None, named)))
    read = {root_of(name) for name in (*filter(None, named), *columns.only)}
    without, found = list[str](), False
    for row in rows.rows(file):
        record = Record(file, row, {"": name_of(file)})
        if row.fault:
            raise record.fault(row.fault)
        key = record.named(columns.item or recorded.item.key)
        if key not in labels.places:
            without.append(key)
            continue
        found = True
        _note_status(row.values, read, unread)
        with refusals:
            for name, column in _people(record, columns, file):
                labels.add(record, key, recorded.names.get(name, name), column)
    refusals.fail()
    if without and not found:
        raise DataFileError(
            f"{file}: none of {counted(len(without), 'row')} is of an item that was judged: "
            f"{columns.item or recorded.item.key} is {without[0]!r} in the first, and the first "
            f"item is {next(iter(labels.places), '')!r}.",
            "Write items alike in both files; `labels: {item: ...}` names their column here.",
        )
    if without:
        unread.left[Left.NO_PARTNER] = [
            *unread.left.get(Left.NO_PARTNER, []),
            *(LeftRecord(key, file.name) for key in without),
        ]
    for why, left in rows.left.items():
        places = {f"{file.name} {one}": None for one in left}
        unread.not_counted.setdefault(LeftLabel(why), {}).update(places)


def _note_status(values: Mapping[str, Any], read: Collection[str], unread: Unread) -> None:
    """Note a column that nobody names, and that says of a label that it was not given."""
    for name, value in values.items():
        if name not in read and STATUS.search(name):
            written = str(value or "").strip()
            if written.casefold() in _NOT_GIVEN:
                unread.not_given.setdefault(name, Counter())[written] += 1


def _people(record: Record, columns: LabelsFile, file: Path) -> Iterator[tuple[str, str]]:
    """Yield the people whose labels a row has, each with the column of it."""
    if columns.people:
        yield from ((person, person) for person in columns.people)
    elif record.verdict(columns.label):
        person = record.named(columns.person) if columns.person else name_of(file)
        yield person, columns.label


@dataclass(frozen=True)
class _Labels:
    """The labels that are added to the items of a recorded file."""

    recorded: Recorded
    columns: LabelsFile
    windows: Mapping[str, RecordedWindow]
    unread: Unread
    given: dict[tuple[str, str, str], dict[int, Record]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Window, item and person → stage → the record of its label."""

    @cached_property
    def places(self) -> dict[str, list[tuple[str, str]]]:
        """Key of an item → the windows that have it, each with the key there."""
        places: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, of_name in self.windows.items():
            for described in of_name.items.values():
                places[key_of(described)].append((name, described.key))
        return dict(places)

    def add(self, record: Record, key: str, person: str, column: str) -> None:
        """Add the label that a row has of an item by a person, if it has one."""
        stage = self._stage(record, key, column)
        if stage is None:
            return
        written = record.verdict(column)
        whose = f"{column} of {person}" if self.columns.person else column
        number = self.recorded.label_number(written)
        self.unread.note_known(whose, number)
        for window, item in self._chosen(record, key):
            earlier = self.given[window, item, person]
            if stage in earlier or (earlier and not self.columns.person):
                raise _again(record, key, person, column, next(iter(earlier.values())))
            if earlier:
                of = filter(None, (self.windows[window].items[item].system, person))
                self.unread.differing[f"{key} ({', '.join(of)})"] = None
            earlier[stage] = record
            self.windows[window].add_label(item, person, stage, number)

    def _stage(self, record: Record, key: str, column: str) -> int | None:
        """Return the stage of a label; None where there is none, or it does not count."""
        written = record.verdict(column)
        if not written:
            return None
        if why := left_label(record, self.recorded, column):
            self.unread.not_counted.setdefault(why, {})[f"{key} ({column})"] = None
            return None
        stage = self.recorded.label(written)
        if stage is None:
            raise record.unknown(column, self.recorded.legal("truths"), NO_LABEL, of_label=True)
        return stage

    def _chosen(self, record: Record, key: str) -> list[tuple[str, str]]:
        """Return the items that a label is of: in each window, that of the row's system."""
        places, windows, recorded = self.places[key], self.windows, self.recorded
        systems = {windows[window].items[item].system for window, item in places}
        if len(systems) < 2:
            return places
        written = record.named(recorded.item.system)
        system = recorded.names.get(written, written)
        chosen = [one for one in places if windows[one[0]].items[one[1]].system == system]
        if not chosen:
            raise record.refused(
                f"{recorded.item.system} is {system!r}, and no judgement of this item is of it",
                f"{did_you_mean(system, systems)}It has {', '.join(map(repr, sorted(systems)))}. "
                "Write it alike in both files.",
            )
        return chosen


def _again(record: Record, key: str, person: str, column: str, first: Record) -> RowError:
    """Return the error of a second label of a person of an item."""
    return record.refused(
        f"{column} is {record.verdict(column)!r}, and {first.row.where} has a label of item "
        f"{key!r} by {person!r}, too",
        "Remove the repeated row; or choose one of several scores with `only`; or name the column "
        "that tells people apart: `labels: {person: annotator}`.",
    )
