"""The calls behind a sweep, summed from the ledger, and what they cost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment, family_of
from judge_gym.lab.importing import ROUTE
from judge_gym.report.table import Row, Table
from judge_gym.store import tables as t

UTILITY_AGENTS = ("cleaner", "neutralizer", "abstractor", "critic")
"""Agents that are the utility model's: they make the instrument and judge nothing."""


@dataclass(frozen=True)
class CallSums:
    """The ledger summed over one workflow, agent and model; `cost` is None when none is known."""

    workflow: str
    agent: str
    model: str
    calls: int
    failed: int
    attempts: int
    prompt: int
    completion: int
    cost: Decimal | None
    unpriced: int
    simulated: bool
    imported: bool
    """Judgements made elsewhere: their answers are kept here, and nothing was asked."""
    prompts: Sequence[str] | None
    """Each template with the digest of its text."""
    first: datetime
    last: datetime | None


# The tokens of a reused answer were spent once, where it was asked for.
_PAID = t.Call.route != "cache"
_PROMPT = sa.func.concat_ws(" ", t.Call.template, sa.func.left(t.Call.template_hash, 12))


def read_calls(
    session: Session, ids: Sequence[int], experiments: Sequence[Experiment]
) -> Sequence[CallSums]:
    """Return the sums of the ledger over the sweep's calls, by workflow, agent and model.

    Judgements and probes name their experiment; views and rubrics are found by what they made.
    """
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(ids))
    views = (
        sa.select(t.View.call_id)
        .join(t.Document, t.Document.id == t.View.document_id)
        .where(t.Document.window_id.in_(windows))
    )
    sums: Any = (
        sa.select(
            t.Call.workflow,
            t.Call.agent,
            t.Call.model,
            sa.func.count(),
            sa.func.count().filter(t.Call.status == "failed"),
            sa.func.coalesce(sa.func.sum(t.Call.attempts), 0),
            sa.func.coalesce(sa.func.sum(t.Call.prompt_tokens).filter(_PAID), 0),
            sa.func.coalesce(sa.func.sum(t.Call.completion_tokens).filter(_PAID), 0),
            sa.func.sum(t.Call.cost_usd),
            sa.func.count().filter(t.Call.status == "succeeded", t.Call.cost_usd.is_(None)),
            sa.func.coalesce(sa.func.bool_or(t.Call.simulated), sa.false()),
            sa.func.bool_or(t.Call.route == ROUTE),
            sa.func.array_agg(sa.distinct(_PROMPT)).filter(t.Call.template != ""),
            sa.func.min(t.Call.created_at),
            sa.func.max(t.Call.finished_at),
        )
        .where(
            sa.or_(
                t.Call.experiment_id.in_(ids),
                t.Call.id.in_(views),
                sa.func.split_part(t.Call.key, "/", 2).in_(_rubric_keys(experiments)),
            )
        )
        .group_by(t.Call.workflow, t.Call.agent, t.Call.model)
        .order_by(t.Call.workflow, t.Call.agent, t.Call.model)
    )
    return [CallSums(*row) for row in session.execute(sums)]


def _rubric_keys(experiments: Sequence[Experiment]) -> Any:
    """Select the keys of the rubrics that judges or rubric owners of the sweep wrote for it.

    The keys of the calls that wrote and rated a rubric have its key as their second part.
    """
    owners = {one.model for one in experiments} | {
        one.rubric.model for one in experiments if one.rubric.model
    }
    subjects = {(one.concept, one.country, one.scale_size) for one in experiments}
    return sa.select(t.Rubric.key).where(
        t.Rubric.source == "generated",
        t.Rubric.owner_model.in_(owners),
        sa.tuple_(t.Rubric.concept, t.Rubric.country, t.Rubric.scale_size).in_(subjects),
    )


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
        return f"{sum(known, start=Decimal(0)):.2f}"
    return f"{sum(known, start=Decimal(0)):.2f} + unknown" if known else "unknown"


def _unpriced(calls: Sequence[CallSums]) -> tuple[str, ...]:
    unpriced: Counter[str] = Counter()
    for one in calls:
        unpriced[one.model] += one.unpriced
    return tuple(
        f"The cost is unknown for {count:,} {'call' if count == 1 else 'calls'}: {model} is in no "
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
