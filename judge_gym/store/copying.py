"""COPY: rows leave the database as PostgreSQL's own CSV, which Arrow reads with their types.

Nothing here holds more than a block of rows, however many there are.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from psycopg import adapters, sql

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 1 << 26
"""Arrow reads so much at once; no row may be longer (a prompt with 20 long articles is 40 MB)."""

Columns = Mapping[str, str]
"""Column → PostgreSQL's name of its type, with [] behind that of an array."""


def begin_copying(connection: sa.Connection) -> None:
    """Let values be written the way Arrow reads them, until the transaction ends."""
    connection.exec_driver_sql("SET LOCAL TIME ZONE 'UTC'")
    connection.exec_driver_sql("SET LOCAL datestyle = 'ISO, YMD'")


def columns_of(connection: sa.Connection, relation: sql.Composable) -> Columns:
    """Return the columns of a table or view."""
    cursor = _cursor(connection).execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(relation))
    return {column.name: _type_name(column.type_code) for column in cursor.description or ()}


def copy_out(connection: sa.Connection, query: sql.Composable, file: Path) -> int:
    """Write a query's rows as CSV with a header; returns how many. NULL is an unquoted nothing."""
    statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv, HEADER true)").format(query)
    cursor = _cursor(connection)
    with file.open("wb") as out, cursor.copy(statement) as copy:
        for block in copy:
            out.write(block)
    return int(cursor.rowcount)


def copy_in(
    connection: sa.Connection, table: sql.Composable, columns: Sequence[str], file: Path
) -> None:
    """Read such a file into a table."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv, HEADER match)").format(
        table, sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with file.open("rb") as rows, _cursor(connection).copy(statement) as copy:
        while block := rows.read(1 << 20):
            copy.write(block)


def open_csv(file: Path, columns: Columns, categories: Collection[str] = ()) -> Any:
    """Return a reader of Arrow record batches over a file of `copy_out`; arrays stay text.

    Texts among `categories` are dictionary-encoded.
    """
    import pyarrow as pa
    from pyarrow import csv

    types = {name: _arrow_type(kind) for name, kind in columns.items()}
    types |= {name: pa.dictionary(pa.int32(), pa.string()) for name in categories}

    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )


def _arrow_type(kind: str) -> "pa.DataType":
    import pyarrow as pa

    return {
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "float8": pa.float64(),
        "numeric": pa.decimal128(28, 8),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "timestamptz": pa.timestamp("us", "UTC"),
    }.get(kind, pa.string())


def _type_name(code: int) -> str:
    info = adapters.types.get(code)
    if info is None:
        return "text"
    return f"{info.name}[]" if code == info.array_oid else info.name


def _cursor(connection: sa.Connection) -> Any:
    return connection.connection.cursor()
