"""Measure the cost of rerunning a finished sweep: wall time, and requests (none).

The command runs a sweep of 1,000 judgements, probes and analysis included. Then

- `sweep run` again: the whole command on the finished sweep;
- planning again: the w3-scoring flow's search for missing judgements;
- from the ledger: the samples are deleted and restored from the answers in the ledger.

    python -m bench.rerun [--judgements 1000]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from bench.place import REPOSITORY, Place, place
from bench.study import write_sweep
from bench.table import show


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judgements", type=int, default=1000)
    asked = parser.parse_args()
    with place() as here, here.database() as url:
        sweep = write_sweep(here.folder, asked.judgements)
        environment = here.environment(url, chunk_size=100, workers=4)
        command = [sys.executable, "-c", "from deployments.cli.app import main; main()"]
        command += ["sweep", "run", str(sweep)]
        rows = [
            ("sweep run, first time", *timed(here, command, environment)),
            ("sweep run, again", *timed(here, command, environment)),
            *(
                (name, f"{found['wall_s']:.2f}", str(found["requests"]))
                for name, mode in (("planning again", "plan"), ("from the ledger", "ledger"))
                for found in [
                    here.measure(
                        [sys.executable, "-m", "bench.again", mode, str(sweep)], environment
                    )
                ]
            ),
        ]
    show(f"A done sweep of {asked.judgements:,} judgements", ("what", "wall s", "requests"), rows)


def timed(here: Place, command: Sequence[str], environment: dict[str, str]) -> tuple[str, str]:
    """Run a command; return its wall time and number of requests."""
    requests, start = here.requests(), time.perf_counter()
    subprocess.run(command, env=environment, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    return f"{time.perf_counter() - start:.2f}", str(here.requests() - requests)


if __name__ == "__main__":
    main()
