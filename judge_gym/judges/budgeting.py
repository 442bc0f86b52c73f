"""Holding a judge to its budget, which counts all that it ever asked."""

from judge_gym.design.budget import Budget
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Scope, spent
from judge_gym.workflows.budgeting import BudgetPassedError, passed, said, unpriced


def check_price(runtime: Runtime, judge: ModelJudge) -> None:
    """Raise `ConfigError` when the model is of no provider, or its cost cannot be bounded."""
    runtime.providers.check({judge.model})
    limits = judge.budget or Budget()
    if error := unpriced(runtime.providers, judge.model, limits, f"Judge {judge.name!r}"):
        raise error


def check_spent(runtime: Runtime, judge: ModelJudge) -> None:
    """Raise `BudgetPassedError` once the judge's budget is used up."""
    if judge.budget is None:
        return
    with runtime.session() as session:
        used = spent(session, Scope(sweep="", shared_keys=[judge.key]))
    if bound := passed(judge.budget, used):
        key, limit = bound
        raise BudgetPassedError(
            f"Judge {judge.name!r} has passed its budget: {key} is {limit:g}, and {said(used)}.",
            f"What it has judged is kept. Raise budget.{key} of the judge and run the same again: "
            "it goes on from here.",
        )
