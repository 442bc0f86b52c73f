"""reviews whose data cannot tell whether to keep a judge, and free requests as of known cost

Revision ID: r0014
Revises: r0013
"""

from alembic import op

revision = "r0014"
down_revision = "r0013"
branch_labels = None
depends_on = None
VIEWS = "5bbc6241b7189211"


def upgrade() -> None:
    """Allow what such a review recommends."""
    _allow("'keep', 'reconsider', 'cannot tell'")


def downgrade() -> None:
    """Say "keep" of these reviews, as before."""
    op.execute(
        "UPDATE judge_reviews SET recommendation = 'keep' WHERE recommendation = 'cannot tell'"
    )
    _allow("'keep', 'reconsider'")


def _allow(recommendations: str) -> None:
    op.execute(
        "ALTER TABLE judge_reviews DROP CONSTRAINT ck_judge_reviews_recommendation_known, "
        "ADD CONSTRAINT ck_judge_reviews_recommendation_known "
        f"CHECK (recommendation IN ({recommendations}))"
    )
