"""A full disk: what stops a database, and Prefect's server with it, without a clear word."""

import shutil
from pathlib import Path

from judge_gym.errors import StoreError

LEAST_BYTES = 16 * 2**20
"""Free space below which PostgreSQL cannot be expected to work: one segment of its log."""


def full_disk(folder: Path) -> StoreError | None:
    """Return an error that names the disk of `folder` if it is full; else None."""
    existing = next((one for one in (folder, *folder.absolute().parents) if one.exists()), None)
    usage = shutil.disk_usage(existing) if existing else None
    # A file system without a size, such as /proc, is not full: it holds no files.
    if usage is None or not usage.total or (free := usage.free) >= LEAST_BYTES:
        return None
    return StoreError(
        f"The disk of {folder.absolute()} is full: {free / 2**20:.0f} MB are free.",
        "Free space there, or name a folder on another disk by JUDGE_GYM_DATA_DIR. All answers "
        "received are stored: rerun the command to resume.",
    )
