"""Sweep: everything a sweep file asks for, in order, and the tables at the end."""

from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from prefect import Flow, flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.analysis import analysis
from flows.chunks import Gaps, after, combined
from flows.fanning_out import FanOut
from flows.parameters import AtLeastOne, OrLeftOut, RunSettings
from flows.progress import sweep_followed
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from flows.waiting import Waiting, run_again_later
from judge_gym.design.sweep import load_sweep
from judge_gym.design.workflow_names import WORKFLOWS, Part
from judge_gym.errors import JudgeGymError
from judge_gym.lab.sweeps import SweepRun, check_keys, prepare
from tasks.events import tell_failure
from tasks.runtime import runtime, settings_of_this_run, together

Workflow = Flow[..., Coroutine[Any, Any, State[Any]]]


@flow(name="sweep", flow_run_name="sweep {file.name}", on_failure=[tell_failure])
async def sweep(
    file: Path,
    retry_failed: bool = False,
    settings: RunSettings = None,
    only: OrLeftOut[list[Part]] = None,
    at_once: OrLeftOut[AtLeastOne] = None,
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
        at_once: share W3 to W5 out to workers, a flow run per experiment, at most so many at
            once; this run waits for them and takes a place of its own. Without it, this process
            does everything.
    """
    loaded = load_sweep(file)
    layers = await settings_of_this_run(settings or {})
    async with runtime(layers) as current, sweep_followed(current, loaded.name):
        await check_keys(current, loaded)
        run = prepare(current, loaded, retry_failed=retry_failed)
        fan_out = FanOut(current, run, together(layers), at_once) if at_once else None
        gaps: list[Gaps] = []
        for workflow, parameters in _workflows(run, only):
            if fan_out is not None:
                await fan_out.do(workflow, parameters)
            state = await workflow(**parameters, return_state=True)
            result = await state.aresult(raise_on_failure=False)
            if isinstance(result, Waiting):
                # What is kept as failed has been asked again, once.
                return await run_again_later(current, result, retry_failed=False)
            if isinstance(result, Gaps):
                gaps.append(result)
            elif isinstance(result, JudgeGymError):
                raise after(gaps, result) from result
            elif isinstance(result, BaseException):
                raise result
        analysed = only is None or "analysis" in only
        return _end(gaps, await analysis(run.name) if analysed else None, only)


def _end(gaps: Sequence[Gaps], run_id: int | None, only: Sequence[Part] | None) -> State[int]:
    """Return the final state, which says what is missing and where the figures are."""
    if gaps:
        return combined(gaps).state(f" Analysis run {run_id} holds the rest." if run_id else "")
    if run_id is None:
        return Completed(message=f"{', '.join(only or ())} ended.")
    return Completed(message=f"Analysis run {run_id} holds the figures.", data=run_id)


def _workflows(
    run: SweepRun, only: Sequence[Part] | None
) -> Iterator[tuple[Workflow, dict[str, Any]]]:
    """Yield W1 to W5, or `only` some, with their parameters; each needs the one before."""
    chosen = set(only or WORKFLOWS)
    work: dict[str, Any] = {"experiments": run.tags, "budget": run.budget}
    if "w1-evidence" in chosen:
        windows = {"windows": run.windows, "views": run.views, "utility_model": run.utility_model}
        yield w1_evidence, {**windows, "budget": run.budget}
    if "w2-rubric" in chosen:
        yield w2_rubric, {**work, "critic_model": run.utility_model}
        if run.swap is not None and run.swap.sham:
            yield w2_rubric, {**work, "critic_model": run.utility_model, "sham": True}
    if "w3-scoring" in chosen:
        yield w3_scoring, work
    if run.swap is not None and "w4-swap" in chosen:
        yield w4_swap, {**work, "plan": run.swap}
    if "w5-probe" in chosen:
        yield w5_probe, work
