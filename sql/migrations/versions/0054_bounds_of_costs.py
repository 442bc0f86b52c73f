"""what requests of unknown cost may have cost, and prompts of which the provider read a part

Revision ID: 0054
Revises: 0053
"""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None
VIEWS = "e5bc0f2d8803f5d3"


def upgrade() -> None:
    op.add_column("llm_calls", sa.Column("at_most_usd", sa.Numeric(14, 8), nullable=True))
    op.add_column("llm_calls", sa.Column("prompt_words", sa.Integer(), nullable=True))
    # litellm priced answers without token counts at 0, which is not what they cost.
    op.execute(
        "UPDATE llm_calls SET cost_usd = NULL, cost_source = NULL "
        "WHERE cost_usd = 0 AND cost_source = 'litellm' AND prompt_tokens IS NULL"
    )


def downgrade() -> None:
    op.drop_column("llm_calls", "prompt_words")
    op.drop_column("llm_calls", "at_most_usd")
