"""old shams: arms whose second rubric was asked for otherwise than the first

Their prompt asked for "other criteria than those that come to mind first", a worse rubric by
instruction. They stay, with the hash of that prompt at their calls, and are not analysed.

Revision ID: 0019
Revises: 0018
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

VIEWS = "70c2cf171fe98c78"


def upgrade() -> None:
    op.drop_constraint(op.f("ck_arms_arm_known"), "arms", type_="check")
    op.create_check_constraint(
        op.f("ck_arms_arm_known"), "arms", "arm IN ('own', 'swap', 'sham', 'old_sham')"
    )
    op.execute(
        "UPDATE arms SET arm = 'old_sham' WHERE arm = 'sham' AND rubric_id IN "
        "(SELECT id FROM rubrics WHERE source = 'generated' AND variant = 1)"
    )


def downgrade() -> None:
    op.execute("UPDATE arms SET arm = 'sham' WHERE arm = 'old_sham'")
    op.drop_constraint(op.f("ck_arms_arm_known"), "arms", type_="check")
    op.create_check_constraint(op.f("ck_arms_arm_known"), "arms", "arm IN ('own', 'swap', 'sham')")
