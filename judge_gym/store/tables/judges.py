"""Judges for products, what they judge, and their results."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Index, Integer, UniqueConstraint
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

JUDGE_STATUSES = (
    "scored",
    "inconsistent",
    "cannot_assess",
    "unparseable",
    "refused",
    "failed",
)


class Judge(Base):
    """A judge for products, by the hash of its configuration and prompt."""

    __tablename__ = "judges"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    name: Mapped[str]
    """What it was called when it was first used."""
    model: Mapped[str]
    """The model, function or address that answers."""
    config: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        CheckConstraint("kind ~ '^[a-z_]+$'", name="kind_word"),
        Index("ix_judges_name", "name"),
    )


class JudgeItem(Base):
    """What such judges judge: texts. Where they are from is said as it was when they were new."""

    __tablename__ = "judge_items"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    """Of text, second text and context."""
    corpus: Mapped[str]
    """The digest of the file it first came from; empty when it came from none."""
    name: Mapped[str]
    perturbation: Mapped[str] = mapped_column(server_default="")
    """Empty for an original, which has neither severity nor seed."""
    severity: Mapped[float | None]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    perturber: Mapped[str | None]
    """The model that changed the text; none when the rules did, and for an original."""
    text: Mapped[str]
    second: Mapped[str | None]
    context: Mapped[str]
    label: Mapped[str | None]
    """The newest label that came with these texts; no part of what they are."""
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        CheckConstraint("severity BETWEEN 0 AND 1", name="severity_range"),
        CheckConstraint(
            "(perturbation = '') = (severity IS NULL) AND (perturbation = '') = (seed IS NULL)",
            name="variant_whole",
        ),
        Index("ix_judge_items_corpus_name", "corpus", "name"),
    )


class JudgeResult(Base):
    """One item judged once by such a judge; `score` is on the judge's scale."""

    __tablename__ = "judge_results"
    id: Mapped[int] = new_id()
    judge_id: Mapped[int] = reference("judges.id")
    item_id: Mapped[int] = reference("judge_items.id", on_delete="RESTRICT", index=True)
    repeat: Mapped[int] = mapped_column(Integer)
    review_day: Mapped[str] = mapped_column(server_default="")
    """The date of the review it was judged for; empty elsewhere."""
    status: Mapped[str]
    score: Mapped[float | None]
    subscores: Mapped[dict[str, Any]]
    verdict: Mapped[str | None]
    reason: Mapped[str]
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    call_ids: Mapped[list[int]]
    """Its calls, as long as the ledger has them; none when no model was asked."""
    duration_s: Mapped[float | None]
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", JUDGE_STATUSES),
        UniqueConstraint("judge_id", "item_id", "repeat", "review_day"),
        CheckConstraint("repeat >= 0", name="repeat_not_negative"),
        CheckConstraint("(status = 'scored') = (score IS NOT NULL)", name="score_when_scored"),
        CheckConstraint(
            "(status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)",
            name="failure_when_not_judged",
        ),
        CheckConstraint("score NOT IN ('NaN', 'Infinity', '-Infinity')", name="score_finite"),
    )


class GateRecheck(Base):
    """One time that a gate judged its sentinel set again, of one judge and one set of texts."""

    __tablename__ = "rechecks"
    id: Mapped[int] = new_id()
    judge_id: Mapped[int] = reference("judges.id")
    texts_digest: Mapped[str]
    """Of the keys of the sentinel set: gates with other texts have a history of their own."""
    review_day: Mapped[str]
    """That of its judgements."""
    day: Mapped[date | None]
    """The day of `--recheck`; none where another model or configuration answered."""
    number: Mapped[int] = mapped_column(Integer, server_default="1")
    """Which one of the day."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        UniqueConstraint("judge_id", "review_day"),
        CheckConstraint("number > 0", name="number_positive"),
    )
