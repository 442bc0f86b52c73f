"""Whether what a command is to write can be written, checked before anything is spent."""

import os
import tempfile
from pathlib import Path

from judge_gym.errors import ConfigError, first_line


def check_writable(named: str, file: Path | None) -> None:
    """Make the folder of a file; raises `ConfigError` where the file cannot be written.

    `named` is the option, or the field of a form, that names it. A file that is there stays as it
    is. A new one is tried by a draft beside it: permissions alone do not tell what a system such as
    /proc allows.
    """
    if file is None:
        return
    reason = "it is a folder" if file.is_dir() else ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            with tempfile.TemporaryFile(dir=file.parent):
                pass
        elif file.is_file():
            file.open("ab").close()
        elif not os.access(file, os.W_OK):  # opening a pipe would wait for who reads it
            reason = reason or "it cannot be written"
    except OSError as error:
        reason = f"it cannot be written ({error.strerror or first_line(error)})"
    if reason:
        raise ConfigError(f"{named} is {file}: {reason}.", "Name a file that you can write.")


def check_reports(folder: Path) -> None:
    """Make the folder of reports; raises `ConfigError` where no file can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or first_line(error)
        raise ConfigError(
            f"Reports are written to {folder}: it cannot be written to ({reason}).",
            "Let your user write there, or name another data folder, by JUDGE_GYM_DATA_DIR or in "
            "judge-gym.toml.",
        ) from None
