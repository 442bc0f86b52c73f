"""`judge-gym` as a person runs it: the console script, or in this process, which spares imports."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from support.in_process import run_here
from support.inherited import OF_A_USER

COMMAND = Path(sys.executable).parent / "judge-gym"
REPOSITORY = Path(__file__).parents[2]
SWEEPS = REPOSITORY / "deployments" / "sweeps"
LONGEST_S = 600.0
"""Past it a command is stuck: the demo took 4 minutes on a machine with three others at work."""
_OTHERS = (*OF_A_USER, "PYTEST_")


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what a person saw."""

    arguments: tuple[str, ...]
    code: int
    output: str
    errors: str

    @property
    def messages(self) -> str:
        """What was said on standard error, where that is JSON lines."""
        return " ".join(json.loads(line)["message"] for line in self.errors.splitlines())

    def fine(self) -> "Ended":
        """This, when the command succeeded; fails the test with all it said otherwise."""
        assert self.code == 0, f"judge-gym {' '.join(self.arguments)}\n{self.output}\n{self.errors}"
        return self


@dataclass(frozen=True)
class CommandLine:
    """A folder to type commands in; what they keep is in `data` below it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    program: Path = COMMAND
    in_process: bool = False
    """Whether commands run in this process; a start, or another Prefect server, needs its own."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def __call__(self, *arguments: str | Path, **more: str) -> Ended:
        """Run a command to its end."""
        typed = tuple(map(str, arguments))
        if self.in_process and not any(name.startswith("PREFECT_") for name in more):
            return self.here(*arguments, **more)
        process = self.start(*arguments, **more)
        try:
            output, errors = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(typed, process.returncode, output, errors)

    def here(self, *arguments: str | Path, **more: str) -> Ended:
        """Run a command in this process; it may ask another Prefect server, but start none."""
        typed = tuple(map(str, arguments))
        return Ended(typed, *run_here(typed, self.folder, self.variables() | more))

    def start(self, *arguments: str | Path, **more: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [self.program, *arguments],
            cwd=self.folder,
            env=self.variables() | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def variables(self) -> dict[str, str]:
        """The whole environment of a command."""
        # Nothing of the machine's user reaches the command: no keys, no settings, no profiles.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(_OTHERS)}
        own = {
            "HOME": str(self.folder),
            "JUDGE_GYM_DATA_DIR": str(self.data),
            "JUDGE_GYM_STANDBY_MINUTES": "0",  # also at a terminal: no process may be left
            "COLUMNS": "200",
        }
        return inherited | own | self.environment


def small_sweep(name: str, model: str, *changes: tuple[str, str]) -> str:
    """A sweep of one judge, 2 articles as they are and a given rubric: W3 asks first, 4 times."""
    return sweep_text(
        "quick.yaml",
        ("name: quick", f"name: {name}\nutility_model: {model}"),
        ("max_documents: 5", "max_documents: 2"),
        (
            "[sim/calm-1, sim/high-1, sim/low-1]",
            f"{model}\n    evidence_view: raw\n"
            f"    rubric: {{provided: {SWEEPS}/rubrics/backsliding.yaml}}",
        ),
        ("swap:\n  pairs:\n    - [sim/high-1, sim/low-1]\n  sham: true", ""),
        *changes,
    )


def sweep_text(name: str, *changes: tuple[str, str]) -> str:
    """A sweep file that comes with judge-gym: its paths absolute, each change made once."""
    text = (SWEEPS / name).read_text()
    for folder in ("corpora/", "rubrics/", "../../../shared/"):
        text = text.replace(f" {folder}", f" {(SWEEPS / folder).resolve()}/")
    for old, new in changes:
        assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    return text
