"""W2 rubric: have every rubric that experiments need written, validated and rated."""

from collections import defaultdict

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import by_provider, run_chunks
from flows.claiming import alone
from flows.names import of_rubrics
from flows.parameters import Model
from judge_gym.asking.budgeting import SweepBudget, spending_check
from judge_gym.lab import rubrics
from judge_gym.questions.rubricer import RubricRequest
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.readability import of_generated_rubrics
from tasks.events import tell_failure
from tasks.lab import write_rubrics
from tasks.policy import declare_limits
from tasks.runtime import runtime


@flow(name="w2-rubric", flow_run_name=of_rubrics, on_failure=[tell_failure])
async def w2_rubric(
    experiments: list[str],
    critic_model: Model,
    sham: bool = False,
    budget: SweepBudget | None = None,
) -> State[None]:
    """Write the rubrics that these experiments apply.

    Args:
        experiments: tags, as `judge-gym experiment list` shows them.
        critic_model: the model that rates rubrics, as provider/model; not one of the judges'
            families, if possible.
        sham: write the second rubric of each judge instead, which a sham swap needs.
        budget: what the sweep may use; no new work begins once it is passed.
    """
    # A rubric may be wanted by experiments that have nothing else in common: one W2 at a time.
    async with runtime() as current, alone(current, "rubrics", ["all"]):
        await declare_limits()
        check = spending_check(current, budget)
        with current.session() as session:
            chosen = list(experiments_by_tag(session, experiments).values())
            missing = rubrics.missing_rubrics(session, chosen, sham=sham)
        by_owner: dict[str, list[RubricRequest]] = defaultdict(list)
        for request in missing:
            by_owner[request.owner_model].append(request)
        works = by_provider(
            current,
            write_rubrics,
            by_owner,
            "rubrics",
            # A rubric is a conversation: each call depends on the answer before.
            as_batches=False,
            critic_model=critic_model,
        )
        what = "second rubrics" if sham else "rubrics"
        tally = await run_chunks(current, what, works, check)
        keys = [rubrics.request_key(one) for one in rubrics.requests_of(chosen, sham=sham)]
        with current.session() as session:
            tally.answers = of_generated_rubrics(session, keys)
        return await tally.state(current)
