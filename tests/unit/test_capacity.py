"""The simulation of many workers, where the answer is known."""

import pytest

from bench.capacity import Load, simulated


@pytest.mark.parametrize(
    ("load", "processes", "expected"),
    [
        # Nothing is full: each call in flight takes an answer's time.
        (Load(1e-6, 1e-6, 2.0, in_flight=50, postgres_cores=1), 4, 4 * 50 / 2.0),
        # The core of a process is full, each process having one.
        (Load(0.01, 1e-6, 0.1, in_flight=200, postgres_cores=1), 3, 3 / 0.01),
        # PostgreSQL's cores are full.
        (Load(1e-6, 0.01, 0.1, in_flight=200, postgres_cores=2), 2, 2 / 0.01),
    ],
)
def test_throughput_is_that_of_what_is_full(load: Load, processes: int, expected: float) -> None:
    rate, of_clients, of_postgres = simulated(load, processes, seconds=60)
    assert rate == pytest.approx(expected, rel=0.05)
    assert of_clients == pytest.approx(rate / processes * load.client_s, rel=0.1)
    assert of_postgres == pytest.approx(rate / load.postgres_cores * load.postgres_s, rel=0.1)
