"""failure kinds: a column, computed once by the database, and indexes of what has no answer

Revision ID: r0009
Revises: r0008
"""

from alembic import op

revision = "r0009"
down_revision = "r0008"
branch_labels = None
depends_on = None
VIEWS = "8830120019f5043d"
_COLUMNS = (
    ("perturbed_texts", "failure"),
    ("views", "failure"),
    ("rubrics", "failure"),
    ("rubrics", "critic_failure"),
    ("samples", "failure"),
    ("probes", "failure"),
    ("score_marks", "failure"),
    ("judge_results", "failure"),
    ("panel_reviews", "failure"),
    ("panel_consensus", "failure"),
)
_FAILED = (("samples", "id"), ("probes", "sample_id"))


def upgrade() -> None:
    """Add the columns and indexes."""
    for table, failure in _COLUMNS:
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN {failure}_kind text GENERATED ALWAYS AS (CASE WHEN "
            f"{failure} IS NOT NULL THEN COALESCE(SUBSTRING({failure} FROM '^([a-z_]+): '), "
            "'other') END) STORED"
        )
    for table, column in _FAILED:
        op.execute(
            f"CREATE INDEX ix_{table}_failed ON {table} ({column}) WHERE failure_kind IS NOT NULL"
        )


def downgrade() -> None:
    """Drop them."""
    for table, _ in _FAILED:
        op.execute(f"DROP INDEX ix_{table}_failed")
    for table, failure in _COLUMNS:
        op.execute(f"ALTER TABLE {table} DROP COLUMN {failure}_kind")
