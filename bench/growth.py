"""Measure whether a call costs more in a larger run: CPU and peak memory by size.

python -m bench.growth [--calls 1000 10000 100000] [--repeat 3]
"""

import argparse

from bench.gateway_vs_inspect import gateway, warm_up
from bench.place import place
from bench.study import write_sweep
from bench.table import per_call_ms, show, spread


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--repeat", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    with place() as here:
        warm_up(here)
        for calls in asked.calls:
            sweep = write_sweep(here.folder, calls)
            runs = [gateway(here, sweep) for _ in range(asked.repeat)]
            client = [per_call_ms(one, "cpu_s") for one in runs]
            base = rows[0][-1] if rows else client
            rows.append(
                (
                    f"{calls:,}",
                    spread([one["calls"] / one["wall_s"] for one in runs], 0),
                    spread(client, 2),
                    spread([per_call_ms(one, "database_cpu_s") for one in runs], 2),
                    spread([one["peak_mb"] for one in runs], 0),
                    spread([one / other for one, other in zip(client, base, strict=True)], 2),
                    base,
                )
            )
    columns = ("calls", "calls/s", "CPU ms/call", "PostgreSQL ms/call", "peak MB", "CPU ÷ first")
    show("The gateway by size", columns, [row[:-1] for row in rows])


if __name__ == "__main__":
    main()
