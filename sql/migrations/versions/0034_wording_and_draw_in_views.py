"""axes wording and rubric_draw in views

Revision ID: 0034
Revises: 0033
"""

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

VIEWS = "020a00b2ee9b3118"


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
