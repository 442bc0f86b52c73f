"""Reading files of recorded judgements: all items and judgements, or one error.

Values only; `lab.importing` stores them.
"""

from dataclasses import replace
from pathlib import Path

from judge_gym.alike import column_name, folded
from judge_gym.counting import counted, first_of
from judge_gym.errors import DataFileError
from judge_gym.evidence.choosing import OnlyRows, values_of
from judge_gym.evidence.columns import file_parts, root_of
from judge_gym.evidence.redacting import Redaction
from judge_gym.recorded.decisions import Decisions
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.items import Described, described_items, item_of
from judge_gym.recorded.judged import (
    LONGEST_WORDING,
    Given,
    Judging,
    RecordedItem,
    RecordedWindow,
    Recordings,
    Unread,
    wording_name,
)
from judge_gym.recorded.labelled import add_labels
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.noting import CRITERIA, MOST_CONDITIONS, Noting
from judge_gym.recorded.record import Record, Refusals, RowError
from judge_gym.recorded.reported import means_apart
from judge_gym.recorded.systems import Systems
from judge_gym.seeds import sha256

MAX_ITEMS = 100_000
"""Most items of one window."""
_MISSING = ...
_SIMPLE = (str, int, float, type(None), type(_MISSING))
_MOST_NAMED = 3


def read_recorded(files: RecordedFiles, recorded: Recorded, n_stages: int) -> Recordings:
    """Read JSONL, JSON or CSV files.

    Raises `EvidenceError` naming file, line, column and value of the first row that does not
    fit, or of up to 10 that are copies, describe an item in two ways, or have a verdict or label
    that the mapping does not have. No row is skipped, because a file without some of its rows is
    another data set.
    """
    unread = Unread(redaction=Redaction(recorded.redact))
    described = described_items(files, recorded, unread) if recorded.item.file else None
    reading = _RecordedReading(recorded, n_stages, described, unread)
    unknown = Refusals(recorded.scale)
    for file in files.paths:
        parts = file_parts(file, files.folder, recorded.file_pattern)
        for row in files.rows(file):
            if recorded.redact and not row.fault:
                redacted = reading.unread.redaction.values(row.values, recorded.texts)
                row = replace(row, values=redacted)
            record = Record(file, row, parts)
            if not reading.chooses(record):
                continue
            with unknown:
                earlier = len(unread.again)
                reading.take(record)
                reading.check_copy(record)
                if len(unread.again) > earlier:
                    reading.again.append(f"{file.name} {row.where}")
    unknown.fail(reading.judges, recorded.judge_column, beside=reading.beside_copies)
    reading.check_paths(files)
    add_labels(files, recorded, reading.windows, reading.unread)
    reading.finish(files)
    for file, content in files.contents.items():
        reading.unread.apart += means_apart(content, file.name, recorded)
        if content.task not in ("", *values_of(recorded.only.get("task", content.task))):
            continue
        for why, names in content.left.items():
            reading.unread.left.setdefault(why, []).extend(names)
    if not reading.windows:
        reading.check_any(files.paths[0])
        raise DataFileError(
            f"{', '.join(map(str, files.paths[:_MOST_NAMED]))}: there is no row.",
            "Check that it is the recorded file.",
        )
    return Recordings(reading.windows, reading.unread)


