"""the recipe of each experiment, its views and its rubrics

Rows from before have none: it is derived from their calls when their sweep is next planned or run.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

VIEWS = "937823fd89b0e9df"


def upgrade() -> None:
    op.add_column("experiments", sa.Column("point", sa.Text(), nullable=True))
    op.add_column("experiments", sa.Column("recipe", postgresql.JSONB(), nullable=True))
    op.add_column(
        "experiments",
        sa.Column("view_recipes", postgresql.JSONB(), server_default="{}", nullable=False),
    )
    op.add_column(
        "experiments", sa.Column("rubric_recipe", sa.Text(), server_default="", nullable=False)
    )
    op.create_index("ix_experiments_point", "experiments", ["point"], unique=False)
    op.add_column("rubrics", sa.Column("recipe", sa.Text(), server_default="", nullable=False))
    op.add_column("views", sa.Column("recipe", sa.Text(), server_default="", nullable=False))
    _key_of_views("document_id", "view", "recipe")


def downgrade() -> None:
    # The newest view of each kind stays; older schemas have room for one.
    op.execute(
        "DELETE FROM views AS old USING views AS new WHERE old.document_id = new.document_id "
        "AND old.view = new.view AND (coalesce(old.call_id, 0), old.recipe) "
        "< (coalesce(new.call_id, 0), new.recipe)"
    )
    _key_of_views("document_id", "view")
    op.drop_column("views", "recipe")
    op.drop_column("rubrics", "recipe")
    op.drop_index("ix_experiments_point", table_name="experiments")
    for name in ("rubric_recipe", "view_recipes", "recipe", "point"):
        op.drop_column("experiments", name)


def _key_of_views(*columns: str) -> None:
    op.drop_constraint("pk_views", "views", type_="primary")
    op.create_primary_key("pk_views", "views", list(columns))
