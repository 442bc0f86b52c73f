"""Judging items: what is missing becomes questions, and every judgement a row."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers
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
from judge_gym.errors import ConfigError, JudgeGymError, StoreError, restated
from judge_gym.judges.base import Judge
from judge_gym.judges.composite import CompositeJudge
from judge_gym.judges.delegated import DelegatedJudge
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.own_judges import Ask, OwnJudge
from judge_gym.llm.hourly import HourlyBoundError
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, DerivedRow, Parameters
from judge_gym.records.items import Item, distinct
from judge_gym.records.judgements import JudgeResult, Reading
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import judges as store

WORKFLOW, AGENT = "judging", "judge"
BOUND_ERRORS = (BudgetExceededError, HourlyBoundError)
"""What stops judging at a bound."""
FIRST_ANSWERS = 20
"""Answers of a judge of the user's own after which judging stops if none can be read."""
CUSTOM_CONCURRENCY = 8
"""Concurrent judgements of a custom judge, which has no provider limits."""


class JudgementsWaitError(JudgeGymError):
    """Required judgements are in a batch that has not ended."""


class NotJudgedError(StoreError):
    """Judgements are missing that a study cannot do without."""


def complete(judge: Judge, results: Mapping[str, Sequence[JudgeResult]], repeats: int) -> None:
    """Raise `NotJudgedError` where a text has fewer than `repeats` results."""
    made = sum(map(len, results.values()))
    if lacking := len(results) * repeats - made:
        raise NotJudgedError(
            f"{judge.called}: {counted(lacking, 'judgement')} of {len(results) * repeats} missing.",
            "Run it again.",
        )


@dataclass(frozen=True)
class MissingJudgement:
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


def locks_of(judges: Iterable[Judge]) -> dict[str, list[str]]:
    """Return what a run of these judges locks, by kind, so that no two make the same judgements.

    Judges that another is made of are locked with it.
    """
    keys: list[str] = []
    for judge in judges:
        keys += [judge.key, *locks_of(judge.made_of)["judges"]]
    return {"judges": keys}


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
        raise restated(stopped, f"{stopped.message} {so_far}", stopped.remedies) from stopped
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
    """Return a sentence with the number of judgements, and of items judged `repeats` times."""
    texts = distinct(items)
    times = store.judged_times(session, judge.record, texts, repeats, review_day)
    complete = sum(number == repeats for number in times.values())
    every = f", all {repeats} times" if repeats > 1 else ""
    made = sum(times.values())
    judgements = counted(len(texts) * repeats, "judgement")
    so_far = f"{made} of {judgements} exist; " if every else ""
    items_judged = f"{complete} of {counted(len(texts), 'item')} are judged{every}"
    return f"{judge.called}: {so_far}{items_judged}."


def judgements_made(
    session: Session, judge: Judge, items: Sequence[Item], repeats: int, review_day: str = ""
) -> tuple[int, int]:
    """Return how many judgements of these items exist, and how many there will be."""
    texts = distinct(items)
    times = store.judged_times(session, judge.record, texts, repeats, review_day)
    return sum(times.values()), len(texts) * repeats


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
    only: Collection[tuple[str, int]] | None = None,
    first: "dict[str, FirstAnswers] | None" = None,
) -> Judged:
    """Make the judgements that are missing, as one of `workers` at once; see `judge_items`.

    With `only`, no others than of these keys of items and repeats. `first` holds the first answers
    of judges of the user's own, by key, where several parts of the work count together.
    """
    for name, given in (("repeats", repeats), ("concurrency", concurrency)):
        if given is not None and given < 1:
            raise ConfigError(f"{name} is {given}.", "Use 1 or more.")
    for item in items:
        judge.check(item)
    if isinstance(judge, ModelJudge):
        budget = _checked_budget(runtime, judge, budget, workers)
    with runtime.session() as session:
        judge_id, ids, units = lacking(
            session, judge, items, repeats, retry_failed=retry_failed, review_day=review_day
        )
    if only is not None:
        units = [unit for unit in units if (unit.item.key, unit.repeat) in only]
    at_once = concurrency or CUSTOM_CONCURRENCY
    match judge:
        case CompositeJudge():
            counts = await _by_members(
                runtime,
                judge,
                judge_id,
                units,
                concurrency=concurrency,
                in_batches=in_batches,
                workers=workers,
                budget=budget,
                first=first,
            )
        case OwnJudge():
            begun = {} if first is None else first
            answers = begun.setdefault(judge.key, FirstAnswers(judge))
            counts = await _by_custom(runtime, judge, judge_id, units, at_once, answers)
        case DelegatedJudge():
            counts = await _by_delegation(runtime, judge, judge_id, units, at_once)
        case _:
            assert isinstance(judge, ModelJudge)
            counts = await _by_model(
                runtime, judge, judge_id, units, concurrency, budget, in_batches=in_batches
            )
    return Judged(counts, judge_id, ids)


