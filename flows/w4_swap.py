"""W4 swap: the same items under a rival's rubric, and under a sham."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import by_provider, run_chunks
from flows.claiming import alone
from flows.names import of_experiments
from flows.parameters import RunSettings
from judge_gym.asking.budgeting import SweepBudget, spending_check
from judge_gym.design.swap_plan import SwapPlan
from judge_gym.lab.swapping import plan_swaps
from judge_gym.store.readability import of_samples
from tasks.events import tell_failure
from tasks.lab import judge
from tasks.policy import declare_limits
from tasks.runtime import given, runtime


@flow(name="w4-swap", flow_run_name=of_experiments("swap"), on_failure=[tell_failure])
async def w4_swap(
    experiments: list[str],
    plan: SwapPlan | None,
    budget: SweepBudget | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Judge the swap and sham arms of these experiments.

    Args:
        experiments: tags, as `judge-gym experiment list` shows them.
        plan: which pairs swap, chosen among these experiments, and whether there is a sham; null
            for what was planned before.
        budget: what the sweep may use; no new work begins once it is passed.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    layers = given(settings)
    async with runtime(layers) as current, alone(current, "experiments", experiments):
        await declare_limits()
        check = spending_check(current, budget)
        with current.session() as session:
            missing = plan_swaps(session, experiments, plan)
        works = by_provider(current, judge, missing.by_model, "swapped judgements")
        tally = await run_chunks(current, "swapped judgements", works, check)
        with current.session() as session:
            tally.answers = of_samples(session, experiments, ["swap", "sham"])
        return await tally.state(current)
