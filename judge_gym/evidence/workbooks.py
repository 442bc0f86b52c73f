"""Sheets of Excel workbooks (.xlsx), read a row at a time."""

import re
import zipfile
from collections.abc import Iterator
from datetime import date, time
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, BinaryIO

from judge_gym.errors import DataFileError, did_you_mean
from judge_gym.evidence.headers import (
    LOOKED_AT,
    are_names,
    check_names,
    check_no_data,
    check_no_title,
    check_one_header,
    how_to_skip,
    no_header,
)
from judge_gym.evidence.row import MAX_ARRAY_BYTES, DataRow, Layout, named_row

MAX_COLUMNS = 16_384
"""Columns of a sheet, by the format."""
MAX_LINES = 1_048_576
"""Rows of a sheet, by the format."""
_LARGE = 10_000_000
_MOST_TIMES = 250
"""Times that a part of more bytes than that may inflate: sheets of data inflate 10 to 30 times."""
_CHUNK = 1 << 20
_HEAD = 4096
_MERGED = re.compile(rb'<mergeCell ref="([A-Z0-9]{1,20}:[A-Z]{1,9}(\d{1,10}))"')
_FORMULA = re.compile(rb"<f[ />]")
_AGAIN = "Open it in a spreadsheet and save it again."


def workbook_rows(file: Path, handle: BinaryIO, layout: Layout) -> Iterator[DataRow]:
    """Yield the rows of a sheet; `layout.rows` names it where several hold something.

    A formula has the value that was stored with it. Dates are ISO 8601. Raises `DataFileError` for
    a file that is no workbook or too large, a sheet that is not there, merged cells, and a formula
    without a value.
    """
    from openpyxl import load_workbook

    _check_archive(file, handle)
    try:
        book = load_workbook(handle, read_only=True, data_only=True, keep_links=False)
    except Exception as error:
        raise DataFileError(f"{file}: not an Excel workbook: {error}.", _AGAIN) from error
    try:
        sheet = _sheet(file, book, layout.rows)
        if _has_formulas(file, handle, sheet, layout.header):
            _check_formulas(file, handle, sheet.title)
        yield from _rows(file, sheet, layout)
    finally:
        book.close()


def _check_archive(file: Path, handle: BinaryIO) -> None:
    """Raise `DataFileError` for an archive that is damaged, or that unpacks to too much."""
    try:
        with zipfile.ZipFile(handle) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > MAX_ARRAY_BYTES:
                raise DataFileError(
                    f"{file} unpacks to more than {MAX_ARRAY_BYTES:,} bytes.",
                    "Save the sheet as CSV.",
                )
            for part in parts:
                if part.file_size > max(_LARGE, _MOST_TIMES * part.compress_size):
                    raise DataFileError(
                        f"{file}: {part.filename} inflates from {part.compress_size:,} to "
                        f"{part.file_size:,} bytes, which no sheet of data does.",
                        "Save the sheet as CSV.",
                    )
                if part.filename.endswith((".xml", ".rels")):
                    with archive.open(part) as stream:
                        if b"<!DOCTYPE" in stream.read(_HEAD):
                            raise DataFileError(
                                f"{file}: {part.filename} declares entities, which no workbook "
                                "does.",
                                _AGAIN,
                            )
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        raise DataFileError(
            f"{file}: not an Excel workbook: {error}.",
            f"{_AGAIN} A workbook with a password is not read.",
        ) from error


def _sheet(file: Path, book: Any, name: str) -> Any:
    names = [sheet.title for sheet in book.worksheets]
    if name:
        if name not in names:
            raise DataFileError(
                f"{file}: rows is {name!r}, and there is no such sheet.",
                f"{did_you_mean(name, names)}It has {', '.join(map(repr, names))}.",
            )
        return book[name]
    filled = [sheet for sheet in book.worksheets if next(_cells(file, sheet), None)]
    if not filled:
        raise DataFileError(f"{file} has no row.", "Check that it is the right workbook.")
    if len(filled) > 1:
        listed = ", ".join(repr(sheet.title) for sheet in filled)
        raise DataFileError(
            f"{file} has {len(filled)} sheets with rows: {listed}.",
            f"Name one: `rows: {filled[0].title}` in a mapping, --rows of audit, or "
            f"rows={filled[0].title} among the fields of items or labels. Or save it as a file of "
            "its own.",
        )
    return filled[0]


