"""recorded judgements

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("documents", sa.Column("category", sa.Text(), server_default="", nullable=False))
    op.add_column(
        "samples", sa.Column("imported", sa.Boolean(), server_default="false", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("samples", "imported")
    op.drop_column("documents", "category")
