"""no cost where it is not known: judgements of one's own functions and addresses

Revision ID: 0050
Revises: 0049
"""

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None
VIEWS = "359bef714335e1da"


def upgrade() -> None:
    """Only the views change, which every upgrade makes anew."""


def downgrade() -> None:
    """Only the views change."""
