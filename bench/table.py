"""Print measurements: medians with their range, and ratios to one of the rows."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

Measured = Mapping[str, Sequence[Mapping[str, Any]]]
"""Row → the figures of each repetition."""


def show_calls(title: str, measured: Measured, base: str) -> None:
    """Print a row for each client: throughput and CPU, with ratios to `base` in the same run."""
    table = Table(title=title)
    for column in (
        "client",
        "calls",
        "calls/s",
        f"calls/s ÷ {base}",
        "CPU ms/call",
        f"CPU ÷ {base}",
        "PostgreSQL ms/call",
        "server ms/call",
        "peak MB",
    ):
        table.add_column(column, justify="left" if column == "client" else "right")
    for name, runs in measured.items():
        ratio = [
            [of(one) / of(other) for one, other in zip(runs, measured[base], strict=True)]
            for of in (_rate, _cpu_ms)
        ]
        table.add_row(
            name,
            f"{runs[0]['calls']:,}",
            spread([_rate(one) for one in runs], 0),
            spread(ratio[0], 2),
            spread([_cpu_ms(one) for one in runs], 2),
            spread(ratio[1], 2),
            spread([per_call_ms(one, "database_cpu_s") for one in runs], 2),
            spread([per_call_ms(one, "simulator_cpu_s") for one in runs], 2),
            spread([one["peak_mb"] for one in runs], 0),
        )
    Console(width=170).print(table)


def show(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    to: TextIO | None = None,
) -> None:
    """Print a plain table, by default to standard output."""
    table = Table(title=title)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=170, file=to).print(table)


def spread(values: Sequence[float], digits: int) -> str:
    """Return the median, with the lowest and highest of several values."""
    middle = f"{median(values):.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def per_call_ms(figures: Mapping[str, Any], what: str) -> float:
    """Return seconds as milliseconds per call."""
    return float(figures[what]) * 1000 / int(figures["calls"])


def _rate(figures: Mapping[str, Any]) -> float:
    return int(figures["calls"]) / float(figures["wall_s"])


def _cpu_ms(figures: Mapping[str, Any]) -> float:
    return per_call_ms(figures, "cpu_s")
