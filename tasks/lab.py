"""The tasks of W1 to W6: collect a window, then one chunk of one provider's work each."""

from typing import Any

from prefect import task

from judge_gym.asking.budgeting import Spender, SweepBudget
from judge_gym.asking.engine import collect_batches as collected_batches
from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import EvidenceView
from judge_gym.lab import embedding, evidence, judging, probing, rubrics, score_critics
from judge_gym.questions.rubricer import RubricRequest
from judge_gym.runtime import Runtime
from judge_gym.store.samples import ProbeUnit, SampleUnit
from judge_gym.store.windows import load_window
from tasks.events import emit_collected
from tasks.policy import WRITING
from tasks.processes import Work, done
from tasks.runtime import runtime


@task(name="collect-window", task_run_name="collect window {window_id}", **WRITING)
async def collect_window(window_id: int) -> dict[str, int]:
    """Collect one window; returns how many documents were kept and dropped, by reason."""
    async with runtime() as current:
        counts: dict[str, int] = {}
        try:
            counts = await evidence.collect_window(current, window_id)
        except evidence.EmptyWindowError as error:
            counts = error.counts
            raise
        finally:
            if counts:  # none for a window that was collected before, or whose source failed
                with current.session() as session:
                    name = load_window(session, window_id).name
                emit_collected(window_id, name, counts)
        return counts


@task(name="make-views", **WRITING)
async def make_views(
    units: list[int], view: EvidenceView, model: str, budget: SweepBudget | None
) -> dict[str, int]:
    """Make one view of these documents; returns counts by status."""
    return await _done(evidence.make_views, budget, view, units, model)


@task(name="embed", **WRITING)
async def embed(
    units: list[int], window: int, plan: Bundles, recipe: str, budget: SweepBudget | None
) -> dict[str, int]:
    """Have these documents embedded for a plan of bundles; returns counts by status."""
    return await _done(embedding.embed, budget, units, window, plan, recipe)


@task(name="write-rubrics", **WRITING)
async def write_rubrics(
    units: list[RubricRequest], critic_model: str, budget: SweepBudget | None
) -> dict[str, int]:
    """Have these rubrics written and rated; returns counts by status."""
    async with runtime() as current:
        spender = _spender(current, budget)
        return dict(await rubrics.write_rubrics(current, units, critic_model, spender))


@task(name="embed-rubrics", **WRITING)
async def embed_rubrics(units: list[str], model: str, budget: SweepBudget | None) -> dict[str, int]:
    """Have the rubrics with these keys embedded; returns counts by status."""
    return await _done(embedding.embed_rubrics, budget, units, model)


@task(name="judge", **WRITING)
async def judge(units: list[SampleUnit], budget: SweepBudget | None) -> dict[str, int]:
    """Make these judgements; returns counts by sample status."""
    return await _done(judging.judge, budget, units)


@task(name="probe", **WRITING)
async def probe(units: list[ProbeUnit], budget: SweepBudget | None) -> dict[str, int]:
    """Make these probes; returns counts by probe status."""
    return await _done(probing.probe, budget, units)


@task(name="mark-reasoning", **WRITING)
async def mark_reasoning(
    units: list[int], critic_model: str, budget: SweepBudget | None
) -> dict[str, int]:
    """Have the reasoning of these samples marked; returns counts by status."""
    return await _done(score_critics.mark_reasoning, budget, units, critic_model)


async def _done(work: Work[Any], budget: SweepBudget | None, *arguments: Any) -> dict[str, int]:
    """Do a chunk of work under a sweep's budget; returns counts by status."""
    async with runtime() as current:
        return dict(await done(current, work, *arguments, _spender(current, budget)))


def _spender(runtime: Runtime, budget: SweepBudget | None) -> Spender | None:
    return None if budget is None else budget.spender(workers=runtime.settings.workers)


@task(name="collect-batches", task_run_name="take in batches that have ended", **WRITING)
async def collect_batches() -> list[str]:
    """Take in every batch that has ended; returns why providers could not be asked."""
    async with runtime() as current:
        return await collected_batches(current)
