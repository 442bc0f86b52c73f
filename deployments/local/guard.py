"""`python guard.py PID`: kill a process and what it started, as soon as standard input closes.

The pipe to it closes when the process that holds the other end is gone, however it went: no signal
has to be sent for it. It is run by its path and needs nothing but the standard library.
"""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def tree(pid: int) -> list[int]:
    """Return a process and its descendants, each after the one that started it."""
    children = defaultdict(list)
    for child, parent in _parents():
        children[parent].append(child)
    found = [pid]
    for one in found:
        found += children[one]
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _parents() -> list[tuple[int, int]]:
    """Return (process, its parent) of all processes."""
    if not Path("/proc/self/stat").exists():
        command = ["ps", "-A", "-o", "pid=,ppid="]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = [line.split() for line in listed.splitlines()]
    else:
        lines = [_of(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [(int(line[0]), int(line[1])) for line in lines if line]


def _of(folder: Path) -> list[str]:
    with suppress(OSError):
        # The name of the program stands in brackets, and may hold anything.
        after_name = (folder / "stat").read_text(errors="replace").rpartition(")")[2]
        return [folder.name, after_name.split()[1]]
    return []


if __name__ == "__main__":
    sys.stdin.read()
    send(tree(int(sys.argv[1])), signal.SIGKILL)
