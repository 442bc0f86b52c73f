"""Sweep: everything a sweep file asks for, in order, and the tables at the end."""

import shlex
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from prefect import Flow, flow, tags
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import Field
from sqlalchemy.orm import Session

from flows.analysis import analysis
from flows.approving import ApproveOver, refused, rubrics_read
from flows.endings import (
    RETRY,
    PartialFailure,
    Waiting,
    caused_by,
    combined,
    resumable,
    run_again_later,
    tag_as_partial,
)
from flows.fanning_out import FanOut
from flows.forms import AtLeastOne, Definition, File, OrLeftOut, RunSettings, sweep_run_name
from flows.progress import show_end, sweep_followed
from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from flows.w4_swap import w4_swap
from flows.w5_probe import w5_probe
from flows.w6_critic import w6_critic
from judge_gym.design.names import WORKFLOWS, Part
from judge_gym.design.sweep import Sweep, given_sweep, load_sweep
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.lab.approving import SpendingPlan, lowest, plan_spending
from judge_gym.lab.status import failed_work
from judge_gym.lab.sweeps import RegisteredSweep, check_keys, prepare
from judge_gym.runtime import Runtime
from judge_gym.settings import Layers
from judge_gym.store.sweep_runs import recorded_run
from tasks.events import emit_failure, served_models_followed
from tasks.runtime import runtime, settings_of_this_run, together

Workflow = Flow[..., Coroutine[Any, Any, State[Any]]]


@flow(name="sweep", flow_run_name=sweep_run_name, on_failure=[emit_failure])
@resumable
async def sweep(
    file: OrLeftOut[File] = None,
    definition: Definition = None,
    retry_failed: bool = False,
    settings: RunSettings = None,
    only: OrLeftOut[Annotated[list[Part], Field(min_length=1)]] = None,
    at_once: OrLeftOut[AtLeastOne] = None,
    approve_over_usd: ApproveOver = None,
) -> State[int]:
    """Run a sweep file to the end: W1 to W6, then the analysis; the state's data is its run id.

    While calls wait in batches, the run ends after their workflow, as `Waiting`. Run it again to
    resume; a run of a deployment is scheduled again automatically.

    Args:
        file: the sweep file, in the folder JUDGE_GYM_HOME of the worker; or a shipped example, such
            as deployments/sweeps/demo.yaml. It is not read if there is a definition.
        definition: the sweep itself as JSON, with the keys of a sweep file; relative paths in it
            start from that folder, too. It is stored with the sweep.
        retry_failed: retry what failed, before planning what is missing.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}; the Prefect
            variable judge_gym_settings, a JSON object, overrides them.
        only: the parts to run, in the order of the whole sweep; all by default. Results that an
            earlier part has not made yet are missing in a later one.
        at_once: distribute W3 to W6 over workers, one flow run per experiment, at most this many
            at a time; this run waits for them and needs a worker slot of its own. By default this
            process does everything.
        approve_over_usd: wait for a person's approval if the rest of the sweep is expected to cost
            more US dollars; the lower one of this and of the sweep's own bound applies.
    """
    return await run_sweep(
        loaded_sweep(file, definition),
        retry_failed=retry_failed,
        settings=settings,
        only=only,
        at_once=at_once,
        approve_over_usd=approve_over_usd,
    )


async def run_sweep(
    loaded: Sweep,
    *,
    retry_failed: bool,
    settings: Mapping[str, Any] | None,
    only: Sequence[Part] | None = None,
    at_once: int | None,
    approve_over_usd: float | None,
    **again: Any,
) -> State[int]:
    """Run a sweep in this flow run; parameters and result are those of the flow `sweep`.

    `again` are parameters that differ in the next run, where this one waits for batches.
    """
    layers = await settings_of_this_run(settings or {})
    async with (
        runtime(layers) as current,
        sweep_followed(current, loaded.name),
        served_models_followed(current),
    ):
        await check_keys(current, loaded)
        run = prepare(current, loaded, retry_failed=retry_failed)
        with recorded_run(current.engine, run.name) as end:
            try:
                state = await _run_parts(
                    current, loaded, run, layers, only, at_once, approve_over_usd, again
                )
            except JudgeGymError as error:
                await show_end(current, run.name, str(error))
                raise
            end.message = state.message or state.name or ""
            await show_end(current, run.name, end.message)
            return state


