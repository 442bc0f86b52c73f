"""Measure what a command costs that needs no database and no model: CPU and wall time.

Each command runs several times in a process of its own, and the least is shown: the first run
compiles, and others may use the machine. What the commands must not import,
tests/unit/test_command_line.py asserts.

    python -m bench.start_up [--repeat 5]
"""

import argparse
import subprocess
import sys
import time

from bench.meter import cpu_s
from bench.place import REPOSITORY
from bench.table import show

PROGRAM = [sys.executable, "-c", "from deployments.cli.app import main; main()"]
COMMANDS = (
    "--help",
    "judge --help",
    "sweep axes",
    "data schema sweep",
    "data schema judge",
    "judge check deployments/judges/notes.yaml",
    "judge check deployments/calibrations/good.yaml",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    rows = [(command, *least(command, repeat)) for command in COMMANDS]
    show("Start-up", ("command", "CPU s", "wall s"), rows)


def least(command: str, repeat: int) -> tuple[str, str]:
    """Return the least CPU and wall time of a command, in seconds."""
    cpu, wall = [], []
    for _ in range(repeat):
        used, begun = cpu_s(), time.perf_counter()
        typed = [*PROGRAM, *command.split()]
        subprocess.run(typed, cwd=REPOSITORY, capture_output=True, check=True)
        wall.append(time.perf_counter() - begun)
        cpu.append(cpu_s() - used)
    return f"{min(cpu):.2f}", f"{min(wall):.2f}"


if __name__ == "__main__":
    main()
