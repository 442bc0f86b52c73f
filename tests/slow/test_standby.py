"""Commands that run in a standby process: as in their own, and by themselves when that is gone."""

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from deployments.cli.standby import dismiss, socket_file, standby_folder
from judge_gym.store import embedded
from support.command_line import COMMAND, CommandLine, Ended, small_sweep
from support.figures import value_of
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.slow
JUDGEMENTS = 2 * 8
PLAN = ("sweep", "plan", "small.yaml")
PARTS = ("--only", "w1-evidence", "--only", "w2-rubric", "--only", "w3-scoring")
CALLS = "SELECT count(*) FROM llm_calls WHERE status = 'succeeded'"
OPEN = "SELECT count(*) FROM llm_calls WHERE status <> 'succeeded'"
SILENT = {"kind": "slow_first_byte", "role": "scorer", "seconds": 600, "from_call": JUDGEMENTS // 2}
"""What is asked later is not answered, so that the run cannot end before it is stopped."""


@pytest.fixture
def command(database: str, simulator: Simulator, tmp_path: Path) -> Iterator[CommandLine]:
    """A folder with a sweep, whose commands leave a standby process, which is ended at the end."""
    (tmp_path / "small.yaml").write_text(
        small_sweep("small", "sim/calm-1", ("replicates: 2", "replicates: 8"))
    )
    environment = {
        "JUDGE_GYM_DATABASE_URL": database,
        "JUDGE_GYM_SIMULATOR_URL": simulator.url,
        "JUDGE_GYM_STANDBY_MINUTES": "10",
        "JUDGE_GYM_CHUNK_SIZE": "4",
        "JUDGE_GYM_WORKERS": "1",
    }
    line = CommandLine(tmp_path, environment)
    yield line
    simulator.use_faults()
    dismiss(line.data)
    until(lambda: not standby(line), "the end of all standby processes", every=0.1)


def standby(command: CommandLine) -> list[psutil.Process]:
    """The standby processes of a folder, those that run a command included."""
    return [
        one
        for one in psutil.process_iter()
        if one.is_running() and _words(one)[2:4] == ["-m", "deployments.cli.standby_process"]
        if one.cwd() == str(command.folder)
    ]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


def waiting(command: CommandLine) -> psutil.Process:
    """The standby process of a folder, when it waits."""
    until(socket_file(command.data).exists, "a standby process", every=0.1)
    [process] = standby(command)
    return process


def has_ended(process: psutil.Process) -> bool:
    """Whether a process ends, within two minutes."""
    return not psutil.wait_procs([process], timeout=300)[1]


def begun(
    command: CommandLine, simulator: Simulator
) -> "tuple[psutil.Process, subprocess.Popen[str]]":
    """A standby process that runs the sweep and waits for answers, and the command it is for."""
    command(*PLAN).fine()
    process = waiting(command)
    simulator.use_faults(SILENT)
    run = command.start("sweep", "run", "small.yaml", *PARTS)
    url = command.environment["JUDGE_GYM_DATABASE_URL"]

    def some_calls() -> bool:
        assert run.poll() is None, run.communicate()
        return bool(value_of(url, CALLS) and value_of(url, OPEN))

    until(some_calls, "answers and open calls")
    return process, run


def importing(command: CommandLine, *arguments: str, **more: str) -> Ended:
    """A command whose own process writes what it imports to standard error."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", COMMAND, *arguments],
        cwd=command.folder,
        env=command.variables() | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(arguments, done.returncode, done.stdout, done.stderr)


def ran_here(ended: Ended) -> bool:
    """Whether the command ran in its own process: one of a standby process reads no database."""
    return " sqlalchemy\n" in ended.errors


def at_a_terminal(command: CommandLine, **more: str) -> str:
    """What a command without settings of its own says at a terminal."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *PLAN],
        cwd=command.folder,
        env=unset(command) | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=its,
    ) as process:
        os.close(its)
        said = b""
        with suppress(OSError):  # how Linux ends reading from a terminal that was closed
            while part := os.read(ours, 1 << 16):
                said += part
    os.close(ours)
    assert process.returncode == 0, said
    return said.decode()


def unset(command: CommandLine) -> dict[str, str]:
    """The environment of a command, without the setting, as a person's: none of CI."""
    variables = command.variables()
    del variables["JUDGE_GYM_STANDBY_MINUTES"]
    variables.pop("CI", None)
    return variables


def refused_to_others(command: CommandLine) -> bool:
    """Whether another user who may enter the data folder is refused at the socket."""
    for folder in (command.data, *command.data.parents):
        if folder != Path("/") and folder != Path("/tmp") and folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
    left, right = os.pipe()
    if (child := os.fork()) == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        answer = b"reached"
        try:
            socket.socket(socket.AF_UNIX).connect(str(socket_file(command.data)))
        except PermissionError:
            answer = b"refused"
        finally:
            os.write(right, answer)
            os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(left, 100)
    os.close(left)
    os.close(right)
    return answer == b"refused"


