"""what figures of simulated judges should come to

Revision ID: r0005
Revises: r0004
"""

from alembic import op

revision = "r0005"
down_revision = "r0004"
branch_labels = None
depends_on = None
VIEWS = "515cf0886cd1d78a"


def upgrade() -> None:
    """Add what is planted, and the value that follows; runs analysed before have none."""
    op.execute(
        "ALTER TABLE analysis_results ADD COLUMN planted text NOT NULL DEFAULT '', "
        "ADD COLUMN expected double precision"
    )


def downgrade() -> None:
    """Drop both: the next analysis of an older version has no use for them."""
    op.execute("ALTER TABLE analysis_results DROP COLUMN planted, DROP COLUMN expected")
