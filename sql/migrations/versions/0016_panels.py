"""panels

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "panel_documents",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("items", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("shown_items", sa.Integer(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "shown_items BETWEEN 1 AND jsonb_array_length(items)",
            name=op.f("ck_panel_documents_shown_items_range"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_panel_documents")),
        sa.UniqueConstraint("key", name=op.f("uq_panel_documents_key")),
    )
    op.create_index("ix_panel_documents_name", "panel_documents", ["name"])
    op.create_table(
        "panels",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_panels")),
        sa.UniqueConstraint("key", name=op.f("uq_panels_key")),
    )
    op.create_table(
        "panel_consensus",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("panel_id", sa.BigInteger(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("review_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("final_score", sa.Integer(), nullable=True),
        sa.Column("raw_score", sa.Integer(), nullable=True),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("mean", sa.Float(), nullable=True),
        sa.Column("median", sa.Float(), nullable=True),
        sa.Column("spread", sa.Integer(), nullable=True),
        sa.Column("level", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("tier", sa.Text(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("call_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "(status = 'done') = (num_nonnulls(final_score, raw_score, rationale, tier) = 4)",
            name=op.f("ck_panel_consensus_verdict_when_done"),
        ),
        sa.CheckConstraint(
            "(status = 'done') = (failure IS NULL)",
            name=op.f("ck_panel_consensus_failure_unless_done"),
        ),
        sa.CheckConstraint(
            "level IN ('strong', 'moderate', 'weak')", name=op.f("ck_panel_consensus_level_known")
        ),
        sa.CheckConstraint(
            "status <> 'done' OR num_nonnulls(mean, median, spread, level) = 4",
            name=op.f("ck_panel_consensus_agreement_when_done"),
        ),
        sa.CheckConstraint(
            "status IN ('done', 'error', 'cancelled')", name=op.f("ck_panel_consensus_status_known")
        ),
        sa.CheckConstraint(
            "tier IN ('schema', 'json', 'text')", name=op.f("ck_panel_consensus_tier_known")
        ),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_panel_consensus_attempt_not_negative")),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["panel_documents.id"],
            name=op.f("fk_panel_consensus_document_id"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["panel_id"],
            ["panels.id"],
            name=op.f("fk_panel_consensus_panel_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_panel_consensus")),
        sa.UniqueConstraint(
            "panel_id",
            "document_id",
            "attempt",
            name=op.f("uq_panel_consensus_panel_id_document_id_attempt"),
        ),
    )
    op.create_index(op.f("ix_panel_consensus_document_id"), "panel_consensus", ["document_id"])
    op.create_table(
        "panel_reviews",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("panel_id", sa.BigInteger(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("overall_score", sa.Integer(), nullable=True),
        sa.Column("overall_comment", sa.Text(), nullable=True),
        sa.Column("items", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("tier", sa.Text(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=False),
        sa.Column("call_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "(status = 'done') = (num_nonnulls(overall_score, overall_comment, items, tier) = 4)",
            name=op.f("ck_panel_reviews_review_when_done"),
        ),
        sa.CheckConstraint(
            "(status = 'done') = (failure IS NULL)",
            name=op.f("ck_panel_reviews_failure_unless_done"),
        ),
        sa.CheckConstraint(
            "status IN ('done', 'error', 'cancelled')", name=op.f("ck_panel_reviews_status_known")
        ),
        sa.CheckConstraint(
            "tier IN ('schema', 'json', 'text')", name=op.f("ck_panel_reviews_tier_known")
        ),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_panel_reviews_attempt_not_negative")),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["panel_documents.id"],
            name=op.f("fk_panel_reviews_document_id"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["panel_id"], ["panels.id"], name=op.f("fk_panel_reviews_panel_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_panel_reviews")),
        sa.UniqueConstraint(
            "panel_id",
            "document_id",
            "rater",
            "attempt",
            name=op.f("uq_panel_reviews_panel_id_document_id_rater_attempt"),
        ),
    )
    op.create_index(op.f("ix_panel_reviews_document_id"), "panel_reviews", ["document_id"])


def downgrade() -> None:
    op.drop_table("panel_reviews")
    op.drop_table("panel_consensus")
    op.drop_table("panels")
    op.drop_table("panel_documents")