def _checked_budget(
    runtime: Runtime, judge: ModelJudge, budget: Spender | None, workers: int
) -> Spender | None:
    """Return the bound on a judge's spending; raises for a model that cannot be asked under it."""
    with naming(judge):
        runtime.providers.check({judge.model})
    budget = budget or spender_of(judge, workers)
    check_priced(runtime.providers, budget)
    return budget


async def _by_model(
    runtime: Runtime,
    judge: ModelJudge,
    judge_id: int,
    units: Sequence[MissingJudgement],
    at_once: int | None,
    budget: Spender | None,
    *,
    in_batches: bool,
) -> Counter[str]:
    with naming(judge):
        outcomes = await ask_all(
            runtime,
            (_question(runtime.settings, judge, judge_id, unit) for unit in units),
            budget=budget,
            at_once=at_once,
            in_batches=in_batches,
        )
    return outcomes.counts


@contextmanager
def naming(judge: ModelJudge) -> Iterator[None]:
    """Name the judge and its model in what is raised in the block because it cannot be asked."""
    try:
        yield
    except ConfigError as error:
        message = f"{judge.called} ({judge.model}): {error.message}"
        raise restated(error, message, error.remedies) from error


def lacking(
    session: Session,
    judge: Judge,
    items: Sequence[Item],
    repeats: int,
    *,
    retry_failed: bool,
    review_day: str = "",
) -> tuple[int, dict[str, int], list[MissingJudgement]]:
    """Store a judge and its items; return their ids, by key of item, and what is not judged.

    With `retry_failed` what is kept as failed is forgotten first, also by the members of a judge of
    judges, where it is not judged itself.
    """
    texts = distinct(items)
    judge_id, ids = store.save_judge(session, judge.record), store.save_items(session, texts)
    if retry_failed:
        store.forget_failures(session, judge_id, ids.values(), repeats, review_day)
    done = store.judged(session, judge_id, ids.values(), repeats, review_day)
    units = [
        MissingJudgement(item, ids[item.key], repeat, review_day)
        for repeat in range(repeats)
        for item in texts
        if (ids[item.key], repeat) not in done
    ]
    if retry_failed and units:
        left = distinct([unit.item for unit in units])
        for member in judge.made_of:
            lacking(session, member, left, repeats, retry_failed=True, review_day=review_day)
    return judge_id, ids, units


async def _by_members(
    runtime: Runtime,
    judge: CompositeJudge,
    judge_id: int,
    units: Sequence[MissingJudgement],
    **options: Any,
) -> Counter[str]:
    """Ask the members as long as there is one to ask, and store what they come to.

    What waits in a batch for a member stays to be done.
    """
    given: dict[MissingJudgement, dict[str, JudgeResult]] = {unit: {} for unit in units}
    counts: Counter[str] = Counter()
    while True:
        turns: dict[str, list[MissingJudgement]] = defaultdict(list)
        for unit, answers in given.items():
            for member in judge.next_members(answers):
                turns[member.name].append(unit)
        if not turns:
            break
        for member in judge.members:
            if asked := [unit for unit in turns[member.name] if unit in given]:
                said = await _said_by(runtime, member, asked, **options)
                for unit, result in zip(asked, said, strict=True):
                    if result is None:
                        del given[unit]
                        counts[WAITING] += 1
                    else:
                        given[unit][member.name] = result
    for unit, answers in given.items():
        reading, results = judge.combined(answers), answers.values()
        lasted = [result.duration_s for result in results if result.duration_s is not None]
        values = result_values(
            judge_id,
            unit,
            reading,
            call_ids=[call for result in results for call in result.call_ids],
            duration_s=sum(lasted) if len(lasted) == len(results) else None,
            simulated=any(result.simulated for result in results),
        )
        await asyncio.to_thread(store.save_result, runtime.engine, values)
        counts[reading.status] += 1
    return counts


