"""W2 rubric: have every rubric that experiments need written, validated and rated."""

from collections import defaultdict

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import Model, OrLeftOut, rubrics_run_name
from flows.running import Work, locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.counting import plural
from judge_gym.lab import rubrics
from judge_gym.lab.embedding import missing_rubric_embeddings
from judge_gym.questions.rubricer import RubricRequest
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.readability import rubric_answers
from tasks.events import emit_failure
from tasks.lab import embed_rubrics, write_rubrics


@flow(name="w2-rubric", flow_run_name=rubrics_run_name, on_failure=[emit_failure])
@resumable
async def w2_rubric(
    experiments: list[str],
    critic_model: Model,
    sham: bool = False,
    budget: SweepBudget | None = None,
    embeddings: OrLeftOut[Model] = None,
) -> State[None]:
    """Write the rubrics that these experiments apply.

    Args:
        experiments: tags, as `judge-gym analyse experiments list` shows them.
        critic_model: the model that rates rubrics, as provider/model; not one of the judges'
            families, if possible.
        sham: write the second rubric of each judge instead, which a sham swap needs.
        budget: what the sweep may use; no new work begins once it is used up.
        embeddings: the model that embeds the rubrics, as provider/model; none by default.
    """
    # Experiments that have nothing else in common may need the same rubric: one W2 at a time.
    async with locked_run({"rubrics": ["all"]}, budget=budget) as run:
        chosen = list(run.query(experiments_by_tag, experiments).values())
        by_owner: dict[str, list[RubricRequest]] = defaultdict(list)
        for request in run.query(rubrics.missing_rubrics, chosen, sham=sham):
            by_owner[request.owner_model].append(request)
        unit_name = "second rubric" if sham else "rubric"
        await run.do(unit_name, write_rubrics, by_owner, critic_model=critic_model)
        if embeddings and not run.summary.waiting:
            work = Work(
                embed_rubrics,
                (run.runtime.providers.of(embeddings).name,),
                run.query(missing_rubric_embeddings, chosen, embeddings, sham=sham),
                f"embedding of {plural(unit_name)}",
                {"model": embeddings, "budget": budget},
            )
            await run.do_all("embedding", [work])
        requests = rubrics.requests_of(chosen, sham=sham)
        run.count(rubric_answers, [rubrics.request_key(request) for request in requests])
        return await run.state()
