"""one word for checks that the data cannot decide: cannot tell

Revision ID: r0013
Revises: r0012
"""

import sqlalchemy as sa
from alembic import op

revision = "r0013"
down_revision = "r0012"
branch_labels = None
depends_on = None
VIEWS = "590b2e3896f89dff"
_BEFORE, _NOW = "inconclusive", "cannot tell"
_CHECKS = sa.text("UPDATE calibration_checks SET result = :other WHERE result = :word")
_REVIEWS = sa.text(
    "UPDATE judge_reviews SET figures = replace(figures::text, :word, :other)::jsonb "
    "WHERE strpos(figures::text, :word) > 0"
)


def upgrade() -> None:
    """Allow the word, and write it where the other stood; runs of before may still write that."""
    _constrain(f"'passes', 'fails', '{_NOW}', 'not applicable', '{_BEFORE}'")
    _reword(_BEFORE, _NOW)


def downgrade() -> None:
    """Write the word of before."""
    _reword(_NOW, _BEFORE)
    _constrain(f"'passes', 'fails', '{_BEFORE}', 'not applicable'")


def _constrain(words: str) -> None:
    name = "ck_calibration_checks_result_known"
    op.execute(f"ALTER TABLE calibration_checks DROP CONSTRAINT {name}")
    op.execute(f"ALTER TABLE calibration_checks ADD CONSTRAINT {name} CHECK (result IN ({words}))")


def _reword(word: str, other: str) -> None:
    bind = op.get_bind()
    bind.execute(_CHECKS, {"word": word, "other": other})
    # Quotes within a string are escaped, so only a key is found.
    bind.execute(_REVIEWS, {"word": f'"result": "{word}"', "other": f'"result": "{other}"'})
