"""Budgets: check prices before work begins, and check what was spent while it goes on."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.fields import Frozen
from judge_gym.design.plans import Budget
from judge_gym.errors import RETRY_FAILED, ConfigError, JudgeGymError, did_you_mean
from judge_gym.llm import pricing
from judge_gym.llm.capabilities import request_of, taken_by
from judge_gym.llm.keys import refusals
from judge_gym.llm.pricing import price_of, priced_names
from judge_gym.llm.providers import Providers
from judge_gym.records.calls import Call
from judge_gym.runtime import Runtime
from judge_gym.store.spending import Scope, Spent, spending_scope, spent

ENOUGH_ENDED = 20
"""Calls that must have ended before the share of failures among them means something."""
UNBOUNDED = 10**9
"""Questions that a budget without a bound on calls or cost pays for."""


class BudgetExceededError(JudgeGymError):
    """A budget is used up; the work resumes when it is raised."""

    def __init__(self, message: str, remedy: str | Iterable[str] = "") -> None:
        super().__init__(message, remedy)
        self.spender: Spender | None = None
        """Who used up its budget, unless the error combines several."""


class SweepBudget(Frozen):
    """A stored sweep and its budget, with the file that sets the budget."""

    sweep: str
    """The sweep's name; what its experiments, windows and rubrics have cost counts."""
    file: Path
    """The sweep file that the bounds are from, which messages name."""
    limits: Budget
    """The bounds themselves."""

    def spender(self, models: Sequence[str] = (), workers: int = 1) -> "Spender":
        """Return the sweep, with the models that it calls, as a spender."""
        return Spender(
            f"Sweep {self.sweep}",
            frozenset(models),
            self.limits,
            sweep=self.sweep,
            file=self.file,
            workers=workers,
        )


@dataclass(frozen=True)
class Spender:
    """What has a budget and spends it: a sweep, a judge, a perturber, a gym's writer or a panel."""

    called: str
    """Its name in messages, such as "Judge 'notes'"."""
    models: frozenset[str]
    limits: Budget
    keys: tuple[str, ...] = ()
    """The second parts of the keys of its calls, unless it is a sweep."""
    sweep: str = ""
    """The name of the sweep it is, if it is one."""
    file: Path | None = None
    """Where its budget is set, as far as that is known."""
    budget_key: str = "budget"
    """The key of its budget in that file."""
    workers: int = 1
    """How many spend at once: none begins more than its part of what is left."""

    @property
    def where(self) -> str:
        """Where its budget is set, in words."""
        return f"in {self.file}" if self.file else "where it is set"

    def scope(self, session: Session) -> Scope:
        """Return whose calls count; raises `StoreError` for a sweep that is not stored."""
        if self.sweep:
            return spending_scope(session, self.sweep)
        return Scope(sweep="", shared_keys=self.keys)


class Bounded(Protocol):
    """Whoever calls one model within a budget of its own."""

    @property
    def model(self) -> str: ...
    @property
    def budget(self) -> Budget | None: ...
    @property
    def key(self) -> str: ...
    @property
    def called(self) -> str: ...


def spender_of(bounded: Bounded, workers: int = 1) -> Spender:
    """Return a judge, perturber or writer as a spender."""
    return own_spender(
        bounded.called, frozenset({bounded.model}), bounded.budget, bounded.key, workers
    )


def own_spender(
    called: str, models: frozenset[str], budget: Budget | None, key: str, workers: int = 1
) -> Spender:
    """Return whoever has a budget of its own, set where that was read, as a spender."""
    limits = budget or Budget()
    place = limits.place
    return Spender(
        called,
        models,
        limits,
        keys=(key,),
        file=place.file if place else None,
        budget_key=place.key if place else "budget",
        workers=workers,
    )


def check_priced(providers: Providers, spender: Spender) -> None:
    """Raise `ConfigError` when a cost is bounded and the price of a model is unknown."""
    limit = spender.limits.max_cost_usd
    for model in sorted(spender.models):
        if limit is not None and price_of(providers, model) is None:
            name = spender.file or spender.called
            raise ConfigError(
                f"{name}: {spender.budget_key}.max_cost_usd is {limit:g}, but the price of {model} "
                "is in no list, so its cost cannot be bounded.",
                f"{how_to_price(providers, model)} Or bound max_calls instead.",
            )


def how_to_price(providers: Providers, model: str) -> str:
    """Return where to set a price for this model, and a name like it that has one."""
    provider, _, name = model.partition("/")
    return (
        f"{did_you_mean(name, priced_names(providers.of(model)))}"
        f'Write prices."{name}" = {{prompt = DOLLARS, completion = DOLLARS}}, for a million '
        f"tokens, into table [{provider}] of {providers.file}."
    )


def spending_check(runtime: Runtime, budget: SweepBudget | None) -> Callable[[], None] | None:
    """Return what raises `BudgetExceededError` once the budget is used up; None without one."""
    if budget is None or budget.limits == Budget():
        return None
    spender = budget.spender()
    with runtime.session() as session:
        scope = spender.scope(session)

    def check() -> None:
        with runtime.session() as session:
            error = exceeded_error(spender, spent(session, scope))
        if error:
            raise error

    return check


