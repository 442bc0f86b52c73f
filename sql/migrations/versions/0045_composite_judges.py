"""judges that are made of judges

Revision ID: 0045
Revises: 0044
"""

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None
VIEWS = "15e69d4c7b0ca591"

_SINGLE = "'rubric', 'binary', 'pairwise', 'callable', 'http'"
_NAME = "ck_judges_kind_known"


def upgrade() -> None:
    _allow(f"{_SINGLE}, 'ensemble', 'routed'")


def downgrade() -> None:
    op.execute("DELETE FROM judges WHERE kind IN ('ensemble', 'routed')")
    _allow(_SINGLE)


def _allow(kinds: str) -> None:
    op.drop_constraint(op.f(_NAME), "judges")
    op.create_check_constraint(op.f(_NAME), "judges", f"kind IN ({kinds})")
