"""axis actors in views

Revision ID: 0040
Revises: 0039
"""

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

VIEWS = "deec723d3be84606"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