def check_spent(runtime: Runtime, spender: Spender) -> Spent:
    """Return what was used; raises `BudgetExceededError` once the budget is used up."""
    with runtime.session() as session:
        used = spent(session, spender.scope(session))
    if error := exceeded_error(spender, used):
        raise error
    return used


def remaining(runtime: Runtime, spender: Spender, calls: Sequence[Call], waiting: int = 0) -> int:
    """Return how many questions with such opening calls the rest of the budget pays for.

    A call costs at most its prompt, the room for thinking and its longest answer. `waiting`
    questions are in batches, which have cost nothing yet. Of several workers each is given its part
    of what is neither used nor begun by another one of this process, so that together they begin at
    most one question each beyond it. Raises `BudgetExceededError` once the budget is used up.
    """
    limits = spender.limits
    if limits == Budget():
        return UNBOUNDED
    used, begun = check_spent(runtime, spender), runtime.begun[spender]
    left = float(UNBOUNDED)
    if limits.max_calls is not None:
        left = (limits.max_calls - used.calls) / len(calls) - begun
    if limits.max_cost_usd is not None:
        cost = sum(highest_cost(runtime.providers, call) for call in calls)
        unspent = limits.max_cost_usd - used.bound_usd
        left = min(left, unspent / cost - waiting - begun if cost else left)
    return max(0, math.floor(left / spender.workers))


def budget_warning(session: Session, spender: Spender, calls: int, cost_usd: float | None) -> str:
    """Return a warning when a plan of these calls exceeds the budget; empty when it does not.

    `cost_usd` is what they are expected to cost, None where that is not known.
    """
    if spender.limits == Budget() or not calls:
        return ""
    used = spent(session, spender.scope(session))
    if error := exceeded_error(spender, used):
        return str(error)
    needed = {"max_calls": (used.calls, calls), "max_cost_usd": (used.bound_usd, cost_usd or 0)}
    for key, (before, more) in needed.items():
        limit = getattr(spender.limits, key)
        if limit is not None and before + more > limit:
            return (
                f"{spender.called} will stop before the end: {spender.budget_key}.{key} is "
                f"{limit:g}, {before:g} used, and this needs {more:g} more. "
                f"Raise {spender.budget_key}.{key} {spender.where}."
            )
    return ""


def plan_warnings(
    session: Session, providers: Providers, spender: Spender, calls: int, cost_usd: float | None
) -> Iterator[str]:
    """Yield what keeps a run from making these calls, or some of them; nothing without calls.

    `cost_usd` is as for `budget_warning`.
    """
    if not calls:
        return
    yield from refusals(providers, spender.models)
    try:
        check_priced(providers, spender)
    except ConfigError as error:
        yield str(error)
    if warning := budget_warning(session, spender, calls, cost_usd):
        yield warning


def exceeded_error(spender: Spender, used: Spent) -> BudgetExceededError | None:
    """Return the error of a budget that is used up; None within all its bounds."""
    bound = exceeded_limit(spender.limits, used)
    if bound is None:
        return None
    key, limit = bound
    reason = summary(used)
    # The other bounds stop work at their value.
    verb = "exceeded" if key == "max_failures_share" else "reached"
    remedy = f"Raise {spender.budget_key}.{key} {spender.where} and rerun the command to resume."
    if key == "max_failures_share":
        reason += f"; {used.failed} of {used.ended} that ended have failed"
        remedy = (
            "Fix the cause of the errors in the ledger (llm_calls) and rerun the command with "
            f"{RETRY_FAILED}. Or: {remedy[0].lower()}{remedy[1:]}"
        )
    error = BudgetExceededError(
        f"{spender.called} has {verb} its budget: {key} is {limit:g}, and {reason}.",
        f"Completed work is stored. {remedy}",
    )
    error.spender = spender
    return error


def recounted(runtime: Runtime, error: BudgetExceededError) -> BudgetExceededError:
    """Return the error with what calls used that were in flight when it was raised."""
    if error.spender is None:
        return error
    with runtime.session() as session:
        used = spent(session, error.spender.scope(session))
    return exceeded_error(error.spender, used) or error


def exceeded_limit(limits: Budget, used: Spent) -> tuple[str, float] | None:
    """Return the first limit that is used up, as its name and value; None within all of them."""
    if limits.max_cost_usd is not None and used.bound_usd >= limits.max_cost_usd:
        return "max_cost_usd", limits.max_cost_usd
    if limits.max_calls is not None and used.calls >= limits.max_calls:
        return "max_calls", limits.max_calls
    most = limits.max_failures_share
    if most is not None and used.ended >= ENOUGH_ENDED and used.failed > most * used.ended:
        return "max_failures_share", most
    return None


def summary(used: Spent) -> str:
    """Return what was used in words."""
    return f"{counted(used.calls, 'call')} cost {used.cost_in_words}"


def highest_cost(providers: Providers, call: Call) -> float:
    """Return the most that a call may cost, in US dollars; 0 for a model without a price."""
    # As the gateway sends it: with the room that the model has for thinking.
    longest = request_of(call, taken_by(providers, call.model)).limit
    return pricing.highest_cost(providers, call, longest) or 0.0
