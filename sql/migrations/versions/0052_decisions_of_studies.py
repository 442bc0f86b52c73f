"""decisions about what studies of judges spend

Revision ID: 0052
Revises: 0051
"""

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None
VIEWS = "42cd45370230414f"


def upgrade() -> None:
    """Only the views change, which every upgrade makes anew."""


def downgrade() -> None:
    """Only the views change."""
