"""Labels of people, and of judges labelled beside them, that stand in files of their own."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.store.tables.base import Base, created, new_id, one_of, reference


class AnnotationSet(Base):
    """A file of labels: what they are, and how they are compared."""

    __tablename__ = "annotation_sets"
    id: Mapped[int] = new_id()
    name: Mapped[str] = mapped_column(unique=True)
    source: Mapped[str]
    """Where the labels come from, as the mapping file says."""
    described: Mapped[dict[str, Any]]
    """The `annotations.AnnotationScheme`: score, epsilon, labels."""
    rubric_id: Mapped[int | None] = reference("rubrics.id", index=True)
    """The rubric whose stages the labels name; NULL for a data set without a sweep."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (CheckConstraint("name <> ''", name="name_not_empty"),)


class Annotation(Base):
    """The label or labels that an annotator gave an item."""

    __tablename__ = "annotations"
    id: Mapped[int] = new_id()
    set_id: Mapped[int] = reference("annotation_sets.id")
    item: Mapped[str]
    """The item's key in the file."""
    item_id: Mapped[int | None] = reference("items.id", index=True)
    """The item of the sweep; NULL for a data set without one."""
    annotator: Mapped[str]
    kind: Mapped[str]
    labels: Mapped[list[Any]]
    """One label, or several that are acceptable; stage labels where there is a rubric."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("kind", ("person", "judge")),
        CheckConstraint("jsonb_array_length(labels) > 0", name="has_label"),
        CheckConstraint("(item_id IS NULL) OR (kind = 'person')", name="items_of_people"),
        UniqueConstraint(
            "set_id", "item", "annotator", "kind", "item_id", postgresql_nulls_not_distinct=True
        ),
    )
