"""decisions about rubrics that a person has read

Revision ID: r0004
Revises: r0003
"""

from alembic import op

revision = "r0004"
down_revision = "r0003"
branch_labels = None
depends_on = None
VIEWS = "515cf0886cd1d78a"


def upgrade() -> None:
    """Allow a third kind of decision."""
    _constrain(
        "kind IN ('spending', 'review', 'reading')",
        "(kind = 'review') = (decision IN ('keep', 'reconsider'))",
    )


def downgrade() -> None:
    """Delete the decisions about rubrics, and allow no more."""
    op.execute("DELETE FROM decisions WHERE kind = 'reading'")
    _constrain(
        "kind IN ('spending', 'review')",
        "(kind = 'spending') = (decision IN ('approve', 'refuse'))",
    )


def _constrain(kind: str, decision: str) -> None:
    for name, condition in (("kind_known", kind), ("decision_of_kind", decision)):
        constraint = f"ck_decisions_{name}"
        op.execute(f"ALTER TABLE decisions DROP CONSTRAINT {constraint}")
        op.execute(f"ALTER TABLE decisions ADD CONSTRAINT {constraint} CHECK ({condition})")