class _RecordedReading:
    def __init__(
        self, recorded: Recorded, n_stages: int, described: Described | None, unread: Unread
    ) -> None:
        self.windows: dict[str, RecordedWindow] = {}
        self.unread = unread
        self.judges = set[str]()
        """All who judged, also where a judgement does not fit."""
        self.again: list[str] = []
        """Rows of an item and a judge that an earlier row has, and that are no copies of one."""
        self._has_copies = False
        self._only = OnlyRows(recorded.only)
        self._recorded, self._n_stages, self._described = recorded, n_stages, described
        self._decisions, self._noting = Decisions(recorded, n_stages), Noting(recorded, unread)
        self._systems = Systems(recorded)
        self._item_columns = sorted(
            {column for name in recorded.item.reads for column in (name, root_of(name))}
        )
        self._described_by: dict[tuple[object, ...], RecordedItem] = {}
        self._copies: dict[tuple[str, ...], tuple[Path, str]] = {}
        self._first_file: Path | None = None
        self._prompts = set[str]()

    def chooses(self, record: Record) -> bool:
        """Return whether `only` reads a row; counts it if not."""
        return self._only.chooses(record.file, record.row, record.source)

    def check_any(self, file: Path) -> None:
        """Raise `DataFileError` where `only` reads no row."""
        self._only.check_any(file)

    def check_paths(self, files: RecordedFiles) -> None:
        """Raise `EvidenceError` for a column of `only`, or an entry of a list, that no row has."""
        self._only.check()
        self.unread.others = self._only.left
        self._noting.check_lists(files)

    def take(self, record: Record) -> None:
        recorded = self._recorded
        self._first_file = self._first_file or record.file
        name = record.text(recorded.window_column) or recorded.name
        window = self.windows.setdefault(name, RecordedWindow())
        item = self._systems.told_apart(name, self._item(record))
        first = window.items.get(item.key)
        if first is None:
            window.items[item.key] = item
        elif first != item:
            raise record.refused(self._difference(first, item), self._one_description(record))
        if len(window.items) > MAX_ITEMS:
            raise record.fault(f"more than {MAX_ITEMS:,} items")
        if self._is_of_a_person(record):
            window.add_label(item.key, self._judge(record), *self._label(record))
            return
        wording = self._wording(record)
        given = self._given(record, item.key)
        by_judge: dict[Judging, list[Given]] = {}
        if recorded.judges_in_columns:
            for column, one in zip((*recorded.verdicts, *recorded.answers), given, strict=True):
                judge = recorded.names.get(column.column, column.column)
                by_judge.setdefault(Judging(judge, wording), []).append(one)
        else:
            by_judge[Judging(self._judge(record), wording)] = given
        for judging, own in by_judge.items():
            window.judgements.setdefault(judging, []).extend(own)
        self._noting.note(record, name, item.key, by_judge, given)

    @property
    def beside_copies(self) -> str:
        """What repeats an item beside copies of rows, so that all repeats are named at once."""
        if not (self._has_copies and self.again):
            return ""
        rows, have = counted(len(self.again), "row"), "has" if len(self.again) == 1 else "have"
        return (
            f"{rows} more {have} an item and a judge of an earlier row, with other values: "
            f"{first_of(self.again)}. They are read as repeats, unless you remove them."
        )

    def _given(self, record: Record, item: str) -> list[Given]:
        """Return the judgements of a row, and note whose they are; an error names the judge."""
        if self._recorded.judges_in_columns:
            self.judges |= {one.column for one in self._recorded.verdicts}
            return list(self._decisions.given(record, item))
        judge = self._judge(record)
        self.judges.add(judge)
        try:
            return list(self._decisions.given(record, item))
        except RowError as error:
            error.who = judge
            raise

    def _wording(self, record: Record) -> str:
        """Return the wording of a row; raises `EvidenceError` for whole prompts of which there are
        too many, as where each item has its own."""
        if not (column := self._recorded.wording_column):
            return ""
        name = record.named(column)
        if len(name) <= LONGEST_WORDING:
            return name
        wording = wording_name(record.text(column))
        self._prompts.add(wording)
        if len(self._prompts) > MOST_CONDITIONS:
            raise record.fault(
                f"{column} has more than {MOST_CONDITIONS} different prompts",
                "Name a column with few wordings, each of many items.",
            )
        return wording

    def _judge(self, record: Record) -> str:
        judge = self._recorded.judge
        if self._recorded.judge_column or "{" in judge:
            judge = record.named(self._recorded.judge_column or judge)
        return self._recorded.names.get(judge, judge)

    def check_copy(self, record: Record) -> None:
        """Raise for a row that another one equals, where equal rows are no repeats.

        Rows of two files are copies where no column has a part of the file's name.
        """
        if self._recorded.repeats:
            return
        row = record.row
        known = (sha256(row.values), *(record.parts.values() if self._recorded.reads_names else ()))
        first, place = self._copies.setdefault(known, (record.file, row.where))
        if (first, place) != (record.file, row.where):
            self._has_copies = True
            where = place if first == record.file else f"{first} {place}"
            apart = self._by_file() if first != record.file else ""
            raise record.refused(
                f"the row is a copy of {where}",
                "Remove it; or, if equal rows are repeated judgements, give the mapping "
                f"`repeats: true`.{apart}",
            )

    def finish(self, files: RecordedFiles) -> None:
        """Name the items of keys that several systems have by both, and note doubted scales."""
        self._noting.finish(files)
        for window in self.windows.values():
            if not self._recorded.item.known:
                window.answer_by_one_person()
            for by_person in window.labels.values():
                self.unread.people.update([*by_person])
            self._systems.rename(window)
            for item in window.items.values():
                self.unread.systems.update(filter(None, (item.system, item.second_system)))
                self.unread.categories.update(filter(None, (item.category,)))
            if self._recorded.item.known or any(one.truth for one in window.items.values()):
                self.unread.unlabelled += [
                    item.key for item in window.items.values() if item.truth is None
                ]

    def _is_of_a_person(self, record: Record) -> bool:
        """Return whether a row is the label of a person, by `people` of the mapping."""
        return bool(self._recorded.people) and all(
            folded(self._only.value(record.file, record.row, column, record.source) or "")
            in map(folded, values_of(value))
            for column, value in self._recorded.people.items()
        )

    def _label(self, record: Record) -> tuple[int | None, float | None]:
        """Return the stage of a person's label, which stands where judges' verdicts do, and its
        number."""
        column = self._recorded.verdicts[0].column
        written = record.verdict(column)
        stage = self._recorded.label(written) or self._recorded.decision(written)
        if written and stage is None:
            raise record.unknown(column, self._recorded.legal("decisions"))
        number = self._recorded.label_number(written)
        return (stage, number) if isinstance(stage, int) else (None, None)

    def _item(self, record: Record) -> RecordedItem:
        if self._described is None:
            return self._own_item(record)
        return self._described.find(record, self._recorded)

    def _own_item(self, record: Record) -> RecordedItem:
        """Return the item that a row describes: that of an earlier row with the same values."""
        given = [record.row.values.get(name, _MISSING) for name in self._item_columns]
        if not all(isinstance(value, _SIMPLE) for value in given):
            return item_of(record, self._recorded, self.unread)
        # True and 1 are equal, and other values.
        place = (record.file, *given, *map(type, given))
        found = self._described_by.get(place)
        if found is None:
            found = item_of(record, self._recorded, self.unread)
            self._described_by[place] = found
        return found

    def _one_description(self, record: Record) -> str:
        """Return how an item gets one description; one criterion is read where rows name it."""
        columns = [name for name in record.row.values if column_name(name) in CRITERIA]
        read = {root_of(name) for name in self._recorded.reads}
        asked = next((name for name in columns if name not in read), "")
        one = f" Or read one {asked} alone: `only: {{{asked}: ...}}`." if asked else ""
        # An item of a later file may be another one with the same id.
        apart = self._by_file() if record.file != self._first_file else ""
        return f"Give an item one description.{one}{apart}"

    def _by_file(self) -> str:
        """Return how items of several files with the same ids are told apart."""
        key = self._recorded.item.key
        if "{" in key:
            return ""
        return f' If each file has items of its own: `item: {{key: "{{file}}-{{{key}}}"}}`.'

    def _difference(self, first: RecordedItem, item: RecordedItem) -> str:
        """Return the first column in which two rows describe an item differently."""
        columns = self._recorded.item
        written = {stage: repr(name) for stage, name in enumerate(self._recorded.stages, start=1)}
        written |= {stage: repr(name) for name, stage in self._recorded.truths.items()}
        for name in ("title", "text", "category", "system", "second_system"):
            above, here = getattr(first, name), getattr(item, name)
            if above != here:
                column = getattr(columns, name)
                return f"item {item.key!r}: {column} is {here[:80]!r} here and {above[:80]!r} above"
        labelled = zip(
            (columns.known, *columns.people),
            (first.truth, *first.people),
            (item.truth, *item.people),
            strict=True,
        )
        column, above, here = next(each for each in labelled if each[1] != each[2])
        if scale := self._recorded.scale:
            written = dict(enumerate(scale.labels, 1))
        said = ["empty" if stage is None else written[stage] for stage in (here, above)]
        return f"item {item.key!r}: {column} is {said[0]} here and {said[1]} above"
