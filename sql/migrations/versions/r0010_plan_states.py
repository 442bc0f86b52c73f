"""what a plan made of its outcomes, as a word; any kind of judge, so that a new one needs none

Revision ID: r0010
Revises: r0009
"""

from alembic import op

revision = "r0010"
down_revision = "r0009"
branch_labels = None
depends_on = None
VIEWS = "e64375b6d4b407e6"
_STATES = """
UPDATE analysis_runs SET plan_state = CASE
    WHEN standing LIKE 'exploratory: there is no%' THEN 'no_plan'
    WHEN standing LIKE 'exploratory: the sweep was%' THEN 'not_held'
    WHEN standing LIKE 'exploratory: the plan%' THEN 'not_in_time'
    WHEN standing LIKE 'confirmatory:%' THEN 'confirmatory'
    WHEN standing LIKE 'planned:%' THEN 'planned'
    ELSE '' END
"""
_KINDS = "'rubric', 'binary', 'pairwise', 'callable', 'http', 'ensemble', 'routed', 'panel'"


def upgrade() -> None:
    """Add the state, of earlier runs by their sentence, and check the form of a kind."""
    op.execute("ALTER TABLE analysis_runs ADD COLUMN plan_state text NOT NULL DEFAULT ''")
    op.execute(_STATES)
    op.execute("ALTER TABLE judges DROP CONSTRAINT ck_judges_kind_known")
    op.execute("ALTER TABLE judges ADD CONSTRAINT ck_judges_kind_word CHECK (kind ~ '^[a-z_]+$')")


def downgrade() -> None:
    """Undo both; fails where a judge is of a kind that was unknown before."""
    op.execute("ALTER TABLE judges DROP CONSTRAINT ck_judges_kind_word")
    op.execute(f"ALTER TABLE judges ADD CONSTRAINT ck_judges_kind_known CHECK (kind IN ({_KINDS}))")
    op.execute("ALTER TABLE analysis_runs DROP COLUMN plan_state")
