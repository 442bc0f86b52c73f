"""Holding a judge, or a perturber, to its budget, which counts all that it ever asked."""

from typing import Protocol

from judge_gym.design.budget import Budget
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Scope, spent
from judge_gym.workflows.budgeting import BudgetPassedError, passed, said, unpriced


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
        used = spent(session, Scope(sweep="", shared_keys=[who.key]))
    if bound := passed(who.budget, used):
        key, limit = bound
        raise BudgetPassedError(
            f"{who.called} has passed its budget: {key} is {limit:g}, and {said(used)}.",
            f"What it has done is kept. Raise budget.{key} where it is set, and run the same "
            "again: it goes on from here.",
        )
