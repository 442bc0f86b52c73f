"""decisions of people, points of studies, and what sweeps were defined as

Revision ID: 0046
Revises: 0045
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None
VIEWS = "a82f63e28df3fb59"

_TABLE = "decisions"
_POINTS = "study_points"


def upgrade() -> None:
    op.add_column("sweeps", sa.Column("definition", postgresql.JSONB(none_as_null=True)))
    op.create_table(
        _TABLE,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("judge_id", sa.BigInteger(), nullable=True),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("details", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("kind IN ('spending', 'review')", name=op.f(f"ck_{_TABLE}_kind_known")),
        sa.CheckConstraint(
            "decision IN ('approve', 'refuse', 'keep', 'reconsider')",
            name=op.f(f"ck_{_TABLE}_decision_known"),
        ),
        sa.CheckConstraint("person <> ''", name=op.f(f"ck_{_TABLE}_person_named")),
        sa.CheckConstraint(
            "(kind = 'spending') = (decision IN ('approve', 'refuse'))",
            name=op.f(f"ck_{_TABLE}_decision_of_kind"),
        ),
        sa.CheckConstraint(
            "(kind = 'review') = (judge_id IS NOT NULL)", name=op.f(f"ck_{_TABLE}_judge_of_review")
        ),
        sa.ForeignKeyConstraint(
            ["judge_id"], ["judges.id"], name=op.f(f"fk_{_TABLE}_judge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_TABLE}")),
    )
    op.create_index(f"ix_{_TABLE}_judge_id", _TABLE, ["judge_id"])
    op.create_index(f"ix_{_TABLE}_subject", _TABLE, ["subject"])
    op.create_table(
        _POINTS,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("study", sa.Text(), nullable=False),
        sa.Column("first_day", sa.Date(), nullable=False),
        sa.Column("last_day", sa.Date(), nullable=False),
        sa.Column("sweep_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("last_day >= first_day", name=op.f(f"ck_{_POINTS}_days_in_order")),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f(f"fk_{_POINTS}_sweep_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["analysis_runs.id"], name=op.f(f"fk_{_POINTS}_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_POINTS}")),
        sa.UniqueConstraint(
            "study", "first_day", "last_day", name=op.f(f"uq_{_POINTS}_study_first_day_last_day")
        ),
    )
    for column in ("run_id", "sweep_id"):
        op.create_index(f"ix_{_POINTS}_{column}", _POINTS, [column])


def downgrade() -> None:
    op.drop_table(_POINTS)
    op.drop_table(_TABLE)
    op.drop_column("sweeps", "definition")
