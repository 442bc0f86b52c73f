"""Many rows in one statement: COPY to arrays, to and from CSV files, and JSON recordsets.

To files, COPY writes PostgreSQL's own CSV, which Arrow reads with its types; no more than a block
of rows is in memory. A recordset is one JSON parameter that PostgreSQL unfolds: a statement per row
costs several times the CPU, in both processes.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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


def count_of(session: Session, table: Any, condition: sa.ColumnElement[bool]) -> int:
    """Return how many rows of a table meet a condition."""
    return session.scalar(sa.select(sa.func.count()).select_from(table).where(condition)) or 0


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


def arrays(session: Session, query: sa.Select[Any]) -> dict[str, np.ndarray]:
    """Return a query's rows as an array for each column, by its label.

    Columns are whole numbers, truth values, floats, NaN where NULL, and times, in seconds since
    1970. Raises `ValueError` for NULL among the first two. PostgreSQL's binary rows of such columns
    are all of one size, so that numpy reads them as they are: a million rows as Python objects
    take 10 s of CPU.
    """
    given = query.subquery("given")
    kinds = {column.name: _kind(column.type) for column in given.c}
    connection = session.connection()
    sent = sa.select(*(_sent(column, kinds[column.name]) for column in given.c)).compile(
        dialect=connection.dialect, compile_kwargs={"render_postcompile": True}
    )
    statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT binary)").format(sql.SQL(str(sent)))
    row = np.dtype(
        [
            ("fields", ">i2"),
            *(field for name, kind in kinds.items()
              for field in ((f"{name} size", ">i4"), (name, _BINARY[kind]))),
        ]
    )  # fmt: skip
    found: dict[str, list[np.ndarray]] = {name: [] for name in kinds}
    with _cursor(connection).copy(statement, sent.params) as copy:
        for rows in _binary_rows(copy, row):
            _check_sizes(rows, kinds)
            for name, kind in kinds.items():
                found[name].append(_as_array(rows[name], kind))
    return {
        name: np.concatenate([*found[name], np.array([], _NUMPY[kind])])
        for name, kind in kinds.items()
    }


def _binary_rows(copy: Iterable[bytes], row: np.dtype) -> Iterator[np.ndarray]:
    """Yield the rows of a binary COPY in blocks; its header and its trailer have no rows."""
    buffer, start = bytearray(), _HEADER_BYTES
    for part in copy:
        buffer += part
        if len(buffer) >= _ROWS_BYTES:
            count = (len(buffer) - start) // row.itemsize
            yield np.frombuffer(buffer, row, count, start)
            # A new one: numpy still looks at the old.
            buffer, start = buffer[start + count * row.itemsize :], 0
    del buffer[-_TRAILER_BYTES:]
    # A last row with NULL is shorter.
    buffer += bytes(-(len(buffer) - start) % row.itemsize)
    yield np.frombuffer(buffer, row, -1, start)


def _check_sizes(rows: np.ndarray, names: Iterable[str]) -> None:
    """Raise `ValueError` for NULL, whose size is -1, after which rows lie elsewhere."""
    wrong = {name: rows[f"{name} size"] != rows.dtype[name].itemsize for name in names}
    first = {name: int(where.argmax()) for name, where in wrong.items() if where.any()}
    if first:
        raise ValueError(f"NULL in the column {min(first, key=lambda name: first[name])}")


_HEADER_BYTES = 19
"""A signature of 11 bytes, flags and the length of an extension, which PostgreSQL leaves empty."""
_TRAILER_BYTES = 2
_ROWS_BYTES = 1 << 22
_BINARY = {"int2": ">i2", "int4": ">i4", "int8": ">i8", "float8": ">f8", "bool": "?", "time": ">i8"}
_NUMPY = {
    **dict.fromkeys(("int2", "int4", "int8"), np.int64),
    **dict.fromkeys(("float8", "time"), np.float64),
    "bool": np.bool_,
}
_SINCE_1970 = 946_684_800_000_000
"""PostgreSQL's times are microseconds since 2000."""
_NO_TIME = np.iinfo(np.int64).min
"""As PostgreSQL sends the time -infinity."""


def _sent(column: sa.ColumnElement[Any], kind: str) -> sa.ColumnElement[Any]:
    """Return a column in the type of its kind, without NULL where the kind has a value for it."""
    if kind == "time":
        return sa.func.coalesce(column, sa.literal_column("'-infinity'::timestamptz"))
    typed = sa.cast(column, _SQL[kind])
    return sa.func.coalesce(typed, sa.literal_column("'NaN'")) if kind == "float8" else typed


def _as_array(values: np.ndarray, kind: str) -> np.ndarray:
    if kind != "time":
        return values.astype(_NUMPY[kind])
    # Both are exact in floats, so that the quotient is the float nearest to the decimal number.
    seconds = (values + _SINCE_1970) / 1_000_000
    return np.where(values == _NO_TIME, np.nan, seconds)


_SQL: Mapping[str, type[sa.types.TypeEngine[Any]]] = {
    "int2": sa.SmallInteger,
    "int4": sa.Integer,
    "int8": sa.BigInteger,
    "float8": sa.Double,
    "bool": sa.Boolean,
}


def _kind(given: sa.types.TypeEngine[Any]) -> str:
    kinds: Sequence[tuple[type[sa.types.TypeEngine[Any]], str]] = (
        (sa.Boolean, "bool"),
        (sa.SmallInteger, "int2"),
        (sa.BigInteger, "int8"),
        (sa.Integer, "int4"),
        (sa.DateTime, "time"),
    )
    return next((kind for of_type, kind in kinds if isinstance(given, of_type)), "float8")


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
