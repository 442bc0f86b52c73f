"""Run the w3-scoring deployment on workers: `python -m bench.deployed SWEEP FLOW_RUNS`.

The sweep's experiments are divided among this number of flow runs.
"""

import asyncio
import sys
from pathlib import Path

from prefect.deployments import run_deployment

from bench.meter import Meter
from bench.study import prepared
from judge_gym.runtime import runtime


async def main(file: Path, flow_runs: int) -> None:
    """Start the flow runs and wait for them."""
    async with runtime() as current:
        tags = (await prepared(current, file)).tags
    with Meter():
        runs = await asyncio.gather(
            *(
                run_deployment(
                    "w3-scoring/default",
                    parameters={"experiments": tags[number::flow_runs]},
                    timeout=1800,
                    as_subflow=False,
                )
                for number in range(flow_runs)
            )
        )
    for run in runs:
        if run.state is None or not run.state.is_completed():
            sys.exit(f"A flow run ended as {run.state}.")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
