"""Judges of your own: functions and endpoints, and all that can go wrong with them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

from judge_gym.errors import ConfigError
from judge_gym.judges import CallableJudge, HttpJudge, Item, JudgeResult, Scale
from judge_gym.judges.judging import judge_items
from judge_gym.store import tables as t
from support.judge_runs import ITEMS, simulated
from support.rig import count, run, runtime_at
from support.simulation import Simulator

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
    assert count(sa.create_engine(database), t.Call) == 0


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
