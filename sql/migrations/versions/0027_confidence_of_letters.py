"""token probabilities of verdicts, and what a sweep does about values that a model cannot apply

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

VIEWS = "37af43568aafff5f"


def upgrade() -> None:
    op.add_column("samples", sa.Column("letter_probability", sa.Float(), nullable=True))
    op.add_column("samples", sa.Column("letter_probabilities", postgresql.JSONB(), nullable=True))
    op.create_check_constraint(
        op.f("ck_samples_letter_probability_range"),
        "samples",
        "letter_probability BETWEEN 0 AND 1",
    )
    op.create_check_constraint(
        op.f("ck_samples_letter_probabilities_with_its_own"),
        "samples",
        "(letter_probability IS NULL) = (letter_probabilities IS NULL)",
    )
    op.add_column(
        "sweeps", sa.Column("on_unsupported", sa.Text(), nullable=False, server_default="error")
    )
    op.create_check_constraint(
        op.f("ck_sweeps_on_unsupported_known"), "sweeps", "on_unsupported IN ('error', 'mark')"
    )


def downgrade() -> None:
    op.drop_column("sweeps", "on_unsupported")
    for name in ("letter_probabilities", "letter_probability"):
        op.drop_column("samples", name)
