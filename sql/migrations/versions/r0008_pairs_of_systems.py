"""which system the second answer of an imported pair is of

Revision ID: r0008
Revises: r0007
"""

from alembic import op

revision = "r0008"
down_revision = "r0007"
branch_labels = None
depends_on = None
VIEWS = "a75ccf1f4f3bc0b8"


def upgrade() -> None:
    """Add it; pairs imported before have none."""
    op.execute("ALTER TABLE documents ADD COLUMN second_system text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE documents DROP COLUMN second_system")
