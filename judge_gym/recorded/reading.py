"""Reading files of recorded judgements: all items and judgements, or one error.

Values only; `lab.importing` stores them.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from judge_gym.counting import counted
from judge_gym.design.config import COMPRESSED, corpus_files
from judge_gym.design.experiment import STANDARD_WORDING
from judge_gym.design.window import Published
from judge_gym.errors import ConfigError, DataFileError, EvidenceError, did_you_mean
from judge_gym.evidence.normal_text import normal_line, normal_text
from judge_gym.evidence.rows import Row, read_rows
from judge_gym.recorded.columns import (
    ColumnError,
    Source,
    as_text,
    entered,
    entries_at,
    file_parts,
    list_in,
    names_in,
    root_of,
    text_at,
)
from judge_gym.recorded.content import Content, Left
from judge_gym.recorded.inspect_logs import FINISHED
from judge_gym.recorded.mapping import Choice, Recorded, VerdictColumn, as_number, values_of
from judge_gym.recorded.reported import Apart, means_apart
from judge_gym.seeds import sha256

MAX_JUDGEMENTS = 2_000_000
"""Most judgements of one file."""
MAX_ITEMS = 10_000
"""Most items of one window."""
KNOWN = "the known answers"
_LEFT_LABELS = {"was_cancelled": ("true",), "status": ("discarded", "draft", "pending")}
"""Key of an annotation of Label Studio or a response of Argilla → its values that say that the
person did not give this label."""
LONGEST_WORDING = 80
LONGEST_NAME = 200
"""Most characters of an item's key and of a judge's name; more are cut."""
_SYSTEMS = ("system", "generator", "generator_2", "model", "model_id", "provider")
"""Columns that often name what was compared."""
_MOST_NAMED = 3
_MOST_UNKNOWN = 10


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """What was judged; `truth` is the known stage, None if unknown."""

    key: str
    title: str
    text: str
    category: str
    truth: int | None
    people: tuple[int | None, ...] = ()
    """The stage that each person gave it; None without a label."""
    system: str = ""
    """What was compared, such as the model that wrote it."""
    longest: int | None = field(default=None, compare=False)
    """The stage that chooses the longest of its texts; None where several are, or are not named."""
    number: float | None = field(default=None, compare=False)
    """The known answer as a number, or the mean of people's labels; None where they are none."""


@dataclass(frozen=True, slots=True)
class Given:
    """One judgement as recorded, its stages in the rubric's own order.

    `answer` is a raw answer that is not parsed yet, `choice` a decision. Both are None where the
    file has neither.
    """

    item: str
    reversed: bool
    choice: tuple[int, ...] | Literal["abstained"] | None = None
    answer: str | None = None
    verdict: str = ""
    """The decision as written in the file."""
    behind: str | None = None
    """The raw answer behind a decision."""
    preference: float | None = None
    """The preference for the second text of a pair, in [1, 2]."""

    @property
    def number(self) -> float | None:
        """A decision that is a number; None for any other, and one that is not on the scale."""
        return None if self.choice in (None, "abstained") else as_number(self.verdict)


@dataclass(frozen=True, slots=True)
class Judging:
    """Who judged: a judge, and the wording of its prompt, "" where the file does not name one."""

    judge: str
    wording: str = ""

    def __str__(self) -> str:
        return f"{self.judge}, wording {self.wording}" if self.wording else self.judge


@dataclass
class RecordedWindow:
    """The items of a window, and who judged → judgements; both in the file's order."""

    items: dict[str, RecordedItem] = field(default_factory=dict)
    judgements: dict[Judging, list[Given]] = field(default_factory=dict)

    def replicates(self, judging: Judging) -> int:
        """Return the largest number of judgements of one item by this judge and wording."""
        counts = Counter(given.item for given in self.judgements[judging])
        return max(counts.values(), default=1)


