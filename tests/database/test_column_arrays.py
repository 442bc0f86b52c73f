"""A query's rows as arrays: what PostgreSQL writes is what numpy reads."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import bulk
from judge_gym.store.bulk import arrays

KINDS = {
    "n": sa.BigInteger,
    "m": sa.Integer,
    "k": sa.SmallInteger,
    "x": sa.Double,
    "at": sa.DateTime(timezone=True),
    "right": sa.Boolean,
}
AT = datetime(2026, 3, 4, 5, 6, 7, 891_011, tzinfo=UTC)
BEFORE = datetime(1969, 12, 31, 23, 59, 58, 999_999, tzinfo=UTC)
ROWS = [
    (2**40, 2**30, 2**14, 0.1, AT, True),
    (-1, -1, -1, None, None, False),
    (0, 0, 0, math.inf, BEFORE, True),
]


def of_rows(rows: list[tuple[object, ...]]) -> sa.Select[tuple[object, ...]]:
    columns = [sa.column(name, sa.types.to_instance(kind)) for name, kind in KINDS.items()]
    return sa.select(sa.values(*columns, name="given").data(rows))


def test_missing_and_infinite_numbers_and_truths_arrive(database: str) -> None:
    query = of_rows(ROWS).order_by("n")
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        found = arrays(session, query)
        none = arrays(session, query.where(sa.column("n") > 2**50))
    np.testing.assert_array_equal(found["n"], [-1, 0, 2**40])
    np.testing.assert_array_equal(found["m"], [-1, 0, 2**30])
    np.testing.assert_array_equal(found["k"], [-1, 0, 2**14])
    np.testing.assert_array_equal(found["x"], [math.nan, math.inf, 0.1])
    np.testing.assert_array_equal(found["at"], [math.nan, BEFORE.timestamp(), AT.timestamp()])
    np.testing.assert_array_equal(found["right"], [False, True, True])
    dtypes = {
        "n": np.int64,
        "m": np.int64,
        "k": np.int64,
        "x": np.float64,
        "at": np.float64,
        "right": np.bool_,
    }
    for columns in (found, none):
        assert {name: column.dtype for name, column in columns.items()} == dtypes
    assert [len(column) for column in none.values()] == [0] * 6


def test_rows_of_several_blocks_arrive_in_order(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Smaller than a row's multiple, so that blocks end within rows if messages do.
    monkeypatch.setattr(bulk, "_ROWS_BYTES", 100)
    n = sa.func.generate_series(1, 1000, type_=sa.BigInteger)
    query = sa.select(n.label("n"), (n % 2 == 0).label("even"))
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        found = arrays(session, query)
    np.testing.assert_array_equal(found["n"], np.arange(1, 1001))
    np.testing.assert_array_equal(found["even"], np.arange(1, 1001) % 2 == 0)


@pytest.mark.parametrize("name", ["n", "right"])
def test_a_missing_whole_number_or_truth_is_an_error(database: str, name: str) -> None:
    row = [None if kind == name else value for kind, value in zip(KINDS, ROWS[0], strict=True)]
    with (
        Session(sa.create_engine(database, poolclass=sa.NullPool)) as session,
        pytest.raises(ValueError, match=f"NULL in the column {name}"),
    ):
        arrays(session, of_rows([*ROWS, tuple(row)]))
