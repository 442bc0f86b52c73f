"""Run W3 of a sweep on workers: `python -m bench.shared_out SWEEP AT_ONCE`."""

import asyncio
import sys
from pathlib import Path

from bench.meter import Meter
from bench.study import prepared
from flows.sweep import sweep
from judge_gym.runtime import runtime


async def main(file: Path, at_once: int) -> None:
    """Run the sweep's W3 and wait for it."""
    async with runtime() as current:
        await prepared(current, file)
    with Meter():
        await sweep(file, only=["w3-scoring"], at_once=at_once)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
