"""Figures of a sweep as the analysis stored them, and the demo that end-to-end tests look at."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store.results import ResultRow, latest_run, load_results
from support.command_line import CommandLine, Ended


@dataclass(frozen=True)
class Demo:
    """What the demo left, and what its second run did."""

    url: str
    command: CommandLine
    first: Ended
    second: Ended
    figures: list[ResultRow]
    later_figures: list[ResultRow]
    asked: int
    asked_again: int

    def value(self, statement: str) -> Any:
        """The one value a query gives."""
        return value_of(self.url, statement)


def value_of(url: str, statement: str) -> Any:
    """The one value a query gives."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return connection.scalar(sa.text(statement))


def figures_of(url: str, sweep: str) -> list[ResultRow]:
    """The figures of a sweep's newest analysis, by metric and scope."""
    with Session(sa.create_engine(url, poolclass=sa.NullPool)) as session:
        run = latest_run(session, sweep)
        assert run is not None, f"{sweep} was never analysed"
        rows = load_results(session, run.id)
    return sorted(rows, key=lambda row: (row.metric, row.scope_key))


@dataclass(frozen=True)
class Interval:
    """An estimate that has an interval."""

    estimate: float
    lower: float
    upper: float
    row: ResultRow


def figure(rows: Iterable[ResultRow], metric: str, **scope: Any) -> Interval:
    """The one figure of this metric, estimated, whose scope holds these entries."""
    of_metric = [row for row in rows if row.metric == metric]
    found = [row for row in of_metric if scope.items() <= row.scope.items()]
    assert len(found) == 1, f"{metric} {scope}: {[row.scope for row in found or of_metric]}"
    [row] = found
    assert row.estimate is not None, f"{metric} {scope}: {row.reason}"
    assert row.lower is not None, f"{metric} {scope} has no interval"
    assert row.upper is not None, f"{metric} {scope} has no interval"
    return Interval(row.estimate, row.lower, row.upper, row)
