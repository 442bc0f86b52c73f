"""One engine: batches, reused answers, concurrency and budgets for every kind of question."""

import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.asking.engine import collect_batches
from judge_gym.calibration.design import CalibrationDesign, Perturber
from judge_gym.design.plans import Budget
from judge_gym.gyms.writing import Writer, write
from judge_gym.judges import Item, PairwiseJudge, RubricJudge
from judge_gym.judges.calibrating.perturbing import missing, perturb
from judge_gym.judges.calibrating.texts import Rewriting, rewritings
from judge_gym.judges.judging import JudgementsWaitError, judge_items, judge_missing
from judge_gym.judges.rubric_judge import Criterion
from judge_gym.lab.rubrics import write_rubrics
from judge_gym.llm.providers import ModelRules, Price
from judge_gym.panel import Panel
from judge_gym.panel.evaluating.labelled import LabelledDocument, LabelledItem
from judge_gym.panel.evaluating.reviewing import review_all
from judge_gym.panel.running import run_panel
from judge_gym.questions.rubricer import RubricRequest
from judge_gym.records.calls import DerivedRow
from judge_gym.runtime import Runtime
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from support.misbehaving import answers, completion, misbehaving, replies
from support.panel_runs import ledger
from support.panels import ITEMS, a_document, a_panel, review_said
from support.postgres import temporary_database
from support.rig import providers_at, run, runtime_at
from support.tiers import rest_slow

COUNT = 12
"""Questions of each kind, more than the smallest batch."""
TEXTS = [f"In 20{n:02} there were {n} ships. It rained for {n} days." for n in range(COUNT)]
JUDGE = RubricJudge(
    name="notes",
    model="sim/good-1",
    task="Mark the notes.",
    criteria=(Criterion(name="clarity", description="It is clear."),),
)
MARKS = answers('{"reason": "Clear.", "scores": {"clarity": 3}}')
PERTURBER = Perturber(model="sim/good-1", types=("vague_ify",))
WRITER = Writer(name="w", model="sim/good-1", prompt="Say what it teaches.")
LABELLED = tuple(
    LabelledDocument(
        id=f"d{n}",
        title="Plans",
        truth=3,
        items=tuple(LabelledItem(id=i, text=f"Plan {n}, part {i}.") for i in ITEMS),
    )
    for n in range(COUNT)
)
Ends = Counter[str]


def items(count: int = COUNT) -> list[Item]:
    return [Item(id=str(n), text=text) for n, text in enumerate(TEXTS[:count])]


async def judged(runtime: Runtime) -> Ends:
    return (await judge_missing(runtime, JUDGE, items())).counts


async def paired(runtime: Runtime) -> Ends:
    judge = PairwiseJudge(name="pairs", model="sim/good-1", task="Which is clearer?")
    pairs = [
        Item(id=str(n), text=text, second=other)
        for n, (text, other) in enumerate(zip(TEXTS, TEXTS[::-1], strict=True))
    ]
    return (await judge_missing(runtime, judge, pairs)).counts


async def perturbed(runtime: Runtime) -> Ends:
    wanted = changes()
    with runtime.session() as session:
        units = missing(session, wanted)
    return await perturb(runtime, PERTURBER, units)


def changes() -> list[Rewriting]:
    design = CalibrationDesign(
        name="c",
        judges=("a.yaml",),
        items="i.jsonl",
        severities=(1.0,),
        perturbations=("vague_ify",),
        perturber=PERTURBER,
    )
    return list(rewritings(items(), design))


async def written(runtime: Runtime) -> Ends:
    return await write(runtime, WRITER, TEXTS, "A sentence.", retry_failed=False)


def requests() -> list[RubricRequest]:
    return [
        RubricRequest(
            owner_model="sim/calm-1",
            owner_family="calm",
            concept=f"order {n}",
            country="Freedonia",
            scale_size=4,
            variant=0,
            temperature=0.0,
        )
        for n in range(COUNT)
    ]


async def designed(runtime: Runtime) -> Ends:
    with runtime.session() as session:
        done = set(session.scalars(sa.select(t.Rubric.concept)))
    left = [one for one in requests() if one.concept not in done]
    return await write_rubrics(runtime, left, "sim/stern-1")


def panel(**changes: Any) -> Panel:
    small = a_panel(provider="sim", **changes)
    models = ("sim/severe-1", "sim/severe-2", "sim/lenient-1")
    raters = tuple(
        rater.model_copy(update={"model": model})
        for rater, model in zip(small.raters, models, strict=True)
    )
    arbiter = small.arbiter.model_copy(update={"model": "sim/good-2"})
    return small.model_copy(update={"raters": raters, "arbiter": arbiter})


async def reviewed(runtime: Runtime) -> Ends:
    found = await review_all(runtime, panel(), LABELLED)
    phases = Counter(state.phase for state in found.states if state)
    return phases + Counter({"waiting": found.waiting})