async def _said_by(
    runtime: Runtime, member: Judge, units: Sequence[MissingJudgement], **options: Any
) -> list[JudgeResult | None]:
    """Have a member judge; returns what it said unit by unit, None of what waits in a batch."""
    items, review_day = distinct([unit.item for unit in units]), units[0].review_day
    repeats = 1 + max(unit.repeat for unit in units)
    judged = await judge_missing(
        runtime,
        member,
        items,
        repeats=repeats,
        review_day=review_day,
        only={(unit.item.key, unit.repeat) for unit in units},
        **options,
    )
    with runtime.session() as session:
        stored = store.results(
            session, member.record, judged.judge_id, items, judged.item_ids, repeats, review_day
        )
    said = {item.key: of_item for item, of_item in zip(items, stored, strict=True)}
    return [said[unit.item.key].get(unit.repeat) for unit in units]


def _question(
    settings: Settings, judge: ModelJudge, judge_id: int, unit: MissingJudgement
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
        return End(whole.status, (DerivedRow("judge_results", values),), whole)

    return Question(calls, then)


async def _by_custom(
    runtime: Runtime,
    judge: OwnJudge,
    judge_id: int,
    units: Sequence[MissingJudgement],
    at_once: int,
    first: "FirstAnswers",
) -> Counter[str]:
    turns = asyncio.Semaphore(at_once)

    async def make(ask: Ask, unit: MissingJudgement) -> str:
        async with turns:
            first.check()
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
            first.add(reading)
            return reading.status

    if not units:
        return Counter()
    async with judge.opened() as ask:
        return Counter(await all_of(make(ask, unit) for unit in units))


class UnreadableError(JudgeGymError):
    """The first answers of a judge of the user's own could not be read, none of them."""


class FirstAnswers:
    """Stops the judging when no answer of the first `FIRST_ANSWERS` can be read."""

    def __init__(self, judge: OwnJudge) -> None:
        self._judge = judge
        self._readings: list[Reading] = []

    def add(self, reading: Reading) -> None:
        if len(self._readings) < FIRST_ANSWERS:
            self._readings.append(reading)

    def check(self) -> None:
        """Raise before a further answer."""
        failures = Counter(reading.failure or "" for reading in self._readings)
        if len(self._readings) < FIRST_ANSWERS or "" in failures:
            return
        answers = Answers(self._judge.called, 0, failures, own=True)
        raise UnreadableError(
            f"{self._judge.called}: none of the first {answers.total} answers can be read "
            f"({answers.why}). Stopped before the rest.",
            f"It may return {self._judge.scale.allowed}. {answers.remedy}",
        )


async def _by_delegation(
    runtime: Runtime,
    judge: DelegatedJudge,
    judge_id: int,
    units: Sequence[MissingJudgement],
    at_once: int,
) -> Counter[str]:
    turns = asyncio.Semaphore(at_once)

    async def make(unit: MissingJudgement) -> str:
        async with turns:
            started = time.perf_counter()
            made = await judge.judge_one(runtime, unit.item, unit.repeat, unit.review_day)
            values = result_values(
                judge_id,
                unit,
                made.reading,
                call_ids=made.call_ids,
                duration_s=time.perf_counter() - started,
                simulated=made.simulated,
            )
            await asyncio.to_thread(store.save_result, runtime.engine, values)
            return made.reading.status

    return Counter(await all_of(make(unit) for unit in units))


def result_values(
    judge_id: int,
    unit: MissingJudgement,
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
