"""views: answers that were paid for and not kept are in costs; bundle plans have their whole name

Revision ID: r0007
Revises: r0006
"""

revision = "r0007"
down_revision = "r0006"
branch_labels = None
depends_on = None
VIEWS = "c8b7b262cab79534"


def upgrade() -> None:
    """Change no table."""


def downgrade() -> None:
    """Change no table."""
