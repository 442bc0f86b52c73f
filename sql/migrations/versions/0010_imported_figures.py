"""imported figures

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

VIEWS = "d66e00e3b6513822"
TABLES = ("analysis_results", "analysis_findings")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(
            table, sa.Column("imported", sa.Boolean(), server_default="false", nullable=False)
        )


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "imported")
