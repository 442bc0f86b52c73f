"""Panels in the database: their documents, and the attempts at each of their questions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.records.calls import DerivedRow
from judge_gym.records.panels import (
    PanelDocumentRecord,
    PanelRecord,
    StoredConsensus,
    StoredReview,
)
from judge_gym.store import tables as t

Done = TypeVar("Done", StoredReview, StoredConsensus)


@dataclass(frozen=True)
class PanelPlace:
    """A document before a panel: where the rows of its runs belong."""

    panel_id: int
    document_id: int


@dataclass(frozen=True)
class Before(Generic[Done]):
    """The attempts at one question so far."""

    attempts: int = 0
    errors: int = 0
    """Of them; the others are done or were cancelled."""
    done: Done | None = None
    """The last one that is done."""
    failure: str | None = None
    """Why the last one of all failed, on the reviews that are there; None if it did not."""


def place_of(session: Session, panel: PanelRecord, document: PanelDocumentRecord) -> PanelPlace:
    """Store a panel and a document that are new; returns where their rows belong."""
    return PanelPlace(
        _saved(session, t.Panel, key=panel.key, name=panel.name, config=panel.config),
        _saved(session, t.PanelDocument, **vars(document)),
    )


def reviews_before(session: Session, place: PanelPlace) -> dict[str, Before[StoredReview]]:
    """Return rater → its attempts so far; raters without any are left out."""
    by_rater: dict[str, list[t.PanelReview]] = {}
    for row in _attempts(session, t.PanelReview, place):
        by_rater.setdefault(row.rater, []).append(row)
    return {rater: _before(attempts, _review) for rater, attempts in by_rater.items()}


def review_ids(session: Session, place: PanelPlace) -> list[int]:
    """Return the reviews that are there, in the order of the raters."""
    before = reviews_before(session, place)
    return [review.done.id for _, review in sorted(before.items()) if review.done is not None]


def consensus_before(session: Session, place: PanelPlace) -> Before[StoredConsensus]:
    """Return the attempts at a consensus so far."""
    rows = _attempts(session, t.PanelConsensus, place)
    before = _before(rows, _consensus)
    if before.failure is None or list(rows[-1].review_ids) == review_ids(session, place):
        return before
    return replace(before, failure=None)


def answered(
    session: Session, panel_key: str, raters: int
) -> tuple[set[tuple[str, str]], set[str]]:
    """Return (document key, rater) of a panel's reviews, and the documents with a consensus.

    A consensus counts when it rests on a review by each of the `raters`.
    """
    panel_id = sa.select(t.Panel.id).where(t.Panel.key == panel_key).scalar_subquery()
    reviews = session.execute(
        sa.select(t.PanelDocument.key, t.PanelReview.rater)
        .join(t.PanelReview, t.PanelReview.document_id == t.PanelDocument.id)
        .where(t.PanelReview.panel_id == panel_id, t.PanelReview.status == "done")
    )
    reconciled = session.scalars(
        sa.select(t.PanelDocument.key)
        .join(t.PanelConsensus, t.PanelConsensus.document_id == t.PanelDocument.id)
        .where(t.PanelConsensus.panel_id == panel_id, t.PanelConsensus.status == "done")
        .where(sa.func.cardinality(t.PanelConsensus.review_ids) == raters)
    )
    return {(key, rater) for key, rater in reviews}, set(reconciled)


def save(session: Session, row: DerivedRow) -> None:
    """Store an attempt that ended without an answer; a row that exists is kept."""
    session.execute(insert(t.BY_NAME[row.table]).values(**row.values).on_conflict_do_nothing())


def _saved(session: Session, table: Any, **values: Any) -> int:
    session.execute(insert(table).values(**values).on_conflict_do_nothing())
    id_: int = session.scalars(sa.select(table.id).where(table.key == values["key"])).one()
    return id_


def _attempts(session: Session, table: Any, place: PanelPlace) -> list[Any]:
    statement = (
        sa.select(table)
        .where(table.panel_id == place.panel_id, table.document_id == place.document_id)
        .order_by(table.attempt)
    )
    return list(session.scalars(statement))


def _before(rows: Sequence[Any], record: Any) -> Before[Any]:
    errors = sum(row.status == "error" for row in rows)
    done = (record(row) for row in reversed(rows) if row.status == "done")
    failure = rows[-1].failure if rows and rows[-1].status == "error" else None
    return Before(len(rows), errors, next(done, None), failure)


def _review(row: t.PanelReview) -> StoredReview:
    assert row.items is not None
    assert row.overall_score is not None
    assert row.overall_comment is not None
    return StoredReview(
        id=row.id,
        items=row.items,
        overall_score=row.overall_score,
        overall_comment=row.overall_comment,
        **_answer(row),
    )


def _consensus(row: t.PanelConsensus) -> StoredConsensus:
    assert row.final_score is not None
    assert row.raw_score is not None
    assert row.rationale is not None
    return StoredConsensus(
        review_ids=tuple(row.review_ids),
        final_score=row.final_score,
        raw_score=row.raw_score,
        rationale=row.rationale,
        **_answer(row),
    )


def _answer(row: Any) -> dict[str, Any]:
    return {
        "tier": row.tier,
        "latency_ms": row.latency_ms,
        "call_ids": tuple(row.call_ids),
        "simulated": row.simulated,
    }
