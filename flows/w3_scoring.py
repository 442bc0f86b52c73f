"""W3 scoring: every frozen item, replicate by replicate, under the experiment's own rubric."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import by_provider, run_chunks
from flows.claiming import alone
from flows.names import of_experiments
from flows.parameters import RunSettings
from judge_gym.asking.budgeting import SweepBudget, spending_check
from judge_gym.lab.scoring import plan_scoring
from judge_gym.store.readability import of_samples
from tasks.events import tell_failure
from tasks.lab import judge
from tasks.policy import declare_limits
from tasks.runtime import given, runtime


@flow(name="w3-scoring", flow_run_name=of_experiments("score"), on_failure=[tell_failure])
async def w3_scoring(
    experiments: list[str], budget: SweepBudget | None = None, settings: RunSettings = None
) -> State[None]:
    """Judge what these experiments still lack.

    Args:
        experiments: tags, as `judge-gym experiment list` shows them.
        budget: what the sweep may use; no new work begins once it is passed.
        settings: settings of this run, over judge-gym.toml, such as {"workers": 8}.
    """
    layers = given(settings)
    async with runtime(layers) as current, alone(current, "experiments", experiments):
        await declare_limits()
        check = spending_check(current, budget)
        with current.session() as session:
            missing, unusable = plan_scoring(session, experiments)
        works = by_provider(current, judge, missing.by_model, "judgements")
        tally = await run_chunks(current, "judgements", works, check)
        tally.problems += unusable
        if missing.blocked:
            tally.problems.append(
                f"{missing.blocked} judgements wait for views that failed"
                f" ({missing.blocked_by or 'not made yet'}); run again with retry_failed"
            )
        with current.session() as session:
            tally.answers = of_samples(session, experiments, ["own"])
        return await tally.state(current)