def _cells(file: Path, sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the cells of each row that is not empty, without empty ones at its end."""
    sheet.reset_dimensions()  # formats in empty cells make them endless
    for line, row in enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS), start=1):
        if line > MAX_LINES:
            raise DataFileError(
                f"{file}, sheet {sheet.title!r}: more than {MAX_LINES:,} rows, the most of the "
                "format.",
                "Save the sheet as CSV.",
            )
        cells = [_plain(value) for value in row]
        while cells and cells[-1] in (None, ""):
            cells.pop()
        if cells:
            yield line, cells


def _plain(value: Any) -> Any:
    """Return a cell as JSON would have it."""
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _rows(file: Path, sheet: Any, layout: Layout) -> Iterator[DataRow]:
    columns = layout.columns
    table = dropwhile(lambda row: row[0] < layout.header, _cells(file, sheet))
    replaced = layout.header or not columns
    at, first = next(table, (0, [])) if replaced else (1, [])
    if layout.header not in (0, at):
        raise no_header(file, layout.header)
    names = list(columns) or list(map(_text, first))
    where = f"sheet {sheet.title!r}, row {at}"
    check_names(file, names, at, where)
    head = list(islice(table, LOOKED_AT))
    if not columns:
        texts = [(line, list(map(_text, cells))) for line, cells in head]
        if not layout.header:
            check_no_title(file, names, texts, where)
            check_one_header(file, names, texts, where)
        check_no_data(file, names, texts, where)
    elif not replaced and head and are_names(list(map(_text, head[0][1])), names):
        del head[0]
    for line, cells in chain(head, table):
        padded = [*cells, *[None] * (len(names) - len(cells))]
        yield named_row(line, names, padded, place=f"sheet {sheet.title!r}, row {line}")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _has_formulas(file: Path, handle: BinaryIO, sheet: Any, header: int) -> bool:
    """Whether a sheet has formulas; raises `DataFileError` for merged cells, which leave cells
    empty that look filled, but not for those above the row of the names."""
    found, kept = False, b""
    with zipfile.ZipFile(handle) as archive, archive.open(sheet._worksheet_path) as stream:
        while chunk := stream.read(_CHUNK):
            text = kept + chunk
            for merged in _MERGED.finditer(text):
                if (last := int(merged[2])) >= header:
                    raise DataFileError(
                        f"{file}, sheet {sheet.title!r}: cells {merged[1].decode()} are merged, so "
                        "all but one of them are empty.",
                        "Split them, and fill in the value of each. If they are a title above the "
                        f"names of the columns, say in which row these are: "
                        f"{how_to_skip(last + 1)}",
                    )
            found = found or _FORMULA.search(text) is not None
            kept = text[-100:]
    return found


def _check_formulas(file: Path, handle: BinaryIO, name: str) -> None:
    """Raise `DataFileError` for a formula whose value is not stored in the file."""
    from openpyxl import load_workbook

    written = load_workbook(handle, read_only=True, keep_links=False)
    valued = load_workbook(handle, read_only=True, data_only=True, keep_links=False)
    try:
        sheets = [written[name], valued[name]]
        for sheet in sheets:
            sheet.reset_dimensions()
        for cells, values in zip(*(sheet.iter_rows() for sheet in sheets), strict=False):
            for cell, value in zip(cells, values, strict=False):
                if cell.data_type == "f" and value.value is None:
                    raise DataFileError(
                        f"{file}, sheet {name!r}: {cell.coordinate} is a formula whose value is "
                        "not stored.",
                        _AGAIN,
                    )
    finally:
        written.close()
        valued.close()
