"""parameters as sent

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

VIEWS = "9a444a586b864faf"
COLUMNS = ("sent_parameters", "not_applied")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("llm_calls", sa.Column(name, postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("llm_calls", name)
