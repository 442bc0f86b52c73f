"""Judge a finished sweep again: `python -m bench.again plan|ledger SWEEP`."""

import asyncio
import sys
from pathlib import Path

import sqlalchemy as sa

from bench.judging import judge_all, planned
from bench.meter import Meter
from bench.study import prepared
from judge_gym.runtime import runtime
from judge_gym.store import tables as t


async def main(mode: str, file: Path) -> None:
    """Plan again; with `ledger`, restore deleted samples from stored answers."""
    async with runtime() as current:
        run = await prepared(current, file)
        if mode == "ledger":
            with current.session() as session:
                session.execute(sa.delete(t.Sample))
        meter = Meter()
        with meter:
            units = planned(current, run.tags)
            meter.facts["calls"] = len(units)
            await judge_all(current, units)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
