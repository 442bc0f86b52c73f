"""Benchmark: how accurate judges are on a set whose answers are known."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver, refused
from flows.endings import resumable
from flows.forms import AtLeastOne, Definitions, File, OrLeftOut, file_run_name
from flows.judged_items import PartlyJudgedError, judge_missing
from flows.running import locked_run
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.judges.approving import plan_study
from judge_gym.judges.benchmarking import load_judges, load_set
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.files import JudgeSource
from judge_gym.lab.approving import SpendingPlan
from tasks.events import emit_failure
from tasks.judges import report_benchmark


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
    async with locked_run("benchmarks", [chosen.benchmark.name]) as run:

        def spending(session: Session, over_usd: float) -> SpendingPlan:
            called = f"Benchmark {chosen.benchmark.name}"
            asked = [Asked(judge, chosen.items) for judge in loaded]
            return plan_study(session, run.runtime, called, over_usd, asked)

        if end := await refused(run.runtime, approve_over_usd, spending):
            return end
        try:
            await judge_missing(run, loaded, chosen.items, retry_failed=retry_failed)
        except BudgetExceededError as stopped:
            page = await report_benchmark(sources, items, mapping, limit)
            raise PartlyJudgedError(stopped, page) from stopped
        if run.waits:
            return await run.state(retry_failed=False)
        return await run.state(await report_benchmark(sources, items, mapping, limit))
