"""Benchmark: how accurate judges are on a set whose answers are known."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Definitions, File, OrLeftOut, file_run_name
from flows.judge_study import JudgeStudy, judging, run_study, spending_on
from judge_gym.judges.benchmarking import load_judges, load_set, read_report
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.files import JudgeSource
from judge_gym.report.benchmark import benchmark_report
from judge_gym.report.files import WrittenReport
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


@flow(
    name="benchmark", flow_run_name=file_run_name("benchmark", "items"), on_failure=[emit_failure]
)
@resumable
async def benchmark(
    judges: list[File],
    items: File,
    mapping: File,
    limit: OrLeftOut[AtLeastOne] = None,
    retry_failed: bool = False,
    definitions: Definitions = None,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then write the page; the state's data is its path.

    A judge's budget, set in its file, stops new work once it is used up; the page then shows what
    was judged, and the flow fails.

    Args:
        judges: judge files, as this process sees them.
        items: the benchmark's file.
        mapping: what its columns mean.
        limit: judge the first items only.
        retry_failed: retry what failed.
        definitions: more judges, each as JSON with the keys of a judge file; relative paths in them
            start from the folder JUDGE_GYM_HOME of the worker.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    sources: list[JudgeSource] = [*judges, *(definitions or ())]
    chosen = load_set(items, mapping, limit)
    loaded = load_judges(sources, chosen)
    asked = [Asked(judge, chosen.items) for judge in loaded]
    name = chosen.benchmark.name

    def written(runtime: Runtime) -> WrittenReport:
        with runtime.session() as session:
            report = read_report(session, chosen, loaded)
        return benchmark_report(report, runtime.settings.reports_dir)

    study = JudgeStudy(
        judges=loaded,
        spending=spending_on(f"Benchmark {name}", asked),
        steps=[judging(asked, retry_failed=retry_failed)],
        report=lambda: write_report("benchmark", written),
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
