"""What having a panel review a labelled set will use, before anybody is asked."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import plan_warnings, spender_of
from judge_gym.asking.estimating import UsageEstimate, estimate, in_all, per_call
from judge_gym.judges import ModelJudge
from judge_gym.judges.approving import plan_of_uses
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import plan_judging
from judge_gym.judges.use import Use, use_of_judge
from judge_gym.lab.approving import SpendingPlan
from judge_gym.llm.providers import Providers
from judge_gym.panel import prompting
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.evaluating.labelled import LabelledDocument
from judge_gym.panel.judge_raters import texts_of
from judge_gym.panel.panel import AskedModel, JudgeRater, Panel
from judge_gym.panel.running import spender_of_panel
from judge_gym.panel.state import ItemReview, RaterState, Review
from judge_gym.prompts import Prompt
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.calls import past_answers
from judge_gym.store.panels import answered

_EXAMPLES = 20
"""Documents whose prompts are counted, spread over all that are to be reviewed."""
_COMMENT = "x" * 150
"""A comment of usual length, where the arbiter's prompt will have one."""


def spending_on_reviews(
    session: Session,
    runtime: Runtime,
    panel: Panel,
    labelled: Sequence[LabelledDocument],
    over_usd: float,
) -> SpendingPlan:
    """Return what having a panel review a labelled set still spends."""
    raters = [one.judge for one in panel.raters if isinstance(one, JudgeRater)]
    leaves = [leaf for judge in raters for leaf in judge.leaves]
    spenders = [
        spender_of_panel(panel),
        *(spender_of(leaf) for leaf in leaves if isinstance(leaf, ModelJudge)),
    ]
    called = f"Evaluation of panel {panel.name}"
    uses = plan_reviews(runtime, panel, labelled)
    return plan_of_uses(session, called, "reviews", uses, spenders, tuple(panel.names), over_usd)


def plan_reviews(runtime: Runtime, panel: Panel, labelled: Sequence[LabelledDocument]) -> list[Use]:
    """Return what each rater and the arbiter will use, but for what is kept; writes nothing.

    The calls are the fewest: an answer that cannot be read is asked for once more. A judge that is
    a rater has a budget of its own; what keeps the panel from its other calls stands at the
    arbiter.
    """
    documents = [document.document for document in labelled]
    with runtime.session() as session:
        reviewed, reconciled = answered(session, panel.key, len(panel.raters))
    uses = []
    for name, rater in zip(panel.names, panel.raters, strict=True):
        left = [document for document in documents if (document.key, name) not in reviewed]
        if isinstance(rater, JudgeRater):
            texts = [item for document in left for item in texts_of(document)]
            uses.append(use_of_judge(runtime, name, Asked(rater.judge, texts)))
            continue
        prompts = [
            prompting.review_prompt(panel, rater, document, name) for document in _some(left)
        ]
        uses.append(_use(runtime, name, "rater", rater, len(left), prompts))
    done = {
        document.key
        for document in documents
        if all((document.key, name) in reviewed for name in panel.names)
    }
    left = [document for document in documents if document.key not in reconciled & done]
    prompts = [
        prompting.verdict_prompt(panel, _usual(panel, document), "plan") for document in _some(left)
    ]
    arbiter = _use(runtime, "arbiter", "arbiter", panel.arbiter, len(left), prompts)
    raters = zip(uses, panel.raters, strict=True)
    own = [use for use, rater in raters if not isinstance(rater, JudgeRater)]
    return [*uses, replace(arbiter, warnings=_warnings(runtime, panel, [*own, arbiter]))]


def _warnings(runtime: Runtime, panel: Panel, own: Sequence[Use]) -> tuple[str, ...]:
    """Return what keeps a panel from making its own calls, or some of them."""
    costs = [use.used.cost_usd for use in own if use.used]
    cost_usd = None if None in costs else sum(cost or 0 for cost in costs)
    calls, spender = sum(use.calls for use in own), spender_of_panel(panel)
    with runtime.session() as session:
        return tuple(plan_warnings(session, runtime.providers, spender, calls, cost_usd))


def use_of_documents(
    session: Session,
    providers: Providers,
    settings: Settings,
    panel: Panel,
    documents: Sequence[ReviewedDocument],
    reviews: int,
) -> UsageEstimate | None:
    """Return what so many reviews of documents by a whole panel will use; writes nothing.

    None where it is not known, as of a rater that is a function.
    """
    if not reviews:
        return in_all([])
    repeats, some = -(-reviews // len(documents)), _some(documents)
    parts: list[UsageEstimate | None] = []
    for name, rater in zip(panel.names, panel.raters, strict=True):
        if isinstance(rater, JudgeRater):
            texts = [item for document in documents for item in texts_of(document)]
            asked = [Asked(rater.judge, texts, repeats)]
            parts += [plan.used for plan in plan_judging(session, providers, settings, asked)]
            continue
        prompts = [prompting.review_prompt(panel, rater, document, name) for document in some]
        parts.append(_used(session, providers, settings, "rater", rater, reviews, prompts))
    prompts = [
        prompting.verdict_prompt(panel, _usual(panel, document), "plan") for document in some
    ]
    arbiter = panel.arbiter
    parts.append(_used(session, providers, settings, "arbiter", arbiter, reviews, prompts))
    known = [part for part in parts if part is not None]
    return in_all(known) if len(known) == len(parts) else None


def _use(
    runtime: Runtime,
    name: str,
    agent: str,
    model: AskedModel,
    calls: int,
    prompts: Sequence[Prompt],
) -> Use:
    with runtime.session() as session:
        used = _used(session, runtime.providers, runtime.settings, agent, model, calls, prompts)
    return Use(name, model.model, calls, used)


def _used(
    session: Session,
    providers: Providers,
    settings: Settings,
    agent: str,
    model: AskedModel,
    calls: int,
    prompts: Sequence[Prompt],
) -> UsageEstimate:
    provider = providers.of(model.model)
    if not calls:
        return estimate(settings, provider, [])
    past = past_answers(session, [model.model])
    per_answer = per_call(providers, model.model, agent, prompts, model.max_tokens, past)
    return estimate(settings, provider, [(calls, per_answer)])


def _some(left: Sequence[ReviewedDocument]) -> Sequence[ReviewedDocument]:
    return left[:: max(1, len(left) // _EXAMPLES)]


def _usual(panel: Panel, document: ReviewedDocument) -> list[RaterState]:
    """Return raters that have reviewed a document at usual length."""
    score = panel.rubric.scale.lowest
    items = tuple(ItemReview(id=item.id, score=score, comment=_COMMENT) for item in document.shown)
    review = Review(items=items, overall_score=score, overall_comment=_COMMENT)
    return [
        RaterState(name=name, label=rater.label, model=rater.model, status="done", review=review)
        for name, rater in zip(panel.names, panel.raters, strict=True)
    ]
