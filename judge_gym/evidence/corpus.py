"""Documents from corpus files: JSONL or CSV with a title, address, date and text per row.

A benchmark is a corpus in which every row has a truth. Reading only: `screening` decides which
documents are kept.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from judge_gym.design.config import corpus_files
from judge_gym.design.window import Window
from judge_gym.errors import DataFileError
from judge_gym.evidence.dates import ACCEPTED_DATES, parse_date
from judge_gym.evidence.documents import Dropped, RawDocument, RawStream, Truth
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import read_rows

ACCEPTED_NAMES: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "headline", "name"),
    "url": ("url", "link"),
    "date": ("date", "published", "published_at", "publication_date", "year"),
    "text": ("text", "content", "body", "article", "markdown"),
    "truth": (),
    "category": (),
}
"""Our field → column names that are recognised; the first column with a value is used. Truth and
category have none: `fields` must name their columns."""


class _RowFault(ValueError):
    """A row that cannot be read."""


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus file or folder as a source of documents."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our field → the column of the file, where the names differ."""

    async def collect(self, window: Window) -> RawStream:
        """Return the documents of the corpus lazily, in file and row order.

        Raises `EvidenceError` for an unusable path, mapping or file.
        """
        return read_corpus(self.path, self.fields)


def read_corpus(path: Path, fields: Mapping[str, str]) -> RawStream:
    """Yield a document or a reason for each row of the files of `path`.

    `fields` overrides `ACCEPTED_NAMES`. Raises `EvidenceError` when `fields` has an unknown key,
    or when no row of a file can be read, or a column of `fields` is in none of its rows.
    """
    unknown = sorted(set(fields) - set(ACCEPTED_NAMES))
    if unknown:
        raise DataFileError(
            f"fields: {unknown[0]!r} is not a field of a document.",
            f"Use {', '.join(ACCEPTED_NAMES)}.",
        )
    for file in corpus_files(path):
        yield from _read_file(file, fields)


def _read_file(file: Path, fields: Mapping[str, str]) -> Iterator[RawDocument | Dropped]:
    columns: dict[str, None] = {}
    readable, fault = False, "it is empty"
    for row in read_rows(file):
        origin = f"{file.name} line {row.line}"
        columns.update(dict.fromkeys(row.values))
        try:
            yield _document(file, origin, row, fields)
            readable = True
        except _RowFault as problem:
            fault = fault if readable else f"line {row.line}: {problem}"
            yield Dropped("", "", "unreadable", f"{origin}: {problem}")
    _check_file(file, fields, columns, "" if readable else fault)


def _check_file(
    file: Path, fields: Mapping[str, str], columns: Mapping[str, None], fault: str
) -> None:
    there = f"Its columns are {', '.join(map(repr, columns)) or 'none'}."
    for ours, theirs in fields.items():
        if columns and theirs not in columns:
            raise DataFileError(f"{file}: fields.{ours}: no row has {theirs!r}.", there)
    if fault:
        names = "; ".join(f"{ours}: {', '.join(a)}" for ours, a in ACCEPTED_NAMES.items() if a)
        raise DataFileError(
            f"{file}: no row can be read ({fault}).",
            f"{there} Names found by themselves are {names}; map others under `fields`.",
        )


def _document(file: Path, origin: str, row: DataRow, fields: Mapping[str, str]) -> RawDocument:
    if row.fault:
        raise _RowFault(row.fault)
    folded = {name.strip().lower(): value for name, value in row.values.items()}

    def found(ours: str) -> tuple[str, Any]:
        if ours in fields:
            return fields[ours], row.values.get(fields[ours])
        for name in ACCEPTED_NAMES[ours]:
            if folded.get(name) not in (None, ""):
                return name, folded[name]
        return ours, None

    truth_column, truth = found("truth")
    if isinstance(truth, str):
        truth = row.number(file, truth_column, truth)
    return RawDocument(
        origin=origin,
        text=_text(*found("text")),
        url=_short(*found("url")),
        title=_short(*found("title")),
        published=_published(*found("date")),
        truth=_truth(truth_column, truth),
        category=_short(*found("category")),
    )


def _text(name: str, value: Any) -> str:
    if value is None:
        raise _RowFault(f"no field {name!r}")
    if not isinstance(value, str):
        raise _RowFault(f"field {name!r} is {type(value).__name__}, not text")
    return value


def _short(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise _RowFault(f"field {name!r} is {type(value).__name__}, not text")


def _published(name: str, value: Any) -> date | None:
    written = _short(name, value).strip()
    if not written:
        return None
    published = parse_date(written)
    if published is None:
        raise _RowFault(f"field {name!r} is {written[:60]!r}; a date is {ACCEPTED_DATES}")
    return published


def _truth(name: str, value: Any) -> Truth | None:
    """Return a number where the text is one, in CSV and JSON alike; any other text is a label."""
    written = _short(name, value).strip()
    if not written:
        return None
    if isinstance(value, bool):
        raise _RowFault(f"field {name!r} is {value}; a truth is a number or a label")
    try:
        number = float(written)
    except ValueError:
        return written
    if not math.isfinite(number):
        raise _RowFault(f"field {name!r} is {written!r}, not a finite number")
    return number


DEFAULT_TRUTH = "truth"


@dataclass(frozen=True)
class BenchmarkFiles:
    """A benchmark file or folder as a source of documents."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our field → the column of the file; the default column of the truth is `truth`."""

    async def collect(self, window: Window) -> RawStream:
        """Return the items lazily; raises `EvidenceError` as `items` does."""
        return self.items()

    def items(self) -> RawStream:
        """Yield the items in file and row order.

        Raises `EvidenceError` as a corpus does, and for an item that cannot be read or has no
        truth, because a benchmark without some of its items is another benchmark.
        """
        fields = {"truth": DEFAULT_TRUTH, **self.fields}
        for item in read_corpus(self.path, fields):
            if isinstance(item, Dropped):
                raise DataFileError(f"{self.path}: {item.detail}.", "Mend or remove this item.")
            if item.truth is None:
                raise DataFileError(
                    f"{self.path}: {item.origin}: no truth in field {fields['truth']!r}.",
                    "Give every item its known answer, or name the field under `fields`.",
                )
            yield item
