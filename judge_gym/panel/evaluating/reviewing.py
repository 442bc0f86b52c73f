"""Having a panel review a labelled set: all raters of all documents at once, then the arbiters."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from judge_gym.asking.budgeting import BudgetExceededError, check_spent, remaining
from judge_gym.asking.engine import any_batch_open, ask_all, collect_batches
from judge_gym.llm.pricing import FREE
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.evaluating.labelled import LabelledDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.running import PanelProgress, check_models, spender_of_panel
from judge_gym.panel.state import PanelState
from judge_gym.runtime import Runtime
from judge_gym.store.calls import call_costs, token_use
from judge_gym.store.locks import locked

GROUP = 64
"""Documents that are locked and reviewed together, unless their questions go in batches."""


@dataclass(frozen=True)
class PanelReviews:
    """The last state of each document's review, in order; None for one that has not ended.

    `stopped` is the error of the panel's budget, where that ended it; `waiting` counts the
    documents with a question in a batch that has not ended.
    """

    states: Sequence[PanelState | None]
    stopped: BudgetExceededError | None
    waiting: int = 0


async def review_all(
    runtime: Runtime,
    panel: Panel,
    labelled: Sequence[LabelledDocument],
    progress: Callable[[int], Awaitable[None]] | None = None,
) -> PanelReviews:
    """Have every document reviewed by all raters, even if the panel escalates.

    The questions of all raters are asked at once, or submitted as batches, then those of the
    arbiter; stored reviews are not asked again. `progress` is given the number of documents that
    have ended. A budget that is used up ends it without an error, and what is stored is still
    shown; raises otherwise as `run_panel` does, before any call.
    """
    await check_models(runtime, panel)
    if await any_batch_open(runtime):
        await collect_batches(runtime)
    everybody = panel.model_copy(update={"escalate": None})
    reviews = [PanelProgress(runtime, everybody, document.document) for document in labelled]
    batched = any(runtime.providers.of(model).batch for model in panel.models)
    most, waiting = len(reviews) if batched else GROUP, 0
    stopped: BudgetExceededError | None = None

    async def count() -> None:
        if progress:
            await progress(sum(review.state.has_ended for review in reviews))

    for review in reviews:
        review.load()
    missing = [review for review in reviews if not review.conclude_as_stored()]
    await count()
    while missing:
        try:
            size = await _affordable(runtime, everybody, missing[0], waiting, most)
        except BudgetExceededError as error:
            stopped = error
            break
        group, missing = missing[:size], missing[size:]
        keys = {"panels": [review.key for review in group]}
        async with locked(runtime.engine, keys, lambda: None):
            try:
                waiting += await _review(runtime, everybody, group)
            except asyncio.CancelledError:
                for review in group:
                    review.cancelled()
                raise
        await count()
    states = [review.state if review.state.has_ended else None for review in reviews]
    return PanelReviews(states, stopped, waiting)


def stored_reviews(
    runtime: Runtime, panel: Panel, labelled: Sequence[LabelledDocument]
) -> PanelReviews:
    """Return what came of every document so far, failures too; asks nobody."""
    everybody = panel.model_copy(update={"escalate": None})
    states: list[PanelState | None] = []
    for document in labelled:
        review = PanelProgress(runtime, everybody, document.document)
        review.load()
        states.append(review.state if review.conclude_as_stored(failed=True) else None)
    return PanelReviews(states, None)


async def _affordable(
    runtime: Runtime, panel: Panel, review: PanelProgress, waiting: int, most: int
) -> int:
    """Return how many documents like this one may be reviewed together; at least one.

    Raises `BudgetExceededError` once the budget is used up.
    """
    if panel.budget is None:
        return most
    raters = [
        review.rater_question(index).calls[0]
        for index in range(len(panel.raters))
        if not review.is_judge(index)
    ]
    # The arbiter reads less than a rater, and is bounded like one; judges have own budgets.
    calls = [*raters, *raters[-1:]]
    if not calls:
        await asyncio.to_thread(check_spent, runtime, spender_of_panel(panel))
        return 1
    left = await asyncio.to_thread(remaining, runtime, spender_of_panel(panel), calls, waiting)
    return max(1, min(left, most))


async def _review(runtime: Runtime, panel: Panel, group: Sequence[PanelProgress]) -> int:
    """Review these documents; returns how many wait in batches."""
    to_review: list[tuple[PanelProgress, int]] = []
    by_judges: list[tuple[PanelProgress, int]] = []
    for review in group:
        review.load()
        for index in range(len(panel.raters)):
            if (stored := review.stored_review(index)) is not None:
                review.change(raters=review.rater_changes(index, **stored))
            else:
                (by_judges if review.is_judge(index) else to_review).append((review, index))
    for review, index in by_judges:
        judged = await review.review_by_judge(index)
        changes = judged.changes | {"review": judged.value}
        review.change(raters=review.rater_changes(index, **changes))
    questions = (review.rater_question(index) for review, index in to_review)
    waiting: set[str] = set()
    for (review, index), end in zip(
        to_review, (await ask_all(runtime, questions)).ends, strict=True
    ):
        if end is None or end.value is None:
            waiting.add(review.key)
        else:
            changes = end.value.changes | {"review": end.value.value}
            review.change(raters=review.rater_changes(index, **changes))
    to_reconcile: list[PanelProgress] = []
    for review in group:
        if review.key in waiting:
            continue
        if not review.prepare_consensus():
            continue
        if (stored := review.stored_verdict()) is not None:
            review.conclude(stored)
        else:
            to_reconcile.append(review)
    verdicts = await ask_all(runtime, (review.arbiter_question() for review in to_reconcile))
    for review, last in zip(to_reconcile, verdicts.ends, strict=True):
        if last is None or last.value is None:
            waiting.add(review.key)
        else:
            review.conclude(last.value.changes | {"verdict": last.value.value})
    return len(waiting)


def prices_of(runtime: Runtime, call_ids: Sequence[int]) -> dict[int, float]:
    """Return what each of these calls cost in US dollars, NaN where that is not known.

    What a simulated model answered costs nothing; it is reckoned as the providers file prices that
    model, so that there is something to weigh.
    """
    with runtime.session() as session:
        costs = call_costs(session, call_ids)
        used = token_use(session, call_ids)
    for row in filter(lambda use: is_simulated_model(use.model), used):
        price = runtime.providers.of(row.model).prices.get(row.model.partition("/")[2], FREE)
        costs[row.call_id] = price.cost_usd(row.prompt_tokens or 0, row.completion_tokens or 0)
    return costs
