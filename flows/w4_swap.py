"""W4 swap: the same items under a rival's rubric, and under a sham."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import by_provider, run_chunks
from flows.claiming import alone
from flows.names import of_experiments
from judge_gym.design.swap_plan import SwapPlan
from judge_gym.workflows.budgeting import SweepBudget, spending_check
from judge_gym.workflows.swapping import plan_swaps
from tasks.judging import judge
from tasks.limits import declare_limits
from tasks.runtime import runtime


@flow(name="w4-swap", flow_run_name=of_experiments("swap"))
async def w4_swap(
    experiments: list[str], plan: SwapPlan, budget: SweepBudget | None = None
) -> State[None]:
    """Judge the swap and sham arms of these experiments.

    Args:
        experiments: tags, as `judge-gym experiment list` shows them.
        plan: which pairs swap, and whether there is a sham.
        budget: what the sweep may use; no new work begins once it is passed.
    """
    async with runtime() as current, alone(current, "experiments", experiments):
        await declare_limits()
        check = spending_check(current, budget)
        with current.session() as session:
            missing = plan_swaps(session, experiments, plan)
        works = by_provider(current, judge, missing.by_model, "swapped judgements")
        return await (await run_chunks(current, "swapped judgements", works, check)).state(current)