@dataclass
class Unread:
    """What a mapping leaves of the rows."""

    columns: dict[str, None] = field(default_factory=dict)
    """Columns that it does not name."""
    entries: dict[str, tuple[int, int]] = field(default_factory=dict)
    """A list of judgements → how many entries it reads, and how many the longest has."""
    empty: dict[Judging, list[str]] = field(default_factory=dict)
    """Who judged → item and line of each judgement whose cell is empty."""
    unlisted: dict[str, list[str]] = field(default_factory=dict)
    """An answer that is no verdict → its judgements: who judged, item and line."""
    again: list[str] = field(default_factory=list)
    """Rows of an item, judge and wording that an earlier row is of: who judged, item and line."""
    cells: int = 0
    """How many items, judges and wordings the rows are of."""
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Each judge, and `KNOWN`, → its lowest and highest verdict, of those that are numbers."""
    unlabelled: list[str] = field(default_factory=list)
    """Items whose known answer is empty, where there is a column of known answers."""
    unfinished: int = 0
    """Judgements of runs that were not finished."""
    between: dict[str, None] = field(default_factory=dict)
    """Scores between two whole ones of the scale."""
    others: int = 0
    """Rows that `only` leaves out."""
    not_counted: dict[str, dict[str, None]] = field(default_factory=dict)
    """Why a label of a person does not count, such as "status is discarded" → its item and
    column."""
    left: dict[Left, list[str]] = field(default_factory=dict)
    """Why a file's records are no judgements → which they are."""
    apart: list[Apart] = field(default_factory=list)
    """Means that a file reports and that differ from those of its judgements."""
    pooled: dict[str, dict[str, None]] = field(default_factory=dict)
    """A column that may name what was compared, and that no figure is given by → its values."""


@dataclass(frozen=True)
class Recordings:
    """What files hold: window → its items and judgements, and what was left."""

    windows: dict[str, RecordedWindow]
    unread: Unread


@dataclass(frozen=True)
class RecordedFiles:
    """Files of recorded judgements; `folder` is where their names, and files beside them, begin."""

    paths: tuple[Path, ...]
    folder: Path
    contents: Mapping[Path, Content] = field(default_factory=dict)
    """The records of files of other tools, read already."""
    under: str = ""
    """Where the rows stand in a JSON file that is an object."""

    def rows(self, file: Path) -> Iterable[Row]:
        """Return the records of one of the files."""
        if file in self.contents:
            return self.contents[file].rows
        return read_rows(file, self.under)


def recorded_files(paths: Sequence[Path], recorded: Recorded) -> RecordedFiles:
    """Return the files of judgements: those given, and of a folder those that fit `files`.

    Raises `ConfigError` without any.
    """
    chosen: dict[Path, None] = {}
    for path in paths:
        found = corpus_files(path)
        if path.is_dir() and (pattern := recorded.files):
            fitting = [file for file in found if file.match(pattern)]
            if not fitting:
                names = ", ".join(file.relative_to(path).as_posix() for file in found[:_MOST_NAMED])
                raise ConfigError(f"files is {pattern!r}, which fits no file of {path}: {names}.")
            found = fitting
        chosen |= dict.fromkeys(found)
    first = paths[0]
    folder = first if first.is_dir() else first.parent
    if len(paths) > 1:
        folder = Path(os.path.commonpath([file.parent.absolute() for file in chosen]))
        chosen = dict.fromkeys(file.absolute() for file in chosen)
    return RecordedFiles(tuple(chosen), folder, under=recorded.rows)


def read_recorded(files: RecordedFiles, recorded: Recorded, n_stages: int) -> Recordings:
    """Read JSONL, JSON or CSV files.

    Raises `EvidenceError` naming file, line, column and value of the first row that does not
    fit, or of up to 10 verdicts and labels that the mapping does not have. No row is skipped,
    because a file without some of its rows is another data set.
    """
    unread = Unread()
    described = _described(files, recorded, unread) if recorded.item.file else None
    reading, unknown = _Reading(recorded, n_stages, described, unread), _UnknownValues()
    # Rows of two files are copies of each other where no column has a part of the file's name.
    named = recorded.reads_names
    rows: dict[tuple[str, ...], tuple[Path, int]] = {}
    for file in files.paths:
        parts = file_parts(file, files.folder, recorded.file_pattern)
        for row in files.rows(file):
            record = _Record(file, row, parts)
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


def items_file(files: RecordedFiles, recorded: Recorded) -> Path | None:
    """Return the file that describes the items; raises `ConfigError` if it is missing."""
    return beside(files, recorded.item.file) if recorded.item.file else None


def beside(files: RecordedFiles, name: str) -> Path:
    """Return a file beside the judgements, which may be compressed."""
    path, packed = files.folder / name, files.folder / f"{name}{COMPRESSED}"
    [file] = corpus_files(packed if packed.is_file() and not path.exists() else path)
    return file


@dataclass(frozen=True)
class _Described:
    file: Path
    items: Mapping[str, RecordedItem]


