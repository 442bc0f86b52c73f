"""The tables of a known-answer benchmark as CSV: figures, and every judgement with the truth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judge_gym.judges import JudgeResult
from judge_gym.judges.benchmarking import BenchmarkReport
from judge_gym.judges.pairwise_judge import ORDERS
from judge_gym.metrics.estimate import Estimate
from judge_gym.report.writing import csv_of, figures_of, put_in_place

JUDGE, PUBLISHED, APART = "judge", "published", "apart"
"""What a figure is of: a judge, or it `less` a published accuracy or `less` another judge."""


def save_benchmark(report: BenchmarkReport, folder: Path) -> Path:
    """Write `benchmark-<name>-figures.csv` and `-judgements.csv`; returns the path of the first.

    Raises `ReportError` when the folder cannot be written to.
    """
    stem = f"benchmark-{report.chosen.benchmark.name}"
    figures = folder / f"{stem}-figures.csv"
    put_in_place(
        {
            folder / f"{stem}-judgements.csv": csv_of(_judgements(report)),
            figures: csv_of(_figures(report)),
        }
    )
    return figures


def _figures(report: BenchmarkReport) -> Iterator[dict[str, Any]]:
    names, simulated = [one.name for one in report.judges], report.simulated
    for place, by_category in enumerate(report.figures.by_judge):
        for category, estimates in by_category.items():
            for found in estimates:
                yield _row(JUDGE, names[place], "", category, found, simulated[place])
    for (place, published), found in report.figures.published.items():
        yield _row(PUBLISHED, names[place], published, "", found, simulated[place])
    for (one, other), found in report.figures.apart.items():
        either = simulated[one] or simulated[other]
        yield _row(APART, names[other], names[one], "", found, either)


def _row(
    of: str, judge: str, less: str, category: str, found: Estimate, simulated: bool
) -> dict[str, Any]:
    return {
        "of": of, "judge": judge, "less": less, "category": category, **figures_of(found),
        "reason": found.reason, "simulated": simulated,
    }  # fmt: skip


def _judgements(report: BenchmarkReport) -> Iterator[dict[str, Any]]:
    for judge, said in zip(report.judges, report.results, strict=True):
        for item, result in zip(report.chosen.items, said, strict=True):
            known = {"judge": judge.name, "item": item.id, "category": item.category,
                     "truth": item.truth}  # fmt: skip
            yield known | _said(result)


def _said(result: JudgeResult | None) -> dict[str, Any]:
    if result is None:
        empty = ("score", "verdict", *ORDERS, "failure", "simulated")
        return {"status": "missing", **dict.fromkeys(empty)}
    return {
        "status": result.status, "score": result.score, "verdict": result.verdict,
        **{order: result.subscores.get(order) for order in ORDERS},
        "failure": result.failure, "simulated": result.simulated,
    }  # fmt: skip
