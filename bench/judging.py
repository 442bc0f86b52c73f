"""The gateway with its ledger, without Prefect: `python -m bench.judging SWEEP [cold]`.

Does the same as the w3-scoring flow (plan, then chunks, a few concurrently), after one warm-up
judgement, unless `cold`. The settings determine the size and concurrency of chunks.
"""

import asyncio
import sys
from pathlib import Path

from bench.meter import Meter
from bench.study import prepared
from judge_gym.lab.judging import judge
from judge_gym.lab.scoring import plan_scoring
from judge_gym.runtime import Runtime, runtime
from judge_gym.store.samples import SampleUnit


async def main(file: Path, *, warm: bool = True) -> None:
    """Judge the whole sweep; the measured part starts after the warm-up judgement."""
    async with runtime() as current:
        run = await prepared(current, file)
        if warm:
            await judge(current, planned(current, run.tags)[:1])
        meter = Meter()
        with meter:
            units = planned(current, run.tags)
            meter.facts["calls"] = len(units)
            await judge_all(current, units)


def planned(current: Runtime, tags: list[str]) -> list[SampleUnit]:
    """Return what is missing."""
    with current.session() as session:
        missing, _ = plan_scoring(session, tags)
    return [unit for units in missing.by_model.values() for unit in units]


async def judge_all(current: Runtime, units: list[SampleUnit]) -> None:
    """Judge in chunks, with the concurrency of the settings."""
    size = current.settings.first_chunk
    chunks = iter([units[start : start + size] for start in range(0, len(units), size)])

    async def worker() -> None:
        for chunk in chunks:
            await judge(current, chunk)

    await asyncio.gather(*(worker() for _ in range(current.settings.workers)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), warm="cold" not in sys.argv))
