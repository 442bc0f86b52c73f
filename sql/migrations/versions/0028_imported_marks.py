"""the mark of imported judgements in every view that has the mark of simulated ones

Revision ID: 0028
Revises: 0027
"""

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

VIEWS = "3c594be887c81d4e"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
