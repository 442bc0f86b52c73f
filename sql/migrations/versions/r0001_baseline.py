"""the schema of 0.1.0

Revision ID: r0001
Revises:
"""

import re
from pathlib import Path

from alembic import op

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None
VIEWS = "fd005d4f581f813d"

_SCHEMA = Path(__file__).with_suffix(".sql").read_text("utf-8")


def upgrade() -> None:
    # Several statements in one go, which the driver takes only without parameters.
    op.get_bind().exec_driver_sql(_SCHEMA, execution_options={"no_parameters": True})


def downgrade() -> None:
    tables = re.findall(r"^CREATE TABLE (\w+)", _SCHEMA, re.MULTILINE)
    op.execute(f"DROP TABLE {', '.join(tables)}")
    op.execute("DROP SCHEMA analysis")
