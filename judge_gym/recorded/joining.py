"""Several files of one table: rows of the same item joined by a key, each file with columns."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge_gym.errors import DataFileError
from judge_gym.evidence.columns import ColumnError, ColumnSource, names_in, text_at
from judge_gym.evidence.row import DataRow
from judge_gym.recorded.content import Content, Left
from judge_gym.recorded.files import RecordedFiles, name_of

_Rows = Mapping[str, DataRow]
SEVERAL = (
    "A file of people's labels, with several rows an item, is not joined: leave it out of the "
    "files and name it in the mapping: `labels: {file: ..., person: ..., label: ...}`."
)


def joined(files: RecordedFiles, key: str) -> RecordedFiles:
    """Return files as one whose rows are those that every file has, told apart by `key`.

    A column with other values in another file is named after its file, too: `gpt-4 score` of
    `gpt-4.json`. Rows that a file lacks are left. Raises `DataFileError` for a row without the key,
    and for two rows of a file with the same.
    """
    tables = {file: _by_key(files, file, key) for file in files.paths}
    shared = set.intersection(*(set(rows) for rows in tables.values()))
    if not shared:
        several = " and ".join(
            f"{next(iter(rows), 'none')!r} in {file.name}" for file, rows in tables.items()
        )
        raise DataFileError(
            f"No {key} is in all of the files: {several}.",
            "They are joined where it is the same in each, capitals and spaces included.",
        )
    renamed = _differing(tables, shared, names_in(key))
    content = Content()
    first, *others = files.paths
    for written, row in tables[first].items():
        if written in shared:
            values: dict[str, Any] = {}
            for file, rows in tables.items():
                own = rows[written].values
                values |= {_name(file, one, renamed): value for one, value in own.items()}
            content.rows.append(replace(row, values=values))
    for file, rows in tables.items():
        for written in rows.keys() - shared:
            content.leave(Left.NO_PARTNER, str(written), file.name)
    return replace(files, paths=(first,), joined=tuple(others), contents={first: content})


def common_key(files: RecordedFiles) -> str:
    """Return the first column that tells the rows of each of several files apart; "" without."""
    tables = [[row.values for row in files.rows(file)] for file in files.paths]
    if len(tables) < 2 or not all(tables):
        return ""
    for column in tables[0][0]:
        values = [[row.get(column) for row in rows] for rows in tables]
        plain = all(isinstance(one, str | int) and one != "" for of in values for one in of)
        if plain and all(len(set(of)) == len(of) for of in values):
            return str(column)
    return ""


def _by_key(files: RecordedFiles, file: Path, key: str) -> dict[str, DataRow]:
    found: dict[str, DataRow] = {}
    for row in files.rows(file):
        if row.fault:
            raise row.error(file, row.fault)
        try:
            written = text_at(key, ColumnSource(row.values, {"": file.stem}))
        except ColumnError as error:
            raise row.error(file, f"join is {key!r}: {error.what}", error.remedy) from error
        if not written.strip():
            raise row.error(file, f"join is {key!r}, and it is empty")
        if written in found:
            where = found[written].where
            raise row.error(file, f"join is {key!r}, and {written!r} is in {where}, too", SEVERAL)
        found[written] = row
    return found


def _differing(tables: Mapping[Path, _Rows], shared: set[str], key: list[str]) -> set[str]:
    """Return the columns that several files have, with unlike values for an item."""
    times = Counter(one for rows in tables.values() for one in _columns(rows))
    several = {one for one, n in times.items() if n > 1} - set(key)
    return {
        column
        for column in several
        if any(
            len({repr(rows[written].values.get(column)) for rows in tables.values()
                 if column in rows[written].values}) > 1
            for written in shared
        )
    }  # fmt: skip


def _columns(rows: _Rows) -> set[str]:
    return {column for row in rows.values() for column in row.values}


def _name(file: Path, column: str, renamed: set[str]) -> str:
    return f"{name_of(file)} {column}" if column in renamed else column
