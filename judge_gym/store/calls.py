"""Reads the ledger: answers, failures, costs, tokens, and means over past answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.records.calls import SHARED, Answer, Failure, Opened
from judge_gym.store import tables as t


def outcomes_of(session: Session, keys: Iterable[str]) -> dict[str, Answer | Failure]:
    """Return key → outcome of the calls that have ended.

    A call that its provider refused like every other, for want of a key or of credit, is not among
    them: it was never really asked.
    """
    wanted = t.Call.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
    rows = session.scalars(sa.select(t.Call).where(wanted))
    found = {row.key: _outcome(row) for row in rows}
    return {key: outcome for key, outcome in found.items() if outcome is not None}


def _outcome(row: t.Call) -> Answer | Failure | None:
    if row.status != "failed":
        return stored_answer(row)
    last = row.errors[-1]
    return None if last["kind"] in SHARED else Failure(last["kind"], last["message"])


def opened_as(row: Any) -> Opened:
    """Return the record of a ledger row with `waiting`."""
    return Opened(
        row.id,
        stored_answer(row),
        waiting=bool(row.waiting),
        batched=row.batch_id is not None,
        discarded=any("answer" in error for error in row.errors),
        output_limit=max(
            (error["limit"] for error in row.errors if error["kind"] == "output_limit"),
            default=None,
        ),
    )


def stored_answer(row: Any) -> Answer | None:
    """Return the answer that a ledger row has, if it has one."""
    if row.status != "succeeded":
        return None
    return Answer(
        text=row.answer,
        finish_reason=row.finish_reason,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost_usd=None if row.cost_usd is None else float(row.cost_usd),
        latency_ms=row.latency_ms,
        simulated=row.simulated,
    )


def cost_of(session: Session, call_ids: Iterable[int]) -> tuple[float, int]:
    """Return the cost of these calls in US dollars, and how many have an unknown cost."""
    unknown = sa.and_(t.Call.status == "succeeded", t.Call.cost_usd.is_(None))
    cost, unpriced = session.execute(
        sa.select(sa.func.sum(t.Call.cost_usd), sa.func.count().filter(unknown)).where(
            _among(call_ids)
        )
    ).one()
    return float(cost or 0), unpriced


def call_costs(session: Session, call_ids: Iterable[int]) -> dict[int, float]:
    """Return call → US dollars; NaN for an answer of unknown cost, 0 for a failed call."""
    rows = session.execute(
        sa.select(t.Call.id, t.Call.status, t.Call.cost_usd).where(_among(call_ids))
    )
    return {
        call: float("nan" if cost is None and status == "succeeded" else cost or 0)
        for call, status, cost in rows
    }


@dataclass(frozen=True)
class TokenUse:
    """The tokens one call used; None where its provider gave no counts."""

    call_id: int
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None


def token_use(session: Session, call_ids: Iterable[int]) -> list[TokenUse]:
    """Return the tokens that these calls used."""
    columns = (t.Call.id, t.Call.model, t.Call.prompt_tokens, t.Call.completion_tokens)
    rows = session.execute(sa.select(*columns).where(_among(call_ids)))
    return [TokenUse(*row) for row in rows]


def _among(call_ids: Iterable[int]) -> sa.ColumnElement[bool]:
    return t.Call.id == sa.any_(sa.literal(list(call_ids), sa.ARRAY(sa.BigInteger)))


def save_imported_calls(session: Session, calls: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Store answers that were made elsewhere; returns call key → id, of those stored before too."""
    if not calls:
        return {}
    session.execute(insert(t.Call).on_conflict_do_nothing(), calls)
    chosen = t.Call.key.in_([call["key"] for call in calls])
    return dict(session.execute(sa.select(t.Call.key, t.Call.id).where(chosen)).tuples().all())


@dataclass(frozen=True)
class Past:
    """Means over a model's answers to one agent."""

    answer_tokens: float | None
    """None when the provider gave no token counts."""
    latency_s: float | None
    """None when every answer came in a batch: the latency is unknown."""


def past_answers(session: Session, models: Collection[str]) -> dict[tuple[str, str], Past]:
    """Return (model, agent) → how its answers were so far, over the whole ledger."""
    rows = session.execute(
        sa.select(
            t.Call.model,
            t.Call.agent,
            sa.func.avg(t.Call.completion_tokens),
            sa.func.avg(t.Call.latency_ms),
        )
        .where(t.Call.model.in_(models), t.Call.status == "succeeded", t.Call.route != "cache")
        .group_by(t.Call.model, t.Call.agent)
    )
    return {
        (model, agent): Past(
            None if tokens is None else float(tokens),
            None if latency is None else float(latency) / 1000,
        )
        for model, agent, tokens, latency in rows
    }
