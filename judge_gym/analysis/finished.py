"""Whether a sweep is finished: nothing is missing, and its newest figures are of what there is."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis.running import run_in_force
from judge_gym.design.names import (
    CRITIC,
    EVIDENCE,
    PARTS,
    PROBE,
    RUBRIC,
    SCORING,
    SWAP,
    WORKFLOWS,
)
from judge_gym.design.strategies.view import VIEWS
from judge_gym.design.sweep import Sweep
from judge_gym.errors import JudgeGymError
from judge_gym.lab.embedding import missing_embeddings, missing_rubric_embeddings
from judge_gym.lab.evidence import recipes_of_views
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.rubrics import missing_rubrics, request_key, requests_of
from judge_gym.lab.score_critics import plan_marking
from judge_gym.lab.scoring import plan_scoring
from judge_gym.lab.swapping import plan_swaps
from judge_gym.lab.sweeps import RegisteredSweep, register, stored_plan
from judge_gym.settings import Settings
from judge_gym.store.experiments import experiments_by_tag, registered_plan
from judge_gym.store.progress import sweep_progress
from judge_gym.store.readability import (
    judgement_answers,
    mark_answers,
    probe_answers,
    rubric_answers,
    view_answers,
)
from judge_gym.store.results import latest_run
from judge_gym.store.samples import Missing
from judge_gym.store.windows import missing_views, uncollected


@dataclass(frozen=True)
class Finished:
    """Parts of a sweep in which nothing is missing."""

    run_id: int | None
    """The analysis run with the figures; None when the analysis is not among the parts."""


def finished_parts(
    engine: Engine, configured: Settings, sweep: Sweep, parts: Collection[str] = PARTS
) -> Finished | None:
    """Return that these parts of a sweep have nothing to do; None when in any doubt.

    The sweep is stored and W1 to W6 are planned by what the flows plan with, so what is missing
    is the same here as there. It stays so only when nothing is: else the flows do it again.
    """
    analysed = "analysis" in parts
    with Session(engine) as session:
        # Before anything is planned, which takes long for a large sweep.
        if analysed and latest_run(session, sweep.name) is None:
            return None
        if registered_plan(session, sweep.name) != stored_plan(sweep):
            return None
        try:
            registered = register(session, configured, sweep)
            if _unfinished(session, registered, parts) or not _nothing_missing(
                session, configured, registered, parts
            ):
                return None
        except JudgeGymError:
            return None  # the flow that meets it says so
        run = run_in_force(session, sweep.name) if analysed else None
        if analysed and run is None:
            return None
        session.commit()
    return Finished(run)


def _unfinished(session: Session, run: RegisteredSweep, parts: Collection[str]) -> bool:
    """Whether counting the rows shows that something is missing, which takes no plan."""
    ids = list(experiments_by_tag(session, run.tags))
    progress = sweep_progress(session, ids, run.name)
    planned = {part for part in WORKFLOWS if part in parts}
    if run.swap is None:
        planned -= {SWAP}
    return any(
        part.total is None or part.done < part.total
        for name, part in progress.items()
        if name in planned
    )


def _nothing_missing(
    session: Session, configured: Settings, run: RegisteredSweep, parts: Collection[str]
) -> bool:
    """Whether these parts would find nothing to do and nothing to complain of."""
    by_view = recipes_of_views(configured, run.utility_model)
    recipes: dict[str, str] = {view: by_view[view] for view in VIEWS[1:] if view in run.views}
    if EVIDENCE in parts:
        if uncollected(session, run.windows):
            return False
        for view in VIEWS[1:]:
            if view in recipes and any(
                missing_views(session, window, view, recipes[view]) for window in run.windows
            ):
                return False
        if any(
            missing_embeddings(session, one.window, one.plan, recipes.get(one.plan.view, ""))
            for one in run.bundles
        ):
            return False
    experiments = experiments_by_tag(session, run.tags).values()
    sham = run.swap is not None and run.swap.sham
    if RUBRIC in parts and any(
        missing_rubrics(session, experiments, sham=kind)
        or (
            run.rubric_embeddings
            and missing_rubric_embeddings(session, experiments, run.rubric_embeddings, sham=kind)
        )
        for kind in {False, sham}
    ):
        return False
    if SCORING in parts:
        missing, unusable = plan_scoring(session, run.tags, run.name)
        if unusable or not _empty(missing):
            return False
    swaps = run.swap if SWAP in parts else None
    if swaps is not None and not _empty(plan_swaps(session, run.tags, swaps, run.name)):
        return False
    if PROBE in parts and plan_probing(session, run.tags, run.name):
        return False
    critic = run.score_critic if CRITIC in parts else None
    if critic and plan_marking(session, run.tags, critic, run.name):
        return False
    return not _too_few_readable(session, run, recipes)


def _too_few_readable(session: Session, run: RegisteredSweep, recipes: Mapping[str, str]) -> bool:
    """Whether a flow of the sweep would end as no success for want of readable answers."""
    experiments = experiments_by_tag(session, run.tags).values()
    sham = run.swap is not None and run.swap.sham
    requests = [
        request for kind in {False, sham} for request in requests_of(experiments, sham=kind)
    ]
    answers = [
        *view_answers(session, run.windows, recipes),
        *rubric_answers(session, [request_key(request) for request in requests]),
        *judgement_answers(session, run.tags, ["own"], run.name),
        *judgement_answers(session, run.tags, ["swap", "sham"], run.name),
        *probe_answers(session, run.tags, run.name),
        *mark_answers(session, run.tags, run.score_critic, run.name),
    ]
    return any(count.too_few for count in answers)


def _empty(missing: Missing) -> bool:
    return not missing.by_model and not missing.blocked