def _described(files: RecordedFiles, recorded: Recorded, unread: Unread) -> _Described:
    file = items_file(files, recorded)
    assert file is not None
    items: dict[str, RecordedItem] = {}
    unknown = _UnknownValues()
    for row in read_rows(file):
        record = _Record(file, row, {})
        with unknown:
            item = _item(record, recorded, unread)
            if item.key in items:
                raise record.fault(f"item {item.key!r} is there twice", "Give each item one row.")
            items[item.key] = item
    unknown.fail()
    return _Described(file, items)


@lru_cache(maxsize=1 << 16)
def _name(text: str) -> str:
    return normal_line(text, LONGEST_NAME)


@dataclass(frozen=True)
class _Record:
    """A row, with the file it is in."""

    file: Path
    row: Row
    parts: Mapping[str, str]

    def text(self, column: str) -> str:
        """Return a value as text; "" for a column that the mapping does not name."""
        try:
            return text_at(column, Source(self.row.values, self.parts))
        except ColumnError as error:
            raise self.fault(error.what, error.remedy) from error

    def entries(self, column: str) -> list[Mapping[str, Any]]:
        """Return the objects in lists that the path of a column leads through."""
        return entered(column, self.row.values)

    def named(self, column: str) -> str:
        """Return a value as a name; raises `EvidenceError` if it is empty."""
        name = _name(self.text(column))
        if not name:
            raise self.fault(f"{column} is empty")
        return name

    def fault(self, what: str, remedy: str = "") -> EvidenceError:
        return self.row.error(self.file, what, remedy)

    def unknown(self, column: str, remedy: str) -> "_UnknownValueError":
        """Return the error of a verdict or label that the mapping does not have."""
        error = self.fault(f"{column} is {self.text(column)!r}", remedy)
        return _UnknownValueError(error.message, error.remedy)


class _UnknownValueError(DataFileError):
    """A verdict or label that the mapping does not have."""


class _UnknownValues:
    """Collects the errors of values that a mapping does not have, to name several at once."""

    def __init__(self) -> None:
        self._errors: list[_UnknownValueError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, _UnknownValueError):
            self._errors.append(error)
            return True
        return False

    def fail(self) -> None:
        """Raise `EvidenceError` if there are any."""
        if not self._errors:
            return
        messages = [error.message for error in self._errors[:_MOST_UNKNOWN]]
        if more := len(self._errors) - len(messages):
            messages.append(f"and {more} more.")
        raise DataFileError("\n".join(messages), self._errors[0].remedy)


def read_published(files: RecordedFiles, recorded: Recorded) -> Published:
    """Read the published figures of a mapping, shares in [0, 1]; empty without any.

    Raises `EvidenceError` naming file, line, column and value.
    """
    if recorded.published is None:
        return {}
    columns, file = recorded.published, beside(files, recorded.published.file)
    published: Published = {}
    for row in read_rows(file):
        record = _Record(file, row, {})
        if row.fault:
            raise record.fault(row.fault)
        judge = record.named(columns.judge)
        wording = record.text(columns.wording) or STANDARD_WORDING
        figures = (
            published.setdefault(judge, {})
            .setdefault(wording, {})
            .setdefault(record.text(columns.category), {})
        )
        if figures:
            raise record.fault(f"{Judging(judge, wording)} has two lines of one category")
        figures |= {
            metric: _published_value(record, column, columns.percent and "kappa" not in metric)
            for column, metric in columns.figures.items()
            if record.text(column)
        }
    return published


def _published_value(record: _Record, column: str, percent: bool) -> float:
    written = record.text(column)
    try:
        value = float(written) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not -1 <= value <= 1:
        unit = "in percent" if percent else "at most 1; set percent: true for percent"
        raise record.fault(f"{column} is {written!r}", f"A figure is a number {unit}.")
    return value


def _item(record: _Record, recorded: Recorded, unread: Unread) -> RecordedItem:
    if record.row.fault:
        raise record.fault(record.row.fault)
    columns = recorded.item
    key = record.named(columns.key)
    for column in dict.fromkeys((columns.known, *columns.people)):
        if (why := _left_label(record, recorded, column)) and record.text(column):
            unread.not_counted.setdefault(why, {})[f"{key} ({column})"] = None
    return RecordedItem(
        key=key,
        title=normal_line(record.text(columns.title), 500),
        text=normal_text(record.text(columns.text)),
        category=normal_line(record.text(columns.category), 500),
        truth=_known(record, recorded, columns.known),
        people=tuple(_known(record, recorded, column) for column in columns.people),
        system=normal_line(record.text(columns.system), 500),
        longest=_longest(record, columns.texts),
        number=_known_number(record, recorded),
    )


