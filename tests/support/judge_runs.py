"""Items, and a judge's results on them with the simulator behind it."""

from typing import Any

from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.judging import judge_items
from support.rig import run, runtime_at
from support.simulation import Simulator

ITEMS = [Item(id=str(number), text=f"Note {number}.") for number in range(6)]


def simulated(database: str, simulator: Simulator, judge: Judge, **given: Any) -> list[JudgeResult]:
    """Judge the items, or others given, on a database."""
    items = given.pop("items", ITEMS)

    async def work() -> list[JudgeResult]:
        async with runtime_at(database, simulator.url) as runtime:
            return await judge_items(runtime, judge, items, **given)

    results: list[JudgeResult] = run(work())
    return results