async def _run_parts(
    current: Runtime,
    loaded: Sweep,
    run: RegisteredSweep,
    layers: Layers,
    only: Sequence[Part] | None,
    at_once: int | None,
    approve_over_usd: float | None,
    again: Mapping[str, Any],
) -> State[int]:
    def spending(session: Session, over_usd: float) -> SpendingPlan:
        return plan_spending(session, loaded, current.providers, over_usd, only)

    bound = lowest(approve_over_usd, loaded.approve_over_usd)
    if end := await refused(current, bound, spending):
        return end
    fan_out = FanOut(current, run, together(layers), at_once) if at_once else None
    failures: list[PartialFailure] = []
    with inherited_tags():
        for workflow, parameters in _workflows(run, only):
            if workflow not in (w1_evidence, w2_rubric):
                await rubrics_read(current, loaded)
            if fan_out is not None:
                await fan_out.do(workflow, parameters)
            state = await workflow(**parameters, return_state=True)
            result = await state.aresult(raise_on_failure=False)
            if isinstance(result, Waiting):
                # What failed has been retried once.
                return await run_again_later(current, result, retry_failed=False, **again)
            if isinstance(result, PartialFailure):
                failures.append(result)
            elif isinstance(result, JudgeGymError):
                raise caused_by(failures, result) from result
            elif isinstance(result, BaseException):
                raise result
        analysed = only is None or "analysis" in only
        run_id = await analysis(run.name) if analysed else None
    with current.session() as session:
        stored = failed_work(session, run.name, only)
    if failures or stored:
        await tag_as_partial()
    return _end(run.name, failures, stored, run_id, only)


@contextmanager
def inherited_tags() -> Iterator[None]:
    """Give flow runs that begin in the block the tags of this one.

    So filters find them, and the automation for lost runs ends them when this process is gone.
    """
    with tags(*flow_run.tags):
        yield


def loaded_sweep(file: Path | None, definition: Mapping[str, Any] | None) -> Sweep:
    """Return the sweep of a definition or, without one, of a file; raises `ConfigError`."""
    if definition is not None:
        return given_sweep(definition)
    if file is None:
        raise ConfigError("There is no sweep to run.", "Give a file or a definition.")
    return load_sweep(file)


def _the_rest(sweep: str, run_id: int) -> str:
    return (
        f"Analysis run {run_id} holds the figures of the rest: `judge-gym analyse figures "
        f"{shlex.quote(sweep)}` writes their report."
    )


def _end(
    sweep: str,
    failures: Sequence[PartialFailure],
    stored: str,
    run_id: int | None,
    only: Sequence[Part] | None,
) -> State[int]:
    """Return the final state, which says what failed or is missing, and where the figures are.

    `stored` lists the work that is stored as failed.
    """
    if failures:
        failure = combined(failures)
        failure.analysis_run = run_id
        return failure.state(f" {_the_rest(sweep, run_id)}" if run_id else "")
    failed = f"Finished with failures: {stored}. {RETRY}. " if stored else ""
    if run_id is None:
        return Completed(message=f"{failed}{', '.join(only or ())} ended.")
    return Completed(message=f"{failed}Analysis run {run_id} holds the figures.", data=run_id)


def _workflows(
    run: RegisteredSweep, only: Sequence[Part] | None
) -> Iterator[tuple[Workflow, dict[str, Any]]]:
    """Yield W1 to W6, or `only` some, with their parameters; each needs the one before."""
    chosen = set(only or WORKFLOWS)
    work: dict[str, Any] = {"experiments": run.tags, "budget": run.budget}
    judging = {**work, "sweep": run.name}
    if "w1-evidence" in chosen:
        windows = {"windows": run.windows, "views": run.views, "utility_model": run.utility_model}
        yield w1_evidence, {**windows, "budget": run.budget, "bundles": run.bundles or None}
    if "w2-rubric" in chosen:
        written = {
            **work,
            "critic_model": run.utility_model,
            "embeddings": run.rubric_embeddings or None,
        }
        yield w2_rubric, written
        if run.swap is not None and run.swap.sham:
            yield w2_rubric, {**written, "sham": True}
    if "w3-scoring" in chosen:
        yield w3_scoring, judging
    if run.swap is not None and "w4-swap" in chosen:
        yield w4_swap, {**judging, "plan": run.swap}
    if "w5-probe" in chosen:
        yield w5_probe, judging
    if run.score_critic and "w6-critic" in chosen:
        yield w6_critic, {**judging, "critic_model": run.score_critic}