def _known(record: _Record, recorded: Recorded, column: str) -> int | None:
    """Return the stage that a column's value stands for; None where it is empty or left."""
    value = record.text(column)
    if not value or _left_label(record, recorded, column):
        return None
    stage = recorded.label(value)
    if stage is None:
        raise record.unknown(column, f"{recorded.legal('truths')} Leave a cell empty for no label.")
    return stage


def _known_number(record: _Record, recorded: Recorded) -> float | None:
    """Return the known answer as a number, or without one the mean of people's labels."""
    columns = recorded.item
    written = [
        record.text(column)
        for column in ((columns.known,) if columns.known else columns.people)
        if not _left_label(record, recorded, column)
    ]
    numbers = [number for text in written if text and (number := as_number(text)) is not None]
    return fmean(numbers) if numbers and len(numbers) == len(list(filter(None, written))) else None


def _left_label(record: _Record, recorded: Recorded, column: str) -> str:
    """Return why a label of a person does not count, by the entry of a list it stands in."""
    entries = record.entries(column)
    for key, chosen in recorded.item.only.items() if entries else ():
        written = [as_text(entry.get(key)) for entry in entries if key in entry]
        if not any(value in values_of(chosen) for value in written):
            return f"{key} is {written[0] or 'empty'}" if written else f"there is no {key}"
    for entry in entries:
        for key, left in _LEFT_LABELS.items():
            if key not in recorded.item.only and as_text(entry.get(key)).casefold() in left:
                return f"{key} is {as_text(entry[key])}"
    return ""


def _preference(record: _Record, column: str) -> float | None:
    """Return a preference in [1, 2]; None where it is empty. Before AlpacaEval 0.2 a tie was 0."""
    if not (written := record.text(column)):
        return None
    number = as_number(written)
    if number is None or not (number == 0 or 1 <= number <= 2):
        raise record.fault(f"{column} is {written!r}", "A preference is from 1 to 2.")
    return number or 1.5


def _longest(record: _Record, texts: Mapping[str, int]) -> int | None:
    lengths = {stage: len(record.text(column)) for column, stage in texts.items()}
    longest = [stage for stage, length in lengths.items() if length == max(lengths.values())]
    return longest[0] if len(longest) == 1 and len(lengths) > 1 else None


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
        self, recorded: Recorded, n_stages: int, described: _Described | None, unread: Unread
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

    def chooses(self, record: _Record) -> bool:
        """Return whether `only` reads a row; counts it if not."""
        if record.row.fault:
            raise record.fault(record.row.fault)
        chosen = all(
            self._value_of(record, column) in values_of(value)
            for column, value in self._recorded.only.items()
        )
        self.unread.others += not chosen
        return chosen

    def _value_of(self, record: _Record, column: str) -> str | None:
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

    def take(self, record: _Record) -> None:
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

    def _item(self, record: _Record) -> RecordedItem:
        if self._described is None:
            return _item(record, self._recorded, self.unread)
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

    def _judgements(self, record: _Record, item: str) -> Iterator[Given]:
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

    def _swapped(self, record: _Record) -> bool:
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

    def _decision(self, record: _Record, item: str, column: VerdictColumn, swapped: bool) -> Given:
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

    def _number(self, record: _Record, column: str) -> int:
        written = record.text(column)
        if not written.isdecimal():
            raise record.fault(f"{column} is {written!r}", "A count is a whole number.")
        self._count(record, int(written))
        return int(written)

    def _count(self, record: _Record, judgements: int) -> None:
        self._left -= judgements
        if self._left < 0:
            raise record.fault(f"more than {MAX_JUDGEMENTS} judgements", "Split the file.")


Stages = tuple[int, ...] | Literal["abstained"]


def stages_of(choice: Choice) -> Stages:
    """Return the stages of a choice, ascending."""
    return (choice,) if isinstance(choice, int) else choice


def turned(stages: Stages, n_stages: int) -> Stages:
    """Return the stages that were chosen where the rubric was shown in reverse."""
    if stages == "abstained":
        return stages
    return tuple(sorted(n_stages + 1 - stage for stage in stages))


def stage_set(stages: Sequence[int]) -> int:
    """Return the bit set of stages, bit s-1 for stage s."""
    return sum(1 << (stage - 1) for stage in stages)
