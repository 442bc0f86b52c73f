"""pairs as a task type

Revision ID: 0038
Revises: 0037
"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

VIEWS = "683699690646c1d2"


def upgrade() -> None:
    _check("'ecc', 'control', 'benchmark', 'pairs'")


def downgrade() -> None:
    op.execute("DELETE FROM experiments WHERE task_type = 'pairs'")
    _check("'ecc', 'control', 'benchmark'")


def _check(known: str) -> None:
    name = op.f("ck_experiments_task_type_known")
    op.drop_constraint(name, "experiments", type_="check")
    op.create_check_constraint(name, "experiments", f"task_type IN ({known})")
