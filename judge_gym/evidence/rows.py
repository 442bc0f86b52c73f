"""Rows of JSONL, JSON and CSV files: values with line numbers.

A `.json` file holds an array of objects; one with an object a line is read as JSONL.

`design.files` lists the files of a corpus.
"""

import csv
import gzip
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_LE
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

from judge_gym.design.config import COMPRESSED, corpus_suffix, shown
from judge_gym.errors import DataFileError, EvidenceError, did_you_mean
from judge_gym.evidence.numbers import WITHOUT, DecimalCommas, decimal_commas, plain_number

MAX_ROW_CHARACTERS = 10_000_000
"""Longest JSONL line in bytes and longest CSV value in characters that is read."""
MAX_ARRAY_BYTES = 500_000_000
"""Longest JSON array that is read; it is in memory as a whole."""
NOT_JSON = "not JSON"
_NO_ROWS = "neither an array of objects nor an object a line"
_NO_ARRAY = f"{NOT_JSON}: {_NO_ROWS}"
_DEEPEST = 3
"""Most keys above a list of rows that a message names."""
CUT = "a JSON object that does not end on its line"
ONE_OBJECT = "the file is one JSON object"
_MOST_KEYS = 5
"""Most keys of such an object that a message names."""
_OPENING = re.compile(r"\s*\[\s*")
_SEPARATED = re.compile(r"\s*(?:,\s*|(?=\]\s*\Z))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\s*')
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file, or the reason why it cannot be read."""

    line: int
    """Line of the file on which the record starts, from 1."""
    values: dict[str, Any]
    fault: str = ""
    place: str = ""
    """What the record is, in a file without lines, such as `sample 3, epoch 2`."""
    numbers: DecimalCommas = WITHOUT
    """How the columns of its file write numbers."""

    @property
    def where(self) -> str:
        """Where the record is in its file."""
        return self.place or f"line {self.line}"

    def error(self, file: Path, what: str, remedy: str = "") -> DataFileError:
        """Return an error that names the file and this line; long values are cut."""
        return DataFileError(f"{file} {self.where}: {what[:500]}.", remedy[:500])

    def value(self, file: Path, column: str) -> Any:
        """Return the value of a column; raises `EvidenceError` if there is no such column."""
        if column not in self.values:
            there = ", ".join(map(repr, self.values))
            meant = did_you_mean(column, list(self.values))
            raise self.error(file, f"there is no {column!r}", f"{meant}The row has {there}.")
        return self.values[column]

    def number(self, file: Path, column: str, text: str) -> str:
        """Return a value of a column with a point, where it is a number; any other unchanged.

        Raises `DataFileError` where the column has numbers with a decimal comma and with a point.
        """
        found = plain_number(text, comma=self.numbers.are_in(column))
        if (mixed := self.numbers.mixed(column)) and found.strip()[:1].isdecimal():
            raise DataFileError(f"{file}: {mixed}.", "Write all numbers of a column in one way.")
        return found


def read_rows(file: Path, under: str = "") -> Iterator[Row]:
    """Yield the records of `file` one at a time.

    A file that ends in .gz is decompressed, and UTF-16 is decoded. With `under`, such as
    `data.items`, the file is one JSON object that has the records there. A record that cannot be
    read is a row with a fault. Raises `EvidenceError` when the file cannot be opened,
    decompressed or parsed any further.
    """
    try:
        with opened(file) as handle:
            if under:
                yield from _rows_under(file, handle, under)
            else:
                yield from _rows(corpus_suffix(file), file, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(
            f"{file} cannot be decompressed: {error}.", "Download or compress it again."
        ) from error
    except OSError as error:
        raise unopened(file, error) from error


def _rows(suffix: str, file: Path, handle: BinaryIO) -> Iterator[Row]:
    if suffix == ".csv":
        return _csv_rows(file, handle)
    return _array_rows(file, handle) if suffix == ".json" else _json_rows(handle)


def opened(file: Path) -> BinaryIO:
    """Open a file for reading: decompressed where its name ends in .gz, and as UTF-8 where it is
    UTF-16, as spreadsheets write it, with or without its mark."""
    with _opened(file) as handle:
        encoding = _utf_16(handle.read(4))
        if not encoding:
            return _opened(file)
        handle.seek(0)
        content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(
            f"{file} is UTF-16 and longer than {MAX_ARRAY_BYTES:,} bytes.", "Save it as UTF-8."
        )
    try:
        return BytesIO(content.decode(encoding).encode())
    except UnicodeError as error:
        raise DataFileError(
            f"{file} begins as UTF-16 and is none: {error}.", "Save it as UTF-8."
        ) from error


def _utf_16(head: bytes) -> str:
    """Return the name of the encoding if a file that begins with these four bytes is UTF-16; else
    "". A table begins with ASCII, which without a mark has a zero byte beside each character."""
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) and head != BOM_UTF32_LE:
        return "utf-16"
    zeros = [byte == 0 for byte in head]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else ""


def _opened(file: Path) -> BinaryIO:
    if file.suffix.lower() == COMPRESSED:
        return cast(BinaryIO, gzip.open(file, "rb"))
    return file.open("rb")


def _rows_under(file: Path, handle: BinaryIO, under: str) -> Iterator[Row]:
    """Yield the records of a list in a JSON object."""
    value = _object_of(file, handle, under)
    walked: list[str] = []
    for name in under.split("."):
        if not isinstance(value, dict) or name not in value:
            there = ", ".join(map(repr, value)) if isinstance(value, dict) else shown(value)
            raise DataFileError(
                f"{file}: rows is {under!r}, and there is no {name!r}.",
                f"{'.'.join(walked) or 'The file'} has {there}.",
            )
        walked.append(name)
        value = value[name]
    if not isinstance(value, list):
        raise DataFileError(
            f"{file}: rows is {under!r}, which is {shown(value)}, not a list.",
            "Name the key of the list of objects.",
        )
    for number, one in enumerate(value):
        yield replace(_object_row(number + 1, one), place=f"{under}[{number}]")


def _object_of(file: Path, handle: BinaryIO, under: str) -> Any:
    content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(f"{file} is longer than {MAX_ARRAY_BYTES} bytes.", "Split it.")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataFileError(
            f"{file}: not one JSON value: {error}.",
            f"rows: {under} is of a file that is one JSON object; leave it out for an object a "
            "line.",
        ) from error


def lists_of_objects(value: Any, above: str = "") -> list[str]:
    """Return where a JSON object has lists of objects, such as `data.items`."""
    if not isinstance(value, dict) or above.count(".") > _DEEPEST:
        return []
    found: list[str] = []
    for name, inner in value.items():
        if isinstance(inner, list) and inner and all(isinstance(one, dict) for one in inner):
            found.append(f"{above}{name}")
        found += lists_of_objects(inner, f"{above}{name}.")
    return found


def unopened(file: Path, error: OSError) -> EvidenceError:
    """Return the error of a file that cannot be opened."""
    return DataFileError(f"{file} cannot be read: {error.strerror or error}.")


def _csv_rows(file: Path, content: BinaryIO) -> Iterator[Row]:
    # The limit is global to the csv module. Raising it does not affect other readers.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW_CHARACTERS))
    with TextIOWrapper(
        content, encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as handle:
        first = handle.readline(MAX_ROW_CHARACTERS)
        # A line in which Excel names the separator.
        given = _SEPARATOR.fullmatch(first)
        before = 1 if given else 0
        if not given:
            handle.seek(0)
        delimiter = given[1] if given else _delimiter(first)
        line = 1
        try:
            numbers = WITHOUT
            if delimiter != ",":
                numbers = decimal_commas(csv.reader(handle, delimiter=delimiter), before)
                handle.seek(0)
                for _ in range(before):
                    handle.readline()
            reader = csv.reader(handle, delimiter=delimiter)
            header = next(reader, [])
            _check_header(file, header)
            while True:
                line = before + reader.line_num + 1
                cells = next(reader, None)
                if cells is None:
                    return
                # Spreadsheets leave rows of empty cells below the last one.
                if any(cell.strip() for cell in cells):
                    yield _csv_row(line, header, cells, numbers)
        except csv.Error as error:
            raise DataFileError(
                f"{file} line {line}: not CSV from here on: {error}.",
                "Check the quotes around this value.",
            ) from error


def _delimiter(header: str) -> str:
    """Return the separator: the most frequent of comma, semicolon and tab."""
    outside = _QUOTED.sub("", header)
    return max(",;\t", key=outside.count)


def _check_header(file: Path, header: list[str]) -> None:
    if header and header[0].lstrip().startswith("{"):
        raise DataFileError(
            f"{file} line 1: not CSV but JSON.", "Rename the file to end in .jsonl."
        )
    repeated = [name for place, name in enumerate(header) if name and name in header[:place]]
    if repeated:
        raise DataFileError(
            f"{file} line 1: column {repeated[0]!r} is there twice.",
            "Rename or remove one of them: which holds the values cannot be told.",
        )
    if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):
        raise DataFileError(f"{file} line 1: not UTF-8.", "Save the file as UTF-8.")


def _csv_row(line: int, header: list[str], cells: list[str], numbers: DecimalCommas) -> Row:
    values = dict(zip(header, cells, strict=False))
    if len(cells) != len(header):
        return Row(line, values, f"{len(cells)} values under {len(header)} column names")
    return Row(line, values, _encoding_fault(values), numbers=numbers)


def _json_rows(handle: BinaryIO) -> Iterator[Row]:
    for number, line in enumerate(_bounded_lines(handle), start=1):
        if len(line) > MAX_ROW_CHARACTERS:
            yield Row(number, {}, f"longer than {MAX_ROW_CHARACTERS} bytes")
        elif line.strip():
            row = _json_row(number, line)
            if row.fault.startswith(NOT_JSON) and _goes_on(line, handle):
                yield Row(number, {}, CUT)
                return
            yield row


def _goes_on(line: bytes, handle: BinaryIO) -> bool:
    """Whether a line begins an object that ends on a later one; keeps the place in the file."""
    if not line.lstrip().startswith(b"{"):
        return False
    place = handle.tell()
    text = (line + handle.read(MAX_ROW_CHARACTERS)).decode("utf-8-sig", errors="replace")
    handle.seek(place)
    try:
        json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return True


def _json_row(number: int, line: bytes) -> Row:
    try:
        values = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Row(number, {}, "not UTF-8")
    except (ValueError, RecursionError) as error:
        is_comment = line.lstrip().startswith((b"//", b"#", b"/*"))
        why = "a comment, which JSON does not have: remove it" if is_comment else error
        return Row(number, {}, f"{NOT_JSON}: {why}")
    return _object_row(number, values)


def _object_row(number: int, values: Any) -> Row:
    if not isinstance(values, dict):
        return Row(number, {}, "not a JSON object")
    return Row(number, values, _encoding_fault(values))


def _array_rows(file: Path, handle: BinaryIO) -> Iterator[Row]:
    content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(
            f"{file} is longer than {MAX_ARRAY_BYTES} bytes.",
            "Write an object a line, and rename it to end in .jsonl.",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Row(1 + content.count(b"\n", 0, error.start), {}, "not UTF-8")
        return
    if opening := _OPENING.match(text):
        yield from _entries(text, opening.end())
        return
    if keys := _keys_of(text):
        yield Row(1, {}, f"{ONE_OBJECT} (keys {keys}), {_NO_ROWS}{_rows_hint(text)}")
        return
    for row in _json_rows(BytesIO(content)):
        yield replace(row, fault=_NO_ARRAY) if row.fault.startswith(NOT_JSON) else row


def _rows_hint(text: str) -> str:
    """Return how a mapping names the rows of a text that is one JSON object."""
    try:
        lists = lists_of_objects(json.loads(text))
    except (ValueError, RecursionError):
        return ""
    return f"; the rows may be at {' or '.join(lists)}: `rows: {lists[0]}`" if lists else ""


def _keys_of(text: str) -> str:
    """Return the keys of a text that is one JSON object over several lines; else nothing."""
    if "\n" not in text.strip():
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    return ", ".join(map(repr, list(value)[:_MOST_KEYS])) or "none"


def _entries(text: str, start: int) -> Iterator[Row]:
    """Yield the entries of an array whose first one starts here; nothing after a fault."""
    decode = json.JSONDecoder().raw_decode
    line, counted = 1, 0
    while text[start : start + 1] != "]":
        line, counted = line + text.count("\n", counted, start), start
        try:
            values, end = decode(text, start)
        except (ValueError, RecursionError) as error:
            yield Row(line, {}, f"{NOT_JSON}: {error}")
            return
        yield _object_row(line, values)
        separator = _SEPARATED.match(text, end)
        if separator is None:
            yield Row(line, {}, f"{NOT_JSON}: no comma or bracket after this entry")
            return
        start = separator.end()


def _bounded_lines(handle: BinaryIO) -> Iterator[bytes]:
    """Yield each line; of a line that is too long only the beginning."""
    while line := handle.readline(MAX_ROW_CHARACTERS + 1):
        rest = line
        while len(rest) > MAX_ROW_CHARACTERS and not rest.endswith(b"\n"):
            rest = handle.readline(MAX_ROW_CHARACTERS + 1)
        yield line


def _encoding_fault(values: dict[str, Any]) -> str:
    for name, value in values.items():
        if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
            return f"field {name!r} is not UTF-8"
    return ""
