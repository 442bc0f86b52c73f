"""What calibrations, reviews and alignments of judges for products change, ask and conclude."""

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

CHECK_RESULTS = ("passes", "fails", "cannot tell", "not applicable", "inconclusive")
"""What a check found; a run of a version before r0013 writes "inconclusive" for "cannot tell"."""
RECOMMENDATIONS = ("keep", "reconsider", "cannot tell")


class PerturbedText(Base):
    """A text changed by a model, or why it was not; made once for all calibrations."""

    __tablename__ = "perturbed_texts"
    key: Mapped[str] = mapped_column(primary_key=True)
    """Of text, perturbation, severity, seed, model and prompt."""
    perturbation: Mapped[str]
    severity: Mapped[float]
    seed: Mapped[int] = mapped_column(BigInteger)
    model: Mapped[str]
    status: Mapped[str]
    text: Mapped[str | None]
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    call_ids: Mapped[list[int]]
    """Its calls, as long as the ledger has them."""
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", ("changed", "unusable", "refused", "failed")),
        CheckConstraint("severity > 0 AND severity <= 1", name="severity_range"),
        CheckConstraint("(status = 'changed') = (text IS NOT NULL)", name="text_when_changed"),
        CheckConstraint(
            "(status = 'changed') = (failure IS NULL)", name="failure_when_not_changed"
        ),
    )


class CalibrationCheck(Base):
    """What the last calibration of a judge on a corpus found in one check."""

    __tablename__ = "calibration_checks"
    id: Mapped[int] = new_id()
    judge_id: Mapped[int] = reference("judges.id")
    corpus: Mapped[str]
    """The digest of the file of the original texts."""
    calibration: Mapped[str]
    name: Mapped[str]
    perturbation: Mapped[str] = mapped_column(server_default="")
    """Empty for a check of the scores of the originals."""
    question: Mapped[str]
    result: Mapped[str]
    reason: Mapped[str]
    action: Mapped[str]
    metric: Mapped[str]
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    unit: Mapped[str]
    method: Mapped[str]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    beside: Mapped[list[Any]]
    """Figures to be read with the estimate, such as d_z and d_av."""
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("result", CHECK_RESULTS),
        UniqueConstraint("judge_id", "corpus", "name"),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )


class JudgeReview(Base):
    """What a review of one day says of a judge, or of an alternative to it; a person decides."""

    __tablename__ = "judge_reviews"
    id: Mapped[int] = new_id()
    review: Mapped[str]
    """The name that the review's file gives it."""
    reviewed_on: Mapped[date]
    judge_id: Mapped[int] = reference("judges.id")
    alternative_id: Mapped[int | None] = reference("judges.id", nullable=True)
    """NULL for the judge itself, which is compared with its results at the review before."""
    corpus: Mapped[str]
    decision: Mapped[str]
    """The past decision, in the words of the file."""
    figures: Mapped[dict[str, Any]]
    recommendation: Mapped[str]
    reason: Mapped[str]
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("recommendation", RECOMMENDATIONS),
        UniqueConstraint(
            "review", "reviewed_on", "judge_id", "corpus", "alternative_id",
            name="uq_judge_reviews_one_a_day", postgresql_nulls_not_distinct=True,
        ),
        Index("ix_judge_reviews_judge_id_reviewed_on", "judge_id", "reviewed_on"),
    )  # fmt: skip


class AlignmentLook(Base):
    """One look of an alignment at a sealed test set, or one use of labelled texts by a certificate.

    Texts that were looked at are used up. Of a certificate, its judge is both before and chosen.
    """

    __tablename__ = "alignment_looks"
    id: Mapped[int] = new_id()
    alignment: Mapped[str]
    """The name that the alignment's file gives it."""
    before_id: Mapped[int] = reference("judges.id")
    chosen_id: Mapped[int] = reference("judges.id", index=True)
    """The candidate that was chosen on development."""
    test_digest: Mapped[str]
    """Of the key and label of every labelled text of the test part, looked at or not."""
    items_digest: Mapped[str]
    """Of the key and label of every text of this look."""
    item_keys: Mapped[list[Any]]
    """The keys of these texts."""
    simulated: Mapped[bool] = simulated_mark()
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        UniqueConstraint(
            "before_id", "chosen_id", "test_digest", "items_digest", name="uq_alignment_looks_once"
        ),
        CheckConstraint("jsonb_array_length(item_keys) > 0", name="item_keys_present"),
    )
