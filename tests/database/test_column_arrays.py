"""A query's rows as arrays: what PostgreSQL writes is what numpy reads."""

import math

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store.bulk import arrays


def test_missing_and_infinite_numbers_and_truths_arrive(database: str) -> None:
    kinds = {"n": sa.BigInteger, "x": sa.Double, "right": sa.Boolean}
    columns = [sa.column(name, kind()) for name, kind in kinds.items()]
    rows = [(2**40, 0.1, True), (-1, None, False), (0, math.inf, True)]
    query = sa.select(sa.values(*columns, name="given").data(rows)).order_by("n")
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        found = arrays(session, query)
        none = arrays(session, query.where(sa.column("n") > 2**50))
    np.testing.assert_array_equal(found["n"], [-1, 0, 2**40])
    np.testing.assert_array_equal(found["x"], [math.nan, math.inf, 0.1])
    np.testing.assert_array_equal(found["right"], [False, True, True])
    assert {name: column.dtype for name, column in found.items()} == {
        "n": np.int64, "x": np.float64, "right": np.bool_
    }  # fmt: skip
    assert [len(column) for column in none.values()] == [0, 0, 0]
