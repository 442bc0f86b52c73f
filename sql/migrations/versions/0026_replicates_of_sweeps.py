"""the replicates that each sweep declares, so that no sweep changes another's figures

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

VIEWS = "6321791999369dd7"


def upgrade() -> None:
    op.add_column("sweep_experiments", sa.Column("replicates", sa.Integer, nullable=True))
    # What a file declared was not stored; until now every sweep used all replicates.
    op.execute(
        "UPDATE sweep_experiments AS b SET replicates = x.replicates "
        "FROM experiments AS x WHERE x.id = b.experiment_id"
    )
    op.alter_column("sweep_experiments", "replicates", nullable=False)
    op.create_check_constraint(
        op.f("ck_sweep_experiments_replicates_positive"), "sweep_experiments", "replicates >= 1"
    )


def downgrade() -> None:
    op.drop_column("sweep_experiments", "replicates")
