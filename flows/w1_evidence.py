"""W1 evidence: collect each window once, then make the views that were asked for."""

from prefect import flow
from prefect.client.schemas.objects import State

from flows.endings import resumable
from flows.forms import Model, OrLeftOut, windows_run_name
from flows.progress import Counted
from flows.running import Work, locked_run
from judge_gym.asking.budgeting import SweepBudget
from judge_gym.design.experiment import EvidenceView
from judge_gym.design.strategies.view import VIEWS
from judge_gym.lab.embedding import EmbeddedBundles, missing_embeddings
from judge_gym.lab.evidence import recipes_of_views
from judge_gym.store.readability import view_answers
from judge_gym.store.windows import missing_views
from tasks.events import emit_failure
from tasks.lab import embed, make_views


@flow(
    name="w1-evidence",
    flow_run_name=windows_run_name,
    validate_parameters=True,
    on_failure=[emit_failure],
)
@resumable
async def w1_evidence(
    windows: list[int],
    views: list[EvidenceView],
    utility_model: Model,
    budget: SweepBudget | None = None,
    bundles: OrLeftOut[list[EmbeddedBundles]] = None,
) -> State[None]:
    """Collect these windows, make `views` of their documents and embed what bundles compare.

    Args:
        windows: ids of windows, as `judge-gym evidence list` shows them.
        views: cleaned, neutralized, abstracted; each is made from the one before.
        utility_model: the model that edits, as provider/model; not one of the judges'
            families, if possible.
        budget: what the sweep may use; no new work begins once it is used up.
        bundles: plans of bundles that compare embeddings, each with the id of its window.
    """
    async with locked_run({"windows": windows}, budget=budget) as run:
        progress = Counted("window", len(windows))
        for window_id in windows:
            await run.collect(window_id)
            await progress.add({"collected": 1})
        provider = run.runtime.providers.of(utility_model)
        recipes = recipes_of_views(run.runtime.settings, utility_model)
        for view in VIEWS[1:]:
            if view not in views or run.summary.waiting:  # each view is made from the one before
                continue
            works = [
                Work(
                    make_views,
                    (provider.name,),
                    run.query(missing_views, window_id, view, recipes[view]),
                    f"{view} view (window {window_id})",
                    {"view": view, "model": utility_model, "budget": budget},
                    as_batches=bool(provider.batch),
                )
                for window_id in windows
            ]
            await run.do_all(f"{view} view", works)
        for one in bundles or ():
            if run.summary.waiting:  # its view may be on its way
                break
            recipe = recipes.get(one.plan.view, "")
            work = Work(
                embed,
                (run.runtime.providers.of(one.plan.embeddings).name,),
                run.query(missing_embeddings, one.window, one.plan, recipe),
                f"embedding (window {one.window})",
                {"window": one.window, "plan": one.plan, "recipe": recipe, "budget": budget},
            )
            await run.do_all("embedding", [work])
        run.count(view_answers, windows, {view: recipes[view] for view in views})
        return await run.state()
