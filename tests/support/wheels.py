"""judge-gym built as a wheel and an sdist from a copy of the checkout, and installed elsewhere."""

import shutil
import subprocess
import sys
from pathlib import Path

from support.bytecode import share_bytecode
from support.command_line import REPOSITORY

UV = Path(sys.executable).parent / "uv"


def tracked() -> list[str]:
    """The files of the checkout that Git has, or would take."""
    listed = run("git", "-C", REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard")
    return [name for name in listed.splitlines() if (REPOSITORY / name).is_file() or
            (REPOSITORY / name).is_symlink()]  # fmt: skip


def copied(folder: Path) -> Path:
    """A copy of these files, to change before it is built."""
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, target, follow_symlinks=False)
    return folder


def built(copy: Path, folder: Path) -> Path:
    """The folder of the sdist of a copy, and of the wheel that was built from it."""
    run(UV, "build", "--quiet", "--no-build-isolation", "--python", sys.executable,
        "--out-dir", folder, copy)  # fmt: skip
    return folder


def environment(distribution: Path, python: Path | str, folder: Path) -> Path:
    """The programs of a new environment that has judge-gym and the versions of the lock file."""
    run(UV, "venv", "--quiet", "--python", python, folder)
    run(UV, "pip", "install", "--quiet", "--python", folder / "bin" / "python",
        "--constraint", REPOSITORY / "requirements.lock", distribution)  # fmt: skip
    share_bytecode(folder)
    return folder / "bin"


def run(*command: str | Path) -> str:
    """The output of a program that succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout
