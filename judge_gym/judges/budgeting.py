"""Holding a judge, or a perturber, to its budget, which counts all that it ever asked."""

from typing import Protocol

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import BudgetPassedError, passed, said, unpriced
from judge_gym.design.budget import Budget
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Scope, Spent, spent


class Spender(Protocol):
    """Who asks a model within a budget: a judge, or a perturber."""

    @property
    def model(self) -> str: ...
    @property
    def budget(self) -> Budget | None: ...
    @property
    def key(self) -> str:
        """The second part of the key of each of its calls."""

    @property
    def called(self) -> str:
        """What it is called in messages."""


def check_price(runtime: Runtime, who: Spender) -> None:
    """Raise `ConfigError` when the model is of no provider, or its cost cannot be bounded."""
    runtime.providers.check({who.model})
    if error := unpriced(runtime.providers, who.model, who.budget or Budget(), who.called):
        raise error


def check_spent(runtime: Runtime, who: Spender) -> None:
    """Raise `BudgetPassedError` once the budget is used up."""
    if who.budget is None:
        return
    with runtime.session() as session:
        error = _used_up(who, who.budget, _used(session, who))
    if error:
        raise error


def budget_warning(session: Session, who: Spender, calls: int, cost_usd: float | None) -> str:
    """Return what a plan of these calls says when the budget will not last; empty when it will.

    `cost_usd` is what they are expected to cost, None where that is not known.
    """
    if who.budget is None or not calls:
        return ""
    used = _used(session, who)
    if error := _used_up(who, who.budget, used):
        return str(error)
    needed = {"max_calls": (used.calls, calls), "max_cost_usd": (used.cost_usd, cost_usd or 0)}
    for key, (before, more) in needed.items():
        limit = getattr(who.budget, key)
        if limit is not None and before + more > limit:
            return (
                f"{who.called} will stop before the end: budget.{key} is {limit:g}, {before:g} "
                f"used, and this needs {more:g} more. Raise budget.{key} where it is set."
            )
    return ""


def _used(session: Session, who: Spender) -> Spent:
    return spent(session, Scope(sweep="", shared_keys=[who.key]))


def _used_up(who: Spender, budget: Budget, used: Spent) -> BudgetPassedError | None:
    bound = passed(budget, used)
    if bound is None:
        return None
    key, limit = bound
    return BudgetPassedError(
        f"{who.called} has passed its budget: {key} is {limit:g}, and {said(used)}.",
        f"Completed work is stored. Raise budget.{key} where it is set, and rerun the command to "
        "resume.",
    )
