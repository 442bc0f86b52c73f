"""Files of people's labels of items: a row for an item, an annotator and a criterion.

Such a file stands beside the items, so that a label can be added or corrected without touching
what was judged. Rows are only added: of several labels the newest counts, earlier ones are kept.
"""

import csv
import io
import json
import math
import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from judge_gym.alike import said_alike
from judge_gym.annotations import Annotation, Draw
from judge_gym.counting import counted, first_of
from judge_gym.design.config import CORPUS_SUFFIXES, corpus_suffix, shown
from judge_gym.errors import ConfigError, DataFileError, EvidenceError, did_you_mean
from judge_gym.evidence.choosing import beside_fields
from judge_gym.evidence.columns import column_meant
from judge_gym.evidence.label_exports import LabelRows
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import rows_inside
from judge_gym.formats import cell, text_of_cell
from judge_gym.judges.newest_labels import (
    ABSTAIN,
    contradiction_error,
    may_agree,
    newest_of,
    text_of,
)
from judge_gym.records.items import Item

COLUMNS = (
    "item", "annotator", "label", "criterion", "time", "note", "item_key", "draw", "probability",
)  # fmt: skip
"""What a row of a file of labels may give."""
PEOPLE = "people"
"""The field that names columns which each have the labels of a person."""
FIELDS = (*COLUMNS, PEOPLE)
"""What may be read from other columns."""
_NEEDED = COLUMNS[:3]
LONGEST_NOTE = 10_000
_LONGEST = 200
Key = tuple[str, str, str]
"""Item, annotator and criterion."""


@dataclass(frozen=True, eq=False)
class LabelFile:
    """Labels of people, the newest of each item, annotator and criterion."""

    path: Path
    """Where they were read from."""
    rows: tuple[Annotation, ...]
    """Those that count, in the order of the file."""
    earlier: tuple[Annotation, ...]
    """Those that a newer label replaced, or that stand again as one of `rows`."""
    column: str = "label"
    """The column that labels were read from."""
    empty: int = 0
    """Rows without a label, such as items that are still to be labelled; of columns of people
    cells."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Why a label of an export of a labelling tool does not count → how many."""
    people: tuple[str, ...] = ()
    """The columns that were each read as a person's, in place of one with all labels."""

    @property
    def annotators(self) -> Counter[str]:
        """Annotator → how many labels count, abstentions left out."""
        return Counter(row.annotator for row in self.rows if row.labels)

    @property
    def abstentions(self) -> int:
        """How often someone looked at an item and gave it no label."""
        return sum(not row.labels for row in self.rows)

    @cached_property
    def repeated(self) -> tuple[Annotation, ...]:
        """Those of `earlier` that no time makes older: the same label, several times."""
        counts = {(row.item, row.annotator, row.criterion): row for row in self.rows}
        return tuple(
            row
            for row in self.earlier
            if (one := counts.get((row.item, row.annotator, row.criterion))) is not None
            and (None in (row.time, one.time) or row.time == one.time)
        )

    @property
    def every(self) -> tuple[Annotation, ...]:
        """All rows, those that were replaced first."""
        return (*self.earlier, *self.rows)

    def renamed(self, items: Mapping[str, str]) -> "LabelFile":
        """Return them with other names of items: `items` is name → item."""
        rows, earlier = (
            tuple(replace(row, item=items.get(row.item, row.item)) for row in some)
            for some in (self.rows, self.earlier)
        )
        return replace(self, rows=rows, earlier=earlier)

    def keyed(self, keys: Mapping[str, str]) -> "LabelFile":
        """Return them with the key of the text that each is of, where a row gives none.

        `keys` is the name of an item → its key; a label of no such item stays without one. A key
        that a row gives stays: the text may have changed since.
        """
        rows, earlier = (
            tuple(
                row if row.item_key else replace(row, item_key=keys.get(row.item, ""))
                for row in some
            )
            for some in (self.rows, self.earlier)
        )
        return replace(self, rows=rows, earlier=earlier)

    def column_of(self, row: Annotation) -> str:
        """Return the column that a label was read from."""
        return row.annotator if self.people else self.column

    def place(self, row: Annotation) -> str:
        """Return the file and the line of a row, for messages."""
        return f"{self.path} line {row.line}" if row.line else str(self.path)

    def said(self) -> str:
        """Return how many labels were read, from whom and from which column, for a person."""
        total, column = self.annotators.total(), f"column {self.column!r}"
        if self.people:
            column = f"{counted(len(self.people), 'column')}, each a person's,"
        by = ", ".join(f"{name} {count}" for name, count in sorted(self.annotators.items()))
        parts = [
            f"Labels: {total} from {column} of {self.path}, by "
            f"{counted(len(self.annotators), 'annotator')}{f' ({by})' if by else ''}"
        ]
        if self.abstentions:
            parts.append(counted(self.abstentions, "abstention"))
        if names := said_alike(self.annotators):
            parts.append(
                f"names that differ only in case count as different people: {names}; write one of "
                "them in the file if they are one"
            )
        if replaced := len(self.earlier) - len(self.repeated):
            parts.append(f"{counted(replaced, 'earlier label')} replaced by newer ones")
        if self.repeated:
            lines = first_of([f"line {row.line}" for row in self.repeated if row.line])
            again = counted(len(self.repeated), "repeated label")
            parts.append(f"{again} counted once{lines and f' ({lines})'}")
        if self.empty:
            what = "cell of these columns" if self.people else "row"
            parts.append(f"{counted(self.empty, what)} without a label")
        parts += [f"{count:,} left out: {why}" for why, count in self.left.items()]
        by_gain = sum(row.drawn_by == Draw.GAIN for row in self.rows)
        if by_gain:
            parts.append(f"{by_gain} drawn by expected gain, so no random sample of the items")
        if to_rank := sum(row.drawn_by == Draw.RANKING for row in self.rows):
            parts.append(f"{to_rank} drawn to rank systems, so random within each alone")
        if decided := sum(row.decides for row in self.rows):
            parts.append(f"{decided} by an adjudicator, which decide and are nobody's own")
        if shown_score := sum(row.score_shown for row in self.rows):
            parts.append(f"{shown_score} given with the judge's score in view")
        return "; ".join(parts) + "."


