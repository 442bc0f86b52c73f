"""items of judges by their content

An item was told apart by the digest of its file, its name and its variant too, so that a changed
label or a new row had every text judged again. Now its key is of the texts that a judge sees. Rows
of one content become one: the first of them gets the new key, and the judgements of the others.
Where a judge had judged such copies apart, the first judgement that did not fail is the one that
counts; the others stay with the copies, whose old keys nothing looks for any more.

Revision ID: 0020
Revises: 0019
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ONE_EACH = "uq_judge_results_judge_id_item_id_repeat_occasion"
COLUMNS = ["judge_id", "item_id", "repeat", "occasion"]
# As `Item.key` makes it: PostgreSQL and Python write the same JSON of a text.
CONTENTS = """
CREATE TEMPORARY TABLE contents ON COMMIT DROP AS
SELECT id, content, min(id) OVER (PARTITION BY content) AS first_id
FROM (
    SELECT id, left(encode(sha256(convert_to(concat(
        '["judge item",', to_json(text), ',', coalesce(to_json(second)::text, 'null'), ',',
        to_json(context), ']'
    ), 'UTF8')), 'hex'), 16) AS content
    FROM judge_items
) AS digests
"""
RESULTS = """
UPDATE judge_results AS r
SET item_id = CASE WHEN ranked.place = 1 THEN ranked.first_id ELSE ranked.left_by END
FROM (
    SELECT s.id, c.first_id, row_number() OVER w AS place, first_value(s.item_id) OVER w AS left_by
    FROM judge_results AS s
    JOIN contents AS c ON c.id = s.item_id
    WINDOW w AS (
        PARTITION BY s.judge_id, c.first_id, s.repeat, s.occasion ORDER BY s.status = 'failed', s.id
    )
) AS ranked
WHERE ranked.id = r.id
    AND (ranked.place = 1) <> (r.item_id = ranked.first_id)
"""
KEYS = """
UPDATE judge_items AS i SET key = c.content FROM contents AS c
WHERE c.id = i.id AND c.id = c.first_id
"""
COPIES = """
DELETE FROM judge_items AS i USING contents AS c
WHERE c.id = i.id AND c.id <> c.first_id
    AND NOT EXISTS (SELECT FROM judge_results AS r WHERE r.item_id = i.id)
"""


def upgrade() -> None:
    op.execute(CONTENTS)
    # A first judgement and the one that takes its place are moved in one statement.
    op.drop_constraint(ONE_EACH, "judge_results", type_="unique")
    for statement in (RESULTS, KEYS, COPIES):
        op.execute(statement)
    op.create_unique_constraint(ONE_EACH, "judge_results", COLUMNS)


def downgrade() -> None:
    """Leave the rows as they are: under their new keys an older version does not find them."""
