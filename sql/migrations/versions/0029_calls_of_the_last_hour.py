"""an index for the calls of the last hour

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_llm_calls_sent_at", "llm_calls", ["sent_at"], unique=False, postgresql_using="brin"
    )


def downgrade() -> None:
    op.drop_index("ix_llm_calls_sent_at", table_name="llm_calls", postgresql_using="brin")
