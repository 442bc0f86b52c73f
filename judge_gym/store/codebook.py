"""The codebook of a bundle: what every column of its tables means, in which unit, with its values.

What a view says of a column holds for the table's column of the same name; the rest is said by the
table itself, in the text below its column, or follows from the column's name and kind.
"""

import ast
import csv
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType

import sqlalchemy as sa

from judge_gym.formats import cell
from judge_gym.store import tables as t

CODEBOOK = "codebook.csv"
SCHEMA = "analysis"
_VIEW_OF = {"llm_calls": "calls", "analysis_results": "results", "analysis_findings": "findings",
            "dropped_documents": "dropped"}  # fmt: skip
"""Table → the view that shows its rows, where they have different names."""
_COLUMN_OF = {("samples", "stages"): "stage_bits"}
"""(table, column) → the column of its view, where they have different names."""
_UNITS = {
    "_usd": "US dollars", "_ms": "milliseconds", "_s": "seconds", "_tokens": "tokens",
    "_at": "date and time, UTC", "_bytes": "bytes",
}  # fmt: skip
"""End of a name → unit."""
_OF_EVERY_TABLE = {
    "id": "Identifier of the row in the database it was exported from.",
    "key": "Natural key: the same in every database.",
    "created_at": "When the row was stored.",
    "simulated": "Whether the simulator made it or something it rests on.",
    "imported": "Whether it was made elsewhere and imported.",
    "name": "Name for people.",
    "description": "Description for people.",
}


@dataclass(frozen=True)
class Entry:
    """A column of a bundle's table."""

    table: str
    column: str
    type: str
    """PostgreSQL's type."""
    unit: str
    values: str
    """The allowed values, where they are a list."""
    meaning: str
    view: str
    """The column of the view that shows it, such as `analysis.samples.stage_bits`."""


def codebook(
    connection: sa.Connection,
    tables: Mapping[str, sa.Table],
    types: Mapping[str, Mapping[str, str]],
) -> list[Entry]:
    """Return an entry for every column; `types` are table → column → PostgreSQL's type."""
    comments = dict(_comments(connection))
    entries = []
    for table, columns in types.items():
        for column, kind in columns.items():
            shown = f"{_VIEW_OF.get(table, table)}.{_shown_as(table, column)}"
            comment = comments.get(shown, "")
            meaning = comment or _documented(table, column) or _usual(tables[table], column)
            entries.append(
                Entry(
                    table, column, kind, _unit(column, meaning), _values(tables[table], column),
                    meaning, f"{SCHEMA}.{shown}" if comment else "",
                )
            )  # fmt: skip
    return entries


def write_codebook(file: Path, entries: Iterable[Entry]) -> None:
    """Write the entries as CSV."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Entry)])
        writer.writeheader()
        writer.writerows(
            {name: cell(value) for name, value in asdict(entry).items()} for entry in entries
        )


def _shown_as(table: str, column: str) -> str:
    if column == "id":
        return f"{table.removeprefix('llm_').removeprefix('analysis_').removesuffix('s')}_id"
    return _COLUMN_OF.get((table, column), column)


def _comments(connection: sa.Connection) -> Iterator[tuple[str, str]]:
    """Yield `view.column` with its comment."""
    rows = connection.execute(
        sa.text(
            "SELECT c.relname || '.' || a.attname, col_description(c.oid, a.attnum) "
            "FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 "
            "WHERE c.relnamespace = to_regnamespace(:schema) AND c.relkind = 'v'"
        ),
        {"schema": SCHEMA},
    )
    yield from ((name, comment) for name, comment in rows if comment)


def _documented(table: str, column: str) -> str:
    return _documentation().get((table, column), "")


@cache
def _documentation() -> dict[tuple[str, str], str]:
    """Return (table, column) → the text below the column in the module of its table."""
    found = {}
    for mapper in t.Base.registry.mappers:
        module: ModuleType | None = inspect.getmodule(mapper.class_)
        assert module is not None
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef) and node.name == mapper.class_.__name__:
                for name, text in _texts_below(node):
                    found[str(mapper.local_table.name), name] = text  # type: ignore[attr-defined]
    return found


def _texts_below(table: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, following in zip(table.body, table.body[1:], strict=False):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            yield node.target.id, " ".join(str(following.value.value).split())


def _usual(table: sa.Table, column: str) -> str:
    """Return what the name and the kind of a column say."""
    if references := sorted(table.c[column].foreign_keys, key=lambda key: key.target_fullname):
        return f"The row of {references[0].column.table.name}, by its {references[0].column.name}."
    return _OF_EVERY_TABLE.get(column, "")


def _unit(column: str, meaning: str) -> str:
    for end, unit in _UNITS.items():
        if column.endswith(end):
            return unit
    if "bit set" in meaning.lower():
        return "bit set"
    if "0 to 1" in meaning or "probability" in column:
        return "0 to 1"
    return ""


def _values(table: sa.Table, column: str) -> str:
    """Return the values that a check of the table lists for a column."""
    for check in table.constraints:
        if isinstance(check, sa.CheckConstraint):
            listed = re.fullmatch(rf"{column} IN \((.*)\)", str(check.sqltext))
            if listed:
                return ", ".join(re.findall(r"'([^']*)'", listed[1]))
    return ""
