"""perturbed texts

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

VIEWS = "6b3a69fba26c7335"


def upgrade() -> None:
    op.add_column("judge_items", sa.Column("perturber", sa.Text(), nullable=True))
    op.create_table(
        "perturbed_texts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("perturbation", sa.Text(), nullable=False),
        sa.Column("severity", sa.Float(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("call_ids", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "status IN ('changed', 'unusable', 'refused', 'failed')",
            name=op.f("ck_perturbed_texts_status_known"),
        ),
        sa.CheckConstraint(
            "severity > 0 AND severity <= 1", name=op.f("ck_perturbed_texts_severity_range")
        ),
        sa.CheckConstraint(
            "(status = 'changed') = (text IS NOT NULL)",
            name=op.f("ck_perturbed_texts_text_when_changed"),
        ),
        sa.CheckConstraint(
            "(status = 'changed') = (failure IS NULL)",
            name=op.f("ck_perturbed_texts_failure_when_not_changed"),
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_perturbed_texts")),
    )


def downgrade() -> None:
    op.drop_table("perturbed_texts")
    op.drop_column("judge_items", "perturber")
