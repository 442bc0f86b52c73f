"""Judging items: what is missing, asked at once within bounds, and what is stored then."""

import asyncio
import time
from collections.abc import Sequence

from judge_gym.asking.engine import all_of
from judge_gym.errors import ConfigError
from judge_gym.judges.asking import Asking, Unit, result_values
from judge_gym.judges.base import CONCURRENCY, Judge
from judge_gym.judges.budgeting import check_price, check_spent
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import Ask, OwnJudge
from judge_gym.records.items import Item, distinct
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.store import judging as store


async def judge_items(
    runtime: Runtime,
    judge: Judge,
    items: Sequence[Item],
    *,
    repeats: int = 1,
    concurrency: int = CONCURRENCY,
    retry_failed: bool = False,
    occasion: str = "",
) -> list[JudgeResult]:
    """Judge with a runtime that is open; see `Judge.score_batch`.

    A model's calls are bounded by its provider's limits, too. What was judged on another
    `occasion`, such as the date of a review, is asked anew.
    """
    for name, given in (("repeats", repeats), ("concurrency", concurrency)):
        if given < 1:
            raise ConfigError(f"{name} is {given}.", "Use 1 or more.")
    for item in items:
        judge.check(item)
    if isinstance(judge, ModelJudge):
        check_price(runtime, judge)
    texts = distinct(items)
    with runtime.session() as session:
        judge_id = store.save_judge(session, judge.record)
        ids = store.save_items(session, texts)
        if retry_failed:
            store.forget_failures(session, judge_id, ids.values(), repeats, occasion)
        done = store.judged(session, judge_id, ids.values(), repeats, occasion)
    missing = [
        Unit(item, ids[item.key], repeat, occasion)
        for repeat in range(repeats)
        for item in texts
        if (ids[item.key], repeat) not in done
    ]
    if isinstance(judge, ModelJudge):
        await _by_model(runtime, judge, judge_id, missing, concurrency)
    elif isinstance(judge, OwnJudge) and missing:
        await _by_own(runtime, judge, judge_id, missing, concurrency)
    with runtime.session() as session:
        results = store.results(session, judge.record, judge_id, items, ids, repeats, occasion)
    return [of_item[repeat] for of_item in results for repeat in range(repeats)]


async def _by_model(
    runtime: Runtime, judge: ModelJudge, judge_id: int, missing: Sequence[Unit], concurrency: int
) -> None:
    gateway = runtime.gateway
    turns = asyncio.Semaphore(concurrency)
    # Under a budget no more is begun at once than may be in progress: it is read in between.
    size = concurrency if judge.budget else runtime.settings.chunk_size
    for start in range(0, len(missing), size):
        check_spent(runtime, judge)
        asked = [Asking(runtime, judge, judge_id, unit) for unit in missing[start : start + size]]
        calls = [call for one in asked for call in one.calls]
        opened = iter(await gateway.open(calls))
        rows = [[next(opened) for _ in one.calls] for one in asked]

        async def make(number: int) -> None:
            async with turns:
                await asked[number].make(rows[number])  # noqa: B023 — awaited in this round

        with gateway.chunk(calls):
            await all_of(make(number) for number in range(len(asked)))


async def _by_own(
    runtime: Runtime, judge: OwnJudge, judge_id: int, missing: Sequence[Unit], concurrency: int
) -> None:
    turns = asyncio.Semaphore(concurrency)

    async def make(ask: Ask, unit: Unit) -> None:
        async with turns:
            started = time.perf_counter()
            reading = await judge.ask(ask, unit.item, unit.repeat)
            values = result_values(
                judge_id,
                unit,
                reading,
                duration_s=time.perf_counter() - started,
                simulated=unit.item.simulated,
            )
            await asyncio.to_thread(store.save_result, runtime.engine, values)

    async with judge.opened() as ask:
        await all_of(make(ask, unit) for unit in missing)
