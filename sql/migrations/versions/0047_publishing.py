"""what may be shared, the files of a sweep, frozen plans

Revision ID: 0047
Revises: 0046
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None
VIEWS = "2a615fb7426d301d"

_JSON = postgresql.JSONB(none_as_null=True)
_NEW: tuple[tuple[str, sa.Column[Any]], ...] = (
    ("windows", sa.Column("shareable", sa.Boolean(), server_default="true", nullable=False)),
    ("windows", sa.Column("licence", sa.Text(), server_default="", nullable=False)),
    ("sweeps", sa.Column("files", _JSON, server_default="{}", nullable=False)),
    ("sweeps", sa.Column("frozen", _JSON)),
    ("analysis_runs", sa.Column("frozen", sa.Text(), server_default="", nullable=False)),
    (
        "analysis_findings",
        sa.Column("planned", sa.Boolean(), server_default="false", nullable=False),
    ),
)


def upgrade() -> None:
    for table, column in _NEW:
        op.add_column(table, column)
    # News was collected under nobody's licence to copy it.
    op.execute("UPDATE windows SET shareable = false WHERE source ->> 'kind' = 'firecrawl'")


def downgrade() -> None:
    for table, column in reversed(_NEW):
        op.drop_column(table, column.name)
