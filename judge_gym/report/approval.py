"""The plan of a run that waits for approval, as Markdown for Prefect's form and as a sentence."""

from judge_gym.counting import counted
from judge_gym.formats import dollars
from judge_gym.lab.approving import SpendingPlan
from judge_gym.report.table import escaped_inside, markdown_table, plain_table

MOST_NAMED = 20


def plan_markdown(plan: SpendingPlan) -> str:
    """Return the calls, the cost and the judges of a run that waits for approval."""
    rows = [
        (line.part, line.what, line.provider, f"{line.calls:,}", dollars(line.cost_usd))
        for line in plan.lines
    ]
    columns = ("part", "calls for", "provider", "calls, at most", "expected cost, USD")
    judges = ", ".join(map(escaped_inside, plan.judges[:MOST_NAMED]))
    more = len(plan.judges) - MOST_NAMED
    return "\n\n".join(
        [
            f"**{escaped_inside(plan_sentence(plan))}** No calls were made by this run.",
            markdown_table(plain_table("", columns, rows, words=3)),
            f"Judges: {judges}{f' and {more} more' if more > 0 else ''}.",
        ]
    )


def plan_sentence(plan: SpendingPlan) -> str:
    """Return what a run is expected to cost and what of it has to be approved."""
    calls = counted(plan.calls, "call")
    unknown = f" and the unknown cost of {', '.join(plan.unpriced)}" if plan.unpriced else ""
    covered = ""
    if plan.approved.usd:
        covered = (
            f" Spent so far: {dollars(plan.spent_usd)} USD; approved so far, that included: "
            f"{dollars(plan.approved.usd)} USD."
        )
    return (
        f"{plan.called} is expected to cost {dollars(plan.left_usd)} USD{unknown} for at most "
        f"{calls}; approve_over_usd is {plan.over_usd:g}.{covered}"
    )
