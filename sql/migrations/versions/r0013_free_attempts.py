"""requests that cost at most 0 count as of known cost in the views

Revision ID: r0013
Revises: r0012
"""

revision = "r0013"
down_revision = "r0012"
branch_labels = None
depends_on = None
VIEWS = "61a253ccd77c078c"


def upgrade() -> None:
    """Only the views change."""


def downgrade() -> None:
    """Only the views change."""
