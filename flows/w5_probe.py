"""W5 probe: the share of experts each judge expects to choose the verdicts it gave."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import by_provider, run_chunks
from flows.claiming import alone
from flows.names import of_experiments
from flows.parameters import RunSettings
from judge_gym.asking.budgeting import SweepBudget, spending_check
from judge_gym.lab.probing import plan_probing
from judge_gym.store.readability import of_probes
from tasks.events import tell_failure
from tasks.lab import probe
from tasks.policy import declare_limits
from tasks.runtime import given, runtime


@flow(name="w5-probe", flow_run_name=of_experiments("probe"), on_failure=[tell_failure])
async def w5_probe(
    experiments: list[str], budget: SweepBudget | None = None, settings: RunSettings = None
) -> State[None]:
    """Probe the scored samples of these experiments, every arm, that were not probed yet.

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
            missing = plan_probing(session, experiments)
        works = by_provider(current, probe, missing, "probes")
        tally = await run_chunks(current, "probes", works, check)
        with current.session() as session:
            tally.answers = of_probes(session, experiments)
        return await tally.state(current)
