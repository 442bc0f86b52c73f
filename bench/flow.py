"""Run the w3-scoring flow in this process: `python -m bench.flow SWEEP`."""

import asyncio
import sys
from pathlib import Path

from bench.meter import Meter
from bench.study import prepared
from flows.w3_scoring import w3_scoring
from judge_gym.runtime import runtime


async def main(file: Path) -> None:
    """Score the sweep's experiments."""
    async with runtime() as current:
        run = await prepared(current, file)
        with Meter():
            await w3_scoring(run.tags)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
