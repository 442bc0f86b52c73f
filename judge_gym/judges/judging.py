"""Judging items: what is missing becomes questions, and every judgement a row."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import BudgetExceededError, Spender, check_priced, spender_of
from judge_gym.asking.engine import WAITING, all_of, ask_all
from judge_gym.asking.questions import (
    End,
    Question,
    Turns,
    any_simulated,
    last_turns,
    may_retry,
    seed_source,
    total_seconds,
)
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.judges.base import Judge
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import Ask, OwnJudge
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, Parameters, Row
from judge_gym.records.items import Item, distinct
from judge_gym.records.judgements import JudgeResult, Reading
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import judges as store

WORKFLOW, AGENT = "judging", "judge"
BOUND_ERRORS = (BudgetExceededError, HourlyBoundError)
"""What stops judging at a bound."""
CUSTOM_CONCURRENCY = 8
"""Concurrent judgements of a custom judge, which has no provider limits."""


class JudgementsWaitError(JudgeGymError):
    """Required judgements are in a batch that has not ended."""


@dataclass(frozen=True)
class Unit:
    """One judgement that is missing."""

    item: Item
    item_id: int
    repeat: int
    review_day: str = ""
    """Day of the review; empty outside reviews."""

    @property
    def turn(self) -> str:
        """Tells this judgement from others of the same item by the same judge."""
        return f"{self.review_day}/{self.repeat}" if self.review_day else str(self.repeat)


@dataclass(frozen=True)
class Judged:
    """Judgements made by one call of `judge_missing`, and where they are stored."""

    counts: Counter[str]
    """How many ended in each status; those that wait in a batch count as `waiting`."""
    judge_id: int
    item_ids: dict[str, int]
    """By the key of the item."""


async def judge_items(
    runtime: Runtime,
    judge: Judge,
    items: Sequence[Item],
    *,
    repeats: int = 1,
    concurrency: int | None = None,
    retry_failed: bool = False,
    review_day: str = "",
    budget: Spender | None = None,
) -> list[JudgeResult]:
    """Judge with a runtime that is open, without batches; see `Judge.score_batch`.

    Results of another `review_day` do not count: they are judged again. A `budget` stands in for
    that of the judge. Raises `JudgementsWaitError` when a judgement is in an open batch, too.
    """
    try:
        judged = await judge_missing(
            runtime,
            judge,
            items,
            repeats=repeats,
            concurrency=concurrency,
            retry_failed=retry_failed,
            review_day=review_day,
            in_batches=False,
            budget=budget,
        )
    except BOUND_ERRORS as stopped:
        with runtime.session() as session:
            so_far = judged_so_far(session, judge, items, repeats, review_day)
        raise type(stopped)(f"{stopped.message} {so_far}", stopped.remedies) from stopped
    if waiting := judged.counts[WAITING]:
        raise JudgementsWaitError(
            f"{judge.called}: {counted(waiting, 'judgement')} of {len(items) * repeats} "
            "in a batch that has not ended.",
            "Rerun the command when the batch has ended.",
        )
    with runtime.session() as session:
        results = store.results(
            session, judge.record, judged.judge_id, items, judged.item_ids, repeats, review_day
        )
    return [of_item[repeat] for of_item in results for repeat in range(repeats)]


def judged_so_far(
    session: Session, judge: Judge, items: Sequence[Item], repeats: int, review_day: str = ""
) -> str:
    """Return a sentence with the number of items that are judged `repeats` times."""
    texts = distinct(items)
    times = store.judged_times(session, judge.record, texts, repeats, review_day)
    complete = sum(number == repeats for number in times.values())
    return f"{judge.called}: {complete} of {counted(len(texts), 'item')} are judged."


async def judge_missing(
    runtime: Runtime,
    judge: Judge,
    items: Sequence[Item],
    *,
    repeats: int = 1,
    concurrency: int | None = None,
    retry_failed: bool = False,
    review_day: str = "",
    in_batches: bool = True,
    workers: int = 1,
    budget: Spender | None = None,
) -> Judged:
    """Make the judgements that are missing, as one of `workers` at once; see `judge_items`."""
    for name, given in (("repeats", repeats), ("concurrency", concurrency)):
        if given is not None and given < 1:
            raise ConfigError(f"{name} is {given}.", "Use 1 or more.")
    for item in items:
        judge.check(item)
    if isinstance(judge, ModelJudge):
        runtime.providers.check({judge.model})
        budget = budget or spender_of(judge, workers)
        check_priced(runtime.providers, budget)
    texts = distinct(items)
    with runtime.session() as session:
        judge_id = store.save_judge(session, judge.record)
        ids = store.save_items(session, texts)
        if retry_failed:
            store.forget_failures(session, judge_id, ids.values(), repeats, review_day)
        done = store.judged(session, judge_id, ids.values(), repeats, review_day)
    units = [
        Unit(item, ids[item.key], repeat, review_day)
        for repeat in range(repeats)
        for item in texts
        if (ids[item.key], repeat) not in done
    ]
    if isinstance(judge, OwnJudge):
        counts = await _by_custom(
            runtime, judge, judge_id, units, concurrency or CUSTOM_CONCURRENCY
        )
        return Judged(counts, judge_id, ids)
    assert isinstance(judge, ModelJudge)
    outcomes = await ask_all(
        runtime,
        (_question(runtime.settings, judge, judge_id, unit) for unit in units),
        budget=budget,
        at_once=concurrency,
        in_batches=in_batches,
    )
    return Judged(outcomes.counts, judge_id, ids)


def _question(
    settings: Settings, judge: ModelJudge, judge_id: int, unit: Unit
) -> Question[Reading]:
    key = f"judge/{judge.key}/{unit.item.key}/{unit.turn}"

    def call(part: str, prompt: Prompt) -> Call:
        """Return a call of this judgement; no two of them share a seed or a cached answer."""
        source = seed_source(settings, f"{key}/{part}", f"{unit.turn}/{part}")
        parameters = Parameters(
            temperature=judge.temperature,
            top_p=judge.top_p,
            max_tokens=judge.max_tokens,
            seed=source.seed(judge.model, prompt),
            json_answer=True,
        )
        return Call(
            f"{key}/{part}",
            WORKFLOW,
            AGENT,
            judge.model,
            prompt,
            parameters,
            replicate=source.replicate,
        )

    prompts = judge.prompts(unit.item, seed_source(settings, key, unit.turn).key)
    calls = tuple(call(str(order), prompt) for order, prompt in enumerate(prompts))

    def then(turns: Turns) -> Call | End[Reading] | None:
        last, shown = turns[-1], unit.item.shown
        reading = judge.asked(last.opening).read(last.outcome, shown)
        if reading.status == "unparseable" and may_retry(turns):
            assert isinstance(last.outcome, Answer)
            messages, failure = last.call.prompt.messages, reading.failure or ""
            again = judge.asked(last.opening).prompt_again(messages, last.outcome.text, failure)
            return call(f"{last.opening}/again", again)
        if last.opening < len(calls) - 1:
            return None
        before = (
            judge.asked(turn.opening).read(turn.outcome, shown) for turn in last_turns(turns)[:-1]
        )
        whole = judge.combined((*before, reading))
        values = result_values(
            judge_id,
            unit,
            whole,
            call_ids=[turn.call_id for turn in turns],
            duration_s=total_seconds(turns),
            simulated=unit.item.simulated or any_simulated(turns),
        )
        return End(whole.status, (Row("judge_results", values),), whole)

    return Question(calls, then)


async def _by_custom(
    runtime: Runtime, judge: OwnJudge, judge_id: int, units: Sequence[Unit], at_once: int
) -> Counter[str]:
    turns = asyncio.Semaphore(at_once)

    async def make(ask: Ask, unit: Unit) -> str:
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
            return reading.status

    if not units:
        return Counter()
    async with judge.opened() as ask:
        return Counter(await all_of(make(ask, unit) for unit in units))


def result_values(
    judge_id: int,
    unit: Unit,
    reading: Reading,
    *,
    call_ids: Sequence[int] = (),
    duration_s: float | None,
    simulated: bool,
) -> dict[str, Any]:
    """Return the row of a judgement."""
    return {
        "judge_id": judge_id,
        "item_id": unit.item_id,
        "repeat": unit.repeat,
        "review_day": unit.review_day,
        "status": reading.status,
        "score": reading.score,
        "subscores": dict(reading.subscores),
        "verdict": reading.verdict,
        "reason": reading.reason,
        "failure": reading.failure,
        "call_ids": list(call_ids),
        "duration_s": duration_s,
        "simulated": simulated,
    }
