"""judges for products

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "judges",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "kind IN ('rubric', 'binary', 'pairwise', 'callable', 'http')",
            name=op.f("ck_judges_kind_known"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judges")),
        sa.UniqueConstraint("key", name=op.f("uq_judges_key")),
    )
    op.create_index("ix_judges_name", "judges", ["name"])
    op.create_table(
        "judge_items",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("corpus", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("perturbation", sa.Text(), server_default="", nullable=False),
        sa.Column("severity", sa.Float(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=True),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("severity BETWEEN 0 AND 1", name=op.f("ck_judge_items_severity_range")),
        sa.CheckConstraint(
            "(perturbation = '') = (severity IS NULL) AND (perturbation = '') = (seed IS NULL)",
            name=op.f("ck_judge_items_variant_whole"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_items")),
        sa.UniqueConstraint("key", name=op.f("uq_judge_items_key")),
    )
    op.create_index("ix_judge_items_corpus_name", "judge_items", ["corpus", "name"])
    op.create_table(
        "judge_results",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("judge_id", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("subscores", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("call_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=True),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "status IN ('scored', 'inconsistent', 'unparseable', 'refused', 'failed')",
            name=op.f("ck_judge_results_status_known"),
        ),
        sa.CheckConstraint("repeat >= 0", name=op.f("ck_judge_results_repeat_not_negative")),
        sa.CheckConstraint(
            "(status = 'scored') = (score IS NOT NULL)",
            name=op.f("ck_judge_results_score_when_scored"),
        ),
        sa.CheckConstraint(
            "(status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)",
            name=op.f("ck_judge_results_failure_when_not_judged"),
        ),
        sa.CheckConstraint(
            "score NOT IN ('NaN', 'Infinity', '-Infinity')",
            name=op.f("ck_judge_results_score_finite"),
        ),
        sa.ForeignKeyConstraint(
            ["judge_id"], ["judges.id"], name=op.f("fk_judge_results_judge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["judge_items.id"],
            name=op.f("fk_judge_results_item_id"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_results")),
        sa.UniqueConstraint(
            "judge_id", "item_id", "repeat", name=op.f("uq_judge_results_judge_id_item_id_repeat")
        ),
    )
    op.create_index(op.f("ix_judge_results_item_id"), "judge_results", ["item_id"])


def downgrade() -> None:
    op.drop_table("judge_results")
    op.drop_table("judge_items")
    op.drop_table("judges")
