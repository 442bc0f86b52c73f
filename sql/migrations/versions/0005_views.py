"""views: the schema `analysis`

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

VIEWS = "c6b110637c67b3aa"


def upgrade() -> None:
    op.create_index("ix_samples_arm_id", "samples", ["arm_id"])
    op.create_index("ix_probes_second", "probes", ["sample_id"], postgresql_where="replicate = 1")
    op.execute("CREATE SCHEMA analysis")
    op.execute("COMMENT ON SCHEMA analysis IS 'Views for analysts, described in their comments'")


def downgrade() -> None:
    op.execute("DROP SCHEMA analysis")
    op.drop_index("ix_samples_arm_id", table_name="samples")
    op.drop_index("ix_probes_second", table_name="probes")
