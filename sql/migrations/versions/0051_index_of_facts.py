"""an index that has what an analysis reads of every call

Revision ID: 0051
Revises: 0050
"""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None
VIEWS = "359bef714335e1da"

_FACTS = ["sent_at", "cost_usd", "served_model", "fingerprint"]


def upgrade() -> None:
    op.create_index("ix_llm_calls_facts", "llm_calls", ["id"], postgresql_include=_FACTS)


def downgrade() -> None:
    op.drop_index("ix_llm_calls_facts", table_name="llm_calls")
