"""when the design of a sweep was first changed after judgements

Revision ID: r0012
Revises: r0011
"""

from alembic import op

revision = "r0012"
down_revision = "r0011"
branch_labels = None
depends_on = None
VIEWS = "a6ecce1d9522b949"


def upgrade() -> None:
    """Add the column; earlier changes were not stored."""
    op.execute("ALTER TABLE sweeps ADD COLUMN redesigned JSONB")


def downgrade() -> None:
    """Drop the column."""
    op.execute("ALTER TABLE sweeps DROP COLUMN redesigned")
