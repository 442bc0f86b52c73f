"""Simulate a day of many workers, with the service times that other scripts here measure.

A closed queueing network. Each worker process has a core of its own and keeps a number of calls in
flight. A call takes the core, then its provider, then a core of PostgreSQL; then the next starts.
Times at cores are exponential, the provider's are log-normal. It answers what limits throughput
where there are more machines than to measure on; it leaves out start-up, refusals by providers
and Prefect.

    python -m bench.capacity [--calls-a-day 10000000] [--latency 2] [--in-flight 64]
"""

import argparse
import heapq
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from bench.table import show

DAY_S = 86_400


@dataclass(frozen=True)
class Load:
    """What a call takes, in seconds of a core or of waiting."""

    client_s: float
    postgres_s: float
    latency_s: float
    in_flight: int
    """Calls that a process keeps in flight."""
    postgres_cores: int


@dataclass
class _Server:
    """Cores that serve one call each, first come first served."""

    cores: int
    busy_s: float = 0.0
    free: int = field(init=False)
    waiting: deque[int] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.free = self.cores


def simulated(load: Load, processes: int, seconds: float, seed: int = 7) -> tuple[float, ...]:
    """Return (calls per second, share of the clients' cores in use, the same of PostgreSQL's)."""
    draw = np.random.default_rng(seed)
    clients = [_Server(1) for _ in range(processes)]
    postgres = _Server(load.postgres_cores)
    events: list[tuple[float, int, int]] = []  # (time, call, what ends: 0 client, 1 answer, 2 row)
    ended = 0

    def begin(server: _Server, call: int, what: int, mean_s: float, now: float) -> None:
        if not server.free:
            server.waiting.append(call)
            return
        server.free -= 1
        took = draw.exponential(mean_s)
        server.busy_s += took
        heapq.heappush(events, (now + took, call, what))

    def end(server: _Server, what: int, mean_s: float, now: float) -> None:
        server.free += 1
        if server.waiting:
            begin(server, server.waiting.popleft(), what, mean_s, now)

    for call in range(processes * load.in_flight):
        begin(clients[call % processes], call, 0, load.client_s, 0.0)
    sigma = 0.5
    while events:
        now, call, what = heapq.heappop(events)
        if now > seconds:
            break
        client = clients[call % processes]
        if what == 0:
            end(client, 0, load.client_s, now)
            latency = draw.lognormal(math.log(load.latency_s) - sigma**2 / 2, sigma)
            heapq.heappush(events, (now + latency, call, 1))
        elif what == 1:
            begin(postgres, call, 2, load.postgres_s, now)
        else:
            end(postgres, 2, load.postgres_s, now)
            ended += 1
            begin(client, call, 0, load.client_s, now)
    of_clients = sum(client.busy_s for client in clients) / processes / seconds
    return ended / seconds, of_clients, postgres.busy_s / postgres.cores / seconds


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls-a-day", type=float, default=1e7)
    parser.add_argument("--client-ms", type=float, default=4.3, help="of bench.processes")
    parser.add_argument("--postgres-ms", type=float, default=0.5, help="of bench.processes")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of an answer, the mean")
    parser.add_argument("--in-flight", type=int, default=64, help="calls of a process")
    parser.add_argument("--postgres-cores", type=int, default=2)
    parser.add_argument("--row-bytes", type=float, default=1520, help="of bench.million, a call")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8, 16, 64])
    asked = parser.parse_args()
    load = Load(
        asked.client_ms / 1000,
        asked.postgres_ms / 1000,
        asked.latency,
        asked.in_flight,
        asked.postgres_cores,
    )
    rows = []
    for processes in asked.processes:
        rate, of_clients, of_postgres = simulated(load, processes, 60 * asked.latency)
        day = rate * DAY_S
        rows.append(
            (
                f"{processes}",
                f"{processes * asked.in_flight:,}",
                f"{rate:.0f}",
                f"{day / 1e6:.1f}",
                f"{DAY_S / 3600 * asked.calls_a_day / day:.1f}",
                f"{100 * of_clients:.0f}%",
                f"{100 * of_postgres:.0f}%",
            )
        )
    columns = (
        "processes",
        "in flight",
        "calls/s",
        "million a day",
        f"hours for {asked.calls_a_day:,.0f}",
        "clients' cores",
        "PostgreSQL's cores",
    )
    show(f"Simulated, {asked.latency:g} s an answer", columns, rows)
    print(f"{asked.calls_a_day * asked.row_bytes / 1e9:.0f} GB of rows a day, without long texts")


if __name__ == "__main__":
    main()
