"""Tables of plans for sweeps and judges: calls, tokens, cost and time."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from deployments.cli.environment import database
from deployments.cli.output import console, show_table
from deployments.cli.power import show_contrast_power
from judge_gym.asking.budgeting import how_to_price, plan_warnings, spender_of
from judge_gym.asking.estimating import UsageEstimate
from judge_gym.calibration.design import Perturber
from judge_gym.counting import SIMULATED_COST, counted
from judge_gym.design.plans import Budget
from judge_gym.formats import dollars, duration
from judge_gym.judges import ModelJudge
from judge_gym.judges.aligning.loading import LoadedAlignment
from judge_gym.judges.aligning.planning import AlignmentPlan
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.planning import judging_warnings, plan_judging, plan_perturbing
from judge_gym.judges.use import Use
from judge_gym.lab.planning import Plan, PlanLine
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.model_names import is_simulated_model, is_simulated_provider
from judge_gym.settings import settings

_UNKNOWN = "—"
_NAMES = ("workflow", "what", "provider")
RETRIED_ONCE = "Unparseable answers are retried once, with one more call each."
_COUNTED = (
    "It counts every answer at its limit, a second request for each (an empty or cut answer is "
    "requested once more), two repairs of each rubric, and the full price of calls in batches. "
    "--retry-failed adds to it."
)
_TIME = (
    "Times are no bounds: they estimate the wait for providers. Starting servers, the database and "
    "the analysis come on top, and may take longer than quick or simulated answers."
)
_PROBED_TWICE = "One sample in ten is probed twice, to show how much probes repeat themselves."
_USED = ("prompt tokens", "answer tokens", "USD", "time (estimate)")


def show_plan(plan: Plan, providers: Providers, budget: Budget | None) -> None:
    """Print the calls, tokens, cost and time of a sweep, what is left of them, and assumptions."""
    lines = plan.lines
    rows: list[tuple[object, ...]] = [
        (*_names(line), line.calls, line.done, line.to_do, line.at_most) for line in lines
    ]
    columns = ("calls", "done", "to_do", "at_most")
    sums = (sum(getattr(line, column) for line in lines) for column in columns)
    rows.append(("", "all", "", *sums))
    show_table("LLM calls", (*_NAMES, "calls", "done", "to do", "requests at most"), rows)
    _show_estimates(
        "Upper bound on tokens and cost of the whole sweep, with an estimate of time"
        if plan.is_bound
        else "Estimate for the whole sweep, with answers at their limit and evidence assumed",
        lines,
        lambda line: line.whole,
    )
    console.print(_COUNTED, markup=False)
    console.print(_TIME, markup=False)
    if any(line.workflow == "w5-probe" for line in lines):
        console.print(_PROBED_TWICE)
    if any(line.to_do for line in lines):
        _show_estimates("Expected for what is left", lines, lambda line: line.left)
    if retried := [line for line in lines if line.failed]:
        _show_estimates(
            f"To make {counted(sum(line.failed for line in retried), 'failed call')} again at most "
            "(--retry-failed)",
            retried,
            lambda line: line.retry,
        )
    for model in plan.unpriced:
        unknown = f"The cost of {model} is unknown ({_UNKNOWN}): no price for this model."
        console.print(unknown, how_to_price(providers, model), markup=False)
    for sentence in (*plan.facets, *plan.waits, *plan.unapplied):
        console.print(sentence, markup=False)
    show_contrast_power(plan.contrasts)
    _show_warnings(plan.changed)
    _show_warnings(plan.warnings)
    for sentence in plan.assumptions:
        console.print(sentence, markup=False)
    _show_batches(lines)
    if budget is not None:
        bounds = budget.model_dump(exclude_none=True).items()
        console.print(f"Budget: {', '.join(f'{key} {value:g}' for key, value in bounds)}.")
        _show_warnings(_over_budget(plan, budget))


def _show_batches(lines: Sequence[PlanLine]) -> None:
    """Print which calls that are left go in batches, and what they and the direct ones cost."""
    names = sorted({line.provider for line in lines if line.left.batched})
    if not names:
        return
    batched = sum(line.left.batched for line in lines)
    batched_usd = _total(line.left.batched_usd for line in lines)
    cost_usd = _total(line.left.cost_usd for line in lines)
    direct_usd = None if cost_usd is None or batched_usd is None else cost_usd - batched_usd
    console.print(
        f"Left: {counted(batched, 'call')} in batches for {dollars(batched_usd)} USD; "
        f"{sum(line.to_do for line in lines) - batched:,} directly for {dollars(direct_usd)} USD."
    )
    console.print(
        f"{' and '.join(names)} {'use' if len(names) > 1 else 'uses'} the batch API, which answers "
        "within 24 h; what it does not answer is sent directly, at the full price.",
        markup=False,
    )


def _total(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(cost or 0 for cost in known)


def _over_budget(plan: Plan, budget: Budget) -> Iterator[str]:
    """Yield what will keep the rest of a sweep from running within its budget."""
    if not any(line.to_do for line in plan.lines):
        return
    paid = [line for line in plan.lines if not _is_simulated(line)]
    cost, left = (
        sum(used.cost_usd or 0 for used in of)
        for of in ([line.whole for line in paid], [line.left for line in paid])
    )
    if budget.max_cost_usd is not None and cost > budget.max_cost_usd:
        yield (
            f"the sweep may cost up to {dollars(cost)} USD ({dollars(left)} USD are "
            "expected for what is left), more than max_cost_usd "
            f"{budget.max_cost_usd:g}. It stops when the budget is used up."
        )
    calls = sum(line.at_most for line in plan.lines)
    if budget.max_calls is not None and calls > budget.max_calls:
        yield (
            f"the sweep may need up to {counted(calls, 'call')}, more than max_calls "
            f"{budget.max_calls}. It stops when the budget is used up."
        )


def show_judging(title: str, requests: Sequence[Asked]) -> list[str]:
    """Print the calls, tokens, cost and time of judging; stored judgements cost nothing.

    Returns the warnings that it printed.
    """
    with database() as session:
        providers = load_providers(settings().providers_file)
        plans = plan_judging(session, providers, settings(), requests)
        warnings = judging_warnings(session, providers, plans)
    rows: list[tuple[object, ...]] = [
        (f"{plan.judge.name}, {plan.judge.answered_by}{plan.condition}",
         plan.done, plan.to_do, plan.calls,
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
    if any(isinstance(plan.judge, ModelJudge) for plan in plans):
        console.print(RETRIED_ONCE)
    for sentence in dict.fromkeys(sentence for plan in plans for sentence in plan.unapplied):
        console.print(sentence, markup=False)
    if any(plan.used is None or plan.used.cost_usd is None for plan in plans):
        console.print(f"{_UNKNOWN}: unknown (no price for this model, or a custom judge).")
    _show_warnings(warnings)
    return warnings


def show_perturbing(perturber: Perturber, rewritings: Sequence[Rewriting]) -> None:
    """Print the tokens, cost and time of perturbing texts; stored texts cost nothing."""
    model = perturber.model
    with database() as session:
        providers = load_providers(settings().providers_file)
        to_do, used = plan_perturbing(session, providers, settings(), rewritings)
        spender = spender_of(perturber)
        warnings = list(plan_warnings(session, providers, spender, to_do, used.cost_usd))
    simulated = is_simulated_model(model)
    row = (model, len(rewritings) - to_do, to_do, *_whole([used], simulated=simulated))
    show_table(
        "Texts to perturb with a model first", ("model", "changed", "to change", *_USED), [row]
    )
    _show_warnings(warnings)


def show_alignment(loaded: LoadedAlignment, plan: AlignmentPlan) -> None:
    """Print the calls, tokens, cost and time of an alignment; stored results cost nothing."""
    calls, cost, proposer = 0, 0.0, loaded.design.proposer
    if plan.proposals is not None and proposer is not None:
        calls, used = plan.proposals
        cost = used.cost_usd or 0.0
        row = (proposer.model, calls, *_whole([used], simulated=is_simulated_model(proposer.model)))
        show_table("Rubrics to propose", ("proposer", "calls", *_USED), [row])
    shown = show_judging(f"Estimate for the alignment {loaded.design.name}", plan.judgings)
    with database() as session:
        providers = load_providers(settings().providers_file)
        judged = plan_judging(session, providers, settings(), plan.judgings[1:])
        calls += sum(one.calls for one in judged)
        cost += sum(one.used.cost_usd or 0.0 for one in judged if one.used)
        warnings = plan_warnings(session, providers, plan.budget, calls, cost)
        _show_warnings(one for one in warnings if one not in shown)


def show_uses(title: str, uses: Sequence[Use]) -> None:
    """Print the calls, tokens, cost and time of each; stored results cost nothing."""
    rows = [
        (use.name, "no model", *[""] * (1 + len(_USED))) if use.model is None
        else (use.name, use.model or "a custom judge", use.calls,
              *_whole([use.used], simulated=is_simulated_model(use.model)))
        for use in uses
    ]  # fmt: skip
    show_table(title, ("who", "model", "calls", *_USED), rows)
    _show_warnings(dict.fromkeys(one for use in uses for one in use.warnings))


def _show_warnings(warnings: Iterable[str]) -> None:
    for warning in filter(None, warnings):
        console.warn(warning)


def _names(line: PlanLine) -> tuple[str, str, str]:
    return line.workflow, line.what, line.provider


def _show_estimates(
    title: str, lines: Sequence[PlanLine], pick: Callable[[PlanLine], UsageEstimate]
) -> None:
    used = [pick(line) for line in lines]
    rows = [
        (*_names(line), *_whole([estimate], simulated=_is_simulated(line)))
        for line, estimate in zip(lines, used, strict=True)
    ]
    rows.append(("", "all", "", *_whole(used, simulated=all(map(_is_simulated, lines)))))
    show_table(title, (*_NAMES, *_USED), rows)


def _whole(used: Sequence[UsageEstimate | None], *, simulated: bool) -> tuple[str, str, str, str]:
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
        SIMULATED_COST if simulated else " + ".join(parts),
        "up to 24 h"
        if any(estimate.batched for estimate in estimates)
        else duration(sum(estimate.seconds for estimate in estimates)),
    )


def _is_simulated(line: PlanLine) -> bool:
    return is_simulated_provider(line.provider)
