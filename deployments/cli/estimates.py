"""The tables of plans, of sweeps and of judges: calls, and what they will use."""

from collections.abc import Callable, Iterator, Sequence

from deployments.cli.environment import database
from deployments.cli.output import console, show_table
from judge_gym.asking.budgeting import budget_warning, how_to_price, spender_of
from judge_gym.asking.estimating import Estimate
from judge_gym.calibration.design import Perturber
from judge_gym.design.budget import Budget
from judge_gym.gyms.use import Use
from judge_gym.judges import ModelJudge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.planning import plan_judging, plan_perturbing
from judge_gym.lab.planning import Plan, PlanLine
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.model_names import SIMULATED, is_simulated_model
from judge_gym.settings import settings

_UNKNOWN, _SIMULATED_COST = "—", "0 (simulated)"
_NAMES = ("workflow", "what", "provider")
_USED = ("prompt tokens", "answer tokens", "USD", "time")


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
    for sentence in plan.unapplied:
        console.print(f"Not applied: {sentence}", markup=False)
    for sentence in plan.assumptions:
        console.print(sentence, markup=False)
    for name in sorted({line.provider for line in lines}):
        if providers.by_name[name].batch:
            console.print(f"{name} takes batches: large parts of it cost less, within a day.")
    if budget is not None:
        bounds = budget.model_dump(exclude_none=True).items()
        console.print(f"Budget: {', '.join(f'{key} {value:g}' for key, value in bounds)}.")
        for sentence in _over_budget(plan, budget):
            console.print(sentence, markup=False)


def _over_budget(plan: Plan, budget: Budget) -> Iterator[str]:
    """Yield what will keep the whole sweep from running within its budget."""
    if budget.max_cost_usd is not None and plan.unpriced:
        yield "With max_cost_usd, the sweep does not run until every price is known."
    cost = sum(line.whole.cost_usd or 0 for line in plan.lines if not _is_simulated(line))
    if budget.max_cost_usd is not None and cost > budget.max_cost_usd:
        yield (
            f"Warning: the sweep may cost up to {dollars(cost)} USD, more than max_cost_usd "
            f"{budget.max_cost_usd:g}. It stops when the budget is used up."
        )
    calls = sum(line.at_most for line in plan.lines)
    if budget.max_calls is not None and calls > budget.max_calls:
        yield (
            f"Warning: the sweep may need up to {calls} calls, more than max_calls "
            f"{budget.max_calls}. It stops when the budget is used up."
        )


def show_judging(title: str, asked: Sequence[Asked], occasion: str = "") -> None:
    """Print what judging will use, by judge and in all; what is judged already costs nothing."""
    with database() as session:
        providers = load_providers(settings().providers_file)
        plans = plan_judging(session, providers, settings(), asked, occasion)
        warnings = [
            budget_warning(
                session,
                spender_of(one.judge),
                one.calls,
                one.used.cost_usd if one.used else None,
            )
            for one in plans
            if isinstance(one.judge, ModelJudge)
        ]
    rows: list[tuple[object, ...]] = [
        (f"{one.judge.name}, {one.judge.answered_by}", one.done, one.to_do, one.calls,
         *_whole([one.used], simulated=one.judge.is_simulated))
        for one in plans
    ]  # fmt: skip
    if len(plans) > 1:
        used = _whole(
            [one.used for one in plans], simulated=all(one.judge.is_simulated for one in plans)
        )
        sums = (sum(getattr(one, column) for one in plans) for column in ("done", "to_do", "calls"))
        rows.append(("all", *sums, *used))
    show_table(title, ("judge", "judged", "to judge", "calls", *_USED), rows)
    console.print("An answer that cannot be read is asked for once more, which is a call more.")
    if any(one.used is None or one.used.cost_usd is None for one in plans):
        console.print(f"{_UNKNOWN} is not known: the price is in no list, or the judge your own.")
    _show_warnings(warnings)


def show_perturbing(perturber: Perturber, wanted: Sequence[Rewriting]) -> None:
    """Print what having a model change these texts will use; what it has changed costs nothing."""
    model = perturber.model
    with database() as session:
        providers = load_providers(settings().providers_file)
        to_do, used = plan_perturbing(session, providers, settings(), wanted)
        warning = budget_warning(session, spender_of(perturber), to_do, used.cost_usd)
    simulated = is_simulated_model(model)
    row = (model, len(wanted) - to_do, to_do, *_whole([used], simulated=simulated))
    show_table("Texts that a model changes first", ("model", "changed", "to change", *_USED), [row])
    _show_warnings([warning])


def show_uses(title: str, uses: Sequence[Use]) -> None:
    """Print what each of these will use; what is kept costs nothing."""
    rows = [
        (one.name, "nobody", *[""] * (1 + len(_USED))) if one.model is None
        else (one.name, one.model or "a judge of your own", one.calls,
              *_whole([one.used], simulated=is_simulated_model(one.model)))
        for one in uses
    ]  # fmt: skip
    show_table(title, ("who", "asks", "calls", *_USED), rows)
    _show_warnings([one.warning for one in uses])


def _show_warnings(warnings: Sequence[str]) -> None:
    for warning in filter(None, warnings):
        console.print(f"Warning: {warning}", markup=False)


def _names(line: PlanLine) -> tuple[str, str, str]:
    return line.workflow, line.what, line.provider


def _show_estimates(
    title: str, lines: Sequence[PlanLine], pick: Callable[[PlanLine], Estimate]
) -> None:
    used = [pick(line) for line in lines]
    rows = [
        (*_names(line), *_whole([one], simulated=_is_simulated(line)))
        for line, one in zip(lines, used, strict=True)
    ]
    rows.append(("", "all", "", *_whole(used, simulated=all(map(_is_simulated, lines)))))
    show_table(title, (*_NAMES, *_USED), rows)


def _whole(used: Sequence[Estimate | None], *, simulated: bool) -> tuple[str, str, str, str]:
    """Return the cells of a sum; None is what cannot be told, and all of them one dash each.

    Times add up, since one waits for the other.
    """
    told = [one for one in used if one is not None]
    if not told:
        return (_UNKNOWN,) * 4
    known = [one.cost_usd for one in told if one.cost_usd is not None]
    parts = [dollars(sum(known))] if known else []
    parts += [_UNKNOWN] if len(known) < len(used) else []
    return (
        f"{sum(one.prompt_tokens for one in told):,}",
        f"{sum(one.answer_tokens for one in told):,}",
        _SIMULATED_COST if simulated else " + ".join(parts),
        duration(sum(one.seconds for one in told)),
    )


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
