"""Judges for products over real HTTP: what is asked, what is kept, what is not asked twice."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.design.budget import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges import (
    CallableJudge,
    Criterion,
    HttpJudge,
    Item,
    Judge,
    JudgeResult,
    PairwiseJudge,
    RubricJudge,
    Scale,
    Variant,
)
from judge_gym.judges.judging import judge_items
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.store import tables as t
from judge_gym.store.judging import cost_of
from judge_gym.workflows.budgeting import BudgetPassedError
from support.misbehaving import Provider, Step, answers, misbehaving, refuses
from support.rig import KEY, KEY_NAME, calls, count, run, runtime_at
from support.simulation import Simulator

JUDGE = RubricJudge(
    name="notes",
    model="real/m",
    task="Mark the note.",
    criteria=(
        Criterion(name="evidence", description="It has evidence.", weight=3),
        Criterion(name="clarity", description="It is clear."),
    ),
)
PAIR = PairwiseJudge(name="pair", model="sim/good-1", task="Which is better?")
ITEMS = [Item(id=str(number), text=f"Note {number}.") for number in range(6)]
GOOD = answers('{"reason": "Clear.", "scores": {"evidence": 80, "clarity": 40}}')
BAD = answers("I would say it is rather good.")


@pytest.fixture
def database(emptied_database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_NAME, KEY)
    return emptied_database


def judged(
    database: str, script: Sequence[Step], *, judge: Judge = JUDGE, **given: Any
) -> tuple[list[JudgeResult], Provider]:
    """Judge the first item, or `items`, with a provider that answers by a script."""
    settings = given.pop("settings", {})
    items = given.pop("items", ITEMS[:1])

    async def work() -> tuple[list[JudgeResult], Provider]:
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url, **settings) as runtime,
        ):
            return await judge_items(runtime, judge, items, **given), provider

    results: tuple[list[JudgeResult], Provider] = run(work())
    return results


def simulated(database: str, simulator: Simulator, judge: Judge, **given: Any) -> list[JudgeResult]:
    items = given.pop("items", ITEMS)

    async def work() -> list[JudgeResult]:
        async with runtime_at(database, simulator.url) as runtime:
            return await judge_items(runtime, judge, items, **given)

    results: list[JudgeResult] = run(work())
    return results


def ledger(database: str) -> dict[str, Any]:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    return calls(engine)


def test_a_result_says_what_came_of_it(database: str) -> None:
    (result,), provider = judged(database, [GOOD])
    (call,) = ledger(database).values()
    assert result.score == (3 * 80 + 40) / 4
    assert result.subscores == {"evidence": 80, "clarity": 40}
    assert (result.status, result.reason, result.failure) == ("scored", "Clear.", None)
    assert (result.judge, result.model, result.item) == (JUDGE.key, "real/m", "0")
    assert (result.repeat, result.simulated, result.call_ids) == (0, False, (call.id,))
    assert result.duration_s == pytest.approx(call.latency_ms / 1000)
    assert (call.workflow, call.agent, call.template) == ("judging", "judge", "judge_rubric")
    (request,) = provider.requests
    assert request["response_format"] == {"type": "json_object"}
    assert request["temperature"] == 1


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(database: str) -> None:
    (result,), provider = judged(database, [BAD, GOOD])
    assert (result.status, result.score) == ("scored", 70)
    assert len(provider.requests) == len(result.call_ids) == 2
    system, asked, answered, again = (one["content"] for one in provider.requests[1]["messages"])
    assert [system, asked] == [one["content"] for one in provider.requests[0]["messages"]]
    assert answered == "I would say it is rather good."
    assert "no_json" in again
    assert JUDGE.form in again


def test_one_that_cannot_be_read_twice_is_no_score_and_stays_so(database: str) -> None:
    (result,), provider = judged(database, [BAD])
    assert (result.status, result.score, len(provider.requests)) == ("unparseable", None, 2)
    assert (result.failure or "").startswith("no_json: ")
    (again,), later = judged(database, [GOOD], retry_failed=True)
    assert again == result
    assert not later.requests


def test_nothing_is_asked_twice(database: str) -> None:
    first, before = judged(database, [GOOD], items=ITEMS)
    second, after = judged(database, [GOOD], items=ITEMS)
    assert (len(before.requests), len(after.requests)) == (len(ITEMS), 0)
    assert second == first
    assert [result.item for result in first] == [item.id for item in ITEMS]
    more, extended = judged(database, [GOOD], items=[*ITEMS, *ITEMS[:1]], repeats=2)
    assert len(extended.requests) == len(ITEMS)
    assert [(one.item, one.repeat) for one in more[:4]] == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]
    assert more[-2:] == more[:2]


def test_variants_and_corpora_are_judged_apart(database: str) -> None:
    item = ITEMS[0]
    variant = Variant(perturbation="add_fluff", severity=0.5, seed=7)
    changes: list[dict[str, Any]] = [{}, {"variant": variant}, {"corpus": "c"}, {"text": "Other."}]
    items = [item.model_copy(update=change) for change in changes]
    results, provider = judged(database, [GOOD], items=items)
    assert len(provider.requests) == 4
    assert [(one.variant, one.corpus) for one in results[:3]] == [
        (None, ""),
        (variant, ""),
        (None, "c"),
    ]


@pytest.mark.parametrize("reuse", [False, True])
def test_repeats_are_draws_of_their_own(database: str, reuse: bool) -> None:
    _, provider = judged(database, [GOOD], repeats=3, settings={"reuse_answers": reuse})
    assert len({request["seed"] for request in provider.requests}) == 3
    assert {row.route for row in ledger(database).values()} == {"direct"}


def test_a_key_that_is_refused_stops_the_run_early(database: str) -> None:
    denied = refuses(401, "bad key")
    items = [Item(id=str(number), text="x") for number in range(30)]
    provider_requests: list[int] = []

    async def work() -> None:
        async with (
            misbehaving(denied) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            with pytest.raises(ProviderRefusedError, match="bad key"):
                await judge_items(runtime, JUDGE, items, concurrency=2)
            provider_requests.append(len(provider.requests))

    run(work())
    assert provider_requests[0] <= 2
    assert count(sa.create_engine(database), t.JudgeResult) == 0
    results, provider = judged(database, [GOOD], items=items)
    assert {result.status for result in results} == {"scored"}
    assert len(provider.requests) == 30


def test_what_failed_is_kept_until_it_is_asked_for_again(database: str) -> None:
    script = [refuses(400, "no such parameter")]
    (result,), _ = judged(database, script)
    assert (result.status, result.score) == ("failed", None)
    assert result.failure == "bad_request: no such parameter"
    (same,), quiet = judged(database, [GOOD])
    assert (same, quiet.requests) == (result, [])
    (again,), _ = judged(database, [GOOD], retry_failed=True)
    assert (again.status, again.call_ids) == ("scored", result.call_ids)


def test_a_run_that_stopped_goes_on_where_it_was(database: str) -> None:
    with pytest.raises(ProviderRefusedError):
        judged(database, [BAD, refuses(401, "bad key")])
    (result,), provider = judged(database, [GOOD])
    assert (result.status, len(provider.requests), len(result.call_ids)) == ("scored", 1, 2)
    assert len(provider.requests[0]["messages"]) == 4, "what was answered is not asked again"


def test_a_budget_ends_the_run_and_counts_what_was_used_before(database: str) -> None:
    bounded = JUDGE.model_copy(update={"budget": Budget(max_calls=3)})
    with pytest.raises(BudgetPassedError, match=r"'notes'.*max_calls is 3, and 4 calls"):
        judged(database, [GOOD], judge=bounded, items=ITEMS, concurrency=2)
    assert len(ledger(database)) == 4
    with pytest.raises(BudgetPassedError):
        judged(database, [GOOD], judge=bounded, items=ITEMS)
    _, provider = judged(database, [GOOD], items=ITEMS)
    assert len(provider.requests) == 2


def test_a_cost_that_cannot_be_bounded_is_refused(database: str) -> None:
    bounded = JUDGE.model_copy(update={"budget": Budget(max_cost_usd=1)})
    with pytest.raises(ConfigError, match="'notes': budget"):
        judged(database, [GOOD], judge=bounded)
    assert not ledger(database)


@pytest.mark.parametrize("name", ["repeats", "concurrency"])
def test_none_at_all_is_refused(database: str, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        judged(database, [GOOD], **{name: 0})


def test_pairs_are_asked_in_both_orders(database: str) -> None:
    pair = PAIR.model_copy(update={"model": "real/m"})
    items = [Item(id="1", text="alpha", second="omega")]
    first = answers('{"winner": 1, "reason": "x"}')
    (result,), provider = judged(database, [first], judge=pair, items=items)
    assert (result.status, result.score, result.verdict) == ("inconsistent", None, None)
    assert result.subscores == {"as_given": 1, "swapped": 0}
    shown = [request["messages"][1]["content"] for request in provider.requests]
    assert [text.index("alpha") < text.index("omega") for text in shown] == [True, False]
    (same,), quiet = judged(database, [first], judge=pair, items=items)
    assert (same, quiet.requests) == (result, [])


def test_equal_texts_are_asked_twice_even_when_answers_are_reused(database: str) -> None:
    pair = PAIR.model_copy(update={"model": "real/m"})
    items = [Item(id="1", text="one", second="one")]
    _, provider = judged(
        database,
        [answers('{"winner": 1}')],
        judge=pair,
        items=items,
        settings={"reuse_answers": True},
    )
    assert len(provider.requests) == 2


def test_simulated_judges_are_marked_and_free(database: str, simulator: Simulator) -> None:
    judge = JUDGE.model_copy(update={"model": "sim/good-1"})
    results = simulated(database, simulator, judge)
    assert {(one.status, one.simulated) for one in results} == {("scored", True)}
    engine = sa.create_engine(database)
    with sa.orm.Session(engine) as session:
        ids = [call for one in results for call in one.call_ids]
        assert cost_of(session, ids) == (0, 0)
        assert cost_of(session, []) == (0, 0)


def test_analysts_find_judgements_with_judge_item_and_cost(database: str) -> None:
    variant = Variant(perturbation="tone", severity=0.5, seed=7)
    items = [ITEMS[0], ITEMS[0].model_copy(update={"variant": variant, "text": "Note!"})]
    judged(database, [BAD, GOOD], items=items, concurrency=1)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    query = (
        "SELECT judge, judge_key, item, perturbation, severity, score, subscores, calls, unpriced "
        "FROM analysis.judge_results ORDER BY judge_result_id"
    )
    with engine.connect() as connection:
        rows = connection.execute(sa.text(query)).all()
    common = ("notes", JUDGE.key, "0")
    marks = (70, {"evidence": 80, "clarity": 40})
    assert [tuple(row) for row in rows] == [
        (*common, "", None, *marks, 2, 2),
        (*common, "tone", 0.5, *marks, 1, 1),
    ]


def test_what_is_judged_of_a_simulated_text_is_marked(database: str) -> None:
    (result,), _ = judged(database, [GOOD], items=[Item(id="1", text="x", simulated=True)])
    assert result.simulated


OWN = """
import time

