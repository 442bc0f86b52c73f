"""Windows and what was collected for them: documents, their views, and what was left out."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Integer, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.store.tables.base import Base, created, new_id, one_of, reference, simulated_mark


class Window(Base):
    """A query, country and date range; `collected_at` is when its evidence was fixed."""

    __tablename__ = "windows"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    query: Mapped[str]
    country: Mapped[str]
    start_date: Mapped[date | None]
    end_date: Mapped[date | None]
    max_documents: Mapped[int] = mapped_column(Integer)
    source: Mapped[dict[str, Any]]
    shareable: Mapped[bool] = mapped_column(server_default="true")
    """Whether a replication package may hold its texts."""
    licence: Mapped[str] = mapped_column(server_default="")
    """The licence of its texts, as its file says."""
    created_at: Mapped[datetime] = created()
    collected_at: Mapped[datetime | None]


class Document(Base):
    """One piece of evidence as found: the `raw` view, with where it came from."""

    __tablename__ = "documents"
    id: Mapped[int] = new_id()
    window_id: Mapped[int] = reference("windows.id")
    position: Mapped[int] = mapped_column(Integer)
    key: Mapped[str]
    url: Mapped[str]
    canonical_url: Mapped[str]
    domain: Mapped[str]
    tier: Mapped[str]
    tier_weight: Mapped[float]
    title: Mapped[str]
    published: Mapped[date | None]
    text: Mapped[str]
    cut_from: Mapped[int | None] = mapped_column(Integer)
    truth_value: Mapped[float | None]
    truth_label: Mapped[str | None]
    category: Mapped[str] = mapped_column(server_default="")
    simulated: Mapped[bool] = simulated_mark()
    origin: Mapped[str] = mapped_column(server_default="")
    """Its file and line; empty in rows of judge-gym before this was recorded."""
    doubt: Mapped[str] = mapped_column(server_default="")
    """What makes it doubtful as evidence; empty when nothing does, and as above."""
    __table_args__ = (
        UniqueConstraint("window_id", "key"),
        UniqueConstraint("window_id", "position"),
        CheckConstraint("tier_weight BETWEEN 0 AND 1", name="tier_weight_range"),
        CheckConstraint("truth_value BETWEEN 0 AND 1", name="truth_value_range"),
    )


class DroppedDocument(Base):
    """What a source gave and the window did not take, and why."""

    __tablename__ = "dropped_documents"
    id: Mapped[int] = new_id()
    window_id: Mapped[int] = reference("windows.id", index=True)
    url: Mapped[str]
    title: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[str]


class View(Base):
    """A document cleaned, neutralized or abstracted; made once per recipe, or failed on record."""

    __tablename__ = "views"
    document_id: Mapped[int] = reference("documents.id", primary_key=True)
    view: Mapped[str] = mapped_column(primary_key=True)
    recipe: Mapped[str] = mapped_column(primary_key=True, server_default="")
    """Digest of the templates, models and settings that made it and the views before it; empty in
    rows of judge-gym before this was recorded."""
    status: Mapped[str]
    text: Mapped[str | None]
    words: Mapped[int | None] = mapped_column(Integer)
    over_limit: Mapped[bool] = mapped_column(server_default="false")
    method: Mapped[str]
    failure: Mapped[str | None]
    simulated: Mapped[bool] = simulated_mark()
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    __table_args__ = (
        one_of("view", ("cleaned", "neutralized", "abstracted")),
        one_of("status", ("ready", "failed")),
        CheckConstraint("(status = 'ready') = (text IS NOT NULL)", name="text_when_ready"),
        CheckConstraint("(status = 'failed') = (failure IS NOT NULL)", name="failure_when_failed"),
    )
