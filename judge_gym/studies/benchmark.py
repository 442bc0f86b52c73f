"""Benchmark: how often judges find answers that are known."""

from collections.abc import Sequence
from pathlib import Path

from judge_gym.judges.benchmarking import BenchmarkReport, load_judges, load_set, read_report
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.files import JudgeSource, judge_files
from judge_gym.report.benchmark import benchmark_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def benchmark(
    judges: Sequence[JudgeSource], items: Path, mapping: Path, limit: int | None = None
) -> Study[BenchmarkReport]:
    """Read a benchmark, or its first `limit` items, and judges; raises as `load_judges`."""
    chosen = load_set(items, mapping, limit)
    loaded = load_judges(judges, chosen)

    def report(runtime: Runtime) -> StudyReport[BenchmarkReport]:
        with runtime.session() as session:
            return benchmark_report(read_report(session, chosen, loaded), judge_files(*judges))

    return Study(
        noun="benchmark",
        called=f"Benchmark {chosen.benchmark.name}",
        read=chosen.labels,
        asked=[Asked(judge, chosen.items, newest=True) for judge in loaded],
        report=report,
        partial=True,
        figures={"accuracy" if chosen.benchmark.pair else "agreement": ""},
        worths=chosen.worths,
    )
