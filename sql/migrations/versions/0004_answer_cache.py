"""answer cache

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("llm_calls", sa.Column("request_digest", sa.Text(), nullable=True))
    op.add_column("llm_calls", sa.Column("cached_from", sa.BigInteger(), nullable=True))
    op.create_index("ix_llm_calls_cached_from", "llm_calls", ["cached_from"], unique=False)
    op.create_index(
        "ix_llm_calls_request_digest",
        "llm_calls",
        ["request_digest"],
        unique=False,
        postgresql_where="request_digest IS NOT NULL",
    )
    op.create_foreign_key(
        "fk_llm_calls_cached_from",
        "llm_calls",
        "llm_calls",
        ["cached_from"],
        ["id"],
        ondelete="SET NULL",
    )


def downgrade() -> None:
    op.drop_constraint("fk_llm_calls_cached_from", "llm_calls", type_="foreignkey")
    op.drop_index(
        "ix_llm_calls_request_digest",
        table_name="llm_calls",
        postgresql_where="request_digest IS NOT NULL",
    )
    op.drop_index("ix_llm_calls_cached_from", table_name="llm_calls")
    op.drop_column("llm_calls", "cached_from")
    op.drop_column("llm_calls", "request_digest")
