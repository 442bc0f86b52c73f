"""The password of the API that `judge-gym up` opens: made once, kept in the data folder.

Prefect calls it an auth string, and has it in the form user:password.
"""

import os
import secrets
from pathlib import Path

LOCK = "up.lock"
"""The file that says at which address the installation of a data folder was started last."""
_FILE = "prefect-password"


def new_password() -> str:
    """Return a password that nobody can guess."""
    return f"judge-gym:{secrets.token_urlsafe(24)}"


def password_file(data: Path) -> Path:
    """Return where the password is kept."""
    return data / _FILE


def password(data: Path) -> str:
    """Return the password, which is made when there is none; only this user can read its file."""
    if not (kept := _kept(data)):
        kept = new_password()
        descriptor = os.open(password_file(data), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as output:
            output.write(f"{kept}\n")
    return kept


def _kept(data: Path) -> str:
    """Return what the file holds: nothing when there is none, or when writing it was cut off."""
    file = password_file(data)
    return file.read_text().strip() if file.exists() else ""


def password_for(api: str, data: Path) -> str | None:
    """Return the password when this is the API of the data folder's installation."""
    lock = data / LOCK
    known = lock.read_text().split()[-1:] if lock.exists() else []
    # No other server is sent it.
    return (_kept(data) or None) if known == [api.rstrip("/")] else None
