"""Benchmark: how accurate judges are on a set whose answers are known."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Definitions, File, OrLeftOut, Thresholds, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.judges.files import JudgeSource
from judge_gym.studies import benchmark as studies
from tasks.events import emit_failure


@flow(
    name="benchmark", flow_run_name=file_run_name("benchmark", "items"), on_failure=[emit_failure]
)
@resumable
async def benchmark(
    judges: list[File],
    items: File,
    mapping: File,
    limit: OrLeftOut[AtLeastOne] = None,
    fail_under: Thresholds = None,
    by_verdict: bool = False,
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
        fail_under: fail if a figure's interval is below, as {"accuracy": 0.6}.
        by_verdict: fail if the verdict of a judge is no, or the data cannot tell.
        retry_failed: retry what failed.
        definitions: more judges, each as JSON with the keys of a judge file; relative paths in them
            start from the folder JUDGE_GYM_HOME of the worker.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    sources: list[JudgeSource] = [*judges, *(definitions or ())]
    study = studies.benchmark(sources, items, mapping, limit)
    work = of_study(study, retry_failed=retry_failed, by_verdict=by_verdict, fail_under=fail_under)
    return await run_study(work, approve_over_usd=approve_over_usd)
