"""calibration checks

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

VIEWS = "c38a77e06ad7f75f"


def upgrade() -> None:
    op.create_table(
        "calibration_checks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("judge_id", sa.BigInteger(), nullable=False),
        sa.Column("corpus", sa.Text(), nullable=False),
        sa.Column("calibration", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("perturbation", sa.Text(), server_default="", nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("estimate", sa.Float(), nullable=True),
        sa.Column("lower", sa.Float(), nullable=True),
        sa.Column("upper", sa.Float(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("n_items", sa.Integer(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("p", sa.Float(), nullable=True),
        sa.Column("p_adjusted", sa.Float(), nullable=True),
        sa.Column("beside", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "result IN ('passes', 'fails', 'inconclusive', 'not applicable')",
            name=op.f("ck_calibration_checks_result_known"),
        ),
        sa.CheckConstraint("p BETWEEN 0 AND 1", name=op.f("ck_calibration_checks_p_range")),
        sa.CheckConstraint(
            "p_adjusted BETWEEN 0 AND 1", name=op.f("ck_calibration_checks_p_adjusted_range")
        ),
        sa.ForeignKeyConstraint(
            ["judge_id"],
            ["judges.id"],
            name=op.f("fk_calibration_checks_judge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibration_checks")),
        sa.UniqueConstraint(
            "judge_id", "corpus", "name", name=op.f("uq_calibration_checks_judge_id_corpus_name")
        ),
    )


def downgrade() -> None:
    op.drop_table("calibration_checks")
