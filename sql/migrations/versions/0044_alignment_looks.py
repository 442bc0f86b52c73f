"""looks of alignments at sealed test sets

Revision ID: 0044
Revises: 0043
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None
VIEWS = "017a2bbd6366571f"

_TABLE = "alignment_looks"


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("alignment", sa.Text(), nullable=False),
        sa.Column("before_id", sa.BigInteger(), nullable=False),
        sa.Column("chosen_id", sa.BigInteger(), nullable=False),
        sa.Column("test_digest", sa.Text(), nullable=False),
        sa.Column("items_digest", sa.Text(), nullable=False),
        sa.Column("item_keys", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "jsonb_array_length(item_keys) > 0", name=op.f(f"ck_{_TABLE}_item_keys_present")
        ),
        sa.ForeignKeyConstraint(
            ["before_id"], ["judges.id"], name=op.f(f"fk_{_TABLE}_before_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["chosen_id"], ["judges.id"], name=op.f(f"fk_{_TABLE}_chosen_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
        sa.UniqueConstraint(
            "before_id",
            "chosen_id",
            "test_digest",
            "items_digest",
            name=op.f(f"uq_{_TABLE}_once"),
        ),
    )
    op.create_index(f"ix_{_TABLE}_chosen_id", _TABLE, ["chosen_id"])


def downgrade() -> None:
    op.drop_table(_TABLE)
