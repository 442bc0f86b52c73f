"""PgBouncer before a database, lending a session to one transaction after the other."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from judge_gym.store.embedded_account import current_account, unprivileged_account
from support.waiting import until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def pooled(url: str, sessions: int) -> Iterator[str]:
    """The URL of a pooler with so many sessions at the server of `url`; skips without PgBouncer."""
    if PROGRAM is None:
        pytest.skip("needs pgbouncer")
    to = sa.make_url(url)
    account = unprivileged_account() if os.geteuid() == 0 else current_account()
    folder = Path(tempfile.mkdtemp(prefix="judge-gym-test-", dir="/tmp"))
    os.chown(folder, account.uid, account.gid)
    host, port = to.query.get("host", to.host), to.query.get("port", to.port or 5432)
    password = f" password={to.password}" if to.password else ""
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"""[databases]
* = host={host} port={port} user={to.username}{password}
[pgbouncer]
listen_port = 6432
unix_socket_dir = {folder}
pidfile = {folder}/pid
logfile = {folder}/log
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 200
"""
    )
    settings.chmod(0o644)
    try:
        ended = account.run([PROGRAM, "-d", settings])
        assert ended.returncode == 0, ended.stdout.decode()
        until((folder / ".s.PGSQL.6432").exists, "PgBouncer")
        there = {"host": str(folder), "port": "6432"}
        yield to.set(host=None, port=None, query=there).render_as_string(hide_password=False)
    finally:
        if (folder / "pid").exists():
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        shutil.rmtree(folder)
