"""views that say that certificates use labelled texts, too

Revision ID: r0003
Revises: r0002
"""

revision = "r0003"
down_revision = "r0002"
branch_labels = None
depends_on = None
VIEWS = "a25627d3365d1429"


def upgrade() -> None:
    """Change no table: views are made anew after migrations."""


def downgrade() -> None:
    """Change no table."""
