"""Labels of people in files: the mapping of their columns, and reading them.

A file is in long format: one row for an item, an annotator and a label. Several rows of an
annotator on an item, or a value of several labels, are a set of acceptable labels. Rows of
judges may stand among those of people. Values only; `lab.annotating` stores them.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from judge_gym.alike import by_folded, folded, said_alike
from judge_gym.design.config import (
    corpus_files,
    corpus_suffix,
    read_model,
    read_tree,
    shown,
)
from judge_gym.design.fields import Frozen, Legal
from judge_gym.errors import ConfigError, DataFileError, did_you_mean
from judge_gym.evidence.choosing import Chosen, ColumnNames, HeaderLine, Only
from judge_gym.evidence.label_exports import LabelRows
from judge_gym.evidence.normal_text import normal_line
from judge_gym.evidence.row import DataRow, Layout

Score = Literal["accuracy", "neg_rmse", "similarity"]
"""How well a label agrees with those of people: equal labels, -RMSE of numbers, or the overlap
|A∩B| / |A∪B| of sets of labels."""
Kind = Literal["person", "judge"]

MAX_LABELS = 62
"""Most labels of a data set; a set of labels is stored as bits where it is computed with."""
MAX_ROWS = 2_000_000
_MOST_NAMED = 5
_MOST_REPEATED = 10
LONGEST = 1000
"""Most characters of an item's key, an annotator or a label."""


class AnnotationColumns(Frozen):
    """The columns of a row, by what they hold."""

    item: str = Field(default="item", min_length=1)
    """What was labelled: the item's key in the file that it was imported from, or its 16-digit
    key (`judge-gym data views items`)."""
    annotator: str = Field(default="annotator", min_length=1)
    """Who labelled it."""
    label: str = Field(default="label", min_length=1)
    """The label, or several with `separator` between them, or a list of JSON."""
    kind: str = ""
    """Whether a person or a judge labelled it; without one, people did."""


class AnnotationScheme(Frozen):
    """What the labels of a file are, and how they are compared."""

    score: Score = "accuracy"
    """How well a label agrees with others in the alternative annotator test."""
    epsilon: float = Field(default=0.2, ge=0, lt=1)
    """What that test grants a judge: 0.2 beside experts, 0.15 beside skilled people, 0.1 beside
    crowd workers (Calderon et al. 2025)."""
    labels: Annotated[tuple[str, ...], Legal("a list of labels")] = ()
    """The labels that may occur, in order; all that occur when it is empty."""
    stages: Annotated[dict[str, int], Legal("a mapping of labels to stages")] = Field(
        default_factory=dict
    )
    """Label → stage of the sweep's rubric; without it, labels are those of the stages."""

    @model_validator(mode="after")
    def _check(self) -> "AnnotationScheme":
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels has a label twice")
        if self.labels and self.stages and set(self.labels) != set(self.stages):
            raise ValueError("labels and stages name different labels; stages alone is enough")
        return self

    @property
    def allowed(self) -> tuple[str, ...]:
        """The labels that may occur; empty when any may."""
        return self.labels or tuple(self.stages)


class AnnotationMapping(Frozen):
    """How to read files of labels. `sets` maps each file, by its name without suffixes, to what
    its labels are; without it, `default` holds for the file that is named."""

    source: str = Field(min_length=1, max_length=300)
    """Where the labels come from, as a paper would cite it."""
    columns: AnnotationColumns | ColumnNames = AnnotationColumns()
    """Which column holds what; or, of files whose first line has no names, a list of the names of
    all columns, in order, with item, annotator and label among them."""
    only: Only = Field(default_factory=dict)
    """Column → its value, or its values, in the rows that are read: one of several scores, such as
    `only: {name: correctness}`. Other rows, and rows without the column, are left."""
    rows: str = ""
    """Where the rows stand: a key of a JSON file that is an object, such as `data.items`, or a
    sheet of a workbook."""
    header: HeaderLine = Field(default=0, exclude_if=lambda line: not line)
    """The line or row, from 1, that has the names of the columns: titles above it are not read."""
    people: tuple[str, ...] = ("person", "human")
    """Values of the column `kind` that mark people."""
    judges: tuple[str, ...] = ("judge", "model")
    """Values of the column `kind` that mark judges."""
    separator: str = Field(default="", max_length=5)
    """What stands between several labels in one value; without it, a value is one label."""
    default: AnnotationScheme = AnnotationScheme()
    """What the labels are where `sets` does not say."""
    sets: dict[str, AnnotationScheme] = Field(default_factory=dict)
    """File name without suffixes → what its labels are."""

    @property
    def holds(self) -> AnnotationColumns:
        """Which column holds what."""
        return AnnotationColumns() if isinstance(self.columns, tuple) else self.columns

    @property
    def chosen(self) -> Chosen:
        """Which rows are read."""
        names = self.columns if isinstance(self.columns, tuple) else ()
        return Chosen(Layout(self.rows, names, self.header), self.only)


