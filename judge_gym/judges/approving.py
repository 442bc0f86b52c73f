"""Approval of costs: what a study of judges still spends, and how much nobody has approved."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import spender_of
from judge_gym.calibration.design import CalibrationDesign, Perturber
from judge_gym.judges import Judge, ModelJudge
from judge_gym.judges.calibrating.judging import Asked, criticisms
from judge_gym.judges.calibrating.perturbing import expected
from judge_gym.judges.calibrating.texts import Rewriting, changed_texts, rewritings
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.planning import plan_judging, plan_perturbing
from judge_gym.lab.approving import SpendingLine, SpendingPlan
from judge_gym.runtime import Runtime
from judge_gym.store.decisions import approved
from judge_gym.store.spending import Scope, spent


def plan_calibration(
    session: Session,
    runtime: Runtime,
    design: CalibrationDesign,
    judges: Sequence[Judge],
    originals: ItemFile,
    over_usd: float,
) -> SpendingPlan:
    """Return what a calibration still spends: on changed texts, judgements and their critics."""
    to_rewrite = rewritings(originals.texts, design)
    items = changed_texts(originals.texts, design, expected(session, to_rewrite)).items
    asked = [Asked(judge, items, design.repeats) for judge in judges]
    with session.begin_nested() as stored:
        asked += criticisms(session, judges, items, design.repeats, expected=True)
        stored.rollback()
    changed = (design.perturber, to_rewrite) if design.perturber else None
    called = f"Calibration {design.name}"
    return plan_study(session, runtime, called, over_usd, asked, perturbing=changed)


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
        spent_usd=spent(session, Scope(sweep="", shared_keys=tuple(dict.fromkeys(keys)))).cost_usd,
        approved=approved(session, called),
    )