async def waits(item):
    return {"score": len(item["text"]), "reason": item["context"], "subscores": {"b": 1}}

def counts(item):
    return len(item["text"]) + item["repeat"]

def raises(item):
    raise RuntimeError("out of cheese\\nagain")

def hangs(item):
    time.sleep(30)

def beyond(item):
    return {"score": 101}

def says_true(item):
    return True

NOT_A_FUNCTION = 1
"""


@pytest.fixture
def grades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_grades.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def own(name: str, **fields: Any) -> CallableJudge:
    return CallableJudge(name="own", function=f"own_grades:{name}", **fields)


@pytest.mark.usefixtures("grades")
def test_callables_are_judges(database: str, simulator: Simulator) -> None:
    items = [Item(id="1", text="four", context="why")]
    results = simulated(database, simulator, own("counts"), items=items, repeats=2)
    assert [(one.score, one.status, one.call_ids) for one in results] == [
        (4, "scored", ()),
        (5, "scored", ()),
    ]
    (result,) = simulated(database, simulator, own("waits"), items=items)
    assert (result.score, result.reason, result.subscores) == (4, "why", {"b": 1})
    assert result.model == "own_grades:waits"
    assert result.duration_s is not None
    assert not ledger(database)


@pytest.mark.usefixtures("grades")
@pytest.mark.parametrize(
    ("name", "status", "failure"),
    [
        ("raises", "failed", "RuntimeError: out of cheese again"),
        ("hangs", "failed", "timeout: no answer within 0.2 s"),
        ("beyond", "unparseable", "out_of_form: score: 101 is not from 0 to 100"),
        ("says_true", "unparseable", "out_of_form: score: 'True' is not a number"),
    ],
)
def test_what_goes_wrong_in_a_callable_is_recorded(
    database: str, simulator: Simulator, name: str, status: str, failure: str
) -> None:
    judge = own(name, timeout_s=0.2 if name == "hangs" else 30)
    results = simulated(database, simulator, judge, items=ITEMS[:2])
    assert [(one.status, one.score, one.failure) for one in results] == [
        (status, None, failure)
    ] * 2


@pytest.mark.usefixtures("grades")
@pytest.mark.parametrize("function", ["own_grades:missing", "own_grades:NOT_A_FUNCTION", "no.m:f"])
def test_a_callable_that_is_not_there_is_named(
    database: str, simulator: Simulator, function: str
) -> None:
    with pytest.raises(ConfigError, match=function):
        simulated(database, simulator, CallableJudge(name="own", function=function))


@asynccontextmanager
async def endpoint(*replies: web.Response | float) -> AsyncIterator[tuple[str, list[Any]]]:
    """Serve these replies in turn, a number being seconds of silence; yields address and asked."""
    asked: list[Any] = []

    async def judge(request: web.Request) -> web.StreamResponse:
        asked.append((await request.json(), request.headers.get("Authorization")))
        reply = replies[min(len(asked), len(replies)) - 1]
        if isinstance(reply, web.Response):
            return web.Response(body=reply.body, status=reply.status, headers=reply.headers)
        await asyncio.sleep(reply)
        return web.Response()

    app = web.Application()
    app.router.add_post("/judge", judge)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/judge", asked
    finally:
        await runner.cleanup()


def at_endpoint(
    database: str, *replies: web.Response | float, **fields: Any
) -> tuple[list[JudgeResult], list[Any]]:
    async def work() -> tuple[list[JudgeResult], list[Any]]:
        async with (
            endpoint(*replies) as (url, asked),
            runtime_at(database, "http://127.0.0.1:1/v1") as runtime,
        ):
            judge = HttpJudge(name="http", url=url, **fields)
            return await judge_items(runtime, judge, ITEMS[:1]), asked

    results: tuple[list[JudgeResult], list[Any]] = run(work())
    return results


def reply(value: Any, status: int = 200, **headers: str) -> web.Response:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return web.Response(body=body, status=status, headers=headers)


def test_an_endpoint_is_a_judge(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    good = reply({"score": 3, "verdict": "keep\nit", "reason": "why"})
    (result,), asked = at_endpoint(database, good, key_env="MY_TOKEN", scale=Scale(highest=5))
    assert (result.status, result.score, result.verdict) == ("scored", 3, "keep it")
    body = {"id": "0", "text": "Note 0.", "context": "", "repeat": 0}
    assert asked == [(body, "Bearer secret")]


@pytest.mark.parametrize(
    ("given", "status", "failure"),
    [
        (reply({}, 500), "failed", "status: 500 Internal Server Error"),
        (reply({}, 307, Location="/judge"), "failed", "status: 307 Temporary Redirect"),
        (reply(b"x" * 1_000_001), "failed", "too_long: the answer has more than 1000000 bytes"),
        (20.0, "failed", "timeout: no answer within 0.3 s"),
        (reply(b"<html>"), "unparseable", "out_of_form: the answer is not JSON"),
        (reply([1]), "unparseable", "out_of_form: score: '[1]' is not a number"),
        (reply({"mark": 1}), "unparseable", "out_of_form: the object has no 'score'"),
        (reply({"score": 1, "subscores": {"a": "x"}}), "unparseable", "out_of_form: a: 'x'"),
    ],
)
def test_what_goes_wrong_at_an_endpoint_is_recorded(
    database: str, given: web.Response | float, status: str, failure: str
) -> None:
    timeout_s = 0.3 if given == 20.0 else 30
    (result,), asked = at_endpoint(database, given, timeout_s=timeout_s)
    assert (result.status, result.score, len(asked)) == (status, None, 1)
    assert (result.failure or "").startswith(failure)


def test_an_endpoint_that_is_not_there_is_recorded(database: str, simulator: Simulator) -> None:
    judge = HttpJudge(name="http", url="http://127.0.0.1:9/judge")
    (result,) = simulated(database, simulator, judge, items=ITEMS[:1])
    assert result.status == "failed"
    assert (result.failure or "").startswith("connection: Cannot connect to host 127.0.0.1:9 [")


def test_a_token_that_is_missing_is_asked_for(database: str) -> None:
    with pytest.raises(ConfigError, match="NO_SUCH_TOKEN"):
        at_endpoint(database, reply({"score": 1}), key_env="NO_SUCH_TOKEN")


def test_a_judge_without_a_runtime_opens_the_configured_one(
    database: str, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judge_gym.settings import settings

    monkeypatch.setenv("JUDGE_GYM_DATABASE_URL", database)
    monkeypatch.setenv("JUDGE_GYM_SIMULATOR_URL", simulator.url)
    settings.cache_clear()
    try:
        result = run(JUDGE.model_copy(update={"model": "sim/good-1"}).score(ITEMS[0]))
    finally:
        settings.cache_clear()
    assert result.status == "scored"