class Draw(StrEnum):
    """How an item is drawn to be labelled."""

    RANDOM = "random"
    """Every item that is left alike, in one order for all annotators."""
    GAIN = "gain"
    """More often where the judge meets labels now and then: their interval narrows fastest."""
    RANKING = "ranking"
    """More often of categories, such as systems, whose order labels have not decided."""
    ADJUDICATION = "adjudication"
    """Of items on which people differ, to decide them; the label is then the known answer."""


SCORE_SHOWN = ", score shown"
"""What follows the draw of a label that was given with the judge's score in view."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The labels that an annotator gave an item, sorted; `line` of the file is the first.

    Labels of sweeps and of product judges are this. No label is an abstention. What follows `line`
    is of product judges only.
    """

    item: str
    annotator: str
    kind: Kind
    labels: tuple[str, ...]
    line: int
    criterion: str = ""
    """The criterion of the judge that was labelled; empty for the whole."""
    time: datetime | None = None
    """When it was given, with a time zone."""
    note: str = ""
    item_key: str = ""
    """The identity of the text that was labelled; empty when the file has none."""
    draw: str = ""
    """Its `Draw` with `SCORE_SHOWN`, as the file has it; empty when that is unknown."""
    probability: float | None = None
    """The probability with which it was drawn among the items that were left, in (0, 1]."""

    @property
    def decides(self) -> bool:
        """Whether it decides an item on which people differ, with their labels in view."""
        return self.drawn_by == Draw.ADJUDICATION

    @property
    def drawn_by(self) -> str:
        """The `Draw` alone."""
        return self.draw.removesuffix(SCORE_SHOWN)

    @property
    def score_shown(self) -> bool:
        """Whether it was given with the judge's score in view, which it may follow."""
        return self.draw.endswith(SCORE_SHOWN)


