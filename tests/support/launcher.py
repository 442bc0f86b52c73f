"""`judge-gym` again and again without its imports, which take most of a short run's time.

`python launcher.py` imports what a sweep's run needs and then, for each line on its standard input
(a `Request`, as JSON), forks a process that is `judge-gym` with these arguments, in that folder and
with that environment; only what Prefect reads of it is read once, by the imports. It says on its
standard output that process's id, and how it ended.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from judge_gym.settings import settings

IMPORTED = (
    "flows.sweep",
    "flows.calibration",
    "flows.benchmark",
    "judge_gym.llm.gateway",
    "judge_gym.report.page",
    "judge_gym.report.calibration",
    "judge_gym.store.embedded",
)
"""What processes find imported when they are forked."""


@dataclass(frozen=True)
class Request:
    """What is typed, where, and into which files goes what is said."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    output: str
    errors: str


@dataclass
class Launcher:
    """Runs `judge-gym`, one process at a time, in one folder if no other is named."""

    folder: Path
    environment: dict[str, str]
    pid: int = 0
    """Of the process that runs; 0 when none does."""
    _launcher: "subprocess.Popen[str] | None" = None

    def start(
        self,
        *arguments: str | Path,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `judge-gym` with these arguments."""
        if self._launcher is None:
            self._launcher = subprocess.Popen(
                [sys.executable, "-P", __file__],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        request = Request(
            list(map(str, arguments)),
            str(folder or self.folder),
            dict(environment or self.environment),
            str(self._output),
            str(self._errors),
        )
        assert self._launcher.stdin is not None
        self._launcher.stdin.write(json.dumps(asdict(request)) + "\n")
        self._launcher.stdin.flush()
        self.pid = int(self._line())

    def ended(self, within_s: float = 0) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        assert self._launcher is not None
        readable, _, _ = select.select([self._launcher.stdout], [], [], within_s)
        return self.wait() if readable else None

    def wait(self) -> int:
        """The exit code, once there is one."""
        code = int(self._line())
        self.pid = 0
        return code

    def kill(self) -> None:
        """End the process that runs, without a word."""
        os.kill(self.pid, signal.SIGKILL)

    def output(self) -> str:
        """What the last process has printed."""
        return self._output.read_text()

    def errors(self) -> str:
        """What the last process has said beside that."""
        return self._errors.read_text()

    def close(self) -> None:
        """End the launcher and what it runs."""
        if self.pid:
            self.kill()
        if self._launcher is not None:
            self._launcher.communicate()

    @property
    def _output(self) -> Path:
        return self.folder / "launched.output"

    @property
    def _errors(self) -> Path:
        return self.folder / "launched.errors"

    def _line(self) -> str:
        assert self._launcher is not None
        assert self._launcher.stdout is not None
        line = self._launcher.stdout.readline()
        assert line, f"the launcher ended: {self.output()}{self.errors()}"
        return line


def launch() -> None:
    """Fork for every line of standard input; the child returns, the launcher does not."""
    assert threading.active_count() == 1, "a fork takes no threads along"
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(Request(**json.loads(line)))
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)


def become(request: Request) -> None:
    """Make this process the one that was asked for."""
    sys.argv = [str(Path(sys.executable).parent / "judge-gym"), *request.arguments]
    os.chdir(request.folder)
    # Over what the imports have set, which the console script would set too.
    os.environ.update(request.environment)
    settings.cache_clear()
    # A shell has what it runs in the background ignore Ctrl-C, tests and all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = (
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for path in (request.output, request.errors)
    )
    for descriptor, replacement in enumerate((nothing, *files)):
        os.dup2(replacement, descriptor)


if __name__ == "__main__":
    from deployments.cli.app import main
    from deployments.local.temporary_server import set_prefect_defaults

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    set_prefect_defaults(Path("data"), verbose=False)
    for module in IMPORTED:
        import_module(module)
    launch()
    # The child goes on from here as the console script does.
    main()
