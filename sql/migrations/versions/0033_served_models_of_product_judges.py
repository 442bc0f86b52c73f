"""served models of product judges in views

Revision ID: 0033
Revises: 0032
"""

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

VIEWS = "d488f9414c26b338"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
