"""labels of people

Revision ID: 0035
Revises: 0034
"""

from datetime import datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

VIEWS = "80a4785ecb92619c"


def upgrade() -> None:
    op.create_table(
        "annotation_sets",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("described", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("rubric_id", sa.BigInteger(), nullable=True),
        _created_at(),
        sa.CheckConstraint("name <> ''", name=op.f("ck_annotation_sets_name_not_empty")),
        sa.ForeignKeyConstraint(
            ["rubric_id"],
            ["rubrics.id"],
            name=op.f("fk_annotation_sets_rubric_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotation_sets")),
        sa.UniqueConstraint("name", name=op.f("uq_annotation_sets_name")),
    )
    op.create_index("ix_annotation_sets_rubric_id", "annotation_sets", ["rubric_id"])
    op.create_table(
        "annotations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("set_id", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(none_as_null=True), nullable=False),
        _created_at(),
        sa.CheckConstraint("kind IN ('person', 'judge')", name=op.f("ck_annotations_kind_known")),
        sa.CheckConstraint("jsonb_array_length(labels) > 0", name=op.f("ck_annotations_has_label")),
        sa.CheckConstraint(
            "(item_id IS NULL) OR (kind = 'person')", name=op.f("ck_annotations_items_of_people")
        ),
        sa.ForeignKeyConstraint(
            ["item_id"], ["items.id"], name=op.f("fk_annotations_item_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["set_id"],
            ["annotation_sets.id"],
            name=op.f("fk_annotations_set_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotations")),
        sa.UniqueConstraint(
            "set_id",
            "item",
            "annotator",
            "kind",
            name=op.f("uq_annotations_set_id_item_annotator_kind"),
        ),
    )
    op.create_index("ix_annotations_item_id", "annotations", ["item_id"])


def downgrade() -> None:
    op.drop_table("annotations")
    op.drop_table("annotation_sets")


def _created_at() -> "sa.Column[datetime]":
    return sa.Column(
        "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
    )
