"""Compiled modules for environments that tests make: compiling takes each half a minute."""

import shutil
import sys
import sysconfig
from pathlib import Path


def share_bytecode(environment: Path) -> None:
    """Link what this environment has compiled into another one of the same Python.

    An installer that links files from its cache gives both the same sources. Python compiles anew
    where a source differs, and then replaces the link.
    """
    ours = Path(sysconfig.get_path("purelib"))
    theirs = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for cache in ours.rglob("__pycache__"):
        target = theirs / "site-packages" / cache.relative_to(ours)
        if target.parent.is_dir():
            target.mkdir(exist_ok=True)
            for file in cache.glob("*.pyc"):
                if not (target / file.name).exists():
                    _link(file, target / file.name)


def _link(file: Path, target: Path) -> None:
    try:
        target.hardlink_to(file)
    except OSError:  # on another disk
        shutil.copy(file, target)