Kind = Callable[[Runtime], Awaitable[Ends]]
KINDS: Mapping[str, tuple[Kind, int, int]] = {
    "judges": (judged, COUNT, 2),
    "pairs": (paired, 2 * COUNT, 2),
    "perturbers": (perturbed, COUNT, 2),
    "gyms": (written, COUNT, 2),
    # A critic rates what was written; an arbiter reads what was reviewed.
    "rubrics": (designed, 2 * COUNT, 3),
    "panels": (reviewed, 4 * COUNT, 3),
}
"""Name → what asks the questions, how many calls they take, and in how many runs by batches."""
ANSWERS = (t.JudgeResult, t.PerturbedText, t.Rubric, t.PanelReview, t.PanelConsensus)
VARYING = {"id", "call_id", "call_ids", "review_ids", "created_at", "duration_s", "latency_ms"}


def rows(url: str) -> dict[str, list[Any]]:
    """All that was derived, and the answers by key; without ids, times and routes."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        derived = {
            table.__tablename__: sorted(
                str({name: value for name, value in row._mapping.items() if name not in VARYING})
                for row in connection.execute(sa.select(table.__table__))
            )
            for table in ANSWERS
        }
        answers = connection.execute(sa.select(t.Call.key, t.Call.answer).order_by(t.Call.key))
        return derived | {"answers": [tuple(row) for row in answers]}


def routes(url: str) -> Counter[str]:
    return Counter(row.route for row in ledger(url))


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """A simulator whose batches end at once."""
    with running(batch_seconds=0) as url:
        yield url


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("key")]


def in_batches(url: str, provider: str, kind: Kind, **settings: Any) -> list[Ends]:
    """Run it until nothing waits; how the questions ended in each run."""

    async def work() -> list[Ends]:
        ends: list[Ends] = []
        async with runtime_at(url, provider, batch=True, **settings) as runtime:
            while not ends or ends[-1]["waiting"]:
                await collect_batches(runtime)
                ends.append(await kind(runtime))
                assert len(ends) < 10
        return ends

    found: list[Ends] = run(work())
    return found


@pytest.mark.parametrize("name", rest_slow(KINDS, 2))
def test_batches_give_the_same_rows_as_direct_calls(
    postgres_server: str, migrated_template: str, provider: str, name: str
) -> None:
    kind, calls, runs = KINDS[name]
    with temporary_database(postgres_server, migrated_template) as url:

        async def directly() -> Ends:
            async with runtime_at(url, provider) as runtime:
                return await kind(runtime)

        ends = run(directly())
        expected = rows(url)
        assert routes(url) == {"direct": calls}
    with temporary_database(postgres_server, migrated_template) as url:
        found = in_batches(url, provider, kind)
        assert len(found) == runs
        assert rows(url) == expected
        assert routes(url) == {"batch": calls}
    ended = sum(found, Counter[str]())
    del ended["waiting"]
    # What a gym's candidates write is read from the ledger, and not asked about again.
    assert ended == (ends if name != "gyms" else Counter())


def test_unreadable_answers_of_a_batch_are_retried_in_a_batch(database: str, provider: str) -> None:
    mumbling = JUDGE.model_copy(update={"model": "sim/mumbling-1"})

    async def kind(runtime: Runtime) -> Ends:
        return (await judge_missing(runtime, mumbling, items())).counts

    ends = in_batches(database, provider, kind, batch_minimum=1, batch_fallback=0)
    retried = [row for row in ledger(database) if row.key.endswith("/again")]
    assert retried
    assert routes(database) == {"batch": COUNT + len(retried)}
    assert ends[-1].total() - ends[-1]["waiting"] == len(retried)


def test_a_judge_says_that_a_judgement_it_needs_now_waits(database: str, provider: str) -> None:
    async def work() -> None:
        async with runtime_at(database, provider, batch=True) as runtime:
            assert await judged(runtime) == {"waiting": COUNT}
            with pytest.raises(JudgementsWaitError, match="12 judgements of 12"):
                await judge_items(runtime, JUDGE, items())
            await collect_batches(runtime)
            assert len(await judge_items(runtime, JUDGE, items())) == COUNT

    run(work())
    assert routes(database) == {"batch": COUNT}


def test_a_live_panel_makes_no_batches(database: str, provider: str) -> None:
    async def work() -> str:
        async with runtime_at(database, provider, batch=True, batch_minimum=1) as runtime:
            return (await run_panel(runtime, panel(), a_document(), emit=lambda _: None)).phase

    assert run(work()) == "done"
    assert routes(database) == {"direct": 4}


def test_another_arbiter_reuses_the_reviews_of_its_raters(database: str, provider: str) -> None:
    other = panel().model_copy(
        update={"arbiter": panel().arbiter.model_copy(update={"max_tokens": 500})}
    )

    async def work() -> None:
        async with runtime_at(database, provider, reuse_answers=True) as runtime:
            for each in (panel(), other):
                state = await run_panel(runtime, each, a_document(), emit=lambda _: None)
                assert state.phase == "done"

    run(work())
    assert routes(database) == {"direct": 5, "cache": 3}


def test_raters_that_are_alike_answer_on_their_own(database: str, provider: str) -> None:
    alike = panel()
    raters = (alike.raters[0],) * 3

    async def work() -> None:
        async with runtime_at(database, provider, reuse_answers=True) as runtime:
            several = alike.model_copy(update={"raters": raters})
            await run_panel(runtime, several, a_document(), emit=lambda _: None)

    run(work())
    assert routes(database) == {"direct": 4}


def test_a_critic_is_reused_for_a_rubric_of_the_same_words(database: str) -> None:
    stages = [
        {"label": label, "criteria": ["one", "two", "three"]}
        for label in ("No signs", "Few signs", "Many signs", "All signs")
    ]
    rubric = json.dumps({"stages": stages, "reasoning": "because"})
    marks = json.dumps({"observability": 0.9, "discriminability": 0.9})

    async def step(request: web.Request) -> web.StreamResponse:
        asked = (await request.json())["model"]
        return await replies(200, completion(marks if asked == "critic" else rubric))(request)

    async def work() -> int:
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url, reuse_answers=True) as runtime,
        ):
            for owner in ("sim/a-1", "sim/b-1"):
                one = replace(requests()[0], owner_model=owner)
                assert await write_rubrics(runtime, [one], "sim/critic") == {"ready": 1}
            return len(provider.requests)

    assert run(work()) == 3
    assert routes(database) == {"direct": 3, "cache": 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["judges", "perturbers", "gyms"])
def test_as_many_are_in_flight_as_the_provider_allows(database: str, name: str) -> None:
    kind = KINDS[name][0]
    arrived, everybody = 0, asyncio.Event()
    good = {
        "judges": MARKS,
        "perturbers": answers("In some year there were some ships. It rained for days."),
        "gyms": answers("Take a coat."),
    }[name]

    async def together(request: web.Request) -> web.StreamResponse:
        nonlocal arrived
        arrived += 1
        if arrived == COUNT:
            everybody.set()
        # Fewer in flight would never all arrive.
        await asyncio.wait_for(everybody.wait(), 20)
        return await good(request)

    async def work() -> Ends:
        async with (
            misbehaving(together) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            wide = providers_at(provider.base_url, concurrency=16)
            return await kind(replace(runtime, providers=wide))

    assert set(run(work())) <= {"scored", "changed", "written", "unusable"}
    assert arrived >= COUNT


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        (Budget(max_calls=5), 5),
        (Budget(max_calls=11, max_cost_usd=1e9), 11),
    ],
)
def test_no_more_calls_are_made_than_a_budget_has(
    database: str, provider: str, limits: Budget, calls: int, *, batch: bool
) -> None:
    bounded = JUDGE.model_copy(update={"budget": limits})

    async def work() -> None:
        async with runtime_at(
            database, provider, batch=batch, batch_minimum=2, batch_fallback=0
        ) as runtime:
            for _ in range(2):
                with pytest.raises(BudgetExceededError, match="'notes' has reached its budget"):
                    await judge_missing(runtime, bounded, items())
                await collect_batches(runtime)

    run(work())
    assert routes(database) == {"batch" if batch else "direct": calls}


def test_workers_at_once_pass_a_budget_by_less_than_a_call_each(
    database: str, provider: str
) -> None:
    bounded = JUDGE.model_copy(update={"budget": Budget(max_calls=10)})
    parts = [
        [Item(id=f"{part}{n}", text=f"Part {part}, {n}.") for n in range(20)] for part in "abc"
    ]

    async def work() -> None:
        async with runtime_at(database, provider) as runtime:
            judging = (judge_missing(runtime, bounded, part, workers=3) for part in parts)
            ends = await asyncio.gather(*judging, return_exceptions=True)
        assert all(isinstance(end, BudgetExceededError) for end in ends)

    run(work())
    assert 10 <= len(ledger(database)) < 10 + 3


def test_a_fast_worker_takes_nothing_that_slow_ones_have_begun(database: str) -> None:
    """Questions that wait to be sent are in no ledger row yet; the provider allows 16 at once."""
    bounded = JUDGE.model_copy(update={"model": "real/m", "budget": Budget(max_calls=48)})
    parts = [
        [Item(id=f"{part}{n}", text=f"Part {part}, {n}.") for n in range(60)] for part in "abc"
    ]

    async def uneven(request: web.Request) -> web.StreamResponse:
        fast = "Part a" in await request.text()
        await asyncio.sleep(0.005 if fast else 0.2)
        return await MARKS(request)

    async def work() -> None:
        async with (
            misbehaving(uneven) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            wide = replace(runtime, providers=providers_at(provider.base_url, concurrency=16))
            judging = (judge_missing(wide, bounded, part, workers=3) for part in parts)
            ends = await asyncio.gather(*judging, return_exceptions=True)
        assert all(isinstance(end, BudgetExceededError) for end in ends)

    run(work())
    assert 48 <= len(ledger(database)) < 48 + 3


def test_a_cost_is_not_passed_by_what_is_in_flight(database: str) -> None:
    # 10 tokens an answer at 1 USD each; the longest answer and the prompt bound what one may cost.
    bounded = JUDGE.model_copy(
        update={"model": "real/m", "max_tokens": 16, "budget": Budget(max_cost_usd=1000)}
    )
    prices = {"m": Price(prompt=1e6, completion=1e6)}

    async def work() -> None:
        async with (
            misbehaving(MARKS) as provider,
            runtime_at(database, provider.base_url, prices=prices) as runtime,
        ):
            assert (await judge_missing(runtime, bounded, items())).counts == {"scored": COUNT}
            tight = bounded.model_copy(update={"budget": Budget(max_cost_usd=121)})
            more = [Item(id=f"m{n}", text=f"More {n}.") for n in range(30)]
            with pytest.raises(BudgetExceededError, match=r"130 USD|121 USD"):
                await judge_missing(runtime, tight, more)

    run(work())
    spent = sum(float(row.cost_usd) for row in ledger(database))
    assert math.isclose(spent, 130), "one call began below the bound, and no other with it"


def test_room_for_thinking_counts_in_what_a_call_may_cost(database: str) -> None:
    bounded = JUDGE.model_copy(
        update={"model": "real/m", "max_tokens": 16, "budget": Budget(max_cost_usd=1000)}
    )
    prices = {"m": Price(prompt=0, completion=1e6)}
    thought = {"prompt_tokens": 10, "completion_tokens": 400, "total_tokens": 410}
    reply = completion('{"reason": "Clear.", "scores": {"clarity": 3}}') | {"usage": thought}

    async def work() -> None:
        async with (
            misbehaving(replies(200, reply)) as provider,
            runtime_at(database, provider.base_url, prices=prices) as runtime,
        ):
            thinks = {"m": ModelRules(thinking_tokens=384)}
            by_name = runtime.providers.by_name
            by_name["real"] = by_name["real"].model_copy(update={"models": thinks})
            with pytest.raises(BudgetExceededError, match="1200 USD"):
                await judge_missing(runtime, bounded, items())

    run(work())
    assert len(ledger(database)) == 3, "two for 800 USD, and one more that began below the bound"


def test_a_panel_reviews_as_many_documents_as_its_budget_has(database: str, provider: str) -> None:
    bounded = panel(budget=Budget(max_calls=9))

    async def work() -> Any:
        async with runtime_at(database, provider) as runtime:
            return await review_all(runtime, bounded, LABELLED)

    found = run(work())
    assert [bool(state) for state in found.states] == [True] * 3 + [False] * (COUNT - 3)
    assert isinstance(found.stopped, BudgetExceededError)
    assert len(ledger(database)) == 12


@pytest.mark.slow
def test_all_raters_of_all_documents_are_asked_at_once(database: str) -> None:
    """No rater waits for another: all are in flight before one is answered."""
    small, waiting, everybody = panel(), 0, asyncio.Event()
    documents = LABELLED[:4]

    async def step(request: web.Request) -> web.StreamResponse:
        nonlocal waiting
        if "good-2" in (await request.json())["model"]:
            verdict = '{"rationale": "They agree.", "final_score": 3}'
            return await answers(verdict)(request)
        waiting += 1
        if waiting == 3 * len(documents):
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 20)
        return await answers(review_said())(request)

    async def work() -> Any:
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            return await review_all(runtime, small, documents)

    found = run(work())
    assert {state.phase for state in found.states} == {"done"}


def frames_between(row: FrameType, caller: str) -> list[str]:
    """The package's functions on the stack from a row's creation up to this first caller."""
    names: list[str] = []
    frame = row.f_back
    while frame is not None and frame.f_code.co_name != caller:
        if "judge_gym" in frame.f_code.co_filename:
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_reaches_its_row_in_few_frames(database: str, provider: str, name: str) -> None:
    kind, depths = KINDS[name][0], []

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is DerivedRow.__init__.__code__:
            depths.append(frames_between(frame, "ask"))

    async def work() -> None:
        async with runtime_at(database, provider) as runtime:
            sys.setprofile(seen)
            try:
                await kind(runtime)
            finally:
                sys.setprofile(None)

    run(work())
    assert all(len(frames) <= 9 for frames in depths), depths
