"""Measure the whole command, as a user waits for it, beside Inspect AI's whole command.

1,000 judgements at 50 ms and 100 connections, on the simulator of `bench.place`, which is already
running for both. Imports, servers, migrations and the end of the process count. The ways are

- Inspect AI: one `eval` of the same prompts, in its own environment;
- cold: `sweep run` of W1 to W3 in a new data folder, embedded PostgreSQL included;
- warm: a sweep of other experiments in that data folder;
- done: the same commands again, with nothing to do;
- standby: as warm and done, in a standby process that waits already (docs/how-to/standby.md).

CPU is that of the command and the processes it started and waited for; PostgreSQL's is not in it.
For a standby process it is what it takes while the command runs, without its start and end.

    python -m bench.whole_command [--calls 1000] [--repeat 1] [--without-inspect]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from bench.gateway_vs_inspect import INSPECT, gateway, make_inspect, warm_up
from bench.meter import cpu_s
from bench.place import REPOSITORY, Place, place
from bench.study import write_sweep
from bench.table import show, spread
from deployments.cli.standby import dismiss, socket_file

INSPECT_NAME = "Inspect AI, eval"
PARTS = ["--only", "w1-evidence", "--only", "w2-rubric", "--only", "w3-scoring"]
JUDGE_GYM = [sys.executable, "-c", "from deployments.cli.app import main; main()"]
STANDBY = "JUDGE_GYM_STANDBY_MINUTES"
STANDBY_MODULE = "deployments.cli.standby_process"
Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000, help="a multiple of 100")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--without-inspect", action="store_true")
    asked = parser.parse_args()
    measured: dict[str, list[Figures]] = defaultdict(list)
    with place() as here:
        here.providers(task_slots=4)  # the default: four tasks share the 100 connections
        warm_up(here)
        prompts = here.folder / "prompts.jsonl"
        if not asked.without_inspect:
            make_inspect()
            gateway(here, write_sweep(here.folder, asked.calls), prompts)
        for _ in range(asked.repeat):
            if not asked.without_inspect:
                measured[INSPECT_NAME].append(inspect(here, prompts))
            for name, figures in own_commands(here, asked.calls).items():
                measured[name].append(figures)
    table(measured, asked.calls)


def inspect(here: Place, prompts: Path) -> Figures:
    """Run Inspect's whole command."""
    command = [str(INSPECT / "bin" / "python"), "-m", "bench.inspect_arm", str(prompts), "cold"]
    environment = here.environment() | {"BENCH_BASE_URL": here.url, "BENCH_API_KEY": "none"}
    return timed(here, command, environment)


def own_commands(here: Place, calls: int) -> dict[str, Figures]:
    """Run judge-gym's commands in a new data folder."""
    with tempfile.TemporaryDirectory(prefix="data-", dir=here.folder) as data:
        environment = here.environment() | {"JUDGE_GYM_DATA_DIR": data, STANDBY: "0"}
        del environment["JUDGE_GYM_DATABASE_URL"]
        cold = write_sweep(here.folder, calls, name="cold")
        warm = write_sweep(here.folder, calls, name="warm", top_p=0.9)
        waited_for = write_sweep(here.folder, calls, name="standby", top_p=0.8)
        run = [*JUDGE_GYM, "sweep", "run"]
        measured = {
            name: timed(here, [*run, str(sweep), *parts], environment)
            for name, sweep, parts in (
                ("sweep run W1-W3, cold", cold, PARTS),
                ("sweep run W1-W3, warm", warm, PARTS),
                ("the same, done", warm, PARTS),
                ("--only w3-scoring, done", warm, PARTS[-2:]),
                ("sweep run with W5 and figures", warm, []),
                ("sweep run, done", warm, []),
            )
        }
        environment[STANDBY] = "5"
        timed(here, [*run, str(warm)], environment)
        for name, sweep, parts in (
            ("sweep run W1-W3, standby", waited_for, PARTS),
            ("the same, done, standby", waited_for, PARTS),
            ("sweep run, done, standby", warm, []),
        ):
            process = standby(Path(data))
            measured[name] = timed(here, [*run, str(sweep), *parts], environment, process)
        last = standby(Path(data))
        dismiss(Path(data))
        last.wait()
        return measured


def standby(data: Path) -> psutil.Process:
    """Return the standby process of a data folder when it waits for a command."""
    while not socket_file(data).exists():
        time.sleep(0.1)
    for process in psutil.process_iter(["cmdline"]):
        if {STANDBY_MODULE, str(data)} <= set(process.info["cmdline"] or ()):
            return process
    sys.exit("The standby process has ended.")


def timed(
    here: Place,
    command: Sequence[str],
    environment: Mapping[str, str],
    process: psutil.Process | None = None,
) -> Figures:
    """Run a command, in the standby `process` if one is given.

    Returns its wall time, CPU, and when its first request arrived.
    """
    earlier = 0.0 if process is None else own_cpu_s(process)
    before, used, begun = here.requests(), cpu_s(), time.perf_counter()
    first, ended = float("nan"), threading.Event()

    def watch() -> None:
        nonlocal first
        while not ended.wait(0.05):
            if here.requests() > before:
                first = time.perf_counter() - begun
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - begun
    in_standby = 0.0 if process is None else own_cpu_s(process) - earlier
    ended.set()
    watcher.join()
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return {"wall_s": wall, "cpu_s": cpu_s() - used + in_standby, "first_s": first}


def own_cpu_s(process: psutil.Process) -> float:
    """Return the CPU time of a process without its children, NaN if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return float("nan")
    return float(times.user + times.system)


def table(measured: Mapping[str, Sequence[Figures]], calls: int) -> None:
    """Print a row for each way."""
    base = measured.get(INSPECT_NAME, [])
    rows = [
        (
            name,
            spread([one["wall_s"] for one in runs], 1),
            spread([one["cpu_s"] for one in runs], 1),
            spread([one["first_s"] for one in runs], 1),
            *(
                spread([a[of] / b[of] for a, b in zip(runs, base, strict=True)], 2) if base else "-"
                for of in ("wall_s", "cpu_s")
            ),
        )
        for name, runs in measured.items()
    ]
    columns = ("command", "wall s", "CPU s", "to first call s", "wall ÷ Inspect", "CPU ÷ Inspect")
    load = os.getloadavg()[0]
    title = f"Whole commands of {calls:,} calls (load {load:.1f} on {os.cpu_count()} cores)"
    show(title, columns, rows)


if __name__ == "__main__":
    main()
