"""judge reviews, and results asked anew for them

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

VIEWS = "21b99b73cd5b121c"
_ONE_EACH = "uq_judge_results_judge_id_item_id_repeat"
_ONE_EACH_OCCASION = f"{_ONE_EACH}_occasion"


def upgrade() -> None:
    op.add_column(
        "judge_results", sa.Column("occasion", sa.Text(), server_default="", nullable=False)
    )
    op.drop_constraint(_ONE_EACH, "judge_results")
    op.create_unique_constraint(
        _ONE_EACH_OCCASION, "judge_results", ["judge_id", "item_id", "repeat", "occasion"]
    )
    op.create_table(
        "judge_reviews",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("review", sa.Text(), nullable=False),
        sa.Column("reviewed_on", sa.Date(), nullable=False),
        sa.Column("judge_id", sa.BigInteger(), nullable=False),
        sa.Column("alternative_id", sa.BigInteger(), nullable=True),
        sa.Column("corpus", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("figures", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("recommendation", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "recommendation IN ('keep', 'reconsider')",
            name=op.f("ck_judge_reviews_recommendation_known"),
        ),
        sa.ForeignKeyConstraint(
            ["judge_id"], ["judges.id"], name=op.f("fk_judge_reviews_judge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["alternative_id"],
            ["judges.id"],
            name=op.f("fk_judge_reviews_alternative_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_reviews")),
        sa.UniqueConstraint(
            "review",
            "reviewed_on",
            "judge_id",
            "corpus",
            "alternative_id",
            name=op.f("uq_judge_reviews_one_a_day"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index(
        "ix_judge_reviews_judge_id_reviewed_on", "judge_reviews", ["judge_id", "reviewed_on"]
    )


def downgrade() -> None:
    op.drop_table("judge_reviews")
    op.execute("DELETE FROM judge_results WHERE occasion <> ''")
    op.drop_constraint(_ONE_EACH_OCCASION, "judge_results")
    op.create_unique_constraint(_ONE_EACH, "judge_results", ["judge_id", "item_id", "repeat"])
    op.drop_column("judge_results", "occasion")
