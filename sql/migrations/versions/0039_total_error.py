"""the total error of figures and findings beside the interval over items

Revision ID: 0039
Revises: 0038
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

VIEWS = "938aaff432282501"

_COLUMNS = {
    "analysis_results": ("items_lower", "items_upper", "df"),
    "analysis_findings": ("items_lower", "items_upper"),
}


def upgrade() -> None:
    for table, names in _COLUMNS.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.Float(), nullable=True))


def downgrade() -> None:
    for table, names in _COLUMNS.items():
        for name in names:
            op.drop_column(table, name)