def new_label(
    item: str,
    annotator: str,
    label: float | str | Iterable[float | str],
    *,
    criterion: str = "",
    time: datetime | None = None,
    note: str = "",
) -> Annotation:
    """Return a label given in Python: a number, a name, several of these, or "abstain"."""
    several = [label] if isinstance(label, str | int | float) else list(label or ())
    if not several or not all(isinstance(one, str) or math.isfinite(one) for one in several):
        raise ConfigError(
            f"The label of item {item!r} by {annotator!r} is {shown(label)}.",
            f"Use a finite number, a name, several of these, or {ABSTAIN!r}.",
        )
    texts = [_as_text(one) for one in several]
    return Annotation(
        item=str(item),
        annotator=str(annotator),
        kind="person",
        labels=_without_abstention(texts),
        line=0,
        criterion=criterion,
        time=time if time is None or time.tzinfo else time.replace(tzinfo=UTC),
        note=note,
    )


def collect_labels(
    rows: Iterable[Annotation],
    path: Path = Path("labels"),
    *,
    column: str = "label",
    empty: int = 0,
) -> LabelFile:
    """Return rows with the newest label of each item, annotator and criterion apart.

    Raises `DataFileError` that names all labels of one that differ and have no times to order them.
    A step's name and a number are both kept, since a judge may read them as the same.
    """
    by_key: dict[Key, list[Annotation]] = defaultdict(list)
    for row in rows:
        by_key[row.item, row.annotator, row.criterion].append(row)
    counting: list[Annotation] = []
    contradicting: list[Sequence[Annotation]] = []
    for some in by_key.values():
        if newest := newest_of(some):
            counting.append(newest)
        elif may_agree(some):
            counting += some
        else:
            contradicting.append(some)
    if contradicting:
        raise contradiction_error(path, contradicting)
    kept = {id(row) for row in counting}
    return LabelFile(
        path,
        tuple(counting),
        tuple(row for some in by_key.values() for row in some if id(row) not in kept),
        column,
        empty,
    )


