"""the view of product judgements counts answers that were paid for and not kept

Revision ID: r0007
Revises: r0006
"""

revision = "r0007"
down_revision = "r0006"
branch_labels = None
depends_on = None
VIEWS = "b178d591378e1f96"


def upgrade() -> None:
    """Change no table."""


def downgrade() -> None:
    """Change no table."""
