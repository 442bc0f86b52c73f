"""analysis plans

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

VIEWS = "6d66c8131fa6ff1c"


def upgrade() -> None:
    op.create_table(
        "analysis_plans",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("sweep_id", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column(
            "content", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False
        ),
        sa.Column(
            "stored_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_analysis_plans_sweep_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_analysis_plans")),
        sa.UniqueConstraint("sweep_id", "sha256", name=op.f("uq_analysis_plans_sweep_id_sha256")),
    )
    op.create_table(
        "analysis_findings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("hypothesis", sa.Text(), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("estimand", sa.Text(), nullable=False),
        sa.Column(
            "scope", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False
        ),
        sa.Column("scope_key", sa.Text(), nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("margin", sa.Double(), nullable=False),
        sa.Column("reference", sa.Double(), nullable=False),
        sa.Column("estimate", sa.Double(), nullable=True),
        sa.Column("lower", sa.Double(), nullable=True),
        sa.Column("upper", sa.Double(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("n_items", sa.Integer(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("p", sa.Double(), nullable=True),
        sa.Column("p_adjusted", sa.Double(), nullable=True),
        sa.Column("conclusion", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("confirmatory", sa.Boolean(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "conclusion IN ('supported', 'refuted', 'inconclusive', 'not testable here')",
            name=op.f("ck_analysis_findings_conclusion_known"),
        ),
        sa.CheckConstraint(
            "direction IN ('above', 'below', 'within')",
            name=op.f("ck_analysis_findings_direction_known"),
        ),
        sa.CheckConstraint("p BETWEEN 0 AND 1", name=op.f("ck_analysis_findings_p_range")),
        sa.CheckConstraint(
            "p_adjusted BETWEEN 0 AND 1", name=op.f("ck_analysis_findings_p_adjusted_range")
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["analysis_runs.id"],
            name=op.f("fk_analysis_findings_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_analysis_findings")),
        sa.UniqueConstraint(
            "run_id",
            "hypothesis",
            "scope_key",
            name=op.f("uq_analysis_findings_run_id_hypothesis_scope_key"),
        ),
    )
    op.add_column("analysis_runs", sa.Column("plan_id", sa.BigInteger(), nullable=True))
    op.add_column(
        "analysis_runs", sa.Column("standing", sa.Text(), server_default="", nullable=False)
    )
    op.create_foreign_key(
        op.f("fk_analysis_runs_plan_id"),
        "analysis_runs",
        "analysis_plans",
        ["plan_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.add_column("sweeps", sa.Column("plan", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("sweeps", "plan")
    op.drop_constraint(op.f("fk_analysis_runs_plan_id"), "analysis_runs", type_="foreignkey")
    op.drop_column("analysis_runs", "standing")
    op.drop_column("analysis_runs", "plan_id")
    op.drop_table("analysis_findings")
    op.drop_table("analysis_plans")
