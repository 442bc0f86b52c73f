"""views of panels

Revision ID: 0017
Revises: 0016
"""

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

VIEWS = "47fa2410f3ba87b2"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
