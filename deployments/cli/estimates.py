"""Tables of plans for sweeps and judges: calls, tokens, cost and time."""

from collections.abc import Callable, Iterator, Sequence

from deployments.cli.environment import database
from deployments.cli.output import console, show_table
from judge_gym.asking.budgeting import budget_warning, how_to_price, spender_of
from judge_gym.asking.estimating import Estimate
from judge_gym.calibration.design import Perturber
from judge_gym.design.plans import Budget
from judge_gym.formats import dollars, duration
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
RETRIED_ONCE = "Unparseable answers are retried once, with one more call each."
_USED = ("prompt tokens", "answer tokens", "USD", "time")


def show_plan(plan: Plan, providers: Providers, budget: Budget | None) -> None:
    """Print the calls, tokens, cost and time of a sweep, what is left of them, and assumptions."""
    lines = plan.lines
    rows: list[tuple[object, ...]] = [
        (*_names(line), line.at_most, line.done, line.to_do) for line in lines
    ]
    sums = (sum(getattr(line, column) for line in lines) for column in ("at_most", "done", "to_do"))
    rows.append(("", "all", "", *sums))
    show_table("LLM calls", (*_NAMES, "calls at most", "done", "to do at most"), rows)
    _show_estimates("Upper bound for the whole sweep", lines, lambda line: line.whole)
    if any(line.done for line in lines):
        _show_estimates("Left of that", lines, lambda line: line.left)
    for model in plan.unpriced:
        unknown = f"The cost of {model} is unknown ({_UNKNOWN}): no price for this model."
        console.print(unknown, how_to_price(providers, model), markup=False)
    for sentence in plan.unapplied:
        console.print(f"Not applied: {sentence}", markup=False)
    for sentence in plan.assumptions:
        console.print(sentence, markup=False)
    for name in sorted({line.provider for line in lines}):
        if providers.by_name[name].batch:
            console.print(f"{name} uses the batch API: cheaper, answers within 24 h.")
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


def show_judging(title: str, asked: Sequence[Asked], review_day: str = "") -> None:
    """Print the calls, tokens, cost and time of judging; stored judgements cost nothing."""
    with database() as session:
        providers = load_providers(settings().providers_file)
        plans = plan_judging(session, providers, settings(), asked, review_day)
        warnings = [
            budget_warning(
                session,
                spender_of(plan.judge),
                plan.calls,
                plan.used.cost_usd if plan.used else None,
            )
            for plan in plans
            if isinstance(plan.judge, ModelJudge)
        ]
    rows: list[tuple[object, ...]] = [
        (f"{plan.judge.name}, {plan.judge.answered_by}", plan.done, plan.to_do, plan.calls,
         *_whole([plan.used], simulated=plan.judge.is_simulated))
        for plan in plans
    ]  # fmt: skip
    if len(plans) > 1:
        used = _whole(
            [plan.used for plan in plans], simulated=all(plan.judge.is_simulated for plan in plans)
        )
        sums = (
            sum(getattr(plan, column) for plan in plans) for column in ("done", "to_do", "calls")
        )
        rows.append(("all", *sums, *used))
    show_table(title, ("judge", "judged", "to judge", "calls", *_USED), rows)
    console.print(RETRIED_ONCE)
    if any(plan.used is None or plan.used.cost_usd is None for plan in plans):
        console.print(f"{_UNKNOWN}: unknown (no price for this model, or a custom judge).")
    _show_warnings(warnings)


def show_perturbing(perturber: Perturber, wanted: Sequence[Rewriting]) -> None:
    """Print the tokens, cost and time of perturbing texts; stored texts cost nothing."""
    model = perturber.model
    with database() as session:
        providers = load_providers(settings().providers_file)
        to_do, used = plan_perturbing(session, providers, settings(), wanted)
        warning = budget_warning(session, spender_of(perturber), to_do, used.cost_usd)
    simulated = is_simulated_model(model)
    row = (model, len(wanted) - to_do, to_do, *_whole([used], simulated=simulated))
    show_table(
        "Texts to perturb with a model first", ("model", "changed", "to change", *_USED), [row]
    )
    _show_warnings([warning])


def show_uses(title: str, uses: Sequence[Use]) -> None:
    """Print the calls, tokens, cost and time of each; stored results cost nothing."""
    rows = [
        (use.name, "no model", *[""] * (1 + len(_USED))) if use.model is None
        else (use.name, use.model or "a custom judge", use.calls,
              *_whole([use.used], simulated=is_simulated_model(use.model)))
        for use in uses
    ]  # fmt: skip
    show_table(title, ("who", "model", "calls", *_USED), rows)
    _show_warnings([use.warning for use in uses])


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
        (*_names(line), *_whole([estimate], simulated=_is_simulated(line)))
        for line, estimate in zip(lines, used, strict=True)
    ]
    rows.append(("", "all", "", *_whole(used, simulated=all(map(_is_simulated, lines)))))
    show_table(title, (*_NAMES, *_USED), rows)


def _whole(used: Sequence[Estimate | None], *, simulated: bool) -> tuple[str, str, str, str]:
    """Return the cells of a sum; unknown costs are shown as a dash.

    Times are added: one estimate starts when the other ends.
    """
    estimates = [estimate for estimate in used if estimate is not None]
    if not estimates:
        return (_UNKNOWN,) * 4
    costs = [estimate.cost_usd for estimate in estimates if estimate.cost_usd is not None]
    parts = [dollars(sum(costs))] if costs else []
    parts += [_UNKNOWN] if len(costs) < len(used) else []
    return (
        f"{sum(estimate.prompt_tokens for estimate in estimates):,}",
        f"{sum(estimate.answer_tokens for estimate in estimates):,}",
        _SIMULATED_COST if simulated else " + ".join(parts),
        duration(sum(estimate.seconds for estimate in estimates)),
    )


def _is_simulated(line: PlanLine) -> bool:
    return f"{line.provider}/" == SIMULATED
