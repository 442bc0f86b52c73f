"""labels of one file for the items of several sweeps

Revision ID: 0042
Revises: 0041
"""

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_OF_FILE = "uq_annotations_set_id_item_annotator_kind"
_OF_ITEM = "uq_annotations_set_id_item_annotator_kind_item_id"


def upgrade() -> None:
    op.drop_constraint(_OF_FILE, "annotations")
    op.create_unique_constraint(
        _OF_ITEM,
        "annotations",
        ["set_id", "item", "annotator", "kind", "item_id"],
        postgresql_nulls_not_distinct=True,
    )


def downgrade() -> None:
    op.drop_constraint(_OF_ITEM, "annotations")
    # The older schema has one row for a key of the file: that of the first sweep stays.
    op.execute(
        "DELETE FROM annotations AS later USING annotations AS first "
        "WHERE first.set_id = later.set_id AND first.item = later.item "
        "AND first.annotator = later.annotator AND first.kind = later.kind AND first.id < later.id"
    )
    op.create_unique_constraint(_OF_FILE, "annotations", ["set_id", "item", "annotator", "kind"])
