"""The calls behind a sweep, summed from the ledger, and what they cost."""

from collections import Counter
from collections.abc import Sequence

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment, family_of
from judge_gym.formats import number
from judge_gym.report.table import Row, Table
from judge_gym.store.spending import CallSums

UTILITY_AGENTS = ("cleaner", "neutralizer", "abstractor", "critic")
"""Agents that are the utility model's: they make the instrument and judge nothing."""


def calls_table(calls: Sequence[CallSums]) -> Table:
    """Return the calls as a table, with a last line of sums; empty without a call."""
    sums = [
        sum(getattr(one, name) for one in calls)
        for name in ("calls", "failed", "attempts", "prompt", "completion")
    ]
    rows = [
        Row(
            (
                one.agent,
                one.model,
                *(f"{n:,}" for n in (one.calls, one.failed, one.attempts)),
                *(f"{n:,}" for n in (one.prompt, one.completion)),
                cost([one]),
            ),
            heading=one.workflow,
        )
        for one in calls
    ]
    rows.append(Row(("", "", *(f"{n:,}" for n in sums), cost(calls)), heading="all"))
    return Table(
        "LLM calls",
        "Every call behind this sweep, also those that an earlier sweep has paid for.",
        (
            *("agent", "model"),
            *("calls", "failed", "attempts", "tokens in", "tokens out", "cost (US$)"),
        ),
        tuple(rows) if calls else (),
        notes=_unpriced(calls),
        words=2,
        simulated=any(one.simulated for one in calls),
        imported=any(one.imported for one in calls),
    )


def cost(calls: Sequence[CallSums]) -> str:
    """Return what is known of the cost, and whether some of it is not: never 0 for unknown."""
    known = [one.cost for one in calls if one.cost is not None]
    if not any(one.unpriced for one in calls):
        return number(float(sum(known)))
    return f"{number(float(sum(known)))} + unknown" if known else "unknown"


def _unpriced(calls: Sequence[CallSums]) -> tuple[str, ...]:
    unpriced: Counter[str] = Counter()
    for one in calls:
        unpriced[one.model] += one.unpriced
    return tuple(
        f"The cost is unknown for {counted(count, 'call')}: {model} is in no "
        "price list, or sent no token counts."
        for model, count in sorted(unpriced.items())
        if count
    )


def utility_warnings(calls: Sequence[CallSums], experiments: Sequence[Experiment]) -> list[str]:
    """Return a warning per utility model whose family is among the judges."""
    families = {one.family for one in experiments}
    utility = sorted({one.model for one in calls if one.agent in UTILITY_AGENTS})
    return [
        f"The utility model {model} edited evidence or rated rubrics, and its family "
        f"({family_of(model)}) is among the judges: what it lets pass may suit its own family."
        for model in utility
        if family_of(model) in families
    ]
