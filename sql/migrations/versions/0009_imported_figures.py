"""imported figures

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

VIEWS = "eb09cd3e4796b92f"
TABLES = ("analysis_results", "analysis_findings")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(
            table, sa.Column("imported", sa.Boolean(), server_default="false", nullable=False)
        )


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "imported")
