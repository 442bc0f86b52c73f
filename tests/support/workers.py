"""Prefect workers as real processes, of the checkout or of an environment that has a wheel."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from support.command_line import CommandLine


@dataclass
class Worker:
    """`prefect worker start` of the environment that has the program of a command line."""

    command: CommandLine
    name: str
    limit: int | None = 3
    """Runs at a time. One with a limit ends when it is given a run whose slot it still holds."""
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it."""
        python = self.command.program.parent / "python"
        options = ["--pool", "judge-gym", "--name", self.name]
        if self.limit is not None:
            options += ["--limit", str(self.limit)]
        with (self.command.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [python, "-m", "prefect", "worker", "start", *options],
                cwd=self.command.folder,
                env=self.command.variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """End it and all it has started, if it is at work."""
        if self.process is not None:
            with suppress(psutil.NoSuchProcess):  # it has ended before
                kill(psutil.Process(self.process.pid))
            self.process.wait()


@contextmanager
def worker(command: CommandLine, name: str, limit: int) -> Iterator[psutil.Process]:
    """Its process in the block; killed with what it runs in the end."""
    made = Worker(command, name, limit)
    made.start()
    assert made.process is not None
    try:
        yield psutil.Process(made.process.pid)
    finally:
        made.kill()


def kill(process: psutil.Process) -> None:
    """End a process and all it has started, without a word."""
    for one in [process, *process.children(recursive=True)]:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
