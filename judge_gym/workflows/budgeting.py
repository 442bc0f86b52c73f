"""Holding a sweep to its budget: prices known before it starts, spending read as it goes on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from judge_gym.design.budget import Budget
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.llm.pricing import price_of
from judge_gym.llm.providers import Providers
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Spent, spending_scope, spent

ENOUGH_ENDED = 20
"""Calls that must have ended before the share of failures among them means something."""


class BudgetPassedError(JudgeGymError):
    """A sweep has used what its file allows; it goes on when the file allows more."""


@dataclass(frozen=True)
class SweepBudget:
    """A stored sweep, the file that bounds it, and the bounds."""

    sweep: str
    file: Path
    limits: Budget


def check_priced(providers: Providers, models: Iterable[str], budget: SweepBudget) -> None:
    """Raise `ConfigError` when a cost is bounded and a model's price is in no list."""
    if budget.limits.max_cost_usd is None:
        return
    for model in sorted(models):
        if price_of(providers, model) is None:
            raise ConfigError(
                f"{budget.file}: budget.max_cost_usd is {budget.limits.max_cost_usd:g}, but the "
                f"price of {model} is in no list, so its cost cannot be bounded.",
                f"{how_to_price(providers, model)} Or bound max_calls instead.",
            )


def how_to_price(providers: Providers, model: str) -> str:
    """Return where a price for this model is to be written."""
    provider, _, name = model.partition("/")
    return (
        f'Write prices."{name}" = {{prompt = DOLLARS, completion = DOLLARS}}, for a million '
        f"tokens, into table [{provider}] of {providers.file}."
    )


def spending_check(runtime: Runtime, budget: SweepBudget | None) -> Callable[[], None] | None:
    """Return what raises `BudgetPassedError` once the budget is passed; None without one."""
    if budget is None or budget.limits == Budget():
        return None
    with runtime.session() as session:
        scope = spending_scope(session, budget.sweep)

    def check() -> None:
        with runtime.session() as session:
            _raise_if_passed(budget, spent(session, scope))

    return check


def _raise_if_passed(budget: SweepBudget, used: Spent) -> None:
    limits = budget.limits
    if limits.max_cost_usd is not None and used.cost_usd >= limits.max_cost_usd:
        key, limit = "max_cost_usd", limits.max_cost_usd
    elif limits.max_calls is not None and used.calls >= limits.max_calls:
        key, limit = "max_calls", limits.max_calls
    elif _fails_too_often(limits, used):
        assert limits.max_failures_share is not None
        key, limit = "max_failures_share", limits.max_failures_share
    else:
        return
    raise BudgetPassedError(
        f"Sweep {budget.sweep} has passed its budget: {key} is {limit:g}, and {said(used)}.",
        "What was in flight is kept. "
        + (
            "See the errors in the ledger (llm_calls), mend their cause and run the same command "
            f"with --retry-failed; or raise {key} in {budget.file} and run the same command."
            if key == "max_failures_share"
            else f"Raise {key} in {budget.file} and run the same command: it goes on from here."
        ),
    )


def _fails_too_often(limits: Budget, used: Spent) -> bool:
    if limits.max_failures_share is None or used.ended < ENOUGH_ENDED:
        return False
    return used.failed > limits.max_failures_share * used.ended


def said(used: Spent) -> str:
    """Return what was used in words."""
    unknown = f" and the unknown cost of {used.unpriced}" if used.unpriced else ""
    return (
        f"{used.calls} calls have cost {used.cost_usd:.4g} USD{unknown}; "
        f"{used.failed} of {used.ended} that ended have failed"
    )
