"""personas in the setting of experiments

Revision ID: 0036
Revises: 0035
"""

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

VIEWS = "7b2785a51118179e"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
