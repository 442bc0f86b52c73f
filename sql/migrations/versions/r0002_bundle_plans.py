"""views with a column for the axis of bundle plans

Revision ID: r0002
Revises: r0001
"""

revision = "r0002"
down_revision = "r0001"
branch_labels = None
depends_on = None
VIEWS = "9f7863508520d9b0"


def upgrade() -> None:
    """Change no table: views are made anew after migrations."""


def downgrade() -> None:
    """Change no table."""
