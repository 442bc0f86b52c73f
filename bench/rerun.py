"""What doing everything again costs when everything is done: wall time, and requests (none).

A sweep of 1,000 judgements is run to the end by its command, probes and analysis included. Then

- `sweep run` again: the whole command, which finds the sweep finished;
- planning again: what the w3-scoring flow does to find that nothing is missing;
- from the ledger: the samples are deleted and made again from the answers the ledger kept.

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
    """Run a command to its end; wall time and requests made."""
    requests, start = here.requests(), time.perf_counter()
    subprocess.run(command, env=environment, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    return f"{time.perf_counter() - start:.2f}", str(here.requests() - requests)


if __name__ == "__main__":
    main()
