"""Panel evaluation: a panel's scores beside the known scores of documents."""

from collections.abc import Sequence

from judge_gym.counting import counted
from judge_gym.panel import Panel
from judge_gym.panel.evaluating.evaluation import Evaluation, evaluate
from judge_gym.panel.evaluating.labelled import LabelledDocument
from judge_gym.panel.evaluating.planning import plan_reviews
from judge_gym.panel.evaluating.reviewing import prices_of, stored_reviews
from judge_gym.report.judge_study import StudyReport
from judge_gym.report.panel import evaluation_report
from judge_gym.runtime import Runtime
from judge_gym.store.calls import paid_in_words
from judge_gym.studies.study import Study


def panel_evaluate(
    panel: Panel, labelled: Sequence[LabelledDocument], error_price: float
) -> Study[Evaluation]:
    """Return the study of a panel on documents; `error_price` is US dollars a point of error."""
    scale, documents = panel.rubric.scale, counted(len(labelled), "document")
    read = f"{documents} with known scores, from {scale.lowest} to {scale.highest}."
    if any(document.simulated for document in labelled):
        read += " The true scores follow a rule: no person judged these documents."

    def report(runtime: Runtime) -> StudyReport[Evaluation]:
        reviewed = stored_reviews(runtime, panel, labelled)
        calls = [call for state in reviewed.states if state for call in state.call_ids]
        prices = prices_of(runtime, calls)
        evaluation = evaluate(panel, labelled, reviewed, prices, error_price)
        with runtime.session() as session:
            return evaluation_report(evaluation, read, paid_in_words(session, evaluation.call_ids))

    # An item without a true score has that of its document.
    worths = {
        item.text: ((document.truth if item.truth is None else item.truth) - scale.lowest)
        / (scale.highest - scale.lowest)
        for document in labelled
        for item in document.items
    }
    return Study(
        noun="panel-evaluation",
        called=f"Evaluation of panel {panel.name}",
        read=read,
        asked=[],
        report=report,
        partial=True,
        worths=worths,
        also_asked=sorted(panel.models),
        uses=lambda runtime: plan_reviews(runtime, panel, labelled),
    )
