"""panels as judges, and judges as raters of panels

Revision ID: 0048
Revises: 0047
"""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None
VIEWS = "5f51b900d3300680"

_KINDS = "'rubric', 'binary', 'pairwise', 'callable', 'http', 'ensemble', 'routed'"
_TIERS = "'schema', 'json', 'text'"


def upgrade() -> None:
    _allow("judges", "kind", f"{_KINDS}, 'panel'")
    for table in ("panel_reviews", "panel_consensus"):
        _allow(table, "tier", f"{_TIERS}, 'judge'")


def downgrade() -> None:
    op.execute("DELETE FROM judges WHERE kind = 'panel'")
    op.execute("DELETE FROM panel_reviews WHERE tier = 'judge'")
    _allow("judges", "kind", _KINDS)
    for table in ("panel_reviews", "panel_consensus"):
        _allow(table, "tier", _TIERS)


def _allow(table: str, column: str, values: str) -> None:
    name = op.f(f"ck_{table}_{column}_known")
    op.drop_constraint(name, table)
    op.create_check_constraint(name, table, f"{column} IN ({values})")