def read_labels(
    path: str | Path, fields: Mapping[str, str] | None = None, *, in_file: bool = False
) -> LabelFile:
    """Read people's labels from a CSV, JSON, JSONL or Excel file, or an export of a labelling tool.

    A row has `item` (its id or its 16-digit key), `annotator` and `label`, and may have
    `criterion`, `time` (ISO 8601; UTC without a zone) and `note`. A label is a number, the name of
    a verdict or step, several of them (a list, or text with `|` between them), or `abstain`; a row
    without one is counted, not used. `fields` maps those that stand in other columns or paths, and
    may have the keys of `choosing.KEYS`; its `people` names the columns of a table with one for
    each person, whose names are then the annotators, with commas between. Raises `DataFileError` or
    `EvidenceError` with file, line, column and value for a row that does not fit, and for
    contradictory labels (`collect_labels`). `in_file` where a file gives the fields, as
    `label_fields`, and no option does.
    """
    path = Path(path)
    if not path.exists():
        raise ConfigError(
            f"There is no file {path}.", "Check the path, or make it: judge-gym judge label."
        )
    if corpus_suffix(path) not in CORPUS_SUFFIXES:
        raise ConfigError(
            f"{path} is not a file of labels.", "Name a CSV, JSON, JSONL or Excel file."
        )
    chosen, fields = beside_fields(fields or {})
    reading = _LabelReading(path, fields, in_file=in_file)
    given = LabelRows(chosen, fields.values())
    rows = [found for row in given.rows(path) for found in reading.take_all(row)]
    reading.check_fields()
    column = ", ".join(reading.people) or reading.used["label"]
    labels = collect_labels(rows, path, column=column, empty=reading.empty)
    left = {why: len(places) for why, places in given.left.items()}
    return replace(labels, left=left, people=reading.people)


