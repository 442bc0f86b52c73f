"""Measure `sweep run --processes`: throughput and CPU a call with one, two and four processes.

W1 to W3 of a sweep, on the simulator of `bench.place`. Throughput is from the first judgement
to the last. CPU is that of the command with its worker processes, imports included; a run
of few judgements is subtracted for the CPU of a call. What is nearest to a whole core, or all
cores together, has saturated.

    python -m bench.processes [--judgements 2000] [--processes 1 2 4] [--latency 0.05]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.meter import cpu_s
from bench.place import REPOSITORY, Place, place, tree_cpu_s
from bench.prefect_share import pace
from bench.study import write_sweep
from bench.table import show
from bench.whole_command import JUDGE_GYM, PARTS

FEW = 100
"""Judgements for each process of the run whose CPU is start-up: one that has none does not start
its client."""
Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgements", type=int, default=2000, help="a multiple of 100")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--latency", type=float, default=0.05)
    asked = parser.parse_args()
    rows = []
    with place(asked.latency) as here:
        here.providers(task_slots=8, concurrency=200)
        few = write_sweep(here.folder, FEW * max(asked.processes), name="few")
        many = write_sweep(here.folder, asked.judgements, name="many")
        run(here, few, 1)  # the simulator reads every article
        for processes in asked.processes:
            start, whole = run(here, few, processes), run(here, many, processes)
            calls = asked.judgements - FEW * max(asked.processes)
            rows.append(row(processes, start, whole, calls))
    columns = (
        "processes",
        "calls/s",
        "CPU ms/call",
        "start-up CPU s",
        "PostgreSQL ms/call",
        "simulator ms/call",
        f"% of {os.cpu_count()} cores",
    )
    show(f"{asked.judgements:,} judgements (load {os.getloadavg()[0]:.1f})", columns, rows)


def row(processes: int, start: Figures, whole: Figures, calls: int) -> tuple[str, ...]:
    """Return a row of the table; costs a call are those above the run of few."""
    a_call = {part: 1000 * (whole[part] - start[part]) / calls for part in ("own", "pg", "sim")}
    busy = 100 * sum(whole[part] for part in ("own", "pg", "sim"))
    busy /= whole["wall"] * (os.cpu_count() or 1)
    return (
        str(processes),
        f"{whole['rate']:.0f}",
        f"{a_call['own']:.2f}",
        f"{start['own']:.1f}",
        f"{a_call['pg']:.2f}",
        f"{a_call['sim']:.2f}",
        f"{busy:.0f}",
    )


def run(here: Place, sweep: Path, processes: int) -> Figures:
    """Run W1 to W3 of a sweep in a new database."""
    with here.database() as url:
        environment = here.environment(url, chunk_size=50, workers=8)
        command = [*JUDGE_GYM, "sweep", "run", str(sweep), *PARTS, "--processes", str(processes)]
        own, begun = cpu_s(), time.time()
        database, simulator = tree_cpu_s(here.server.pid), tree_cpu_s(here.simulator_pid)
        subprocess.run(
            command, env=environment, cwd=REPOSITORY, check=True, stdout=sys.stderr.fileno()
        )
        return {
            **pace(url, begun),
            "wall": time.time() - begun,
            "own": cpu_s() - own,
            "pg": tree_cpu_s(here.server.pid) - database,
            "sim": tree_cpu_s(here.simulator_pid) - simulator,
        }


if __name__ == "__main__":
    main()
