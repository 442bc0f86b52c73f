"""experiments that a sweep had before its file or a recipe changed

Revision ID: 0041
Revises: 0040
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

VIEWS = "f685c30b7b5da2f5"


def upgrade() -> None:
    op.create_table(
        "former_sweep_experiments",
        sa.Column("sweep_id", sa.BigInteger(), nullable=False),
        sa.Column("experiment_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_former_sweep_experiments_experiment_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["sweep_id"],
            ["sweeps.id"],
            name=op.f("fk_former_sweep_experiments_sweep_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "sweep_id", "experiment_id", name=op.f("pk_former_sweep_experiments")
        ),
    )
    op.create_index(
        op.f("ix_former_sweep_experiments_experiment_id"),
        "former_sweep_experiments",
        ["experiment_id"],
        unique=False,
    )
    # Earlier recipes of a sweep's points, as far as no sweep has them any more.
    op.execute(
        """
        INSERT INTO former_sweep_experiments (sweep_id, experiment_id)
        SELECT DISTINCT b.sweep_id, old.id
        FROM sweep_experiments AS b
        JOIN experiments AS x ON x.id = b.experiment_id
        JOIN experiments AS old ON coalesce(old.point, old.key) = coalesce(x.point, x.key)
        WHERE NOT EXISTS (SELECT FROM sweep_experiments AS c WHERE c.experiment_id = old.id)
        """
    )


def downgrade() -> None:
    op.drop_table("former_sweep_experiments")
