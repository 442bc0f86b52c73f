"""rechecks: the times that a gate judged texts again, by judge and set of texts

Revision ID: r0011
Revises: r0010
"""

from alembic import op

revision = "r0011"
down_revision = "r0010"
branch_labels = None
depends_on = None
VIEWS = "30664333ffd3c939"
_TABLE = """
CREATE TABLE rechecks (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    judge_id BIGINT NOT NULL,
    texts_digest TEXT NOT NULL,
    review_day TEXT NOT NULL,
    day DATE,
    number INTEGER DEFAULT '1' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_rechecks PRIMARY KEY (id),
    CONSTRAINT uq_rechecks_judge_id_review_day UNIQUE (judge_id, review_day),
    CONSTRAINT ck_rechecks_number_positive CHECK (number > 0),
    CONSTRAINT fk_rechecks_judge_id FOREIGN KEY (judge_id) REFERENCES judges (id) ON DELETE CASCADE
)
"""
# What the key of their judgements said: the day, and from the second one its number. The digest is
# that of `judge_gym.seeds`, so that the gate with these texts, and no other, has them.
_EARLIER = r"""
INSERT INTO rechecks (judge_id, texts_digest, review_day, day, number, created_at)
SELECT
    judge_id,
    left(encode(sha256(convert_to(
        '["' || string_agg(key, '","' ORDER BY key COLLATE "C") || '"]', 'UTF8')), 'hex'), 16),
    review_day,
    substring(review_day FROM '^gate (\d{4}-\d\d-\d\d)')::date,
    coalesce(substring(review_day FROM ' #(\d+)$')::integer, 1),
    min(begun)
FROM (
    SELECT r.judge_id, r.review_day, i.key, min(r.id) AS first, min(r.created_at) AS begun
    FROM judge_results AS r
    JOIN judge_items AS i ON i.id = r.item_id
    WHERE r.review_day LIKE 'gate %'
    GROUP BY r.judge_id, r.review_day, i.key
) AS texts
GROUP BY judge_id, review_day
ORDER BY min(first)
"""


def upgrade() -> None:
    """Add the table, with the rechecks there are."""
    op.execute(_TABLE)
    op.get_bind().exec_driver_sql(_EARLIER, execution_options={"no_parameters": True})


def downgrade() -> None:
    """Drop the table; judgements keep their keys."""
    op.execute("DROP TABLE rechecks")
