"""Holding a sweep to its budget: prices known before it starts, spending read as it goes on."""

from collections.abc import Callable, Iterable
from pathlib import Path

from judge_gym.counting import counted
from judge_gym.design.budget import Budget
from judge_gym.design.frozen import Frozen
from judge_gym.errors import ConfigError, JudgeGymError, did_you_mean
from judge_gym.llm.pricing import price_of, priced_names
from judge_gym.llm.providers import Providers
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Spent, spending_scope, spent

ENOUGH_ENDED = 20
"""Calls that must have ended before the share of failures among them means something."""


class BudgetPassedError(JudgeGymError):
    """A sweep has used what its file allows; it goes on when the file allows more."""


class SweepBudget(Frozen):
    """A stored sweep, the file that bounds it, and the bounds."""

    sweep: str
    """The sweep's name; what its experiments, windows and rubrics have cost counts."""
    file: Path
    """The sweep file that the bounds are from, which messages name."""
    limits: Budget
    """The bounds themselves."""


def check_priced(providers: Providers, models: Iterable[str], budget: SweepBudget) -> None:
    """Raise `ConfigError` when a cost is bounded and a model's price is in no list."""
    for model in sorted(models):
        if error := unpriced(providers, model, budget.limits, str(budget.file)):
            raise error


def unpriced(
    providers: Providers, model: str, limits: Budget, bounded_by: str
) -> ConfigError | None:
    """Return what to say when a cost is bounded and the model's price is in no list."""
    if limits.max_cost_usd is None or price_of(providers, model) is not None:
        return None
    return ConfigError(
        f"{bounded_by}: budget.max_cost_usd is {limits.max_cost_usd:g}, but the price of {model} "
        "is in no list, so its cost cannot be bounded.",
        f"{how_to_price(providers, model)} Or bound max_calls instead.",
    )


def how_to_price(providers: Providers, model: str) -> str:
    """Return where a price for this model is to be written, and a name like it that has one."""
    provider, _, name = model.partition("/")
    return (
        f"{did_you_mean(name, priced_names(providers.of(model)))}"
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


def passed(limits: Budget, used: Spent) -> tuple[str, float] | None:
    """Return which bound is passed, and the bound; None within all of them."""
    if limits.max_cost_usd is not None and used.cost_usd >= limits.max_cost_usd:
        return "max_cost_usd", limits.max_cost_usd
    if limits.max_calls is not None and used.calls >= limits.max_calls:
        return "max_calls", limits.max_calls
    if limits.max_failures_share is not None and _fails_too_often(limits.max_failures_share, used):
        return "max_failures_share", limits.max_failures_share
    return None


def _raise_if_passed(budget: SweepBudget, used: Spent) -> None:
    bound = passed(budget.limits, used)
    if bound is None:
        return
    key, limit = bound
    raise BudgetPassedError(
        f"Sweep {budget.sweep} has passed its budget: {key} is {limit:g}, and {said(used)}.",
        "What was in flight is kept. "
        + (
            "See the errors in the ledger (llm_calls), mend their cause and run it again with "
            f"retry_failed; or raise {key} in {budget.file} and run it again."
            if key == "max_failures_share"
            else f"Raise {key} in {budget.file} and rerun the command to resume."
        ),
    )


def _fails_too_often(most: float, used: Spent) -> bool:
    return used.ended >= ENOUGH_ENDED and used.failed > most * used.ended


def said(used: Spent) -> str:
    """Return what was used in words."""
    unknown = f" and the unknown cost of {used.unpriced}" if used.unpriced else ""
    return (
        f"{counted(used.calls, 'call')} cost {used.cost_usd:.4g} USD{unknown}; "
        f"{used.failed} of {used.ended} that ended have failed"
    )
