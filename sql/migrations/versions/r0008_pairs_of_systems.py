"""which system the second answer of an imported pair is of

Revision ID: r0008
Revises: r0007
"""

from alembic import op

revision = "r0008"
down_revision = "r0007"
branch_labels = None
depends_on = None
VIEWS = "964fc2e15081b8d0"


def upgrade() -> None:
    """Add it; pairs imported before have none."""
    op.execute("ALTER TABLE documents ADD COLUMN second_system text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE documents DROP COLUMN second_system")
