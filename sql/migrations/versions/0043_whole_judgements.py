"""labels beside judged texts, and judgements that a judge says it cannot give

Revision ID: 0043
Revises: 0042
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None
VIEWS = "ba360b9fef8bf46e"

_STATUS = "ck_judge_results_status_known"
_BEFORE = ("scored", "inconsistent", "unparseable", "refused", "failed")


def upgrade() -> None:
    op.add_column("judge_items", sa.Column("label", sa.Text()))
    _allow((*_BEFORE[:2], "cannot_assess", *_BEFORE[2:]))


def downgrade() -> None:
    op.execute("DELETE FROM judge_results WHERE status = 'cannot_assess'")
    _allow(_BEFORE)
    op.drop_column("judge_items", "label")


def _allow(statuses: tuple[str, ...]) -> None:
    op.drop_constraint(op.f(_STATUS), "judge_results", type_="check")
    listed = ", ".join(f"'{status}'" for status in statuses)
    op.create_check_constraint(op.f(_STATUS), "judge_results", f"status IN ({listed})")
