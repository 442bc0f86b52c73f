"""Rows of JSONL, JSON, CSV and Excel files: values with line numbers.

A `.json` file holds an array of objects; one with an object a line is read as JSONL.

`design.files` lists the files of a corpus.
"""

import gzip
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from judge_gym.design.config import COMPRESSED, WORKBOOK, corpus_suffix, shown
from judge_gym.errors import DataFileError, EvidenceError, did_you_mean
from judge_gym.evidence.delimited import delimited_rows
from judge_gym.evidence.row import (
    AS_UTF_8,
    MAX_ARRAY_BYTES,
    MAX_ROW_CHARACTERS,
    PLAIN,
    TOO_DEEP,
    DataRow,
    Layout,
    are_objects,
    encoded_row,
    json_fault,
    named_row,
    not_utf_8,
)

NOT_JSON = "not JSON"
_COMMA = (
    f"{NOT_JSON}: a comma after the object: remove it from each line, or write [ before the first "
    "line and ] after the last, and name the file .json"
)
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
_JSON = (".json", ".jsonl", ".ndjson")


def read_rows(file: Path, layout: Layout = PLAIN) -> Iterator[DataRow]:
    """Yield the records of `file` one at a time.

    A file that ends in .gz is decompressed, and UTF-16 is decoded. `layout` says where the rows
    stand, and names columns that no first line names. A record that cannot be read is a row with a
    fault. Raises `EvidenceError` when the file cannot be opened, decompressed or parsed any
    further.
    """
    try:
        with opened(file) as handle:
            yield from _rows(corpus_suffix(file), file, handle, layout)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(
            f"{file} cannot be decompressed: {error}.", "Download or compress it again."
        ) from error
    except OSError as error:
        raise unopened(file, error) from error


def _rows(suffix: str, file: Path, handle: BinaryIO, layout: Layout) -> Iterator[DataRow]:
    columns = layout.columns
    if layout.header and suffix in _JSON:
        raise DataFileError(
            f"{file}: header is {layout.header}, and no line of a JSON file has names of columns.",
            "Leave `header` out.",
        )
    if suffix == WORKBOOK:
        # openpyxl takes a part of a second to import, and few files are of it.
        from judge_gym.evidence.workbooks import workbook_rows

        return workbook_rows(file, handle, layout)
    if suffix not in _JSON:
        if layout.rows:
            raise DataFileError(
                f"{file}: rows is {layout.rows!r}, and a table in text has no keys or sheets.",
                "Leave `rows` out: it is of JSON and of workbooks.",
            )
        return delimited_rows(file, handle, layout, spaced=suffix not in (".csv", ".tsv"))
    if layout.rows:
        return _rows_under(file, handle, layout)
    if suffix == ".json":
        return _array_rows(file, handle, columns)
    return _json_rows(handle, columns)


def opened(file: Path) -> BinaryIO:
    """Open a file for reading: decompressed where its name ends in .gz, and as UTF-8 where it is
    UTF-16, as spreadsheets write it, with or without its mark, or UTF-32 with one."""
    with ExitStack() as unless_returned:
        handle = unless_returned.enter_context(_opened(file))
        encoding = _wide(handle.read(4))
        handle.seek(0)
        if not encoding:
            unless_returned.pop_all()
            return handle
        content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(
            f"{file} is {encoding.upper()} and longer than {MAX_ARRAY_BYTES:,} bytes.",
            "Save it as UTF-8.",
        )
    try:
        return BytesIO(content.decode(encoding).encode())
    except UnicodeError as error:
        raise DataFileError(
            f"{file} begins as {encoding.upper()} and is none: {error}.", "Save it as UTF-8."
        ) from error


def _wide(head: bytes) -> str:
    """Return the name of the encoding if a file that begins with these four bytes is UTF-16 or
    UTF-32; else "". A table begins with ASCII, which without a mark has a zero byte beside each
    character of UTF-16."""
    if head in (BOM_UTF32_LE, BOM_UTF32_BE):
        return "utf-32"
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    zeros = [byte == 0 for byte in head]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else ""


