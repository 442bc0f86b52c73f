"""Sweep: everything a sweep file asks for, in order, and the tables at the end."""

from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.analysis import analysis
from flows.chunks import Gaps
from flows.progress import sweep_followed
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from flows.waiting import Waiting, run_again_later
from judge_gym.design.sweep import load_sweep
from judge_gym.design.workflow_names import WORKFLOWS, Part
from judge_gym.workflows.sweeps import SweepRun, check_keys, prepare
from tasks.runtime import runtime
from tasks.settings import settings_of_this_run


@flow(name="sweep", flow_run_name="sweep {file.name}")
async def sweep(
    file: Path,
    retry_failed: bool = False,
    settings: dict[str, Any] | None = None,
    only: list[Part] | None = None,
) -> State[int]:
    """Run a sweep file to the end: W1 to W5, then the analysis; the state's data is its run id.

    While calls wait in batches it ends after their workflow, as `Waiting`, and goes on when it is
    run again; a run of a deployment is scheduled again by itself.

    Args:
        file: the sweep file, as this process sees it; a worker starts from its checkout, so
            deployments/sweeps/demo.yaml is one.
        retry_failed: ask again for what is kept as failed, before planning what is missing.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}; the Prefect
            variable judge_gym_settings, a JSON object, goes over them.
        only: the parts to run, in the order of the whole; without it, all. What an earlier part
            has not made yet is missing in a later one.
    """
    loaded = load_sweep(file)
    layers = await settings_of_this_run(settings or {})
    async with runtime(layers) as current, sweep_followed(current, loaded.name):
        await check_keys(current, loaded)
        run = prepare(current, loaded, retry_failed=retry_failed)
        problems = []
        for workflow in _workflows(run, only):
            result = await (await workflow).aresult(raise_on_failure=False)
            if isinstance(result, Waiting):
                # What is kept as failed has been asked again, once.
                return await run_again_later(current, result, retry_failed=False)
            if isinstance(result, Gaps):
                problems.append(result)
            elif isinstance(result, BaseException):
                raise result
        analysed = only is None or "analysis" in only
        run_id = await analysis(run.name) if analysed else None
    if problems:
        # One remedy for all that have the same.
        remedy = " ".join(dict.fromkeys(problem.remedy for problem in problems))
        said = " ".join(problem.message for problem in problems)
        gaps = Gaps(f"Finished with gaps: {said}", remedy)
        rest = f" Analysis run {run_id} holds the rest." if run_id else ""
        return Failed(message=gaps.message + rest, data=gaps)
    if run_id is None:
        return Completed(message=f"{', '.join(only or ())} ended.")
    return Completed(message=f"Analysis run {run_id} holds the figures.", data=run_id)


def _workflows(run: SweepRun, only: list[Part] | None) -> Iterator[Awaitable[State[Any]]]:
    """Yield W1 to W5, or `only` some, each to be awaited before the next is begun."""
    more: dict[str, Any] = {"budget": run.budget, "return_state": True}
    chosen = set(only or WORKFLOWS)
    if "w1-evidence" in chosen:
        yield w1_evidence(run.windows, run.views, run.utility_model, **more)
    if "w2-rubric" in chosen:
        yield w2_rubric(run.tags, run.utility_model, **more)
        if run.swap is not None and run.swap.sham:
            yield w2_rubric(run.tags, run.utility_model, sham=True, **more)
    if "w3-scoring" in chosen:
        yield w3_scoring(run.tags, **more)
    if run.swap is not None and "w4-swap" in chosen:
        yield w4_swap(run.tags, run.swap, **more)
    if "w5-probe" in chosen:
        yield w5_probe(run.tags, **more)
