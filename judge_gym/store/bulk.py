"""Many rows in one statement: COPY to and from CSV files, and JSON recordsets.

COPY writes PostgreSQL's own CSV, which Arrow reads with its types; no more than a block of rows is
in memory. A recordset is one JSON parameter that PostgreSQL unfolds: a statement per row costs
several times the CPU, in both processes.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from psycopg import adapters, sql
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Session

from judge_gym.formats import FORMULA, NUMBER

if TYPE_CHECKING:
    import pyarrow as pa


BLOCK_BYTES = 1 << 26
"""Arrow reads so much at once; no row may be longer (a prompt with 20 long articles is 40 MB)."""

Column = sa.ColumnElement[Any] | InstrumentedAttribute[Any]
TEXTS = ("text", "varchar", "bpchar")
"""PostgreSQL's types whose values are any text."""
Columns = Mapping[str, str]
"""Column → PostgreSQL's name of its type, with [] behind that of an array."""


def among(column: Column, values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Whether a column has one of these values: one parameter, where IN has one for each.

    A statement has 65,535 at most.
    """
    return column == sa.any_(sa.literal(list(values), sa.ARRAY(column.type)))


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


def safe_texts(query: sql.Composable, columns: Columns) -> sql.Composable:
    """Return a query whose texts are as `formats.cell` writes them."""
    shown = [
        sql.SQL(
            "CASE WHEN {name} ~ {formula} AND {name} !~ {number} THEN '''' || {name} "
            "ELSE {name} END AS {name}"
        ).format(
            name=sql.Identifier(name),
            formula=sql.Literal(f"^{FORMULA}"),
            number=sql.Literal(f"^{NUMBER}$"),
        )
        if kind in TEXTS
        else sql.Identifier(name)
        for name, kind in columns.items()
    ]
    return sql.SQL("SELECT {} FROM ({}) AS given").format(sql.SQL(", ").join(shown), query)


def text_as_given(column: sql.Composable) -> sql.Composable:
    """Return the text that a column of `safe_texts` was made of."""
    return sql.SQL("CASE WHEN {} ~ {} THEN substr({}, 2) ELSE {} END").format(
        column, sql.Literal(f"^'{FORMULA}"), column, column
    )


def texts_as_given(batch: "pa.RecordBatch", columns: Columns) -> "pa.RecordBatch":
    """Return a batch of a file of `safe_texts` with its texts as they were."""
    import pyarrow as pa
    import pyarrow.compute as compute

    given = [
        compute.replace_substring_regex(
            values, pattern=f"^'({FORMULA})", replacement=r"\1", max_replacements=1
        )
        if columns.get(name) in TEXTS and pa.types.is_string(values.type)
        else values
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(given, schema=batch.schema)


def copy_in(
    connection: sa.Connection, table: sql.Composable, columns: Sequence[str], file: Path
) -> None:
    """Read a file of `copy_out` into a table."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv, HEADER match)").format(
        table, sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with file.open("rb") as rows, _cursor(connection).copy(statement) as copy:
        while block := rows.read(1 << 20):
            copy.write(block)


def arrays(session: Session, query: sa.Select[Any]) -> dict[str, "np.ndarray"]:
    """Return a query's rows as an array for each column, by its label; NULL only among floats.

    They go from PostgreSQL's CSV to Arrow: a million rows as Python objects take 10 s of CPU.
    """
    import pyarrow as pa
    from pyarrow import csv

    connection = session.connection()
    begin_copying(connection)
    selected = query.compile(
        dialect=connection.dialect, compile_kwargs={"render_postcompile": True}
    )
    statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv, NULL 'NaN')").format(
        sql.SQL(str(selected))
    )
    types = {column.name: _array_type(column.type) for column in query.selected_columns}
    sink = pa.BufferOutputStream()
    with _cursor(connection).copy(statement, selected.params) as copy:
        for block in copy:
            sink.write(block)
    if not (buffer := sink.getvalue()).size:
        return {name: np.array([], dtype=_NUMPY[kind]) for name, kind in types.items()}
    table = csv.read_csv(
        pa.BufferReader(buffer),
        read_options=csv.ReadOptions(column_names=list(types)),
        convert_options=csv.ConvertOptions(
            column_types={name: _arrow_type(kind) for name, kind in types.items()},
            null_values=[],
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return {
        name: _joined(table[name]).astype(_NUMPY[kind], copy=False) for name, kind in types.items()
    }


def _joined(column: "pa.ChunkedArray") -> "np.ndarray":
    """Return a column without a NULL as one array; Arrow's own way imports pandas, for 0.3 s."""
    import pyarrow as pa

    # Arrow packs eight booleans into a byte.
    numbers = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.concatenate([np.from_dlpack(chunk) for chunk in numbers.chunks])


_NUMPY = {"int8": np.int64, "float8": np.float64, "bool": np.bool_}


def _array_type(given: sa.types.TypeEngine[Any]) -> str:
    if isinstance(given, sa.Boolean):
        return "bool"
    return "int8" if isinstance(given, sa.Integer) else "float8"


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


Table = type[DeclarativeBase]


def recordset(table: Table) -> sa.TableValuedAlias:
    """Return the parameter of `packed` as a relation with the table's columns, in the order given.

    A column that a row does not name is NULL in it.
    """
    shape: sa.ColumnElement[Any] = sa.literal_column(f"NULL::{table.__tablename__}")
    # Not jsonb, which is limited to 256 MB: a chunk of long bundles comes near it.
    rows = sa.func.json_populate_recordset(shape, sa.cast(sa.bindparam("rows"), postgresql.JSON))
    columns = sa.inspect(table).columns
    return rows.table_valued(*(sa.column(column.name, column.type) for column in columns)).alias(
        "given"
    )


def packed(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parameter of a statement made with `recordset`."""
    return {"rows": json.dumps(list(rows), default=str)}


@cache
def inserting(table: Table, columns: Sequence[str]) -> postgresql.Insert:
    """Return the insert of a recordset into these columns of its table."""
    rows = recordset(table)
    selected = sa.select(*(rows.c[column] for column in columns))
    return postgresql.insert(table).from_select(list(columns), selected)
