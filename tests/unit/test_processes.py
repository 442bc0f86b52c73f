"""A supervised process ends with its command, and takes its descendants with it."""

import subprocess
import sys

import psutil

# A shell that starts a child of its own, prints its number and waits for it.
FAMILY = ["sh", "-c", "sleep 600 & echo $!; wait"]
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while true; do sleep 0.05; done"]
COMMAND = f"""
import os, sys
from deployments.local.processes import supervised
with supervised({FAMILY}, dict(os.environ)) as process:
    os.write(1, f"{{process.pid}}\\n".encode())  # at once: the other writes there too
    sys.stdin.read()
"""


def started() -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """Return a running command, and the supervised process with its child."""
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    return command, [psutil.Process(int(command.stdout.readline())) for _ in range(2)]


def ended(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=30)[1]


def test_both_end_with_the_block() -> None:
    command, family = started()
    command.communicate()
    assert command.returncode == 0
    assert ended(family)


def test_what_a_killed_process_leaves_ends_with_the_block() -> None:
    command, family = started()
    parent = next(one for one in family if one.children())
    parent.kill()
    command.communicate(timeout=60)
    assert command.returncode == 0
    assert ended(family)


def test_both_end_when_the_command_is_killed() -> None:
    command, family = started()
    command.kill()
    command.communicate()
    assert ended(family)


def test_a_process_that_ignores_sigterm_is_killed_after_the_patience() -> None:
    program = (
        "import os, sys\n"
        "from deployments.local.processes import supervised\n"
        f"with supervised({STUBBORN}, dict(os.environ), patience_s=0.2) as process:\n"
        "    os.write(1, f'{process.pid}\\n'.encode())  # at once: the other writes there too\n"
        "    sys.stdin.read()\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    # `ready` says that the trap is set; it and the number come in either order.
    lines = {command.stdout.readline().strip() for _ in range(2)}
    stubborn = psutil.Process(int((lines - {"ready"}).pop()))
    command.communicate()
    assert command.returncode == 0
    assert ended([stubborn])
