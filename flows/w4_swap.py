"""W4 swap: judge the same items under a rival's rubric, and under a sham."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import RunSettings, experiments_run_name
from flows.running import locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.design.plans import SwapPlan
from judge_gym.lab.swapping import plan_swaps
from judge_gym.store.readability import judgement_answers
from tasks.events import emit_failure
from tasks.lab import judge


@flow(name="w4-swap", flow_run_name=experiments_run_name("swap"), on_failure=[emit_failure])
@resumable
async def w4_swap(
    experiments: list[str],
    plan: SwapPlan | None,
    budget: SweepBudget | None = None,
    sweep: str | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Judge the swap and sham arms of these experiments.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        plan: which pairs swap, chosen among these experiments, and whether there is a sham; null
            for what was planned before.
        budget: what the sweep may use; no new work begins once it is used up.
        sweep: the sweep whose replicates are wanted; null for the most that any sweep declares.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    async with locked_run({"experiments": experiments}, budget=budget, settings=settings) as run:
        missing = run.query(plan_swaps, experiments, plan, sweep)
        await run.judge("swapped judgement", judge, missing)
        run.count(judgement_answers, experiments, ["swap", "sham"], sweep)
        return await run.state()
