"""W5 probe: ask each judge what share of experts would choose the verdicts it gave."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import RunSettings, experiments_run_name
from flows.running import locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.lab.probing import plan_probing
from judge_gym.store.readability import probe_answers
from tasks.events import emit_failure
from tasks.lab import probe


@flow(name="w5-probe", flow_run_name=experiments_run_name("probe"), on_failure=[emit_failure])
@resumable
async def w5_probe(
    experiments: list[str],
    budget: SweepBudget | None = None,
    sweep: str | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Probe the scored samples of these experiments, in every arm, that have no probe yet.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        budget: what the sweep may use; no new work begins once it is used up.
        sweep: the sweep whose replicates are wanted; null for the most that any sweep declares.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    async with locked_run({"experiments": experiments}, budget=budget, settings=settings) as run:
        await run.do("probe", probe, run.query(plan_probing, experiments, sweep))
        run.count(probe_answers, experiments, sweep)
        return await run.state()
