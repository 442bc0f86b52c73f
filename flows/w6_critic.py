"""W6 critic: have a model mark the reasoning behind the scored samples."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import RunSettings, experiments_run_name
from flows.running import locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.lab.score_critics import plan_marking
from judge_gym.store.readability import mark_answers
from tasks.events import emit_failure
from tasks.lab import mark_reasoning


@flow(name="w6-critic", flow_run_name=experiments_run_name("mark"), on_failure=[emit_failure])
@resumable
async def w6_critic(
    experiments: list[str],
    critic_model: str,
    budget: SweepBudget | None = None,
    sweep: str | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Have the reasoning of the scored samples of these experiments marked, in every arm.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        critic_model: the model that marks; best of a family that is not among the judges.
        budget: what the sweep may use; no new work begins once it is used up.
        sweep: the sweep whose replicates are wanted; null for the most that any sweep declares.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    async with locked_run({"experiments": experiments}, budget=budget, settings=settings) as run:
        missing = run.query(plan_marking, experiments, critic_model, sweep)
        await run.do("mark", mark_reasoning, missing, critic_model=critic_model)
        run.count(mark_answers, experiments, critic_model, sweep)
        return await run.state()
