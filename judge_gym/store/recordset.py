"""Many rows as one statement: they are sent as one JSON parameter that PostgreSQL unfolds.

A statement a row costs several times the CPU, here and there.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase

Table = type[DeclarativeBase]


def recordset(table: Table) -> sa.TableValuedAlias:
    """Return the parameter of `packed` as a relation with the table's columns, in the order given.

    A column that a row does not name is NULL in it.
    """
    shape: sa.ColumnElement[Any] = sa.literal_column(f"NULL::{table.__tablename__}")
    # Not jsonb, which can hold no more than 256 MB: a chunk of long bundles comes near it.
    rows = sa.func.json_populate_recordset(shape, sa.cast(sa.bindparam("rows"), postgresql.JSON))
    columns = sa.inspect(table).columns
    return rows.table_valued(*(sa.column(one.name, one.type) for one in columns)).alias("given")


def packed(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parameter of a statement made with `recordset`."""
    return {"rows": json.dumps(list(rows), default=str)}


@cache
def inserting(table: Table, columns: Sequence[str]) -> postgresql.Insert:
    """Return the insert of a recordset into these columns of its table."""
    given = recordset(table)
    selected = sa.select(*(given.c[column] for column in columns))
    return postgresql.insert(table).from_select(list(columns), selected)
