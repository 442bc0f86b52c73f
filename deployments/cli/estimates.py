"""The tables of `judge-gym sweep plan`: calls, and what they will use."""

from collections.abc import Callable, Sequence

from deployments.cli.output import console, show_table
from judge_gym.design.budget import Budget
from judge_gym.llm.calls import SIMULATED
from judge_gym.llm.providers import Providers
from judge_gym.workflows.budgeting import how_to_price
from judge_gym.workflows.estimating import Estimate
from judge_gym.workflows.planning import Plan, PlanLine

_UNKNOWN, _SIMULATED_COST = "—", "0 (simulated)"
_NAMES = ("workflow", "what", "provider")


def show_plan(plan: Plan, providers: Providers, budget: Budget | None) -> None:
    """Print the calls, what all of them use, what is left of that, and what it rests on."""
    lines = plan.lines
    rows: list[tuple[object, ...]] = [
        (*_names(line), line.at_most, line.done, line.to_do) for line in lines
    ]
    sums = (sum(getattr(line, column) for line in lines) for column in ("at_most", "done", "to_do"))
    rows.append(("", "all", "", *sums))
    show_table("LLM calls", (*_NAMES, "calls at most", "done", "to do at most"), rows)
    _show_estimates("What all of it uses, at most", lines, lambda line: line.whole)
    if any(line.done for line in lines):
        _show_estimates("What is left of that", lines, lambda line: line.left)
    for model in plan.unpriced:
        unknown = f"The price of {model} is in no list, so its cost is not known ({_UNKNOWN})."
        console.print(unknown, how_to_price(providers, model), markup=False)
    for sentence in plan.assumptions:
        console.print(sentence, markup=False)
    for name in sorted({line.provider for line in lines}):
        if providers.by_name[name].batch:
            console.print(f"{name} takes batches: large parts of it cost less, within a day.")
    if budget is not None:
        bounds = budget.model_dump(exclude_none=True).items()
        console.print(f"Budget: {', '.join(f'{key} {value:g}' for key, value in bounds)}.")


def _names(line: PlanLine) -> tuple[str, str, str]:
    return line.workflow, line.what, line.provider


def _show_estimates(
    title: str, lines: Sequence[PlanLine], pick: Callable[[PlanLine], Estimate]
) -> None:
    used = [pick(line) for line in lines]
    rows = [
        (*_names(line), *_cells(one, _cost(line, one)))
        for line, one in zip(lines, used, strict=True)
    ]
    known = [one.cost_usd for one in used if one.cost_usd is not None]
    whole = Estimate(
        sum(one.prompt_tokens for one in used),
        sum(one.answer_tokens for one in used),
        sum(known),
        # One workflow waits for the one before.
        sum(one.seconds for one in used),
    )
    cost = dollars(sum(known)) + (f" + {_UNKNOWN}" if len(known) < len(used) else "")
    if all(map(_is_simulated, lines)):
        cost = _SIMULATED_COST
    rows.append(("", "all", "", *_cells(whole, cost)))
    show_table(title, (*_NAMES, "prompt tokens", "answer tokens", "USD", "time"), rows)


def _cells(used: Estimate, cost: str) -> tuple[str, str, str, str]:
    return f"{used.prompt_tokens:,}", f"{used.answer_tokens:,}", cost, duration(used.seconds)


def _cost(line: PlanLine, used: Estimate) -> str:
    if _is_simulated(line):
        return _SIMULATED_COST
    return _UNKNOWN if used.cost_usd is None else dollars(used.cost_usd)


def _is_simulated(line: PlanLine) -> bool:
    return f"{line.provider}/" == SIMULATED


def dollars(amount: float) -> str:
    """Return cents, or the first two digits of less than ten of them."""
    return f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:.2g}"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 or not seconds else "1 s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
