"""`judge-gym` again and again without its imports, which take most of a restarted run's time.

`python launcher.py LOG` imports what a sweep's run needs and then, for each line on its standard
input (the arguments, as JSON), forks a process that is `judge-gym` with these arguments. It says
on its standard output that process's id, and how it ended. What the process says goes to LOG.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Launcher:
    """Runs `judge-gym`, one process at a time."""

    folder: Path
    environment: dict[str, str]
    pid: int = 0
    """Of the process that runs; 0 when none does."""
    _launcher: "subprocess.Popen[str] | None" = None
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "launched.log"

    def start(self, *arguments: str | Path) -> None:
        """Start `judge-gym` with these arguments."""
        if self._launcher is None:
            self._launcher = subprocess.Popen(
                [sys.executable, __file__, self.log],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._launcher.stdin is not None
        self._launcher.stdin.write(json.dumps([str(one) for one in arguments]) + "\n")
        self._launcher.stdin.flush()
        self.pid = int(self._line())

    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        assert self._launcher is not None
        readable, _, _ = select.select([self._launcher.stdout], [], [], 0)
        return self.wait() if readable else None

    def wait(self) -> int:
        """The exit code, once there is one."""
        code = int(self._line())
        self.pid = 0
        return code

    def said(self) -> str:
        """What the last process has said."""
        return self.log.read_text()

    def close(self) -> None:
        """End the launcher and what it runs."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
        if self._launcher is not None:
            self._launcher.communicate()

    def _line(self) -> str:
        assert self._launcher is not None
        assert self._launcher.stdout is not None
        line = self._launcher.stdout.readline()
        assert line, f"the launcher ended: {self.said()}"
        return line


def launch(log: str) -> None:
    """Fork for every line of standard input; the child returns, the launcher does not."""
    import judge_gym.llm.gateway  # noqa: F401 — all four are what the children find imported

    assert threading.active_count() == 1, "a fork takes no threads along"
    for line in sys.stdin:
        child = os.fork()
        if not child:
            sys.argv = ["judge-gym", *json.loads(line)]
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for descriptor, replacement in enumerate((nothing, output, output)):
                os.dup2(replacement, descriptor)
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)


if __name__ == "__main__":
    # The child goes on from here as the console script does.
    from deployments.cli.app import main

    launch(sys.argv[1])
    main()
