"""The password of the API that `judge-gym up` opens: made once, and sent to that API only."""

import fcntl
import stat
from pathlib import Path

from deployments.local.prefect_server import (
    LOCK,
    password,
    password_file,
    password_for,
    running_api,
)

API = "http://127.0.0.1:4200/api"


def test_it_is_made_once_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    made = password(tmp_path)
    assert password(tmp_path) == made
    other = tmp_path / "other"
    other.mkdir()
    assert password(other) != made
    user, _, secret = made.partition(":")
    assert user
    assert len(secret) >= 32
    assert stat.S_IMODE(password_file(tmp_path).stat().st_mode) == 0o600


def test_an_empty_file_is_no_password(tmp_path: Path) -> None:
    password_file(tmp_path).write_text("\n")
    assert len(password(tmp_path)) >= 32


def test_an_installation_runs_while_its_lock_is_held(tmp_path: Path) -> None:
    assert running_api(tmp_path) == ""
    file = tmp_path / LOCK
    file.write_text(f"process 7, {API}\n")
    assert running_api(tmp_path) == ""
    with file.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert running_api(tmp_path) == API
    assert running_api(tmp_path) == ""


def test_no_other_server_is_sent_it(tmp_path: Path) -> None:
    made = password(tmp_path)
    assert password_for(API, tmp_path) is None
    (tmp_path / LOCK).write_text(f"process 7, {API}\n")
    assert password_for(API, tmp_path) == password_for(f"{API}/", tmp_path) == made
    assert password_for("http://127.0.0.1:4201/api", tmp_path) is None
    assert password_for(f"http://attacker.example/?{API}", tmp_path) is None
    assert password_for("", tmp_path) is None
