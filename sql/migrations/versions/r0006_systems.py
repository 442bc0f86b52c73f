"""which system an imported item is of, and what it answers

Revision ID: r0006
Revises: r0005
"""

from alembic import op

revision = "r0006"
down_revision = "r0005"
branch_labels = None
depends_on = None
VIEWS = "6d2f8a65e7870b9f"


def upgrade() -> None:
    """Add them; items imported before have their system as the category only."""
    op.execute(
        "ALTER TABLE documents ADD COLUMN system text NOT NULL DEFAULT '', "
        "ADD COLUMN system_family text NOT NULL DEFAULT '', "
        "ADD COLUMN question text NOT NULL DEFAULT ''"
    )


def downgrade() -> None:
    """Keep a system as the category, where there is no other, as older versions have it."""
    op.execute("UPDATE documents SET category = system WHERE category = ''")
    op.execute(
        "ALTER TABLE documents DROP COLUMN system, DROP COLUMN system_family, DROP COLUMN question"
    )
