"""Sweep: everything a sweep file asks for, in order, and the tables at the end."""

from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.analysis import analysis
from flows.chunks import Gaps
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from flows.waiting import Waiting, run_again_later
from judge_gym.design.sweep import load_sweep
from judge_gym.workflows.sweeps import SweepRun, check_keys, prepare
from tasks.runtime import runtime
from tasks.settings import settings_of_this_run


@flow(name="sweep", flow_run_name="sweep {file.name}")
async def sweep(
    file: Path, retry_failed: bool = False, settings: dict[str, Any] | None = None
) -> State[int]:
    """Run a sweep file to the end: W1 to W5, then the analysis; the state's data is its run id.

    While calls wait in batches it ends after their workflow, as `Waiting`, and goes on when it is
    run again; a run of a deployment is scheduled again by itself.

    Args:
        file: the sweep file, as this process sees it.
        retry_failed: ask again for what is kept as failed, before planning what is missing.
        settings: settings of this run, over judge-gym.toml; the Prefect variable
            judge_gym_settings, a JSON object, goes over them.
    """
    loaded = load_sweep(file)
    layers = await settings_of_this_run(settings or {})
    async with runtime(layers) as current:
        await check_keys(current, loaded)
        run = prepare(current, loaded, retry_failed=retry_failed)
        problems = []
        for workflow in _workflows(run):
            result = await (await workflow).aresult(raise_on_failure=False)
            if isinstance(result, Waiting):
                # What is kept as failed has been asked again, once.
                return await run_again_later(current, result, retry_failed=False)
            if isinstance(result, Gaps):
                problems.append(result)
            elif isinstance(result, BaseException):
                raise result
        run_id = await analysis(run.name)
    if problems:
        # One remedy for all that have the same.
        remedy = " ".join(dict.fromkeys(problem.remedy for problem in problems))
        said = " ".join(problem.message for problem in problems)
        gaps = Gaps(f"Finished with gaps: {said}", remedy)
        return Failed(message=f"{gaps.message} Analysis run {run_id} holds the rest.", data=gaps)
    return Completed(message=f"Analysis run {run_id} holds the figures.", data=run_id)


def _workflows(run: SweepRun) -> Iterator[Awaitable[State[Any]]]:
    """Yield W1 to W5, each to be awaited before the next is begun."""
    more: dict[str, Any] = {"budget": run.budget, "return_state": True}
    yield w1_evidence(run.windows, run.views, run.utility_model, **more)
    yield w2_rubric(run.tags, run.utility_model, **more)
    if run.swap is not None and run.swap.sham:
        yield w2_rubric(run.tags, run.utility_model, sham=True, **more)
    yield w3_scoring(run.tags, **more)
    if run.swap is not None:
        yield w4_swap(run.tags, run.swap, **more)
    yield w5_probe(run.tags, **more)
