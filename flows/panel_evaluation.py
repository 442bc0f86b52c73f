"""Panel evaluation: a panel's scores beside the known scores of documents."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from prefect import flow
from prefect.client.schemas.objects import State
from pydantic import Field
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import Columns, File, file_run_name
from flows.judge_study import of_study, run_study
from flows.running import Run
from judge_gym.lab.approving import SpendingPlan
from judge_gym.panel import load_panel
from judge_gym.panel.evaluating.evaluation import ERROR_PRICE
from judge_gym.panel.evaluating.labelled import read_labelled
from judge_gym.panel.evaluating.planning import spending_on_reviews
from judge_gym.panel.state import answers_of
from judge_gym.runtime import Runtime
from judge_gym.studies.panel_evaluate import panel_evaluate
from tasks.events import emit_failure
from tasks.judges import review_labelled
from tasks.policy import provider_tag


@flow(
    name="panel-evaluation",
    flow_run_name=file_run_name("evaluate panel", "panel"),
    on_failure=[emit_failure],
)
@resumable
async def panel_evaluation(
    panel: File,
    items: File,
    error_price: Annotated[float, Field(ge=0, allow_inf_nan=False)] = ERROR_PRICE,
    fields: Columns = None,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Have the documents reviewed, then write the page, which is the state's data.

    Stored reviews are reused; failed ones are asked again. The panel's budget stops new work once
    it is used up; the page then shows what was reviewed, and the flow fails.

    Args:
        panel: the panel file, as this process sees it.
        items: documents or texts with their true scores.
        error_price: US dollars that one point of error in one document's score costs you.
        fields: fields of texts that stand in other columns, as {"truth": "human_score"}.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    loaded = load_panel(panel)
    labelled = read_labelled(items, loaded.rubric.scale, fields)

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        return spending_on_reviews(session, runtime, loaded, labelled, over_usd)

    async def reviewed(run: Run) -> None:
        providers = {run.runtime.providers.of(model).name for model in loaded.models}
        work = review_labelled.with_options(tags=[*map(provider_tag, sorted(providers))])
        reviews = await work(panel, items, fields)
        run.summary.answers += answers_of(filter(None, reviews.states))
        if reviews.waiting:
            run.summary.waiting[f"document of panel {loaded.name}", ""] += reviews.waiting
        if reviews.stopped:
            raise reviews.stopped

    study = replace(
        of_study(panel_evaluate(loaded, labelled, error_price), retry_failed=False),
        spending=spending,
        steps=[reviewed],
        also_locks={"panel evaluations": [loaded.key]},
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
