"""Which experiments a workflow has something to do for, so that nobody is sent for the others."""

from collections.abc import Callable
from contextlib import suppress

from sqlalchemy.orm import Session

from judge_gym.design.names import CRITIC, SCORING, SWAP
from judge_gym.errors import JudgeGymError
from judge_gym.lab.probing import plan_probing
from judge_gym.lab.score_critics import plan_marking
from judge_gym.lab.scoring import plan_scoring
from judge_gym.lab.swapping import plan_swaps
from judge_gym.lab.sweeps import RegisteredSweep


def lacking(session: Session, workflow: str, run: RegisteredSweep) -> list[str]:
    """Return those of a sweep's experiments that W3 to W6 can do something for now, by tag.

    For W4 the arms of all of them are planned first, since pairs are chosen among all. Raises what
    planning swaps raises.
    """
    if workflow == SWAP:
        plan_swaps(session, run.tags, run.swap, run.name)
    missing = _missing_of(workflow, run.name, run.score_critic)
    return [tag for tag in run.tags if missing(session, tag)]


def _missing_of(workflow: str, sweep: str, score_critic: str) -> Callable[[Session, str], object]:
    if workflow == SCORING:
        return lambda session, tag: _missing_scores(session, tag, sweep)
    if workflow == SWAP:
        return lambda session, tag: plan_swaps(session, [tag], None, sweep).by_model
    if workflow == CRITIC:
        return lambda session, tag: plan_marking(session, [tag], score_critic, sweep)
    return lambda session, tag: plan_probing(session, [tag], sweep)


def _missing_scores(session: Session, tag: str, sweep: str) -> object:
    # What is wrong with an experiment that cannot be scored is said when all are planned together.
    with suppress(JudgeGymError):
        return plan_scoring(session, [tag], sweep)[0].by_model
    return None
