"""What decides whether a standby process may run a command."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from deployments.cli import standby
from deployments.cli.standby import (
    Here,
    Link,
    _is_possible,
    connected,
    run_in_standby,
    standby_folder,
)

HERE = Here(
    {"PATH": "/bin", "ACME_API_KEY": "secret", "TERM": "xterm"}, "/tmp", ["judge-gym", "demo"], True
)


def test_the_fingerprint_is_of_all_that_a_process_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    one = HERE.fingerprint()
    assert one == HERE.fingerprint()
    # A terminal and the arguments may be others.
    other_terminal = HERE.environment | {"TERM": "dumb", "COLUMNS": "80"}
    assert replace(HERE, environment=other_terminal, arguments=["x"]).fingerprint() == one
    assert replace(HERE, folder="/").fingerprint() != one
    for variables in ({"ACME_API_KEY": "other"}, {"JUDGE_GYM_WORKERS": "2"}):
        assert replace(HERE, environment=HERE.environment | variables).fingerprint() != one
    before = os.umask(0o027)
    try:
        assert HERE.fingerprint() != one or before == 0o027
    finally:
        os.umask(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard + 1))
    assert HERE.fingerprint() != one


def test_a_changed_or_new_file_of_the_code_changes_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "planted_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "gone").symlink_to("nowhere")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(standby, "_PACKAGES", ("planted_package",))
    seen = {HERE.fingerprint()}
    (package / "__init__.py").write_text("NEW = 1\n")
    seen.add(HERE.fingerprint())
    (package / "page.j2").write_text("")
    seen.add(HERE.fingerprint())
    (package / "page.j2").unlink()
    (package / "gone").unlink()
    seen.add(HERE.fingerprint())
    assert len(seen) == 4


@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "axes"],
        ["up"],
        ["sweep"],
        ["demo", "--verbose"],
        ["demo", "-h"],
        # The shell's <(...) is a file of the command's own process.
        ["judge", "score", "--items=/dev/fd/63"],
        ["judge", "score", "/proc/self/fd/12"],
    ],
)
def test_commands_that_are_quick_or_serve_or_read_own_files_run_by_themselves(
    words: list[str],
) -> None:
    assert HERE.is_for_standby
    assert not replace(HERE, arguments=["judge-gym", *words]).is_for_standby


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="there is none on this system")
def test_a_socket_in_a_folder_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    folder = standby_folder(tmp_path)
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "socket"))
        door.listen()
        link = connected(tmp_path)
        assert link is not None
        with link:
            assert link.peer == (os.getpid(), os.geteuid())
        folder.chmod(0o750)
        assert connected(tmp_path) is None
    folder.chmod(0o700)
    assert connected(tmp_path) is None  # nobody listens


def test_messages_arrive_one_by_one_and_streams_with_a_request(tmp_path: Path) -> None:
    here, there = map(Link, socket.socketpair())
    with here, there, (tmp_path / "out").open("wb") as file:
        big = {"arguments": ["x" * 300_000]}
        sending = threading.Thread(target=here.send, args=[big, (file.fileno(),)])
        sending.start()
        request, [descriptor] = there.receive_request()
        sending.join()
        assert request == big
        os.write(descriptor, b"written")
        os.close(descriptor)
        here.send({"begin": True})
        here.send({"signal": 2})
        assert [there.receive(), there.receive()] == [{"begin": True}, {"signal": 2}]
    assert (tmp_path / "out").read_bytes() == b"written"
    here, there = map(Link, socket.socketpair())
    with here:
        with there:
            pass
        assert here.receive() is None


def test_a_process_that_refuses_leaves_the_command_to_run_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_GYM_DATA_DIR", str(tmp_path))
    from judge_gym.settings import settings

    settings.cache_clear()
    folder = standby_folder(tmp_path)
    folder.mkdir(mode=0o700)
    asked = []

    def refuse() -> None:
        connection, _ = door.accept()
        with Link(connection) as link:
            request, streams = link.receive_request()
            asked.append(request)
            for stream in streams:
                os.close(stream)

    with socket.socket(socket.AF_UNIX) as door, open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        door.bind(str(folder / "socket"))
        door.listen()
        refusing = threading.Thread(target=refuse)
        refusing.start()
        assert run_in_standby(HERE) is None
        refusing.join()
    settings.cache_clear()
    # No variable but those of a terminal leaves the process.
    assert asked[0]["terminal"] == {"TERM": "xterm"}
    assert "secret" not in str(asked)


def test_none_is_left_where_it_could_not_run_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(standby, "_FREE_BYTES", 0)
    data = Path("data")
    assert _is_possible(HERE, data)
    long = Path("x" * (107 - len("/standby/socket")))
    assert _is_possible(HERE, long)
    assert not _is_possible(HERE, Path(f"{long}x"))
    own = replace(HERE, environment=HERE.environment | {"PREFECT_API_URL": "http://127.0.0.1"})
    assert not _is_possible(own, data)
    for name, text in ((".env", ""), ("pyproject.toml", "[tool.prefect.api]\n")):
        Path(name).write_text(text)
        assert not _is_possible(HERE, data)
        Path(name).unlink()
    monkeypatch.setattr(standby, "_FREE_BYTES", 1 << 60)
    assert not _is_possible(HERE, data)


def test_a_process_that_does_not_stop_after_its_command_was_killed_is_killed() -> None:
    here, there = socket.socketpair()
    code = (
        "import signal, socket, sys, threading\n"
        "from deployments.cli import standby_process\n"
        "from deployments.cli.standby import Link\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "standby_process._STOPS_S = 0.01\n"
        "link = Link(socket.socket(fileno=int(sys.argv[1])))\n"
        "link.wait_without_end()\n"
        "standby_process._obey(link, threading.Event())\n"
    )
    with there:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(there.fileno())], pass_fds=[there.fileno()]
        )
    here.close()
    assert process.wait(120) == -signal.SIGKILL
