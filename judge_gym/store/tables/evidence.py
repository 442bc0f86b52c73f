"""Windows and what was collected for them: documents, their views, and what was left out."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Integer, UniqueConstraint
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


class Window(Base):
    """A query, country and date range; `collected_at` is when its evidence was fixed."""

    __tablename__ = "windows"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    query: Mapped[str]
    """The search query, or the subject of a file."""
    country: Mapped[str]
    """The country or setting that prompts name."""
    start_date: Mapped[date | None]
    """First day, inclusive; NULL without one."""
    end_date: Mapped[date | None]
    """Last day, inclusive; NULL without one."""
    max_documents: Mapped[int] = mapped_column(Integer)
    """Maximum number of documents."""
    source: Mapped[dict[str, Any]]
    """Where its documents come from: kind, file, columns and digest."""
    shareable: Mapped[bool] = mapped_column(server_default="true")
    """Whether a replication package may hold its texts."""
    licence: Mapped[str] = mapped_column(server_default="")
    """The licence of its texts, as its file says."""
    created_at: Mapped[datetime] = created()
    collected_at: Mapped[datetime | None]
    """When it was collected; NULL before."""


class Document(Base):
    """One piece of evidence as found: the `raw` view, with where it came from."""

    __tablename__ = "documents"
    id: Mapped[int] = new_id()
    window_id: Mapped[int] = reference("windows.id")
    position: Mapped[int] = mapped_column(Integer)
    key: Mapped[str]
    url: Mapped[str]
    canonical_url: Mapped[str]
    """Identity within its window; `corpus:` and a digest without an address."""
    domain: Mapped[str]
    tier: Mapped[str]
    tier_weight: Mapped[float]
    title: Mapped[str]
    published: Mapped[date | None]
    text: Mapped[str]
    """The raw view: the text as collected and screened."""
    cut_from: Mapped[int | None] = mapped_column(Integer)
    truth_value: Mapped[float | None]
    truth_label: Mapped[str | None]
    category: Mapped[str] = mapped_column(server_default="")
    system: Mapped[str] = mapped_column(server_default="")
    """What was compared, such as the model that wrote it; empty where that is not known."""
    second_system: Mapped[str] = mapped_column(server_default="")
    """That of the second answer of a pair, whose first is of `system`; empty otherwise."""
    system_family: Mapped[str] = mapped_column(server_default="")
    question: Mapped[str] = mapped_column(server_default="")
    """What it answers, which documents of several systems share; empty where that is not known."""
    simulated: Mapped[bool] = simulated_mark()
    origin: Mapped[str] = mapped_column(server_default="")
    """Its file and line; empty where there is none."""
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
    """Which view of the document it is; each is made from the one before."""
    recipe: Mapped[str] = mapped_column(primary_key=True, server_default="")
    """Digest of the templates, models and settings that made it and the views before it."""
    status: Mapped[str]
    """Whether there is a text."""
    text: Mapped[str | None]
    """The text of the view; NULL if it failed."""
    words: Mapped[int | None] = mapped_column(Integer)
    """Words of what the model wrote, before a cut to the limit."""
    over_limit: Mapped[bool] = mapped_column(server_default="false")
    """Whether the text was cut to the limit of summary_words."""
    method: Mapped[str]
    """Who made it: a model, `library`, or `none`."""
    failure: Mapped[str | None]
    """Why there is no text, as `kind: detail`."""
    failure_kind: Mapped[str | None] = kind_column()
    simulated: Mapped[bool] = simulated_mark()
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    __table_args__ = (
        one_of("view", ("cleaned", "neutralized", "abstracted")),
        one_of("status", ("ready", "failed")),
        CheckConstraint("(status = 'ready') = (text IS NOT NULL)", name="text_when_ready"),
        CheckConstraint("(status = 'failed') = (failure IS NOT NULL)", name="failure_when_failed"),
    )
