"""The benchmark flow's own task."""

import asyncio
from pathlib import Path

from prefect import task

from judge_gym.judges.benchmarking import load_judges, load_set, read_report
from judge_gym.report.benchmark import save_benchmark
from judge_gym.runtime import Runtime
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="write-benchmark", task_run_name="figures of {items.name}", **WRITING)
async def report_benchmark(
    judges: list[Path], items: Path, mapping: Path, limit: int | None
) -> Path:
    """Write the tables of what is judged; returns that of the figures."""
    async with runtime() as current:
        return await asyncio.to_thread(_write, current, judges, items, mapping, limit)


def _write(
    runtime: Runtime, judges: list[Path], items: Path, mapping: Path, limit: int | None
) -> Path:
    chosen = load_set(items, mapping, limit)
    with runtime.session() as session:
        report = read_report(session, chosen, load_judges(judges, chosen))
    return save_benchmark(report, runtime.settings.data_dir / "reports")
