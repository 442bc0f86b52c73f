"""What people decide: costs and rubrics that they approve, judges that they keep."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index
from sqlalchemy.orm import Mapped

from judge_gym.store.tables.base import Base, created, new_id, one_of, reference

SPENDING, REVIEW, READING = "spending", "review", "reading"
DECISIONS = ("approve", "refuse", "keep", "reconsider")


class Decision(Base):
    """A decision and who made it, as they typed their name."""

    __tablename__ = "decisions"
    id: Mapped[int] = new_id()
    kind: Mapped[str]
    subject: Mapped[str]
    """The name of the sweep or of the review; of other studies the kind and the name; of a rubric
    that was read its key."""
    judge_id: Mapped[int | None] = reference("judges.id", index=True)
    """The judge in use that a review is about."""
    decision: Mapped[str]
    person: Mapped[str]
    reason: Mapped[str]
    details: Mapped[dict[str, Any]]
    """What was shown to decide by."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("kind", (SPENDING, REVIEW, READING)),
        one_of("decision", DECISIONS),
        CheckConstraint("person <> ''", name="person_named"),
        CheckConstraint(
            f"(kind = '{REVIEW}') = (decision IN ('keep', 'reconsider'))", name="decision_of_kind"
        ),
        CheckConstraint(f"(kind = '{REVIEW}') = (judge_id IS NOT NULL)", name="judge_of_review"),
        Index("ix_decisions_subject", "subject"),
    )
