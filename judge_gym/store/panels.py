"""Panels in the database: they, their documents, and what came of each attempt."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.panel.document import PanelDocument
from judge_gym.panel.panel import Panel
from judge_gym.records.calls import Row
from judge_gym.store import tables as t


@dataclass(frozen=True)
class Place:
    """A document before a panel: where the rows of its runs belong."""

    panel_id: int
    document_id: int


@dataclass(frozen=True)
class Before:
    """The attempts at one question so far."""

    attempts: int = 0
    errors: int = 0
    """Of them; the others are done or were cancelled."""
    done: sa.Row[Any] | None = None
    """The last one that is done."""


def place_of(session: Session, panel: Panel, document: PanelDocument) -> Place:
    """Store what is new of the two; returns where their rows belong."""
    config = panel.model_dump(mode="json")
    items = [item.model_dump() for item in document.items]
    of_document = {"title": document.title, "items": items, "shown_items": len(document.shown)}
    return Place(
        _saved(session, t.Panel, key=panel.key, name=panel.name, config=config),
        _saved(session, t.PanelDocument, key=document.key, name=document.id, **of_document),
    )


def reviews_before(session: Session, place: Place) -> dict[str, Before]:
    """Return rater → its attempts so far; none for a rater that was never asked."""
    rows = _attempts(session, t.PanelReview, place)
    by_rater: dict[str, list[sa.Row[Any]]] = {}
    for row in rows:
        by_rater.setdefault(row.rater, []).append(row)
    return {rater: _before(attempts) for rater, attempts in by_rater.items()}


def review_ids(session: Session, place: Place) -> list[int]:
    """Return the reviews that are there, in the order of the raters."""
    before = reviews_before(session, place)
    return [one.done.id for _, one in sorted(before.items()) if one.done is not None]


def consensus_before(session: Session, place: Place) -> Before:
    """Return the attempts at a consensus so far."""
    return _before(_attempts(session, t.PanelConsensus, place))


def answered(session: Session, panel: Panel) -> tuple[set[tuple[str, str]], set[str]]:
    """Return what this panel's raters have reviewed, and what its arbiter has reconciled of all.

    As keys of documents, with the rater; a consensus counts that rests on a review by each rater.
    """
    of_panel = sa.select(t.Panel.id).where(t.Panel.key == panel.key).scalar_subquery()
    reviews = session.execute(
        sa.select(t.PanelDocument.key, t.PanelReview.rater)
        .join(t.PanelReview, t.PanelReview.document_id == t.PanelDocument.id)
        .where(t.PanelReview.panel_id == of_panel, t.PanelReview.status == "done")
    )
    reconciled = session.scalars(
        sa.select(t.PanelDocument.key)
        .join(t.PanelConsensus, t.PanelConsensus.document_id == t.PanelDocument.id)
        .where(t.PanelConsensus.panel_id == of_panel, t.PanelConsensus.status == "done")
        .where(sa.func.cardinality(t.PanelConsensus.review_ids) == len(panel.raters))
    )
    return {(key, rater) for key, rater in reviews}, set(reconciled)


def tokens_of(session: Session, call_ids: Iterable[int]) -> list[sa.Row[Any]]:
    """Return what these calls used: id, model, prompt_tokens and completion_tokens."""
    wanted = t.Call.id == sa.any_(sa.literal(list(call_ids), sa.ARRAY(sa.BigInteger)))
    columns = (t.Call.id, t.Call.model, t.Call.prompt_tokens, t.Call.completion_tokens)
    return list(session.execute(sa.select(*columns).where(wanted)))


def save(session: Session, row: Row) -> None:
    """Store an attempt that ended without an answer; whoever wrote it first keeps it."""
    session.execute(insert(row.table).values(**row.values).on_conflict_do_nothing())


def _saved(session: Session, table: Any, **values: Any) -> int:
    session.execute(insert(table).values(**values).on_conflict_do_nothing())
    found: int = session.scalars(sa.select(table.id).where(table.key == values["key"])).one()
    return found


def _attempts(session: Session, table: Any, place: Place) -> list[sa.Row[Any]]:
    statement = (
        sa.select(table.__table__)
        .where(table.panel_id == place.panel_id, table.document_id == place.document_id)
        .order_by(table.attempt)
    )
    return list(session.execute(statement))


def _before(rows: Sequence[sa.Row[Any]]) -> Before:
    errors = sum(row.status == "error" for row in rows)
    done = (row for row in reversed(rows) if row.status == "done")
    return Before(len(rows), errors, next(done, None))
