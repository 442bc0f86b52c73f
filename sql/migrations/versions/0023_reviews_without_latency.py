"""reviews without a latency

An answer that came in a batch, or that is another call's, has no latency.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("panel_reviews", "latency_ms", existing_type=sa.Float(), nullable=True)


def downgrade() -> None:
    op.execute("UPDATE panel_reviews SET latency_ms = 0 WHERE latency_ms IS NULL")
    op.alter_column("panel_reviews", "latency_ms", existing_type=sa.Float(), nullable=False)
