"""Having a panel review a labelled set: through `run_panel`, so that nothing is asked twice."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge_gym.asking.budgeting import BudgetPassedError
from judge_gym.asking.engine import all_of
from judge_gym.llm.pricing import FREE
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.evaluating.labelled import LabelledDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.running import check_panel, run_panel
from judge_gym.panel.state import PanelState
from judge_gym.runtime import Runtime
from judge_gym.store.calls import call_costs, token_use

AT_ONCE = 4
"""Documents under review at a time; each holds a connection of the database."""


@dataclass(frozen=True)
class Reviewed:
    """The last state of each document's run, in order; None for one that was not begun.

    `stopped` is the panel's budget, where that ended it.
    """

    states: Sequence[PanelState | None]
    stopped: BudgetPassedError | None


async def review_all(
    runtime: Runtime,
    panel: Panel,
    labelled: Sequence[LabelledDocument],
    told: Callable[[int], None] = lambda _: None,
) -> Reviewed:
    """Have every document reviewed; what was reviewed before is not asked again.

    All raters are asked, even if the panel escalates.

    `told` is given the number of documents that have ended. A budget that is passed ends it
    without an error; raises otherwise as `run_panel` does, before anybody is asked.
    """
    await check_panel(runtime, panel)
    everybody = panel.model_copy(update={"escalate": None})
    turn, ended = asyncio.Semaphore(AT_ONCE), 0
    stopped: BudgetPassedError | None = None

    async def one(document: LabelledDocument) -> PanelState | None:
        nonlocal ended, stopped
        async with turn:
            if stopped is not None:
                return None
            try:
                state = await run_panel(runtime, everybody, document.document, emit=lambda _: None)
            except BudgetPassedError as passed:
                stopped = passed
                return None
            ended += 1
            told(ended)
            return state

    states = await all_of(one(document) for document in labelled)
    return Reviewed(states, stopped)


def prices_of(runtime: Runtime, call_ids: Sequence[int]) -> dict[int, float]:
    """Return what each of these calls cost in US dollars, NaN where that is not known.

    What a simulated model answered costs nothing; it is reckoned as the providers file prices that
    model, so that there is something to weigh.
    """
    with runtime.session() as session:
        found = call_costs(session, call_ids)
        used = token_use(session, call_ids)
    for row in filter(lambda one: is_simulated_model(one.model), used):
        price = runtime.providers.of(row.model).prices.get(row.model.partition("/")[2], FREE)
        prompt, completion = row.prompt_tokens or 0, row.completion_tokens or 0
        found[row.call_id] = (prompt * price.prompt + completion * price.completion) / 1e6
    return found
