"""Measure the gain of more workers with one PostgreSQL, Prefect server and provider limit.

A sweep shares W3, one flow run per experiment, as many concurrently as there are workers.
Throughput is measured from the first recorded call to the last answer. CPU is that of the whole
sweep, imports of each flow run's process included. The provider takes a second per answer. Its
limit is shared by 16 task slots, and a flow run holds four: it may have a quarter of the limit in
flight. Everything, the provider included, runs on one machine.

    python -m bench.workers [--judgements 4000] [--repeat 1] [--workers 1 2 4]
"""

import argparse
import os
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from bench.place import REPOSITORY, Place, place, tree_cpu_s
from bench.prefect_share import pace, prefect, prefect_server, worker
from bench.study import write_sweep
from bench.table import show, spread

MODELS = ("sim/calm-1", "sim/high-1", "sim/low-1", "sim/tonal-1")
LATENCY_S = 1.0
IN_FLIGHT, SLOTS = 128, 16
Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgements", type=int, default=4000, help="a multiple of 400")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    asked = parser.parse_args()
    measured: dict[int, list[Figures]] = defaultdict(list)
    for _ in range(asked.repeat):
        for workers in asked.workers:
            # Each run has its own simulator, since the simulator records its maximum concurrency.
            with place(LATENCY_S) as here, prefect_server(here.folder) as (api, server):
                here.providers(SLOTS, IN_FLIGHT)
                sweep = write_sweep(here.folder, asked.judgements, MODELS)
                measured[workers].append(shared_out(here, server, api, sweep, workers))
    table(measured, asked.judgements)


def shared_out(here: Place, server: int, api: dict[str, str], sweep: Path, workers: int) -> Figures:
    """Judge the sweep on workers."""
    with here.database() as url, ExitStack() as stack:
        environment = here.environment(url, chunk_size=50, workers=4) | api
        environment |= {"JUDGE_GYM_HOME": str(REPOSITORY)}
        prefect(environment, "work-pool", "create", "judge-gym", "--type", "process", "--overwrite")
        prefect(environment, "--no-prompt", "deploy", "--all")
        pids = [stack.enter_context(worker(environment, here.folder)) for _ in range(workers)]
        before, clients, begun = tree_cpu_s(server), sum(map(tree_cpu_s, pids)), time.time()
        command = [sys.executable, "-m", "bench.shared_out", str(sweep), str(workers)]
        used = here.measure(command, environment)
        ended = time.time()
        return {
            **pace(url, begun),
            "wall_s": ended - begun,
            "in_flight": here.statistics()["most_in_flight"],
            "client_s": used["cpu_s"] + sum(map(tree_cpu_s, pids)) - clients,
            "prefect_s": tree_cpu_s(server) - before,
            "postgresql_s": used["database_cpu_s"],
            "provider_s": used["simulator_cpu_s"],
        }


def table(measured: dict[int, list[Figures]], judgements: int) -> None:
    """Print a row for each number of workers: throughput, and CPU by process."""
    base = next(iter(measured.values()))
    rows = [
        (
            str(workers),
            spread([one["rate"] for one in runs], 0),
            spread([a["rate"] / b["rate"] for a, b in zip(runs, base, strict=True)], 2),
            spread([one["in_flight"] for one in runs], 0),
            spread([one["start_s"] for one in runs], 0),
            spread([one["wall_s"] for one in runs], 0),
            *(
                spread([one[f"{part}_s"] for one in runs], 0)
                for part in ("client", "prefect", "postgresql", "provider")
            ),
            spread([_busy(one) for one in runs], 0),
        )
        for workers, runs in measured.items()
    ]
    columns = (
        "workers",
        "calls/s",
        "÷ first",
        f"most in flight of {IN_FLIGHT}",
        "to start s",
        "whole s",
        "client CPU s",
        "Prefect server CPU s",
        "PostgreSQL CPU s",
        "provider CPU s",
        f"% of {os.cpu_count()} cores",
    )
    show(f"{judgements:,} judgements shared out to workers", columns, rows)


def _busy(one: Figures) -> float:
    cpu_s = sum(one[f"{part}_s"] for part in ("client", "prefect", "postgresql", "provider"))
    return 100 * cpu_s / one["wall_s"] / (os.cpu_count() or 1)


if __name__ == "__main__":
    main()
