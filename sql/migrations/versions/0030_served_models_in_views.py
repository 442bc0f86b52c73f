"""served models and configurations of samples, and the calibration of letters, in views

Revision ID: 0030
Revises: 0029
"""

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

VIEWS = "7242b27f1ad9584c"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
