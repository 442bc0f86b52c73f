"""What a person approves, as Markdown for Prefect's form: the plan of a run, and its rubrics."""

from collections.abc import Sequence

from judge_gym.counting import counted
from judge_gym.formats import dollars
from judge_gym.lab.approving import SpendingPlan
from judge_gym.lab.reading import RubricToRead
from judge_gym.report.table import escaped_inside, markdown_table, plain_table
from judge_gym.store.spending import Spent

MOST_NAMED = 20
LONGEST_RUBRICS = 40_000
"""Characters of the rubrics on a form."""


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


def rubrics_markdown(rubrics: Sequence[RubricToRead]) -> str:
    """Return rubrics with their numbers, stages and criteria; nothing in them is read as markup.

    Those that a form has no room for are named, with the command that prints them.
    """
    parts: list[str] = []
    room = LONGEST_RUBRICS
    for place, one in enumerate(rubrics):
        text = _rubric_markdown(one)
        if len(text) > room and parts:
            rest = "; ".join(escaped_inside(other.name) for other in rubrics[place:])
            parts.append(f"Read the others with `judge-gym sweep rubrics`: {rest}.")
            break
        parts.append(text)
        room -= len(text)
    return "\n\n".join(["**Read these rubrics before they are applied.**", *parts])


def _rubric_markdown(one: RubricToRead) -> str:
    rows = [
        (str(number), stage.label, "; ".join(stage.criteria))
        for number, stage in enumerate(one.rubric.stages, start=1)
    ]
    applied = counted(one.experiments, "experiment")
    heading = f"**Rubric {escaped_inside(one.name)}**, applied by {applied}"
    table = markdown_table(plain_table("", ("stage", "label", "criteria"), rows))
    return f"{heading}\n\n{table}"


def plan_sentence(plan: SpendingPlan) -> str:
    """Return what a run is expected to cost and what of it has to be approved."""
    calls = counted(plan.calls, "call")
    unknown = f" and the unknown cost of {', '.join(plan.unpriced)}" if plan.unpriced else ""
    covered = ""
    if plan.approved.usd:
        covered = (
            f" Spent so far: {_spent(plan.spent)}; approved so far, that included: "
            f"{dollars(plan.approved.usd)} USD."
        )
    return (
        f"{plan.called} is expected to cost {dollars(plan.left_usd)} USD{unknown} for at most "
        f"{calls}; approve_over_usd is {plan.over_usd:g}.{covered}"
    )


def _spent(spent: Spent) -> str:
    """Return the cost of what was answered, and the most that of calls that are open can be."""
    if not spent.open_calls:
        return spent.cost_in_words
    most = f"at most {dollars(spent.open_usd)} USD" if spent.open_usd else "an unknown amount"
    open_calls = counted(spent.open_calls, "call")
    return f"{spent.cost_in_words}, and {most} for {open_calls} without an answer yet"
