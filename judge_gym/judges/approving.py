"""Approval of costs: what a study of judges still spends, and how much nobody has approved."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender, spender_of
from judge_gym.calibration.design import Perturber
from judge_gym.judges import ModelJudge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.planning import plan_judging, plan_perturbing
from judge_gym.judges.use import Use
from judge_gym.lab.approving import SpendingLine, SpendingPlan
from judge_gym.runtime import Runtime
from judge_gym.store.decisions import approved
from judge_gym.store.spending import Scope, spent


def plan_study(
    session: Session,
    runtime: Runtime,
    called: str,
    over_usd: float,
    judgings: Sequence[Asked],
    *,
    perturbing: tuple[Perturber, Sequence[Rewriting]] | None = None,
) -> SpendingPlan:
    """Return what a study such as "Calibration notes" still spends on judging, and on its texts.

    Spent so far is all that its judges and its perturber ever spent, also elsewhere: an approval
    may so cover too little, and then a person is asked again, but never too much.
    """
    plans = plan_judging(session, runtime.providers, runtime.settings, judgings)
    lines, keys, unpriced = [], list[str](), set[str]()
    if perturbing and perturbing[1]:
        perturber, rewritings = perturbing
        calls, used = plan_perturbing(session, runtime.providers, runtime.settings, rewritings)
        provider = runtime.providers.of(perturber.model).name
        lines.append(SpendingLine("texts", perturber.model, provider, calls, used.cost_usd))
        keys += spender_of(perturber).keys
        unpriced |= {perturber.model} if used.cost_usd is None else set()
    for plan in plans:
        cost = plan.used.cost_usd if plan.used else None
        provider = "of its own"
        if isinstance(plan.judge, ModelJudge):
            provider = runtime.providers.of(plan.judge.model).name
            keys += spender_of(plan.judge).keys
        what = f"{plan.judge.name}, {plan.judge.answered_by}{plan.condition}"
        lines.append(SpendingLine("judging", what, provider, plan.calls, cost))
        unpriced |= {plan.judge.answered_by} if plan.calls and cost is None else set()
    return SpendingPlan(
        called=called,
        subject=called,
        over_usd=over_usd,
        lines=tuple(line for line in lines if line.calls),
        judges=tuple(sorted({one.judge.name for one in judgings})),
        unpriced=tuple(sorted(unpriced)),
        spent=spent(session, Scope(sweep="", shared_keys=tuple(dict.fromkeys(keys)))),
        approved=approved(session, called),
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
        spent=spent(session, Scope(sweep="", shared_keys=keys)),
        approved=approved(session, called),
    )
