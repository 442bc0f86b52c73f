"""comments of views in plain words, with the names of commands as they are now

Revision ID: 0024
Revises: 0023
"""

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

VIEWS = "292150c25dd069b6"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
