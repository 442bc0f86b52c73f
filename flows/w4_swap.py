"""W4 swap: judge the same items under a rival's rubric, and under a sham."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.forms import RunSettings, of_experiments
from flows.running import locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.design.plans import SwapPlan
from judge_gym.lab.swapping import plan_swaps
from judge_gym.store.readability import of_samples
from tasks.events import emit_failure
from tasks.lab import judge


@flow(name="w4-swap", flow_run_name=of_experiments("swap"), on_failure=[emit_failure])
async def w4_swap(
    experiments: list[str],
    plan: SwapPlan | None,
    budget: SweepBudget | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Judge the swap and sham arms of these experiments.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        plan: which pairs swap, chosen among these experiments, and whether there is a sham; null
            for what was planned before.
        budget: what the sweep may use; no new work begins once it is used up.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    async with locked_run("experiments", experiments, budget=budget, settings=settings) as run:
        missing = run.query(plan_swaps, experiments, plan)
        await run.judge("swapped judgements", judge, missing)
        run.count(of_samples, experiments, ["swap", "sham"])
        return await run.state()
