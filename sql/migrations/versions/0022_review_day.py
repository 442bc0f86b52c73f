"""judge_results.review_day

`occasion` held the date of the review that a result was judged for; its name says so now.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

VIEWS = "0c78163acc999374"

_TABLE = "judge_results"
_KEY = ["judge_id", "item_id", "repeat"]


def upgrade() -> None:
    _rename("occasion", "review_day")


def downgrade() -> None:
    _rename("review_day", "occasion")


def _rename(old: str, new: str) -> None:
    """Rename a column by a new one: constraints of a renamed column would keep its old name."""
    unique = f"uq_{_TABLE}_{'_'.join(_KEY)}"
    op.add_column(_TABLE, sa.Column(new, sa.Text(), server_default="", nullable=False))
    op.execute(sa.update(sa.table(_TABLE, sa.column(new))).values({new: sa.column(old)}))
    op.drop_constraint(f"{unique}_{old}", _TABLE)
    op.drop_column(_TABLE, old)
    op.create_unique_constraint(f"{unique}_{new}", _TABLE, [*_KEY, new])
