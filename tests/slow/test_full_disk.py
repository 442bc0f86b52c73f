"""A data folder on a full disk: one line names it, and commands work again once there is room."""

from collections.abc import Iterator

import pytest

from support.command_line import SWEEPS, CommandLine
from support.disks import SmallDisk

pytestmark = pytest.mark.slow
MEGABYTES = 160


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    mounted = SmallDisk.mounted(MEGABYTES)
    if mounted is None:
        pytest.skip("this user may not mount a disk")
    try:
        yield mounted
    finally:
        mounted.unmount()


def test_a_full_disk_is_named_at_once_and_nothing_is_lost(disk: SmallDisk) -> None:
    command = CommandLine(disk.place)
    command("evidence", "list").fine()
    disk.fill()
    for arguments in (("sweep", "status"), ("sweep", "run", SWEEPS / "quick.yaml")):
        ended = command(*arguments)
        assert ended.code == 1
        assert f"The disk of {disk.place}" in ended.errors
        assert "is full" in ended.errors
        assert "Traceback" not in ended.errors
    disk.free()
    command("sweep", "status").fine()
