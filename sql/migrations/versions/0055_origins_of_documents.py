"""where in its file a document stands, and what makes it doubtful as evidence

Revision ID: 0055
Revises: 0054
"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

_COLUMNS = ("origin", "doubt")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("documents", sa.Column(name, sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    for name in _COLUMNS:
        op.drop_column("documents", name)
