"""when the creation of a batch was requested

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "llm_batches", sa.Column("requested_at", sa.DateTime(timezone=True), nullable=True)
    )
    # Until now a batch with an input file may have been created.
    op.execute("UPDATE llm_batches SET requested_at = created_at WHERE input_file_id IS NOT NULL")


def downgrade() -> None:
    op.drop_column("llm_batches", "requested_at")