def _opened(file: Path) -> BinaryIO:
    if file.suffix.lower() == COMPRESSED:
        return cast(BinaryIO, gzip.open(file, "rb"))
    return file.open("rb")


def _rows_under(file: Path, handle: BinaryIO, layout: Layout) -> Iterator[DataRow]:
    """Yield the records of a list in a JSON object."""
    under = layout.rows
    value = _object_of(file, handle, under)
    walked: list[str] = []
    for name in under.split("."):
        if not isinstance(value, dict) or name not in value:
            there = ", ".join(map(repr, value)) if isinstance(value, dict) else shown(value)
            raise DataFileError(
                f"{file}: rows is {under!r}, and there is no {name!r}.",
                f"{did_you_mean(name, value) if isinstance(value, dict) else ''}"
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
        yield replace(_object_row(number + 1, one, layout.columns), place=f"{under}[{number}]")


def _object_of(file: Path, handle: BinaryIO, under: str) -> Any:
    content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(f"{file} is longer than {MAX_ARRAY_BYTES:,} bytes.", "Split it.")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataFileError(
            f"{file}: not one JSON value: {json_fault(error)}.",
            f"rows: {under} is of a file that is one JSON object; leave it out for an object a "
            "line.",
        ) from error


def lists_of_objects(value: Any, above: str = "") -> dict[str, list[dict[str, Any]]]:
    """Return the lists of objects in a JSON object by where they are, such as `data.items`."""
    if not isinstance(value, dict) or above.count(".") > _DEEPEST:
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for name, inner in value.items():
        if are_objects(inner):
            found[f"{above}{name}"] = inner
        found |= lists_of_objects(inner, f"{above}{name}.")
    return found


def rows_inside(
    value: Any, how: Callable[[str], str], how_messages: Callable[[str], str] | None = None
) -> str:
    """Return where the rows, or messages, may stand in a row that is a whole file; "" if nowhere.

    `how` returns what names them, given their place.
    """
    rows, messages = list[str](), list[str]()
    for place, objects in lists_of_objects(value).items():
        (messages if all("role" in one for one in objects) else rows).append(place)
    return "".join(
        f"If the {what} are at {' or '.join(places)}: {named(places[0])}. "
        for what, places, named in (("rows", rows, how), ("messages", messages, how_messages))
        if places and named
    )


def unopened(file: Path, error: OSError) -> EvidenceError:
    """Return the error of a file that cannot be opened."""
    return DataFileError(f"{file} cannot be read: {error.strerror or error}.")


def _json_rows(handle: BinaryIO, columns: Sequence[str]) -> Iterator[DataRow]:
    for number, line in enumerate(_bounded_lines(handle), start=1):
        if len(line) > MAX_ROW_CHARACTERS:
            yield DataRow(number, {}, f"longer than {MAX_ROW_CHARACTERS:,} bytes")
        elif line.strip():
            row = _json_row(number, line, columns)
            if row.fault.startswith(NOT_JSON) and _ends_in_comma(line):
                yield replace(row, fault=_COMMA)
                continue
            if row.fault.startswith(NOT_JSON) and _goes_on(line, handle):
                yield DataRow(number, {}, CUT)
                return
            yield row


def _ends_in_comma(line: bytes) -> bool:
    """Whether a line is an object with a comma after it, as entries of an array have one."""
    text = line.rstrip()
    if not text.endswith(b","):
        return False
    try:
        return isinstance(json.loads(text[:-1].decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


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


def _json_row(number: int, line: bytes, columns: Sequence[str]) -> DataRow:
    try:
        values = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _undecoded(number, line)
    except (ValueError, RecursionError) as error:
        is_comment = line.lstrip().startswith((b"//", b"#", b"/*"))
        why = "a comment, which JSON does not have: remove it" if is_comment else json_fault(error)
        return DataRow(number, {}, f"{NOT_JSON}: {why}")
    return _object_row(number, values, columns)


def _object_row(number: int, values: Any, columns: Sequence[str]) -> DataRow:
    if columns and isinstance(values, list):
        return named_row(number, columns, values)
    if isinstance(values, list):
        return DataRow(number, {}, "a JSON list, and no `columns` name what is in it")
    if not isinstance(values, dict):
        return DataRow(number, {}, "not a JSON object")
    return encoded_row(DataRow(number, values))


def _undecoded(number: int, content: bytes) -> DataRow:
    """Return the row of bytes that are not UTF-8."""
    fault = not_utf_8(content.decode("utf-8", errors="surrogateescape"))
    return DataRow(number, {}, fault, remedy=AS_UTF_8)


def _array_rows(file: Path, handle: BinaryIO, columns: Sequence[str]) -> Iterator[DataRow]:
    content = handle.read(MAX_ARRAY_BYTES + 1)
    if len(content) > MAX_ARRAY_BYTES:
        raise DataFileError(
            f"{file} is longer than {MAX_ARRAY_BYTES:,} bytes.",
            "Write an object a line, and rename it to end in .jsonl.",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield _undecoded(1 + content.count(b"\n", 0, error.start), content[error.start :][:4])
        return
    if opening := _OPENING.match(text):
        yield from _entries(text, opening.end(), columns)
        return
    if (one := _object_over_lines(text)) is not None:
        keys = ", ".join(map(repr, list(one)[:_MOST_KEYS])) or "none"
        yield DataRow(1, one, f"{ONE_OBJECT} (keys {keys}), {_NO_ROWS}{_rows_hint(one)}")
        return
    for row in _json_rows(BytesIO(content), columns):
        is_none = row.fault.startswith(NOT_JSON) and TOO_DEEP not in row.fault
        yield replace(row, fault=_NO_ARRAY) if is_none else row


def whole(row: DataRow, is_row: Callable[[Mapping[str, Any]], bool]) -> DataRow:
    """Return a row without its fault, where a file that is one JSON object is such a row."""
    if row.fault.startswith(ONE_OBJECT) and is_row(row.values):
        return replace(row, fault="")
    return row


def _rows_hint(one: Mapping[str, Any]) -> str:
    """Return how a mapping names the rows of a JSON object."""
    lists = list(lists_of_objects(one))
    return f"; the rows may be at {' or '.join(lists)}: `rows: {lists[0]}`" if lists else ""


def _object_over_lines(text: str) -> dict[str, Any] | None:
    """Return the object of a text that is one JSON object over several lines; else None."""
    if "\n" not in text.strip():
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entries(text: str, start: int, columns: Sequence[str]) -> Iterator[DataRow]:
    """Yield the entries of an array whose first one starts here; nothing after a fault.

    An entry that does not begin a line is told from the others of the line by its number.
    """
    decode = json.JSONDecoder().raw_decode
    line, counted, number = 1, 0, 0
    while text[start : start + 1] != "]":
        line, counted, number = line + text.count("\n", counted, start), start, number + 1
        before = text[text.rfind("\n", 0, start) + 1 : start].strip()
        place = f"entry {number}" if number > 1 and before else ""
        try:
            values, end = decode(text, start)
        except (ValueError, RecursionError) as error:
            yield DataRow(line, {}, f"{NOT_JSON}: {json_fault(error)}")
            return
        yield replace(_object_row(line, values, columns), place=place)
        separator = _SEPARATED.match(text, end)
        if separator is None:
            yield DataRow(line, {}, f"{NOT_JSON}: no comma or bracket after this entry")
            return
        start = separator.end()


def _bounded_lines(handle: BinaryIO) -> Iterator[bytes]:
    """Yield each line; of a line that is too long only the beginning."""
    while line := handle.readline(MAX_ROW_CHARACTERS + 1):
        rest = line
        while len(rest) > MAX_ROW_CHARACTERS and not rest.endswith(b"\n"):
            rest = handle.readline(MAX_ROW_CHARACTERS + 1)
        yield line
