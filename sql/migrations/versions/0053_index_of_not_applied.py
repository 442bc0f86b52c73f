"""an index of the calls whose model did not take a parameter

Revision ID: 0053
Revises: 0052
"""

from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None
VIEWS = "42cd45370230414f"


def upgrade() -> None:
    op.create_index(
        "ix_llm_calls_not_applied",
        "llm_calls",
        ["experiment_id"],
        postgresql_where="not_applied <> '[]'",
    )


def downgrade() -> None:
    op.drop_index("ix_llm_calls_not_applied", table_name="llm_calls")
