"""Approval of costs: what a gym still spends, and how much of it nobody has approved."""

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import spender_of
from judge_gym.gyms.evaluating import LoadedGym, plan
from judge_gym.gyms.writing import Writer
from judge_gym.judges import ModelJudge
from judge_gym.judges.approving import plan_of_uses
from judge_gym.lab.approving import SpendingPlan
from judge_gym.runtime import Runtime


def plan_gym(
    session: Session, runtime: Runtime, loaded: LoadedGym, over_usd: float
) -> SpendingPlan:
    """Return what a gym still spends, at most: on the cases of its candidates and its judge."""
    spenders = [
        *(spender_of(leaf) for leaf in loaded.judge.leaves if isinstance(leaf, ModelJudge)),
        *(spender_of(one) for one in loaded.gym.candidates if isinstance(one, Writer)),
    ]
    return plan_of_uses(
        session,
        f"Gym {loaded.gym.name}",
        "cases and judging",
        plan(runtime, loaded),
        spenders,
        (loaded.judge.name,),
        over_usd,
    )
