"""Result rows written by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from judge_gym.store.results import FindingRow, ResultRow

MakeRow = Callable[..., ResultRow]
MakeFinding = Callable[..., FindingRow]


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
            "because": "" if estimate is not None else "nothing was scored",
            "simulated": False,
            "imported": False,
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


@pytest.fixture
def make_finding() -> MakeFinding:
    """Make a finding of H1 (above a margin of 0.05) from its conclusion and figure."""

    def make(
        conclusion: str,
        estimate: float | None = None,
        interval: tuple[float, float] | None = None,
        **fields: Any,
    ) -> FindingRow:
        lower, upper = interval or (None, None)
        given: dict[str, Any] = {
            "hypothesis": "H1",
            "statement": "Entrenchment: judge families stand apart.",
            "estimand": "P - P0",
            "scope": {"concept": "order"},
            "direction": "above",
            "margin": 0.05,
            "reference": 0.0,
            "n": 60,
            "n_items": 12,
            "unit": "bits",
            "p": None,
            "p_adjusted": None,
            "reason": "as the test says",
            "confirmatory": False,
            "simulated": False,
            "imported": False,
        }
        return FindingRow(
            conclusion=conclusion,
            estimate=estimate,
            lower=lower,
            upper=upper,
            **{**given, **fields},
        )

    return make
