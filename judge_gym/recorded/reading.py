"""Reading files of recorded judgements: all items and judgements, or one error.

Values only; `lab.importing` stores them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge_gym.counting import counted
from judge_gym.errors import DataFileError, EvidenceError, did_you_mean
from judge_gym.recorded.columns import entries_at, file_parts, list_in, names_in, root_of
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.inspect_logs import FINISHED
from judge_gym.recorded.items import Described, described_items, item_of
from judge_gym.recorded.judged import (
    KNOWN,
    Given,
    Judging,
    RecordedItem,
    RecordedWindow,
    Recordings,
    Unread,
    stages_of,
    turned,
)
from judge_gym.recorded.mapping import Recorded, VerdictColumn, as_number, values_of
from judge_gym.recorded.record import Record, Refusals
from judge_gym.recorded.reported import means_apart
from judge_gym.seeds import sha256

MAX_JUDGEMENTS = 2_000_000
"""Most judgements of one file."""
MAX_ITEMS = 10_000
"""Most items of one window."""
LONGEST_WORDING = 80
_SYSTEMS = ("system", "generator", "generator_2", "model", "model_id", "provider")
"""Columns that often name what was compared."""
_MOST_NAMED = 3


def read_recorded(files: RecordedFiles, recorded: Recorded, n_stages: int) -> Recordings:
    """Read JSONL, JSON or CSV files.

    Raises `EvidenceError` naming file, line, column and value of the first row that does not
    fit, or of up to 10 verdicts and labels that the mapping does not have. No row is skipped,
    because a file without some of its rows is another data set.
    """
    unread = Unread()
    described = described_items(files, recorded, unread) if recorded.item.file else None
    reading, unknown = _Reading(recorded, n_stages, described, unread), Refusals()
    # Rows of two files are copies of each other where no column has a part of the file's name.
    named = recorded.reads_names
    rows: dict[tuple[str, ...], tuple[Path, int]] = {}
    for file in files.paths:
        parts = file_parts(file, files.folder, recorded.file_pattern)
        for row in files.rows(file):
            record = Record(file, row, parts)
            if not reading.chooses(record):
                continue
            with unknown:
                reading.take(record)
            known = (sha256(row.values), *(parts.values() if named else ()))
            first, line = rows.setdefault(known, (file, row.line))
            if (first, line) != (file, row.line) and not recorded.repeats:
                where = f"line {line}" if first == file else f"{first} line {line}"
                raise record.fault(
                    f"the row is a copy of {where}",
                    "Remove it; or, if equal rows are repeated judgements, give the mapping "
                    "`repeats: true`.",
                )
    unknown.fail()
    reading.check_paths(files)
    for file, content in files.contents.items():
        reading.unread.apart += means_apart(content, file.name, recorded)
        if content.task not in ("", *values_of(recorded.only.get("task", content.task))):
            continue
        for why, names in content.left.items():
            reading.unread.left.setdefault(why, []).extend(names)
    if not reading.windows:
        raise DataFileError(
            f"{', '.join(map(str, files.paths[:_MOST_NAMED]))}: there is no row.",
            "Check that it is the recorded file.",
        )
    return Recordings(reading.windows, reading.unread)


def _lists(recorded: Recorded) -> dict[str, int]:
    """Return the lists that verdicts, answers and labels are read from, and how many entries."""
    found: dict[str, int] = {}
    judged = [one.column for one in (*recorded.verdicts, *recorded.answers)]
    people = () if recorded.item.file else recorded.item.people
    for column in (*judged, *people):
        for name in names_in(column):
            if entered := list_in(name):
                found[entered[0]] = max(found.get(entered[0], 0), entered[1] + 1)
    return found


class _Reading:
    def __init__(
        self, recorded: Recorded, n_stages: int, described: Described | None, unread: Unread
    ) -> None:
        self.windows: dict[str, RecordedWindow] = {}
        self.unread = unread
        self._missing: dict[str, EvidenceError | None] = {}
        self._longest: dict[str, int] = {}
        self._named = {root for name in recorded.reads for root in (name, root_of(name))}
        self._lists = _lists(recorded)
        self._recorded, self._n_stages, self._described = recorded, n_stages, described
        self._left = MAX_JUDGEMENTS
        self._cells = set[tuple[str, Judging, str]]()
        self._grouped = {
            name
            for column in (
                *(recorded.item.system, recorded.item.category, recorded.window_column),
                *(recorded.judge, recorded.judge_column, recorded.wording_column, *recorded.only),
            )
            for name in (*names_in(column), root_of(column))
        }

    def chooses(self, record: Record) -> bool:
        """Return whether `only` reads a row; counts it if not."""
        if record.row.fault:
            raise record.fault(record.row.fault)
        chosen = all(
            self._value_of(record, column) in values_of(value)
            for column, value in self._recorded.only.items()
        )
        self.unread.others += not chosen
        return chosen

    def _value_of(self, record: Record, column: str) -> str | None:
        """Return a column's value, None where a row is without it, and note in which it is."""
        try:
            text = record.text(column)
        except EvidenceError as error:
            self._missing.setdefault(column, error)
            return None
        self._missing[column] = None
        return text

    def check_paths(self, files: RecordedFiles) -> None:
        """Raise `EvidenceError` for a column of `only`, or an entry of a list, that no row has."""
        for error in filter(None, self._missing.values()):
            raise error
        for path, used in self._lists.items():
            longest = self._longest.get(path, used)
            if longest < used:
                raise DataFileError(
                    f"{', '.join(map(str, files.paths[:_MOST_NAMED]))}: {path} has at most "
                    f"{counted(longest, 'entry')}, so no row has {path}[{used - 1}].",
                    "Name entries that are there; the first is [0].",
                )

    def take(self, record: Record) -> None:
        recorded = self._recorded
        name = record.text(recorded.window_column) or recorded.name
        window = self.windows.setdefault(name, RecordedWindow())
        item = self._item(record)
        first = window.items.get(item.key)
        if first is None:
            window.items[item.key] = item
            if recorded.item.known and item.truth is None:
                self.unread.unlabelled.append(item.key)
        elif first != item:
            raise record.fault(self._difference(first, item), "Give an item one description.")
        if len(window.items) > MAX_ITEMS:
            raise record.fault(f"more than {MAX_ITEMS} items")
        judge = recorded.judge
        if recorded.judge_column or "{" in judge:
            judge = record.named(recorded.judge_column or judge)
        wording = record.named(recorded.wording_column) if recorded.wording_column else ""
        if len(wording) > LONGEST_WORDING:
            raise record.fault(
                f"{recorded.wording_column} has {len(wording)} characters",
                f"Use at most {LONGEST_WORDING}: the name of a wording, not the prompt.",
            )
        judging, given = Judging(judge, wording), list(self._judgements(record, item.key))
        window.judgements.setdefault(judging, []).extend(given)
        place = f"{item.key} ({record.row.where})"
        for one in given:
            if one.choice is None and one.answer is None and one.verdict:
                places = self.unread.unlisted.setdefault(one.verdict[:80], [])
                places.append(f"{judging} on {place}")
        if any(one.choice is None and one.answer is None and not one.verdict for one in given):
            self.unread.empty.setdefault(judging, []).append(place)
        if recorded.format == "inspect":
            self.unread.unfinished += record.row.values["status"] != FINISHED
        is_whole = recorded.scale is not None and recorded.scale.is_whole
        if recorded.format == "rows":
            self._note_unread(record.row.values)
            self._note_again(name, f"{judging} on {place}", judging, item.key)
            for one in given:
                self._note_range(judge, one.verdict)
                if is_whole and one.number is not None and one.number % 1:
                    self.unread.between[one.verdict] = None
            if recorded.item.known and self._described is None:
                self._note_range(KNOWN, record.text(recorded.item.known))

    def _note_again(self, window: str, place: str, judging: Judging, item: str) -> None:
        cell = (window, judging, item)
        if cell in self._cells:
            self.unread.again.append(place)
        self._cells.add(cell)
        self.unread.cells = len(self._cells)

    def _note_range(self, name: str, written: str) -> None:
        number = as_number(written)
        if number is not None:
            low, high = self.unread.ranges.get(name, (number, number))
            self.unread.ranges[name] = (min(low, number), max(high, number))

    def _note_unread(self, values: Mapping[str, Any]) -> None:
        """Note the columns and the entries of lists that the mapping does not name."""
        self.unread.columns |= {name: None for name in values if name not in self._named}
        for name in _SYSTEMS:
            if name not in self._grouped and isinstance(values.get(name), str):
                self.unread.pooled.setdefault(name, {})[values[name]] = None
        for path, used in self._lists.items():
            longest = max(entries_at(path, values), self._longest.get(path, 0))
            self._longest[path] = longest
            if longest > used:
                self.unread.entries[path] = (used, longest)

    def _item(self, record: Record) -> RecordedItem:
        if self._described is None:
            return item_of(record, self._recorded, self.unread)
        key = record.named(self._recorded.item.key)
        if key not in self._described.items:
            known = list(self._described.items)
            raise record.fault(
                f"item {key!r} is not in {self._described.file}",
                f"{did_you_mean(key, known)}It has {', '.join(map(repr, known[:3]))}.",
            )
        return self._described.items[key]

    def _difference(self, first: RecordedItem, item: RecordedItem) -> str:
        """Return the first column in which two rows describe an item differently."""
        columns = self._recorded.item
        written = {stage: repr(name) for name, stage in self._recorded.truths.items()}
        for name in ("title", "text", "category", "system"):
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

    def _judgements(self, record: Record, item: str) -> Iterator[Given]:
        recorded = self._recorded
        swapped = self._swapped(record)
        for column in recorded.verdicts:
            self._count(record, 1)
            yield self._decision(record, item, column, swapped)
        for column in recorded.answers:
            self._count(record, 1)
            answer = record.text(column.column) or None
            yield Given(item, column.reversed is not swapped, answer=answer)
        for name, choice in recorded.counts.items():
            for _ in range(self._number(record, name)):
                yield Given(item, swapped, stages_of(choice), verdict=name)

    def _swapped(self, record: Record) -> bool:
        """Return whether a row's pair was shown in the other order."""
        column, values = self._recorded.swapped_column, self._recorded.swapped
        if not column:
            return False
        written = record.text(column)
        if written.casefold() in values:
            written = written.casefold()
        if written not in values:
            known = ", ".join(map(repr, values))
            raise record.fault(f"{column} is {written!r}", f"`swapped` has {known}.")
        return values[written]

    def _decision(self, record: Record, item: str, column: VerdictColumn, swapped: bool) -> Given:
        written = record.text(column.column)
        reversed_order = column.reversed is not swapped
        behind = record.text(column.answer) or None
        if not written:
            return Given(item, reversed_order, behind=behind)
        choice = self._recorded.decision(written)
        if choice is None:
            if self._recorded.unlisted == "unreadable":
                return Given(item, reversed_order, verdict=written, behind=behind)
            raise record.unknown(
                column.column,
                f"{self._recorded.legal('decisions')} Leave a cell empty for an answer that could "
                "not be read, or give the mapping `unlisted: unreadable` to count all such answers "
                "as unreadable.",
            )
        chosen = stages_of(choice)
        if reversed_order and not column.own_order:
            chosen = turned(chosen, self._n_stages)
        preference = _preference(record, column.preference)
        return Given(
            item, reversed_order, chosen, verdict=written, behind=behind, preference=preference
        )

    def _number(self, record: Record, column: str) -> int:
        written = record.text(column)
        if not written.isdecimal():
            raise record.fault(f"{column} is {written!r}", "A count is a whole number.")
        self._count(record, int(written))
        return int(written)

    def _count(self, record: Record, judgements: int) -> None:
        self._left -= judgements
        if self._left < 0:
            raise record.fault(f"more than {MAX_JUDGEMENTS} judgements", "Split the file.")


def _preference(record: Record, column: str) -> float | None:
    """Return a preference in [1, 2]; None where it is empty. Before AlpacaEval 0.2 a tie was 0."""
    if not (written := record.text(column)):
        return None
    number = as_number(written)
    if number is None or not (number == 0 or 1 <= number <= 2):
        raise record.fault(f"{column} is {written!r}", "A preference is from 1 to 2.")
    return number or 1.5