def test_a_killed_process_fails_its_command_and_loses_nothing(
    command: CommandLine, simulator: Simulator
) -> None:
    url = command.environment["JUDGE_GYM_DATABASE_URL"]
    before = simulator.answered()
    process, run = begun(command, simulator)
    in_doubt = value_of(url, OPEN)
    process.kill()
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 137
    assert "was killed" in errors
    assert not standby(command)
    simulator.use_faults()
    command("sweep", "run", "small.yaml", *PARTS).fine()
    assert value_of(url, CALLS) == JUDGEMENTS
    assert JUDGEMENTS <= simulator.answered() - before <= JUDGEMENTS + in_doubt

    # The next command needs no imports, and prints the same.
    process = waiting(command)
    again = importing(command, *PLAN, "--json").fine()
    assert not ran_here(again)
    assert has_ended(process)
    alone = importing(command, *PLAN, "--json", JUDGE_GYM_STANDBY_MINUTES="0").fine()
    assert ran_here(alone)
    assert json.loads(again.output) == json.loads(alone.output)
    # With 0 the command ended the process that waited, and left none.
    until(lambda: not standby(command), "the end of all standby processes")


def test_signals_suspend_and_stop_the_run_and_no_process_is_left(
    command: CommandLine, simulator: Simulator
) -> None:
    process, run = begun(command, simulator)
    run.send_signal(signal.SIGTSTP)
    until(lambda: process.status() == psutil.STATUS_STOPPED, "the standby process to stop")
    run.send_signal(signal.SIGCONT)
    until(lambda: process.status() != psutil.STATUS_STOPPED, "the standby process to go on")

    def stopped() -> bool:
        run.send_signal(signal.SIGINT)  # answers are awaited, unless it is pressed again
        return run.poll() is not None

    until(stopped, "the end of the command", every=1)
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 130
    assert "Progress is saved" in errors
    assert has_ended(process)
    assert not standby(command)
    assert not socket_file(command.data).exists()


@pytest.mark.parametrize("suspended", [False, True])
def test_a_killed_command_stops_its_standby_process(
    command: CommandLine, simulator: Simulator, suspended: bool
) -> None:
    process, run = begun(command, simulator)
    children = process.children(recursive=True)
    if suspended:  # nothing would continue it
        run.send_signal(signal.SIGTSTP)
        until(lambda: process.status() == psutil.STATUS_STOPPED, "the standby process to stop")
    run.kill()
    run.communicate()
    assert not psutil.wait_procs([process, *children], timeout=300)[1]


def test_other_variables_and_new_settings_are_in_force(command: CommandLine) -> None:
    command(*PLAN).fine()
    first = waiting(command)
    # A key that the standby process does not have.
    command.environment["ACME_API_KEY"] = "not-a-key-but-secret"
    with_key = importing(command, *PLAN).fine()
    assert ran_here(with_key)
    assert has_ended(first)
    second = waiting(command)
    assert second.environ()["ACME_API_KEY"] == "not-a-key-but-secret"
    assert "not-a-key" not in " ".join(second.cmdline())
    for file in standby_folder(command.data).iterdir():
        assert file.name == "socket" or file.read_bytes() == b""

    (command.folder / "judge-gym.toml").write_text('log_format = "json"\n')
    with_settings = importing(command, "sweep", "plan", "missing.yaml")
    assert with_settings.code == 2
    assert not ran_here(with_settings)
    *_, said = with_settings.errors.splitlines()
    assert "missing.yaml" in json.loads(said)["message"]
    assert has_ended(second)


def test_a_command_at_a_terminal_leaves_one_which_only_its_user_reaches(
    command: CommandLine,
) -> None:
    del command.environment["JUDGE_GYM_DATABASE_URL"]
    assert "waits" not in at_a_terminal(command, CI="true")
    assert not standby_folder(command.data).exists()
    assert "waits 10 minutes" in at_a_terminal(command)
    process = waiting(command)
    # PostgreSQL runs while a command does.
    assert embedded.status(command.data / "postgres") is None
    if os.geteuid() == 0:
        assert refused_to_others(command)
    # Elsewhere one that waits is used, by one of two commands, and none is left.
    both = [
        subprocess.Popen(
            [COMMAND, *PLAN], cwd=command.folder, env=unset(command), stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    outputs = [one.communicate(timeout=300)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert outputs[0] == outputs[1]
    assert has_ended(process)
    assert not standby(command)
    embedded.remove(command.data / "postgres")


def test_it_ends_after_its_minutes_and_with_its_folder(command: CommandLine) -> None:
    command(*PLAN, JUDGE_GYM_STANDBY_MINUTES="0.02").fine()
    until(lambda: not standby(command), "the end of the standby process")
    assert not socket_file(command.data).exists()
    command(*PLAN).fine()
    process = waiting(command)
    shutil.rmtree(command.data)
    assert has_ended(process)
    assert not command.data.exists()
