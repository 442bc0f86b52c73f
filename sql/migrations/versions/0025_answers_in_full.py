"""the request as sent, who answered it, and the answer's tokens, cost and reasoning

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

VIEWS = "6d6d4d610d67b650"
COLUMNS = {
    "sent_body": postgresql.JSONB,
    "reasoning": sa.Text,
    "logprobs": postgresql.JSONB,
    "served_model": sa.Text,
    "response_id": sa.Text,
    "fingerprint": sa.Text,
    "finish_given": sa.Text,
    "cached_tokens": sa.Integer,
    "cache_written_tokens": sa.Integer,
    "reasoning_tokens": sa.Integer,
    "cost_source": sa.Text,
}


def upgrade() -> None:
    for name, kind in COLUMNS.items():
        op.add_column("llm_calls", sa.Column(name, kind(), nullable=True))
    op.create_check_constraint(
        op.f("ck_llm_calls_cost_source_known"),
        "llm_calls",
        "cost_source IN ('provider', 'file', 'litellm', 'simulated')",
    )


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("llm_calls", name)
