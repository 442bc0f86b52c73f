"""W3 scoring: judge every frozen item under the experiment's own rubric."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import RunSettings, experiments_run_name
from flows.running import locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.lab.scoring import plan_scoring
from judge_gym.store.readability import judgement_answers
from tasks.events import emit_failure
from tasks.lab import judge


@flow(name="w3-scoring", flow_run_name=experiments_run_name("score"), on_failure=[emit_failure])
@resumable
async def w3_scoring(
    experiments: list[str],
    budget: SweepBudget | None = None,
    sweep: str | None = None,
    settings: RunSettings = None,
) -> State[None]:
    """Make the judgements that these experiments lack.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        budget: what the sweep may use; no new work begins once it is used up.
        sweep: the sweep whose replicates are wanted; null for the most that any sweep declares.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    async with locked_run({"experiments": experiments}, budget=budget, settings=settings) as run:
        missing, unusable = run.query(plan_scoring, experiments, sweep)
        run.summary.problems += unusable
        await run.judge("judgement", judge, missing)
        run.count(judgement_answers, experiments, ["own"], sweep)
        return await run.state()
