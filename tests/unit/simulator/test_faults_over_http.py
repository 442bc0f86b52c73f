"""Every kind of fault as it arrives on the wire, and the control that switches plans."""

import asyncio
import email.utils
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from judge_gym.answers.verdict import ParseFailure, Verdict
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.errors import ConfigError
from judge_gym.questions.scorer import read_verdict
from judge_gym.simulator.faults.injection import draw, subject_of
from judge_gym.simulator.launch import running
from judge_gym.simulator.server import serving
from judge_gym.simulator.vendors import NOTHING_ASKED
from judge_gym.simulator.vendors.registry import OPENAI

STAGES = '"Oz" Judge.\nA: "No signs"\n   - none\nB: "All signs"\n   - all\n'
SCORING = f'How far does the evidence show "fascism" in {STAGES}TASK\nVERDICT: <one letter of A, B>'
ASK = {"model": "sim/calm-1", "messages": [{"role": "user", "content": SCORING}], "seed": 1}


@dataclass(frozen=True)
class Reply:
    """A response as the bytes say; `whole` is whether the body has its announced length."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Send = Callable[..., Awaitable[Reply]]


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(url.split(":")[2][:-3]))


async def _send(url: str, method: str, path: str, body: Any = None) -> Reply:
    reader, writer = await _connect(url)
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (ln.partition(":") for ln in lines if ln)}
    length = int(headers["content-length"])
    try:
        received, whole = await reader.readexactly(length), True
    except asyncio.IncompleteReadError as error:
        received, whole = error.partial, False
    writer.close()
    return Reply(int(first.split()[1]), headers, received, whole)


def meets(work: Callable[[Send], Awaitable[Any]], *faults: dict[str, Any], seed: int = 0) -> Any:
    """Do `work` with a sender of raw requests, against a simulator with these faults."""

    async def run() -> Any:
        async with serving() as url:

            async def send(method: str, path: str, body: Any = None) -> Reply:
                return await _send(url, method, path, body)

            switched = await send("POST", "/faults", {"seed": seed, "fault": list(faults)})
            assert switched.json == {"seed": seed, "faults": len(faults)}
            return await work(send)

    return asyncio.run(run())


def ask_once(**fault: Any) -> tuple[Reply, Reply, dict[str, Any]]:
    """Return a sound reply, the reply to the same request under the fault, and the counts."""

    async def work(send: Send) -> tuple[Reply, Reply, dict[str, Any]]:
        broken = await send("POST", "/v1/chat/completions", ASK)
        counts = (await send("GET", "/stats")).json
        await send("DELETE", "/faults")
        return await send("POST", "/v1/chat/completions", ASK), broken, counts

    sound, broken, counts = meets(work, fault)
    assert sound.status == 200
    assert sound.whole
    assert counts["faults"] == {fault["kind"]: 1}
    assert counts["in_flight"] == 0
    return sound, broken, counts


@pytest.mark.parametrize(
    ("fault", "status", "code", "kind"),
    [
        ({"kind": "rate_limit"}, 429, "rate_limit_exceeded", "requests"),
        ({"kind": "rate_limit", "code": "insufficient_quota"}, 429,
         "insufficient_quota", "insufficient_quota"),
        ({"kind": "server_error"}, 500, None, "server_error"),
        ({"kind": "server_error", "status": 502}, 502, None, "server_error"),
        ({"kind": "server_error", "status": 503}, 503, None, "server_error"),
        ({"kind": "server_error", "status": 529}, 529, None, "server_error"),
        ({"kind": "unauthorized"}, 401, "invalid_api_key", "invalid_request_error"),
        ({"kind": "context_too_long"}, 400, "context_length_exceeded", "invalid_request_error"),
    ],
)  # fmt: skip
def test_refusals(fault, status, code, kind):
    _, broken, counts = ask_once(**fault)
    assert broken.status == status
    error = broken.json["error"]
    assert (error["code"], error["type"]) == (code, kind)
    assert counts["refused"] == 1
    assert counts["total"] == 0  # nothing was answered, so nothing would be charged


def test_retry_after_in_every_form():
    _, broken, _ = ask_once(kind="rate_limit", retry_after=1.5)
    assert broken.headers["retry-after"] == "1.5"
    _, broken, _ = ask_once(kind="rate_limit", form="absent")
    assert "retry-after" not in broken.headers
    before = time.time()
    _, broken, _ = ask_once(kind="rate_limit", retry_after=120, form="date")
    moment = email.utils.parsedate_to_datetime(broken.headers["retry-after"])
    assert before + 120 <= moment.timestamp() <= time.time() + 121


def test_a_slow_first_byte_and_a_stall_end_with_the_whole_answer():
    sound, broken, counts = ask_once(kind="slow_first_byte", seconds=0.05)
    assert (broken.status, broken.body, broken.whole) == (200, sound.body, True)
    assert counts["total"] == 1
    sound, broken, counts = ask_once(kind="stall", seconds=0.05)
    assert (broken.status, broken.body, broken.whole) == (200, sound.body, True)
    assert broken.headers["content-type"] == "application/json"


def test_while_it_stalls_half_of_the_body_has_arrived():
    """It stalls for an hour, so that what has arrived came before the pause."""

    async def run() -> None:
        async with serving() as url:
            sound = await _send(url, "POST", "/v1/chat/completions", ASK)
            await _send(url, "POST", "/faults", {"fault": [{"kind": "stall", "seconds": 3600}]})
            reader, writer = await _connect(url)
            data = json.dumps(ASK).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}"
            writer.write(head.encode() + b"\r\n\r\n" + data)
            headers = await reader.readuntil(b"\r\n\r\n")
            assert f"Content-Length: {len(sound.body)}".encode() in headers
            half = len(sound.body) // 2
            assert await reader.readexactly(half) == sound.body[:half]
            assert (await _send(url, "GET", "/stats")).json["in_flight"] == 1
            writer.close()

    asyncio.run(run())


def test_a_cut_connection_ends_in_the_middle_of_the_body():
    sound, broken, counts = ask_once(kind="cut")
    assert (broken.status, broken.whole) == (200, False)
    assert broken.body == sound.body[: len(sound.body) // 2]
    assert counts["total"] == 1  # it was answered, and would be charged


def test_invalid_json_is_a_whole_response_that_is_half_of_one():
    sound, broken, _ = ask_once(kind="invalid_json")
    assert broken.whole
    assert broken.headers["content-type"] == "application/json"
    assert broken.body == sound.body[: len(sound.body) // 2]
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|delimiter"):
        json.loads(broken.body)


@pytest.mark.parametrize("status", [200, 503])
def test_a_web_page_in_place_of_the_answer(status):
    _, broken, _ = ask_once(kind="html", status=status)
    assert broken.status == status
    assert broken.headers["content-type"].startswith("text/html")
    assert broken.body.startswith(b"<!DOCTYPE html>")


def _but(body: dict[str, Any], **message: Any) -> dict[str, Any]:
    """A response with another message and finish reason, without its usage."""
    choice = body["choices"][0]
    reason = message.pop("finish_reason", choice["finish_reason"])
    changed = choice | {"message": choice["message"] | message, "finish_reason": reason}
    return {**body, "choices": [changed], "usage": None}


def test_answers_that_are_not_what_was_asked_for():
    sound, broken, _ = ask_once(kind="empty")
    text, usage = sound.json["choices"][0]["message"]["content"], sound.json["usage"]
    prompt = usage["prompt_tokens"]
    assert _but(broken.json) == _but(sound.json, content="")
    none = usage | {"completion_tokens": 0, "total_tokens": prompt}
    assert broken.json["usage"] == none

    _, broken, _ = ask_once(kind="length")
    half = text[: len(text) // 2].rstrip()
    assert _but(broken.json) == _but(sound.json, content=half, finish_reason="length")
    assert 0 < broken.json["usage"]["completion_tokens"] < usage["completion_tokens"]

    _, broken, _ = ask_once(kind="refusal")
    said = "This request is declined by the content policy."
    refused = _but(sound.json, content=None, refusal=said, finish_reason="content_filter")
    assert _but(broken.json) == refused
    assert broken.json["usage"] == none

    _, broken, _ = ask_once(kind="wrong_model")
    assert broken.json == {**sound.json, "model": "another-model"}

    _, broken, _ = ask_once(kind="missing_usage")
    assert broken.json == {key: value for key, value in sound.json.items() if key != "usage"}


@pytest.mark.parametrize("axes", [(), (("scoring_method", "structured_json"),)])
def test_no_verdict_can_be_read_in_a_malformed_one(bench, axes):
    ask = bench.ask("The courts were closed and the press was banned.", axes=axes)
    body = {"model": ask.model, "messages": list(ask.prompt.messages)}

    async def work(send: Send) -> list[Any]:
        replies = [await send("POST", "/v1/chat/completions", body) for _ in range(2)]
        return [reply.json["choices"][0]["message"]["content"] for reply in replies]

    malformed, sound = meets(work, {"kind": "malformed_verdict", "max_count": 1})
    scoring = resolve(ask.experiment).of(Scoring)
    assert isinstance(read_verdict(scoring, malformed), ParseFailure)
    assert isinstance(read_verdict(scoring, sound), Verdict)


@pytest.mark.slow
def test_shares_over_http_are_exactly_those_of_the_draw():
    faults = ({"kind": "rate_limit", "share": 0.05}, {"kind": "empty", "share": 0.1})
    asked = [{**ASK, "seed": number} for number in range(2000)]
    keys = [subject_of(OPENAI.read(body, NOTHING_ASKED)).key for body in asked]
    limited = {n for n, key in enumerate(keys) if draw(5, 0, key, 1) < 0.05}
    empty = {n for n, key in enumerate(keys) if draw(5, 1, key, 1) < 0.1} - limited

    async def work(send: Send) -> tuple[list[Reply], dict[str, Any]]:
        replies = [await send("POST", "/v1/chat/completions", body) for body in asked]
        return replies, (await send("GET", "/stats")).json

    replies, counts = meets(work, *faults, seed=5)
    assert {n for n, reply in enumerate(replies) if reply.status == 429} == limited
    assert {
        n
        for n, reply in enumerate(replies)
        if reply.status == 200 and not reply.json["choices"][0]["message"]["content"]
    } == empty
    assert counts["faults"] == {"rate_limit": len(limited), "empty": len(empty)}
    assert (counts["total"], counts["refused"]) == (2000 - len(limited), len(limited))
    # 100 and 190 are expected; five standard deviations are 49 and 66.
    assert 51 <= len(limited) <= 149
    assert 124 <= len(empty) <= 256


def test_a_poisoned_request_fails_whenever_it_is_sent_and_no_other_does():
    faults = {"kind": "server_error", "share": 0.2, "sticky": True}

    async def work(send: Send) -> list[list[int]]:
        return [
            [
                (await send("POST", "/v1/chat/completions", {**ASK, "seed": n, "temperature": t}))
                .status
                for n in range(40)
                for t in (0, 1)
            ]
            for _ in range(3)
        ]  # fmt: skip

    first, second, third = meets(work, faults)
    assert first == second == third
    assert 1 <= first.count(500) <= 40
    # Replicates are requests of their own, also at temperature 0 where they agree.
    assert len(set(first[::2])) == 2


def test_plans_are_switched_while_it_runs_and_bad_ones_change_nothing():
    async def work(send: Send) -> None:
        ask = ("POST", "/v1/chat/completions", ASK)
        assert (await send(*ask)).status == 503
        bad = await send("POST", "/faults", {"fault": [{"kind": "cut", "share": 2}]})
        assert bad.status == 400
        assert "POST /faults, line 1: fault[0].share is 2" in bad.json["error"]["message"]
        assert (await send("POST", "/faults", [1])).status == 400
        assert (await send(*ask)).status == 503
        await send("POST", "/faults", {"fault": [{"kind": "unauthorized"}]})
        assert (await send(*ask)).status == 401
        assert (await send("DELETE", "/faults")).json == {"faults": 0}
        assert (await send(*ask)).status == 200
        counts = (await send("GET", "/stats")).json
        assert counts["faults"] == {"server_error": 2, "unauthorized": 1}

    meets(work, {"kind": "server_error", "status": 503})


def test_a_plan_given_at_the_start_is_in_force_and_what_breaks_is_not_logged(tmp_path):
    path, log = tmp_path / "plan.toml", tmp_path / "simulator.log"
    path.write_text(
        "[[fault]]\nkind = 'html'\nstatus = 502\nmax_count = 1\n"
        "[[fault]]\nkind = 'cut'\nmax_count = 2\n[[fault]]\nkind = 'stall'\nseconds = 0\n"
    )

    async def replies(url: str) -> list[tuple[int, bool]]:
        sent = [await _send(url, "POST", "/v1/chat/completions", ASK) for _ in range(4)]
        return [(reply.status, reply.whole) for reply in sent]

    with running(log, faults=path) as url:
        found = asyncio.run(replies(url))
    assert found == [(502, True), (200, False), (200, False), (200, True)]
    assert log.read_text() == ""


def test_a_plan_that_cannot_be_used_is_said_before_anything_starts(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('[[fault]]\nkind = "cuts"')
    said = r"plan\.toml, line 1: fault\[0\]\.kind is 'cuts'"
    with pytest.raises(ConfigError, match=said), running(faults=path):
        pass


@pytest.mark.parametrize(
    ("route", "method", "path"),
    [("files", "GET", "/v1/files/x"), ("batches", "GET", "/v1/batches")],
)
def test_files_and_batches_break_on_their_way_too(route, method, path):
    async def work(send: Send) -> list[int]:
        return [
            (await send(method, path)).status,
            (await send("POST", "/v1/chat/completions", ASK)).status,
        ]

    fault = {"kind": "server_error", "status": 529, "routes": [route]}
    assert meets(work, fault) == [529, 200]
