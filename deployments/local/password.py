"""The password of the API that `judge-gym up` opens: made once, kept in the data folder.

Prefect calls it an auth string, and has it in the form user:password.
"""

import os
import secrets
from pathlib import Path

LOCK = "up.lock"
"""The file that says at which address the installation of a data folder was started last."""
_FILE = "prefect-password"
_CHOSEN = "PREFECT_SERVER_API_AUTH_STRING"


def new_password() -> str:
    """Return a password that nobody can guess."""
    return f"judge-gym:{secrets.token_urlsafe(24)}"


def password_file(data: Path) -> Path:
    """Return where the password is kept."""
    return data / _FILE


def password(data: Path) -> str:
    """Return the password, which is made when there is none; only this user can read its file."""
    if chosen := os.environ.get(_CHOSEN):
        return chosen
    file = password_file(data)
    if not file.exists():
        data.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
            output.write(new_password())
        made.rename(file)
    return file.read_text().strip()


def password_for(api: str, data: Path) -> str | None:
    """Return the password when this is the API of the data folder's installation."""
    lock, file = data / LOCK, password_file(data)
    if not (lock.exists() and file.exists()):
        return None
    # No other server is sent it.
    return file.read_text().strip() if lock.read_text().split()[-1:] == [api.rstrip("/")] else None