@dataclass(frozen=True)
class Annotations:
    """The labels of one file. `file` says where they are from, for errors."""

    name: str
    source: str
    described: AnnotationScheme
    rows: tuple[Annotation, ...]
    file: Path

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels: those declared, else those that occur, sorted."""
        return self.described.allowed or labels_in(self.rows)

    @property
    def names_alike(self) -> str:
        """The annotators whose names differ only in case, with their labels; "" without any."""
        return said_alike(Counter(row.annotator for row in self.rows))

    def of_kind(self, kind: Kind) -> list[Annotation]:
        """Return the rows of people or of judges."""
        return [row for row in self.rows if row.kind == kind]


def labels_in(rows: Collection[Annotation]) -> tuple[str, ...]:
    """Return the labels that occur, numbers by their size."""
    found = {label for row in rows for label in row.labels}
    return tuple(sorted(found, key=lambda label: (as_number(label) or 0.0, label)))


def as_number(label: str) -> float | None:
    """Return a label as a number; None when it is none."""
    try:
        return float(label)
    except ValueError:
        return None


def load_mapping(path: Path) -> AnnotationMapping:
    """Read a mapping file; raises `ConfigError` naming file, line, key and value."""
    return read_model(AnnotationMapping, read_tree(path))


def read_annotations(path: Path, mapping: AnnotationMapping) -> list[Annotations]:
    """Read a file of labels, or those files of a folder that the mapping's `sets` name.

    Raises `ConfigError` for a file that `sets` does not name, and `EvidenceError` with file, line,
    column and value for the first row that does not fit. No row is skipped.
    """
    files = corpus_files(path)
    named = {_name(file): file for file in files}
    if mapping.sets and path.is_dir():
        files = [file for name, file in named.items() if name in mapping.sets]
        if not files:
            raise ConfigError(
                f"{path} has none of the files that `sets` names.",
                f"It names {', '.join(mapping.sets)}.",
            )
    for file in files:
        if mapping.sets and _name(file) not in mapping.sets:
            raise ConfigError(
                f"{file}: `sets` of the mapping does not name {_name(file)!r}.",
                f"{did_you_mean(_name(file), mapping.sets)}It names {', '.join(mapping.sets)}.",
            )
    return [_read(file, mapping) for file in files]


def _name(file: Path) -> str:
    """Return the name of a file without its suffixes: `wax` of wax.csv.gz."""
    return file.name.lower().partition(corpus_suffix(file))[0] or file.name


def _read(file: Path, mapping: AnnotationMapping) -> Annotations:
    name = _name(file)
    described = mapping.sets.get(name, mapping.default)
    reading = _AnnotationReading(file, mapping, described)
    for row in LabelRows(mapping.chosen, vars(mapping.holds).values()).rows(file):
        reading.take(row)
    reading.check_repeated()
    if not reading.found:
        raise DataFileError(f"{file} has no row.", "Check that it is the file of labels.")
    rows = tuple(
        Annotation(
            item, annotator, kind, tuple(sorted(labels)), reading.lines[item, annotator, kind]
        )
        for (item, annotator, kind), labels in reading.found.items()
    )
    read = Annotations(name, mapping.source, described, rows, file)
    if len(read.labels) > MAX_LABELS:
        raise DataFileError(
            f"{file} has {len(read.labels)} labels.",
            f"A data set has at most {MAX_LABELS}. Give a mapping with the labels that may occur.",
        )
    return read


@dataclass
class _AnnotationReading:
    file: Path
    mapping: AnnotationMapping
    described: AnnotationScheme
    found: dict[tuple[str, str, Kind], list[str]] = field(default_factory=dict)
    lines: dict[tuple[str, str, Kind], int] = field(default_factory=dict)
    first: dict[tuple[str, str, Kind, str], DataRow] = field(default_factory=dict)
    """The row that each label is of."""
    repeated: list[DataFileError] = field(default_factory=list)
    """The rows that repeat a label of an earlier one."""
    count: int = 0

    def take(self, row: DataRow) -> None:
        if row.fault:
            raise row.error(self.file, row.fault)
        self.count += 1
        if self.count > MAX_ROWS:
            raise row.error(self.file, f"more than {MAX_ROWS} rows", "Split the file.")
        columns = self.mapping.holds
        key = (
            self._text(row, columns.item),
            self._text(row, columns.annotator),
            self._kind(row),
        )
        given = self.found.setdefault(key, [])
        first = self.lines.setdefault(key, row.line)
        for label in self._labels(row):
            if label in given:
                error = row.error(
                    self.file,
                    f"{columns.label} is {label!r}, which {key[1]!r} gave item {key[0]!r} "
                    f"in line {first}, too",
                    self._remedy(row, self.first[(*key, label)]),
                )
                self.repeated.append(error)
                continue
            given.append(label)
            self.first[(*key, label)] = row
        if len(given) > 1 and self.described.score == "neg_rmse":
            raise row.error(
                self.file,
                f"{key[1]!r} gave item {key[0]!r} several labels ({', '.join(given)})",
                "The score neg_rmse compares one number with others: use score: similarity.",
            )

    def check_repeated(self) -> None:
        """Raise `DataFileError` that names the rows that repeat a label of an earlier one."""
        if not self.repeated:
            return
        messages = [error.message for error in self.repeated[:_MOST_REPEATED]]
        if more := len(self.repeated) - len(messages):
            messages.append(f"and {more:,} more such rows.")
        raise DataFileError("\n".join(messages), self.repeated[0].remedy)

    def _remedy(self, row: DataRow, first: DataRow) -> str:
        """Return what to do about a row that repeats a label of another."""
        named = {*vars(self.mapping.holds).values(), *self.mapping.only}
        differing = [
            column
            for column, value in row.values.items()
            if column not in named and isinstance(value, str) and value != first.values.get(column)
        ]
        if not differing:
            return "Remove the repeated row."
        chosen = differing[-1]
        return (
            "Remove the repeated row; or, if the file has several scores, choose one in the "
            f"mapping, such as `only: {{{chosen}: {row.values[chosen][:40]}}}`. The rows differ in "
            f"{', '.join(differing[:_MOST_NAMED])}."
        )

    def _kind(self, row: DataRow) -> Kind:
        column = self.mapping.holds.kind
        if not column:
            return "person"
        written = self._text(row, column)
        kinds: dict[str, Kind] = dict.fromkeys(self.mapping.people, "person")
        kinds |= dict.fromkeys(self.mapping.judges, "judge")
        if written not in kinds:
            raise row.error(self.file, f"{column} is {written!r}", f"Use {', '.join(kinds)}.")
        return kinds[written]

    def _labels(self, row: DataRow) -> Sequence[str]:
        column = self.mapping.holds.label
        value = row.value(self.file, column)
        parts: Sequence[Any] = value if isinstance(value, list) else [value]
        parts = [
            row.number(self.file, column, part) if isinstance(part, str) else part for part in parts
        ]
        texts = [self._as_text(row, column, part) for part in parts]
        if self.mapping.separator and not isinstance(value, list):
            texts = [part.strip() for part in texts[0].split(self.mapping.separator)]
        texts = [self._spelt.get(folded(text), text) for text in texts]
        for text in texts:
            self._check(row, column, text)
        return texts

    @cached_property
    def _spelt(self) -> dict[str, str]:
        """Label as it is compared → as it is spelt in the mapping, where case alone differs."""
        return by_folded({label: label for label in self.described.allowed})

    def _check(self, row: DataRow, column: str, label: str) -> None:
        allowed = self.described.allowed
        if not label:
            raise row.error(self.file, f"{column} is empty")
        if allowed and label not in allowed:
            raise row.error(
                self.file,
                f"{column} is {label!r}",
                f"{did_you_mean(label, allowed)}Use {', '.join(allowed)}.",
            )
        if self.described.score == "neg_rmse" and as_number(label) is None:
            raise row.error(
                self.file,
                f"{column} is {label!r}",
                "The score neg_rmse needs labels that are numbers.",
            )

    def _text(self, row: DataRow, column: str) -> str:
        text = self._as_text(row, column, row.value(self.file, column))
        if not text:
            raise row.error(self.file, f"{column} is empty")
        return text

    def _as_text(self, row: DataRow, column: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise row.error(self.file, f"{column} is {shown(value)}, not text or a number")
        text = normal_line(f"{value:g}" if isinstance(value, float) else str(value), LONGEST + 1)
        if len(text) > LONGEST:
            raise row.error(self.file, f"{column} is longer than {LONGEST} characters")
        return text
