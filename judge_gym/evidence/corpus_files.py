"""JSONL and CSV files as rows, each with its line number.

Knows nothing of documents; `corpus_source` gives the rows their meaning. Which files make a
corpus is in `design.files`.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from judge_gym.errors import EvidenceError

MAX_ROW_CHARACTERS = 10_000_000
"""Longest JSONL line in bytes and longest CSV value in characters that is read."""
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\s*')
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file, or the fault that keeps it from being one."""

    line: int
    """Line of the file the record starts on, from 1."""
    values: dict[str, Any]
    fault: str = ""


def read_rows(file: Path) -> Iterator[Row]:
    """Yield the records of `file` one at a time.

    A record that cannot be read comes as a row with a fault. Raises `EvidenceError` when the
    file cannot be opened or followed any further.
    """
    try:
        if file.suffix.lower() == ".csv":
            yield from _csv_rows(file)
        else:
            with file.open("rb") as handle:
                yield from _json_rows(handle)
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: OSError) -> EvidenceError:
    return EvidenceError(f"{file} cannot be read: {error.strerror or error}.")


def _csv_rows(file: Path) -> Iterator[Row]:
    # The limit is global to the csv module: only ever raised, so no other reader is disturbed.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW_CHARACTERS))
    with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as handle:
        first = handle.readline(MAX_ROW_CHARACTERS)
        # A line by which Excel says what is between the values.
        given = _SEPARATOR.fullmatch(first)
        before = 1 if given else 0
        if not given:
            handle.seek(0)
        reader = csv.reader(handle, delimiter=given[1] if given else _delimiter(first))
        line = 1
        try:
            header = next(reader, [])
            _check_header(file, header)
            while True:
                line = before + reader.line_num + 1
                cells = next(reader, None)
                if cells is None:
                    return
                # Spreadsheets leave rows of empty cells below the last one.
                if any(cell.strip() for cell in cells):
                    yield _csv_row(line, header, cells)
        except csv.Error as error:
            raise EvidenceError(
                f"{file} line {line}: not CSV from here on: {error}.",
                "Check the quotes around this value.",
            ) from error


def _delimiter(header: str) -> str:
    """Return what is between the column names: a comma, semicolon or tab, whichever is oftener."""
    outside = _QUOTED.sub("", header)
    return max(",;\t", key=outside.count)


def _check_header(file: Path, header: list[str]) -> None:
    repeated = [name for place, name in enumerate(header) if name and name in header[:place]]
    if repeated:
        raise EvidenceError(
            f"{file} line 1: column {repeated[0]!r} is there twice.",
            "Rename or remove one of them: which holds the values cannot be told.",
        )
    if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):
        raise EvidenceError(f"{file} line 1: not UTF-8.", "Save the file as UTF-8.")


def _csv_row(line: int, header: list[str], cells: list[str]) -> Row:
    values = dict(zip(header, cells, strict=False))
    if len(cells) != len(header):
        return Row(line, values, f"{len(cells)} values under {len(header)} column names")
    return Row(line, values, _encoding_fault(values))


def _json_rows(handle: BinaryIO) -> Iterator[Row]:
    for number, line in enumerate(_bounded_lines(handle), start=1):
        if len(line) > MAX_ROW_CHARACTERS:
            yield Row(number, {}, f"longer than {MAX_ROW_CHARACTERS} bytes")
        elif line.strip():
            yield _json_row(number, line)


def _json_row(number: int, line: bytes) -> Row:
    try:
        values = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Row(number, {}, "not UTF-8")
    except (ValueError, RecursionError) as error:
        return Row(number, {}, f"not JSON: {error}")
    if not isinstance(values, dict):
        return Row(number, {}, "not a JSON object")
    return Row(number, values, _encoding_fault(values))


def _bounded_lines(handle: BinaryIO) -> Iterator[bytes]:
    """Yield each line; of one that is too long only enough to see that it is."""
    while line := handle.readline(MAX_ROW_CHARACTERS + 1):
        rest = line
        while len(rest) > MAX_ROW_CHARACTERS and not rest.endswith(b"\n"):
            rest = handle.readline(MAX_ROW_CHARACTERS + 1)
        yield line


def _encoding_fault(values: dict[str, Any]) -> str:
    for name, value in values.items():
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            return f"field {name!r} is not UTF-8"
    return ""
