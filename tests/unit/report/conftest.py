"""Result rows written by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from judge_gym.store.results import ResultRow

MakeRow = Callable[..., ResultRow]


@pytest.fixture
def make_row() -> MakeRow:
    """Make a result row from a metric, an estimate (with its interval) and what matters."""

    def make(
        metric: str,
        estimate: float | None = None,
        interval: tuple[float, float] | None = None,
        *,
        scope: dict[str, Any] | None = None,
        **fields: Any,
    ) -> ResultRow:
        lower, upper = interval or (None, None)
        given: dict[str, Any] = {
            "n": 60,
            "n_items": 12,
            "floor": None,
            "p": None,
            "p_adjusted": None,
            "unit": "bits",
            "method": "",
            "reason": "" if estimate is not None else "not estimable, because nothing was scored",
            "simulated": False,
        }
        return ResultRow(
            metric=metric,
            scope={"concept": "order", "rubric": "provided"} if scope is None else scope,
            estimate=estimate,
            lower=lower,
            upper=upper,
            **{**given, **fields},
        )

    return make
