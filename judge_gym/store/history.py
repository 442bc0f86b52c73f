"""What the database knows that helps to foresee a call: past answers, evidence, rubrics."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.rubric import Rubric
from judge_gym.records.shown import ShownDocument
from judge_gym.store import tables as t
from judge_gym.store.rubrics import rubric_by_key, stored_rubric


@dataclass(frozen=True)
class Past:
    """Means over a model's answers to one agent."""

    answer_tokens: float | None
    """None when the model never counted them."""
    latency_s: float | None
    """None when every answer came in a batch: nobody knows how long one takes."""


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


@dataclass(frozen=True)
class KnownDocument:
    """A document with its text, and the text of a view of it when that has been made."""

    title: str
    text: str
    view: str | None

    def shown(self, text: str) -> ShownDocument:
        return ShownDocument(self.title, text)


def first_documents(
    session: Session, window_key: str, view: str, count: int
) -> list[KnownDocument]:
    """Return a window's first documents with their `view`; none when it is not collected."""
    made = sa.and_(
        t.View.document_id == t.Document.id, t.View.view == view, t.View.status == "ready"
    )
    rows = session.execute(
        sa.select(t.Document.title, t.Document.text, t.View.text)
        .join(t.Window, t.Window.id == t.Document.window_id)
        .outerjoin(t.View, made)
        .where(t.Window.key == window_key)
        .order_by(t.Document.position)
        .limit(count)
    )
    return [KnownDocument(*row) for row in rows]


def ready_rubric(session: Session, key: str) -> Rubric | None:
    """Return the rubric with this natural key when it can be used."""
    record = rubric_by_key(session, key)
    return stored_rubric(record) if record and record.status == "ready" else None
