"""every axis is a column of every view of judgements

Revision ID: 0056
Revises: 0055
"""

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None
VIEWS = "12ce53a88091a5b8"


def upgrade() -> None:
    """Only views change."""


def downgrade() -> None:
    """Only views change."""
