"""Panels, the documents they review, each rater's reviews, and the arbiter's consensus.

Rows of reviews and consensus are never changed: what failed or was cancelled stays, and the next
attempt is another row.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, Integer, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.store.tables.base import (
    Base,
    created,
    kind_column,
    new_id,
    one_of,
    reference,
    simulated_mark,
)

PANEL_STATUSES = ("done", "error", "cancelled")
TIERS = ("schema", "json", "text", "judge")
LEVELS = ("strong", "moderate", "weak")


class Panel(Base):
    """A panel, by the hash of its configuration and prompts."""

    __tablename__ = "panels"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    """What it was called when it was first used."""
    config: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = created()


class PanelDocument(Base):
    """What panels review, by the hash of its content."""

    __tablename__ = "panel_documents"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    """The id that its file gives it."""
    title: Mapped[str]
    items: Mapped[list[Any]]
    """Objects with `id` and `text`, all there are."""
    shown_items: Mapped[int] = mapped_column(Integer)
    """How many of them raters see, from the first."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        CheckConstraint(
            "shown_items BETWEEN 1 AND jsonb_array_length(items)", name="shown_items_range"
        ),
        Index("ix_panel_documents_name", "name"),
    )


class PanelReview(Base):
    """A rater's attempt at a document; its last one counts."""

    __tablename__ = "panel_reviews"
    id: Mapped[int] = new_id()
    panel_id: Mapped[int] = reference("panels.id")
    document_id: Mapped[int] = reference("panel_documents.id", on_delete="RESTRICT", index=True)
    rater: Mapped[str]
    """rater_a, rater_b, … in the order of the panel."""
    attempt: Mapped[int] = mapped_column(Integer)
    label: Mapped[str]
    model: Mapped[str]
    status: Mapped[str]
    overall_score: Mapped[int | None] = mapped_column(Integer)
    overall_comment: Mapped[str | None]
    items: Mapped[list[Any] | None]
    """Objects with `id`, `score` and `comment`, one for each item shown."""
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    tier: Mapped[str | None]
    """How the question was sent: with a JSON schema, in JSON mode, or as plain text."""
    latency_ms: Mapped[float | None]
    """NULL where it is unknown, as for an answer from a batch."""
    call_ids: Mapped[list[int]]
    """Its calls, as long as the ledger has them."""
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", PANEL_STATUSES),
        one_of("tier", TIERS),
        UniqueConstraint("panel_id", "document_id", "rater", "attempt"),
        CheckConstraint("attempt >= 0", name="attempt_not_negative"),
        CheckConstraint(
            "(status = 'done') = (num_nonnulls(overall_score, overall_comment, items, tier) = 4)",
            name="review_when_done",
        ),
        CheckConstraint("(status = 'done') = (failure IS NULL)", name="failure_unless_done"),
    )


class PanelConsensus(Base):
    """What a run came to: the arbiter's answer, or why there is none; the last attempt counts."""

    __tablename__ = "panel_consensus"
    id: Mapped[int] = new_id()
    panel_id: Mapped[int] = reference("panels.id")
    document_id: Mapped[int] = reference("panel_documents.id", on_delete="RESTRICT", index=True)
    attempt: Mapped[int] = mapped_column(Integer)
    review_ids: Mapped[list[int]]
    """The reviews that were there."""
    model: Mapped[str]
    status: Mapped[str]
    final_score: Mapped[int | None] = mapped_column(Integer)
    """Within the scores of the reviews."""
    raw_score: Mapped[int | None] = mapped_column(Integer)
    """The arbiter's score as given."""
    rationale: Mapped[str | None]
    mean: Mapped[float | None]
    median: Mapped[float | None]
    spread: Mapped[int | None] = mapped_column(Integer)
    level: Mapped[str | None]
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    tier: Mapped[str | None]
    latency_ms: Mapped[float | None]
    """NULL when the arbiter was not called, or where it is unknown."""
    call_ids: Mapped[list[int]]
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", PANEL_STATUSES),
        one_of("tier", TIERS),
        one_of("level", LEVELS),
        UniqueConstraint("panel_id", "document_id", "attempt"),
        CheckConstraint("attempt >= 0", name="attempt_not_negative"),
        CheckConstraint(
            "(status = 'done') = (num_nonnulls(final_score, raw_score, rationale, tier) = 4)",
            name="verdict_when_done",
        ),
        CheckConstraint("(status = 'done') = (failure IS NULL)", name="failure_unless_done"),
        CheckConstraint(
            "status <> 'done' OR num_nonnulls(mean, median, spread, level) = 4",
            name="agreement_when_done",
        ),
    )
