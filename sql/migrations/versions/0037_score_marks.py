"""marks of a critic on the reasoning behind samples

Revision ID: 0037
Revises: 0036
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

VIEWS = "893b26e0f2619513"


def upgrade() -> None:
    op.add_column("sweeps", sa.Column("score_critic", postgresql.JSONB(), nullable=True))
    op.create_table(
        "score_marks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("sample_id", sa.BigInteger(), nullable=False),
        sa.Column("critic_model", sa.Text(), nullable=False),
        sa.Column("template", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("observable", sa.Boolean(), nullable=True),
        sa.Column("consistent", sa.Boolean(), nullable=True),
        sa.Column("uses_evidence", sa.Boolean(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("call_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "(status = 'marked') = "
            "(observable IS NOT NULL AND consistent IS NOT NULL AND uses_evidence IS NOT NULL)",
            name=op.f("ck_score_marks_marks_when_marked"),
        ),
        sa.CheckConstraint(
            "(status IN ('marked', 'no_reasoning')) = (failure IS NULL)",
            name=op.f("ck_score_marks_failure_when_not_marked"),
        ),
        sa.CheckConstraint(
            "status IN ('marked', 'no_reasoning', 'unparseable', 'refused', 'failed')",
            name=op.f("ck_score_marks_status_known"),
        ),
        sa.ForeignKeyConstraint(
            ["call_id"], ["llm_calls.id"], name=op.f("fk_score_marks_call_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["sample_id"], ["samples.id"], name=op.f("fk_score_marks_sample_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_score_marks")),
        sa.UniqueConstraint(
            "sample_id",
            "critic_model",
            "template",
            name=op.f("uq_score_marks_sample_id_critic_model_template"),
        ),
    )
    op.create_index(op.f("ix_score_marks_call_id"), "score_marks", ["call_id"], unique=False)


def downgrade() -> None:
    op.drop_table("score_marks")
    op.drop_column("sweeps", "score_critic")
