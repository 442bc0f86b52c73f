"""W1 evidence: collect each window once, then make the views that were asked for."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.chunks import Tally, Work, run_chunks
from flows.claiming import alone
from flows.names import of_windows
from flows.parameters import Model
from flows.progress import Counted
from judge_gym.asking.budgeting import SweepBudget, spending_check
from judge_gym.design.experiment import EvidenceView
from judge_gym.design.strategies.view import VIEWS
from judge_gym.store.readability import of_views
from judge_gym.store.windows import missing_views
from tasks.events import tell_failure
from tasks.lab import collect_window, make_views
from tasks.policy import declare_limits
from tasks.runtime import runtime


@flow(
    name="w1-evidence",
    flow_run_name=of_windows,
    validate_parameters=True,
    on_failure=[tell_failure],
)
async def w1_evidence(
    windows: list[int],
    views: list[EvidenceView],
    utility_model: Model,
    budget: SweepBudget | None = None,
) -> State[None]:
    """Collect these windows and make `views` of their documents.

    Args:
        windows: ids of windows, as `judge-gym window list` shows them.
        views: cleaned, neutralized, abstracted; each is made from the one before.
        utility_model: the model that edits, as provider/model; not one of the judges'
            families, if possible.
        budget: what the sweep may use; no new work begins once it is passed.
    """
    async with runtime() as current, alone(current, "windows", windows):
        await declare_limits()
        check = spending_check(current, budget)
        tally = Tally()
        progress = Counted("windows", len(windows))
        for window_id in windows:
            await collect_window(window_id)
            await progress.add({"collected": 1})
        for view in VIEWS[1:]:
            if view not in views:
                continue
            provider = current.providers.of(utility_model)
            with current.session() as session:
                works = [
                    Work(
                        make_views,
                        provider.name,
                        missing_views(session, window_id, view),
                        f"{view} views of window {window_id},",
                        {"view": view, "model": utility_model},
                        as_batches=provider.batch,
                    )
                    for window_id in windows
                ]
            tally.add(await run_chunks(current, f"{view} views", works, check))
            if tally.waiting:  # the next view is made from this one
                break
        with current.session() as session:
            tally.answers = of_views(session, windows, views)
        return await tally.state(current)
