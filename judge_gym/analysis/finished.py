"""Whether a sweep is finished: nothing is missing, and its newest figures are of what there is."""

from collections.abc import Mapping

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis.running import run_in_force
from judge_gym.design.strategies.view import VIEWS
from judge_gym.design.sweep import Sweep
from judge_gym.errors import JudgeGymError
from judge_gym.lab.evidence import recipes_of_views
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.rubrics import missing_rubrics, request_key, requests_of
from judge_gym.lab.score_critics import plan_marking
from judge_gym.lab.scoring import plan_scoring
from judge_gym.lab.swapping import plan_swaps
from judge_gym.lab.sweeps import SweepRun, register, stored_plan
from judge_gym.settings import Settings
from judge_gym.store.experiments import experiments_by_tag, registered_plan
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


def finished_run(engine: Engine, configured: Settings, sweep: Sweep) -> int | None:
    """Return the analysis run with the figures of a finished sweep; None when in any doubt.

    The sweep is stored and W1 to W6 are planned by what the flows plan with, so what is missing
    is the same here as there. It stays so only when nothing is: else the flows do it again.
    """
    with Session(engine) as session:
        if latest_run(session, sweep.name) is None:
            return None  # before anything is planned, which takes long for a large sweep
        if registered_plan(session, sweep.name) != stored_plan(sweep):
            return None
        try:
            registered = register(session, configured, sweep)
            nothing_missing = _nothing_missing(session, configured, registered)
        except JudgeGymError:
            return None  # the flow that meets it says so
        run = run_in_force(session, sweep.name) if nothing_missing else None
        if run is not None:
            session.commit()
    return run


def _nothing_missing(session: Session, configured: Settings, run: SweepRun) -> bool:
    """Whether W1 to W6 would find nothing to do and nothing to complain of."""
    by_view = recipes_of_views(configured, run.utility_model)
    recipes: dict[str, str] = {view: by_view[view] for view in VIEWS[1:] if view in run.views}
    if uncollected(session, run.windows):
        return False
    for view in VIEWS[1:]:
        if view in recipes and any(
            missing_views(session, window, view, recipes[view]) for window in run.windows
        ):
            return False
    experiments = experiments_by_tag(session, run.tags).values()
    sham = run.swap is not None and run.swap.sham
    if any(missing_rubrics(session, experiments, sham=kind) for kind in {False, sham}):
        return False
    missing, unusable = plan_scoring(session, run.tags, run.name)
    if unusable or not _empty(missing):
        return False
    if run.swap is not None and not _empty(plan_swaps(session, run.tags, run.swap, run.name)):
        return False
    if plan_probing(session, run.tags, run.name):
        return False
    if run.score_critic and plan_marking(session, run.tags, run.score_critic, run.name):
        return False
    return not _too_few_readable(session, run, recipes)


def _too_few_readable(session: Session, run: SweepRun, recipes: Mapping[str, str]) -> bool:
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
