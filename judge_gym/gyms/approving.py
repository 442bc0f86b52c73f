"""Approval of costs: what a gym still spends, and how much of it nobody has approved."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender, spender_of
from judge_gym.gyms.evaluating import LoadedGym, plan
from judge_gym.gyms.use import Use
from judge_gym.gyms.writing import Writer
from judge_gym.judges import ModelJudge
from judge_gym.lab.approving import SpendingLine, SpendingPlan
from judge_gym.runtime import Runtime
from judge_gym.store.decisions import approved
from judge_gym.store.spending import Scope, spent


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


def plan_of_uses(
    session: Session,
    called: str,
    part: str,
    uses: Sequence[Use],
    spenders: Sequence[Spender],
    judges: tuple[str, ...],
    over_usd: float,
) -> SpendingPlan:
    """Return what a study such as "Gym apply" still spends, given who will use what."""
    asked = [use for use in uses if use.calls and use.model is not None]
    unpriced = {
        use.model or use.name for use in asked if use.used is None or use.used.cost_usd is None
    }
    keys = tuple(dict.fromkeys(key for one in spenders for key in one.keys))
    return SpendingPlan(
        called=called,
        subject=called,
        over_usd=over_usd,
        lines=tuple(
            SpendingLine(
                part,
                use.name,
                use.model or "of its own",
                use.calls,
                use.used.cost_usd if use.used else None,
            )
            for use in asked
        ),
        judges=judges,
        unpriced=tuple(sorted(unpriced)),
        spent_usd=spent(session, Scope(sweep="", shared_keys=keys)).cost_usd,
        approved=approved(session, called),
    )
