"""A data folder on a full disk: one line names it, and commands work again once there is room."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import SWEEPS, CommandLine

pytestmark = pytest.mark.slow
SIZE = "160m"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on a small disk of its own, which PostgreSQL's account can enter."""
    made = Path(tempfile.mkdtemp(prefix="judge-gym-disk-", dir="/tmp"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", made], capture_output=True
    )
    if mounted.returncode:
        made.rmdir()
        pytest.skip("this user may not mount a disk")
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", made], check=True)
        shutil.rmtree(made)


def test_a_full_disk_is_named_at_once_and_nothing_is_lost(folder: Path) -> None:
    command = CommandLine(folder)
    command("evidence", "list").fine()
    filler = folder / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(bytes(2**20))
                file.flush()
        except OSError:
            pass
    for arguments in (("sweep", "status"), ("sweep", "run", SWEEPS / "quick.yaml")):
        ended = command(*arguments)
        assert ended.code == 1
        assert f"The disk of {folder}" in ended.errors
        assert "is full" in ended.errors
        assert "Traceback" not in ended.errors
    filler.unlink()
    command("sweep", "status").fine()
