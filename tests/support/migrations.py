"""A migration that judge-gym does not have, for tests of upgrades to a later schema."""

import shutil
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from judge_gym.store import migrate

LATER = "r9999"
SCRIPT = """
from alembic import op

revision = {revision!r}
down_revision = {below!r}
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute({up!r})


def downgrade() -> None:
    op.execute({down!r})
"""


def newest() -> str:
    """The revision of the newest schema."""
    head = ScriptDirectory(str(migrate.MIGRATIONS)).get_current_head()
    assert head is not None
    return head


def add_later_migration(
    monkeypatch: pytest.MonkeyPatch, folder: Path, up: str, down: str = "SELECT 1"
) -> None:
    """Let this process know the migration `LATER`, which runs one statement each way."""
    script = SCRIPT.format(revision=LATER, below=newest(), up=up, down=down)
    scripts = Path(shutil.copytree(migrate.MIGRATIONS, folder / "migrations"))
    (scripts / "versions" / f"{LATER}_later.py").write_text(script)
    monkeypatch.setattr(migrate, "MIGRATIONS", scripts)
