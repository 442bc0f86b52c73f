"""analysis data digest

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "analysis_runs", sa.Column("data_digest", sa.Text(), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("analysis_runs", "data_digest")
