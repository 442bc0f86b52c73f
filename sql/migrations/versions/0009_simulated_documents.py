"""simulated documents

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

VIEWS = "14df383c0e31f22f"


def upgrade() -> None:
    op.add_column(
        "documents", sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("documents", "simulated")
