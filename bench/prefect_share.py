"""Measure the overhead of Prefect: the same sweep with and without it.

- without Prefect: `bench.judging`, chunks awaited by a few workers;
- in process: the w3-scoring flow called in a process, its tasks recorded by a running server;
- one worker, two workers: the flow as a deployment, run by `prefect worker` from a work pool. Two
  workers get one flow run each, for one of the sweep's two judges, and share the provider's slots.

Throughput is measured from the first judgement in the ledger to the last, without start-up. CPU
is that of all client processes, imports included (seconds, not per call). The start-up of a flow
run, from its request to its first call, has its own column.

    python -m bench.prefect_share [--judgements 1000] [--repeat 1] [--workers 1 2] [--chunk 500]
"""

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa

from bench.place import REPOSITORY, Place, place, tree_cpu_s
from bench.study import write_sweep
from bench.table import show, spread
from deployments.local.prefect_server import api_url, new_password, wait_healthy
from deployments.local.prefect_server import prefect_server as local_server
from deployments.local.processes import free_port
from deployments.local.temporary_server import server_settings
from judge_gym.store import tables as t

MODELS = ("sim/calm-1", "sim/high-1")
START_S = 120.0
Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgements", type=int, default=1000, help="a multiple of 200")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--chunk", type=int, help="judgements of a Prefect task, if fixed")
    asked = parser.parse_args()
    measured: dict[str, list[Figures]] = defaultdict(list)
    with place() as here, prefect_server(here.folder) as (api, server):
        here.providers(task_slots=4)
        sweep = write_sweep(here.folder, asked.judgements, MODELS)
        # The simulator reads every article.
        run(here, server, api, ["bench.judging", str(sweep)], asked.chunk)
        for _ in range(asked.repeat):
            plain = ["bench.judging", str(sweep), "cold"]
            measured["without Prefect"].append(run(here, server, {}, plain, asked.chunk))
            in_process = ["bench.flow", str(sweep)]
            measured["in process"].append(run(here, server, api, in_process, asked.chunk))
            for workers in asked.workers:
                name = "one worker" if workers == 1 else f"{workers} workers"
                measured[name].append(deployed(here, server, api, sweep, workers, asked.chunk))
    table(measured, asked.judgements)


def table(measured: dict[str, list[Figures]], judgements: int) -> None:
    """Print a row for each setup."""
    base = measured["without Prefect"]
    rows = [
        (
            name,
            spread([one["rate"] for one in runs], 0),
            spread([a["rate"] / b["rate"] for a, b in zip(runs, base, strict=True)], 2),
            spread([one["cpu_s"] for one in runs], 1),
            spread([one["server_s"] for one in runs], 1),
            spread([one["start_s"] for one in runs], 1),
        )
        for name, runs in measured.items()
    ]
    columns = ("way", "calls/s", "÷ without", "client CPU s", "Prefect server CPU s", "to start s")
    show(f"Prefect's share of {judgements:,} judgements", columns, rows)


def fixed(chunk: int | None) -> dict[str, int]:
    """Return the setting of a fixed size."""
    return {} if chunk is None else {"chunk_size": chunk}


def run(
    here: Place, server: int, api: dict[str, str], module: Sequence[str], chunk: int | None
) -> Figures:
    """Judge in one process."""
    with here.database() as url:
        environment = here.environment(url, **fixed(chunk), workers=4) | api
        before = tree_cpu_s(server)
        here_cpu, begun = _children_s(), time.time()
        here.measure([sys.executable, "-m", *module], environment)
        return _figures(url, begun, _children_s() - here_cpu, tree_cpu_s(server) - before)


def deployed(
    here: Place, server: int, api: dict[str, str], sweep: Path, workers: int, chunk: int | None
) -> Figures:
    """Judge in flow runs on workers."""
    with here.database() as url, ExitStack() as stack:
        environment = here.environment(url, **fixed(chunk), workers=4) | api
        environment |= {"JUDGE_GYM_HOME": str(REPOSITORY)}
        prefect(environment, "work-pool", "create", "judge-gym", "--type", "process", "--overwrite")
        prefect(environment, "--no-prompt", "deploy", "--all")
        pids = [stack.enter_context(worker(environment, here.folder)) for _ in range(workers)]
        before, clients, begun = tree_cpu_s(server), sum(map(tree_cpu_s, pids)), time.time()
        command = [sys.executable, "-m", "bench.deployed", str(sweep), str(workers)]
        here.measure(command, environment)
        used = sum(map(tree_cpu_s, pids)) - clients
        return _figures(url, begun, used, tree_cpu_s(server) - before)


def _figures(database: str, begun: float, client_s: float, server_s: float) -> Figures:
    return {**pace(database, begun), "cpu_s": client_s, "server_s": server_s}


def pace(database: str, begun: float) -> Figures:
    """Return judgements per second from the first to the last answer, and when the first began.

    Calls that write rubrics come before: a flow of its own would start in between.
    """
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        count, first, last = connection.execute(
            sa.select(
                sa.func.count(), sa.func.min(t.Call.created_at), sa.func.max(t.Call.finished_at)
            ).where(t.Call.status == "succeeded", t.Call.workflow == "w3-scoring")
        ).one()
    return {
        "rate": count / (last - first).total_seconds(),
        "start_s": first.timestamp() - begun,
    }


def _children_s() -> float:
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)


def prefect(environment: dict[str, str], *arguments: str) -> None:
    """Run the `prefect` command."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *arguments],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"prefect {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


@contextmanager
def worker(environment: dict[str, str], folder: Path) -> Iterator[int]:
    """Run a worker of the pool; yields its process id."""
    with process("worker", ["worker", "start", "--pool", "judge-gym"], environment, folder) as pid:
        yield pid


@contextmanager
def prefect_server(folder: Path) -> Iterator[tuple[dict[str, str], int]]:
    """Run the server of `sweep run`; yields the environment that uses it, and its process id."""
    port, password = free_port(), new_password()
    api = {
        "PREFECT_API_URL": api_url(port),
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_LOGGING_LEVEL": "WARNING",
        **server_settings(),
    }
    (folder / "prefect").mkdir()
    with local_server(port, password, api, folder / "server.log") as server:
        wait_healthy(server, api["PREFECT_API_URL"], START_S, f"See {folder / 'server.log'}.")
        yield api, server.pid


@contextmanager
def process(
    name: str, arguments: Sequence[str], environment: dict[str, str], folder: Path
) -> Iterator[int]:
    """Run a `prefect` process that ends with the block."""
    with (folder / f"{name}.log").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "prefect", *arguments],
            env=environment,
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
        )
        try:
            yield started.pid
        finally:
            started.terminate()
            try:
                started.wait(60)
            except subprocess.TimeoutExpired:
                # The measurement is complete, even if a worker still waits.
                for child in psutil.Process(started.pid).children(recursive=True):
                    child.kill()
                started.kill()
                started.wait()


if __name__ == "__main__":
    main()