class _LabelReading:
    def __init__(self, path: Path, fields: dict[str, str], *, in_file: bool) -> None:
        for name in fields:
            if name not in FIELDS:
                raise ConfigError(
                    f"{name!r} is not a field of a label.",
                    f"{did_you_mean(name, FIELDS)}Use {', '.join(FIELDS)}.",
                )
        self._path, self._fields, self._in_file = path, dict(fields), in_file
        self.people = _people_in(self._fields)
        self._person = ""
        self._columns: dict[str, None] = {}
        self.used: dict[str, str] = {"label": fields.get("label", "label")}
        self.empty = 0
        self._missing: dict[tuple[str, str], EvidenceError | None] = {}

    def take_all(self, row: DataRow) -> Iterator[Annotation]:
        """Yield the labels of a row: one, or of a table with a column for each person theirs."""
        for person in self.people or ("",):
            if person:
                self._person, self._fields["label"] = person, person
            if (found := self.take(row)) is not None:
                yield found

    def take(self, row: DataRow) -> Annotation | None:
        if row.fault:
            raise row.error(self._path, row.fault, "Mend or remove this row.")
        self._columns.update(dict.fromkeys(row.values))
        labels = self._labels(row)
        if labels is None:
            self.empty += 1
            return None
        return Annotation(
            item=self._needed(row, "item"),
            annotator=" ".join((self._person or self._needed(row, "annotator")).split()),
            kind="person",
            labels=labels,
            line=row.line,
            criterion=self._text(row, "criterion"),
            time=self._time(row),
            note=self._text(row, "note", LONGEST_NOTE),
            item_key=self._text(row, "item_key"),
            draw=self._text(row, "draw"),
            probability=self._probability(row),
        )

    def check_fields(self) -> None:
        """Raise for a mapped column that no row has, and for a file without rows."""
        if not self._columns:
            raise DataFileError(
                f"{self._path} has no row.",
                "A row has an item, the annotator and the label, in columns of these names or as "
                "label_fields says.",
            )
        for (name, column), error in self._missing.items():
            if error is not None:
                field, whose = (PEOPLE, column) if self.people and name == "label" else (name, "")
                columns = list(self._columns)
                is_slip = whose or name != "label" or did_you_mean(column, columns)
                hint = "" if is_slip else self._of_people(columns)
                raise DataFileError(
                    f"{self._path}: label_fields: {field} is {column!r}, and no row has such a "
                    "column.",
                    f"{error.remedy} {hint}".strip(),
                )

    def _of_people(self, columns: Sequence[str]) -> str:
        """Return how to read columns that are each a person's, where there may be such."""
        item = self._fields.get("item", "") or next(
            (one for one in columns if one.strip().lower() == "item"), columns[0]
        )
        read = {item, *self._fields.values()}
        known = {*COLUMNS, *Item.model_fields}
        people = [one for one in columns if one not in read and one.strip().lower() not in known]
        has_annotator = any(one.strip().lower() == "annotator" for one in columns)
        # Who gives the label stands in a column of its own.
        has_annotator |= self._fields.get("annotator", "") in columns
        if has_annotator or not people or any("," in one for one in people):
            return ""
        named = {"item": item, PEOPLE: ",".join(people)}
        options = " ".join(
            f"--label-fields {shlex.quote(f'{name}={of}')}" for name, of in named.items()
        )
        pairs = ", ".join(
            f"{name}: {json.dumps(of, ensure_ascii=False)}" for name, of in named.items()
        )
        how = f"label_fields: {{{pairs}}}" if self._in_file else options
        return f"If each of the other columns has a person's labels, read them with `{how}`."

    def _mapped(self, name: str, column: str = "COLUMN") -> str:
        by_key = f"`label_fields: {{{name}: {column}}}`"
        return (
            by_key if self._in_file else f"`--label-fields {name}={column}`, or in a file {by_key}"
        )

    def _column(self, row: DataRow, name: str) -> str | None:
        if name in self._fields:
            return self._fields[name]
        alike = [column for column in row.values if column.strip().lower() == name]
        if len(alike) > 1 and name not in row.values:
            both = " and ".join(map(repr, alike))
            raise row.error(self._path, f"columns {both} are both {name}", "Rename one of them.")
        return name if name in row.values else next(iter(alike), None)

    def _value(self, row: DataRow, name: str) -> Any:
        column = self._column(row, name)
        if column is None and name in _NEEDED:
            there = ", ".join(map(repr, row.values))
            inside = rows_inside(row.values, partial(self._mapped, "rows")) if row.line == 1 else ""
            hint = self._of_people(list(row.values)) if name == "label" else ""
            raise row.error(
                self._path, f"there is no column {name!r}",
                f"{inside}{column_meant(name, row.values)}The columns are {there}. "
                f"Map one with {self._mapped(name)}. {hint}".strip(),
            )  # fmt: skip
        if column is not None:
            self.used[name] = column
        if name not in self._fields:
            return None if column is None else row.values.get(column)
        try:
            value = row.value(self._path, self._fields[name])
        except EvidenceError as error:
            self._missing.setdefault((name, self._fields[name]), error)
            return None
        self._missing[name, self._fields[name]] = None
        return value

    def _text(self, row: DataRow, name: str, longest: int = _LONGEST) -> str:
        value = self._value(row, name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._fault(row, name, value, "Use text.")
        # A file that was written by `write_labels` keeps spreadsheets from computing names.
        text = text_of_cell(_as_text(value))
        if len(text) > longest or "\x00" in text:
            raise self._fault(row, name, value, f"Use at most {longest} characters, without NUL.")
        return text

    def _needed(self, row: DataRow, name: str) -> str:
        if text := self._text(row, name):
            return text
        if error := self._missing.get((name, self._fields.get(name, ""))):
            raise error
        raise row.error(self._path, f"{self.used[name]} is empty", "Fill it in or remove the row.")

    def _labels(self, row: DataRow) -> tuple[str, ...] | None:
        value = self._value(row, "label")
        if isinstance(value, list):
            if not value or not all(isinstance(one, str | int | float) for one in value):
                raise self._fault(row, "label", value, "Use a list of numbers or names.")
            texts = [_as_text(one) for one in value]
        elif value is None or isinstance(value, str | int | float):
            parts = [] if value is None else text_of_cell(_as_text(value)).split("|")
            texts = [row.number(self._path, self.used["label"], one.strip()) for one in parts]
        else:
            raise self._fault(row, "label", value, "Use a number, a name or a list of them.")
        if not any(texts):
            return None
        if not all(texts) or (len(texts) > 1 and any(map(_abstains, texts))):
            raise self._fault(row, "label", value, "Use one label, several, or abstain alone.")
        return _without_abstention(texts)

    def _time(self, row: DataRow) -> datetime | None:
        text = self._text(row, "time")
        if not text:
            return None
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise self._fault(
                row, "time", text, "Use ISO 8601, such as 2025-03-31T14:05:00Z."
            ) from None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def _probability(self, row: DataRow) -> float | None:
        text = self._text(row, "probability")
        if not text:
            return None
        try:
            probability = float(row.number(self._path, self.used["probability"], text))
        except ValueError:
            probability = -1.0
        if not 0 < probability <= 1:
            raise self._fault(row, "probability", text, "Use a number above 0 and at most 1.")
        return probability

    def _fault(self, row: DataRow, name: str, value: object, remedy: str) -> DataFileError:
        return row.error(self._path, f"{self.used[name]} is {shown(value)}", remedy)


def _people_in(fields: dict[str, str]) -> tuple[str, ...]:
    """Take the columns of people out of fields; raises `ConfigError` where they cannot be read."""
    typed = fields.pop(PEOPLE, "")
    names = tuple(name.strip() for name in typed.split(",")) if typed else ()
    if len(set(names)) < len(names) or not all(names):
        raise ConfigError(
            f"{PEOPLE} is {typed!r}.", "Name each column once, with commas between: ann,bo."
        )
    if names and (both := sorted({"label", "annotator"} & set(fields))):
        raise ConfigError(
            f"{PEOPLE} is {typed!r}, and {both[0]} is {fields[both[0]]!r}.",
            f"Leave out {both[0]}: a column of a person has the labels, its name is the annotator.",
        )
    return names


def _as_text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _abstains(text: str) -> bool:
    return text.strip().lower() == ABSTAIN


def _without_abstention(texts: Iterable[str]) -> tuple[str, ...]:
    # A label that a set has twice counts twice.
    return tuple(sorted(text for text in texts if not _abstains(text)))


def values_of(row: Annotation) -> dict[str, Any]:
    """Return the columns of a row, those without a value left out."""
    values = {
        "item": row.item,
        "annotator": row.annotator,
        "label": text_of(row),
        "criterion": row.criterion,
        "time": row.time.isoformat() if row.time else "",
        "note": row.note,
        "item_key": row.item_key,
        "draw": row.draw,
        "probability": "" if row.probability is None else row.probability,
    }
    return {name: value for name, value in values.items() if value != ""}


def write_labels(path: str | Path, rows: Iterable[Annotation]) -> None:
    """Write rows as CSV or JSONL, by the name of the file, in place of what it held.

    `read_labels` reads the same rows again. A reader sees the old file or the new one.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    text = io.StringIO(newline="")
    if suffix == ".csv":
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows(
            {name: cell(value) for name, value in values_of(row).items()} for row in rows
        )
    elif suffix == ".jsonl":
        for row in rows:
            text.write(json.dumps(values_of(row), ensure_ascii=False) + "\n")
    else:
        raise ConfigError(f"{path} ends in {path.suffix}.", "Name a file .jsonl or .csv.")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("w", encoding="utf-8", newline="") as handle:
        handle.write(text.getvalue())
        handle.flush()
        os.fsync(handle.fileno())
    partial.replace(path)
