"""Files and batches over real HTTP: limits, faults, and surviving the death of the process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from judge_gym.errors import JudgeGymError
from judge_gym.simulator.__main__ import main
from judge_gym.simulator.batches import routes
from judge_gym.simulator.launch import LISTENING
from judge_gym.simulator.server import serving

CHAT = "/v1/chat/completions"


def body(number: int, **more: Any) -> dict[str, Any]:
    """A request that asks for a rubric; the number is its seed."""
    asked = 'Design a rubric of 4 stages for how far evidence shows "fascism" in Oz.'
    message = {"role": "user", "content": asked}
    return {"model": "sim/calm-1", "messages": [message], "seed": number, **more}


def line(number: int, **more: Any) -> dict[str, Any]:
    """A line of an input file."""
    custom_id = f"c{number}"
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body(number), **more}


@dataclass(frozen=True)
class Client:
    """A client of a simulator, without any library of a provider in between."""

    session: aiohttp.ClientSession
    root: str

    async def call(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self.session.request(method, self.root + path, **more) as response:
            raw = await response.read()
            return response.status, json.loads(raw) if path[-8:] != "/content" else raw

    async def good(self, method: str, path: str, **more: Any) -> Any:
        status, found = await self.call(method, path, **more)
        assert status == 200, found
        return found

    async def upload(self, content: bytes, purpose: str = "batch") -> tuple[int, Any]:
        form = aiohttp.FormData()
        form.add_field("purpose", purpose)
        form.add_field("file", content, filename="in.jsonl")
        return await self.call("POST", "/v1/files", data=form)

    async def batch(self, *lines: Any, **more: Any) -> dict[str, Any]:
        """Upload the lines (bytes as they are) and create a batch of them."""
        raw = [x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines]
        _, file = await self.upload(b"\n".join(raw) + b"\n")
        asked = {"input_file_id": file["id"], "endpoint": CHAT, "completion_window": "24h"}
        return await self.good("POST", "/v1/batches", json=asked | more)

    async def lines_of(self, file_id: str | None) -> list[dict[str, Any]]:
        if file_id is None:
            return []
        content = await self.good("GET", f"/v1/files/{file_id}/content")
        return [json.loads(text) for text in content.splitlines()]

    async def results(self, batch: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return the lines of its output file and of its error file."""
        output = await self.lines_of(batch["output_file_id"])
        return output, await self.lines_of(batch["error_file_id"])


def against(work: Callable[[Client], Awaitable[Any]], *faults: Any, **settings: Any) -> Any:
    """Do `work` with a client of a simulator that ends batches at once, with these faults."""

    async def run() -> Any:
        async with (
            serving(**{"batch_seconds": 0.0} | settings) as url,
            aiohttp.ClientSession() as session,
        ):
            client = Client(session, url.removesuffix("/v1"))
            await client.good("POST", "/faults", json={"fault": list(faults)})
            return await work(client)

    return asyncio.run(run())


def test_files_are_kept_as_they_came():
    content = bytes(range(256)) * 40

    async def work(client: Client) -> None:
        status, file = await client.upload(content)
        assert status == 200
        assert (file["object"], file["bytes"], file["filename"], file["purpose"]) == (
            "file", 10_240, "in.jsonl", "batch",
        )  # fmt: skip
        where = f"/v1/files/{file['id']}"
        assert await client.good("GET", where) == file
        assert await client.good("GET", f"{where}/content") == content
        deleted = {"id": file["id"], "object": "file", "deleted": True}
        assert await client.good("DELETE", where) == deleted
        for method, path in (("GET", where), ("DELETE", where)):
            status, refused = await client.call(method, path)
            assert (status, refused["error"]["code"]) == (404, "file_not_found")

    against(work)


def test_what_cannot_be_a_file_is_refused(monkeypatch):
    monkeypatch.setattr(routes, "MAX_FILE_BYTES", 1000)

    async def work(client: Client) -> list[tuple[int, str]]:
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("other", b"x", filename="in.jsonl")
        broken = {"Content-Type": "multipart/form-data; boundary=x"}
        tries = [
            await client.upload(b"x" * 1000),
            await client.upload(b"x" * 1001),
            await client.upload(b"x", "fine-tune"),
            await client.call("POST", "/v1/files", data=form),
            await client.call("POST", "/v1/files", json={}),
            await client.call("POST", "/v1/files", data=b"nothing", headers=broken),
            await client.call("POST", "/v1/files", data=b"", headers={"Content-Type": broken[
                "Content-Type"].partition(";")[0]}),
        ]  # fmt: skip
        return [(status, found.get("error", {}).get("message", "")) for status, found in tries]

    (good, _), *refused = against(work)
    assert good == 200
    said = ["over 1000 bytes", "'fine-tune'", "file: the form has none", "multipart", "", ""]
    assert [status for status, _ in refused] == [413, 400, 400, 400, 400, 400]
    assert all(word in message for word, (_, message) in zip(said, refused, strict=True))


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"input_file_id": "file-none"}, 404, "file-none"),
        ({"input_file_id": "../files"}, 404, "../files"),
        ({"endpoint": "/v1/embeddings"}, 400, "endpoint"),
        ({"completion_window": "1h"}, 400, "completion_window"),
        ({"metadata": {"a": 1}}, 400, "metadata"),
    ],
)
def test_what_cannot_be_a_batch_is_refused(change, status, said):
    async def work(client: Client) -> tuple[int, Any]:
        _, file = await client.upload(b"{}")
        asked = {"input_file_id": file["id"], "endpoint": CHAT, "completion_window": "24h"}
        return await client.call("POST", "/v1/batches", json=asked | change)

    code, found = against(work)
    assert code == status
    assert said in found["error"]["message"]


def test_the_life_of_a_batch_over_http(monkeypatch):
    now = [1_700_000_000.0]
    monkeypatch.setattr(routes, "time", SimpleNamespace(time=lambda: now[0]))

    async def work(client: Client) -> None:
        batch = await client.batch(*(line(n) for n in range(4)), metadata={"sweep": "s"})
        seen = []
        for _ in range(6):
            shown = await client.good("GET", f"/v1/batches/{batch['id']}")
            files = [shown["output_file_id"], shown["error_file_id"]]
            seen.append((shown["status"], shown["request_counts"]["completed"], any(files)))
            now[0] += 20
        assert seen == [
            ("validating", 0, False), ("in_progress", 0, False), ("in_progress", 2, False),
            ("in_progress", 2, False), ("in_progress", 4, False), ("completed", 4, True),
        ]  # fmt: skip
        assert shown["metadata"] == {"sweep": "s"}
        output, errors = await client.results(shown)
        assert [found["custom_id"] for found in output] == ["c0", "c1", "c2", "c3"]
        assert errors == []
        # The files are made once.
        again = await client.good("GET", f"/v1/batches/{batch['id']}")
        assert again["output_file_id"] == shown["output_file_id"]
        assert await client.good("GET", "/v1/batches") == {
            "object": "list", "data": [again], "first_id": batch["id"], "last_id": batch["id"],
            "has_more": False,
        }  # fmt: skip

    against(work, batch_seconds=100.0)


@pytest.mark.parametrize("cold", [{}, {"temperature": 0}, {"max_tokens": 7}, {"stop": ["stage"]}])
def test_answers_in_batches_are_those_of_the_chat_route_byte_for_byte(cold):
    async def work(client: Client) -> None:
        bodies = [body(n, **cold) for n in range(5)]
        batch = await client.batch(*(line(n, body=asked) for n, asked in enumerate(bodies)))
        content = await client.good("GET", f"/v1/files/{batch['output_file_id']}/content")
        for asked, text in zip(bodies, content.splitlines(), strict=True):
            async with client.session.post(client.root + CHAT, json=asked) as response:
                direct = await response.read()
            assert direct in text
            assert json.loads(direct) == json.loads(text)["response"]["body"]
        counts = await client.good("GET", "/stats")
        assert (counts["total"], counts["batch_lines"]) == (10, 5)

    against(work)


def test_lines_that_cannot_be_answered_go_to_the_error_file_and_hold_up_no_other():
    async def work(client: Client) -> tuple[dict[str, Any], list[Any], list[Any]]:
        batch = await client.batch(
            line(0), b"{not json", b"\xff", b"", b"[1]", {**line(1), "custom_id": 5},
            line(2, method="GET"), line(3, url="/v1/embeddings"),
            line(4, body=body(4, model="sim/nobody-1")), line(5, body={}), line(6),
            b"[" * 100_000,
        )  # fmt: skip
        return batch, *await client.results(batch)

    batch, output, errors = against(work)
    assert batch["status"] == "completed"
    # The blank line is none.
    assert batch["request_counts"] == {"total": 11, "completed": 2, "failed": 9}
    assert [found["custom_id"] for found in output] == ["c0", "c6"]
    found = [
        (
            error["custom_id"],
            error["error"]["code"] if error["error"] else error["response"]["status_code"],
        )
        for error in errors
    ]
    assert found == [
        (None, "invalid_json_line"), (None, "invalid_json_line"), (None, "invalid_request"),
        (None, "invalid_request"), ("c2", 400), ("c3", 400), ("c4", 404), ("c5", 400),
        (None, "invalid_json_line"),
    ]  # fmt: skip
    assert errors[6]["response"]["body"]["error"]["code"] == "model_not_found"


def test_batches_that_do_not_pass_validation(monkeypatch):
    monkeypatch.setattr(routes, "MAX_LINES", 3)

    async def work(client: Client) -> None:
        twice = await client.batch(line(0), line(1), line(0))
        assert twice["status"] == "failed"
        assert twice["output_file_id"] is twice["error_file_id"] is None
        errors = twice["errors"]["data"]
        assert [(error["code"], error["line"]) for error in errors] == [
            ("duplicate_custom_id", 1), ("duplicate_custom_id", 3),
        ]  # fmt: skip
        for lines, code in (((), "empty_file"), ([line(n) for n in range(4)], "too_many_tasks")):
            failed = await client.batch(*lines)
            assert [error["code"] for error in failed["errors"]["data"]] == [code]
        # Nothing of them was answered, so nothing would be charged.
        assert (await client.good("GET", "/stats"))["total"] == 0
        assert (await client.batch(*(line(n) for n in range(3))))["status"] == "completed"

    against(work)


def test_the_same_file_twice_gives_the_same_answers():
    async def work(client: Client) -> None:
        batches = [await client.batch(line(0), line(1)) for _ in range(2)]
        assert batches[0]["id"] != batches[1]["id"]
        first, second = [(await client.results(batch))[0] for batch in batches]
        assert [(a["custom_id"], a["response"]["body"]) for a in first] == [
            (b["custom_id"], b["response"]["body"]) for b in second
        ]
        assert {a["id"] for a in first}.isdisjoint(b["id"] for b in second)

    against(work)


def test_cancelling(monkeypatch):
    now = [1_700_000_000.0]
    monkeypatch.setattr(routes, "time", SimpleNamespace(time=lambda: now[0]))

    async def work(client: Client) -> None:
        batch = await client.batch(*(line(n) for n in range(4)))
        where = f"/v1/batches/{batch['id']}"
        now[0] += 50
        for _ in range(2):  # cancelling twice is cancelling once
            assert (await client.good("POST", f"{where}/cancel"))["status"] == "cancelling"
            now[0] += 5
        shown = await client.good("GET", where)
        assert shown["status"] == "cancelled"
        assert shown["request_counts"] == {"total": 4, "completed": 2, "failed": 0}
        output, errors = await client.results(shown)
        assert [found["custom_id"] for found in output] == ["c0", "c1"]
        assert errors == []
        status, refused = await client.call("POST", f"{where}/cancel")
        assert (status, refused["error"]["code"]) == (409, "batch_not_cancellable")
        assert (await client.call("POST", "/v1/batches/batch_x/cancel"))[0] == 404

    against(work, batch_seconds=100.0)


def test_lists_come_in_pages_with_the_newest_first():
    async def work(client: Client) -> None:
        ids = [(await client.batch(line(n)))["id"] for n in range(5)][::-1]
        found: list[str] = []
        more, after = True, ""
        while more:
            page = await client.good("GET", f"/v1/batches?limit=2{after}")
            found += [batch["id"] for batch in page["data"]]
            more, after = page["has_more"], f"&after={page['last_id']}"
        assert found == ids
        for query in ("limit=0", "limit=101", "limit=x", "after=batch_x"):
            assert (await client.call("GET", f"/v1/batches?{query}"))[0] == 400

    against(work)


SIX = tuple(line(n) for n in range(6))


def _one(fault: dict[str, Any], *lines: Any) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Return a batch that meets a fault, with its output and its errors."""

    async def work(client: Client) -> tuple[dict[str, Any], list[Any], list[Any]]:
        batch = await client.batch(*(lines or SIX))
        counts = await client.good("GET", "/stats")
        assert counts["faults"] == {fault["kind"]: 1}
        return batch, *await client.results(batch)

    return against(work, fault)


def test_half_of_a_batch_fails():
    batch, output, errors = _one({"kind": "batch_half_failed"})
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 6, "completed": 3, "failed": 3}
    assert {error["response"]["status_code"] for error in errors} == {500}
    names = [found["custom_id"] for found in output + errors]
    assert sorted(names) == [f"c{n}" for n in range(6)]


def test_a_batch_expires_with_what_was_done():
    batch, output, errors = _one({"kind": "batch_expired", "done": 0.34})
    assert batch["status"] == "expired"
    assert [found["custom_id"] for found in output] == ["c0", "c1"]
    assert [(error["custom_id"], error["error"]["code"]) for error in errors] == [
        (f"c{n}", "batch_expired") for n in range(2, 6)
    ]


def test_lines_out_of_order_and_twice():
    _, sound, _ = _one({"kind": "missing_usage", "routes": ["line"], "max_count": 1})
    batch, output, _ = _one({"kind": "batch_out_of_order"})
    names = [found["custom_id"] for found in output]
    assert names != sorted(names) == [found["custom_id"] for found in sound]
    batch, output, _ = _one({"kind": "batch_duplicate_lines", "lines": 0.5})
    assert batch["request_counts"]["completed"] == 6
    assert len(output) == 9
    assert len({json.dumps(found) for found in output}) == 6


def test_a_batch_fails_validation_on_purpose():
    batch, output, errors = _one({"kind": "batch_failed", "code": "billing_hard_limit_reached"})
    assert (batch["status"], output, errors) == ("failed", [], [])
    assert batch["errors"]["data"][0]["code"] == "billing_hard_limit_reached"


def test_a_batch_vanishes():
    async def work(client: Client) -> None:
        lost = await client.batch(*SIX)
        kept = await client.batch(line(9))
        for method, path in (("GET", ""), ("POST", "/cancel")):
            status, refused = await client.call(method, f"/v1/batches/{lost['id']}{path}")
            assert (status, refused["error"]["code"]) == (404, "batch_not_found")
        listed = await client.good("GET", "/v1/batches")
        assert [batch["id"] for batch in listed["data"]] == [kept["id"]]

    against(work, {"kind": "batch_vanished", "max_count": 1})


def test_faults_strike_lines_and_a_poisoned_one_on_either_route():
    fault = {"kind": "server_error", "share": 0.5, "sticky": True, "routes": ["chat", "line"]}

    async def work(client: Client) -> tuple[set[str], ...]:
        runs = []
        for _ in range(2):
            batch = await client.batch(*SIX)
            _, errors = await client.results(batch)
            assert all(error["response"]["status_code"] == 500 for error in errors)
            runs.append({error["custom_id"] for error in errors})
        direct = [await client.call("POST", CHAT, json=asked["body"]) for asked in SIX]
        return *runs, {f"c{n}" for n, (status, _) in enumerate(direct) if status == 500}

    first, second, direct = against(work, fault)
    assert first == second == direct
    assert 0 < len(first) < 6


def test_lines_with_spoilt_content_are_in_the_output():
    _, output, errors = _one({"kind": "refusal", "routes": ["line"], "model": "sim/low-1"},
                             line(0), line(1, body=body(1, model="sim/low-1")))  # fmt: skip
    assert errors == []
    reasons = [found["response"]["body"]["choices"][0]["finish_reason"] for found in output]
    assert reasons == ["stop", "content_filter"]


def test_a_batch_is_created_even_when_the_answer_is_cut_off():
    async def work(client: Client) -> None:
        with pytest.raises(aiohttp.ClientPayloadError):
            await client.batch(*SIX, metadata={"run": "r"})
        await client.good("DELETE", "/faults")
        (batch,) = (await client.good("GET", "/v1/batches"))["data"]
        assert (batch["status"], batch["metadata"]) == ("completed", {"run": "r"})

    against(work, {"kind": "cut", "routes": ["batches"]})


def _started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "judge_gym.simulator", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip().removeprefix(LISTENING)
    return process, url.removesuffix("/v1")


def test_files_and_batches_outlive_a_kill(tmp_path):
    state = ("--state", str(tmp_path / "state"), "--batch-seconds")

    async def with_client(root: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
        async with aiohttp.ClientSession() as session:
            return await work(Client(session, root))

    async def before(client: Client) -> tuple[Any, ...]:
        _, file = await client.upload(b"kept")
        _, gone = await client.upload(b"gone")
        await client.good("DELETE", f"/v1/files/{gone['id']}")
        running = await client.batch(*SIX)
        cancelled = await client.batch(line(1))
        await client.good("POST", f"/v1/batches/{cancelled['id']}/cancel")
        return file, gone, running, cancelled

    async def after(client: Client) -> None:
        assert await client.good("GET", f"/v1/files/{file['id']}") == file
        assert await client.good("GET", f"/v1/files/{file['id']}/content") == b"kept"
        assert (await client.call("GET", f"/v1/files/{gone['id']}"))[0] == 404
        assert await client.good("GET", f"/v1/batches/{running['id']}") == running
        shown = await client.good("GET", f"/v1/batches/{cancelled['id']}")
        assert shown["status"] == "cancelling"
        ended = await client.batch(*SIX)
        output, _ = await client.results(ended)
        assert [found["custom_id"] for found in output] == [f"c{n}" for n in range(6)]
        assert len((await client.good("GET", "/v1/batches"))["data"]) == 3

    # A batch keeps the duration with which it was created.
    for seconds, work in (("3600", before), ("0", after)):
        process, root = _started(*state, seconds)
        try:
            found = asyncio.run(with_client(root, work))
        finally:
            process.kill()
            process.communicate()
        if found:
            file, gone, running, cancelled = found


def test_a_state_that_cannot_be_read_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "b.json").write_text("{}")
    for state in (tmp_path / "file", tmp_path):
        with pytest.raises(JudgeGymError, match=str(state)):
            against(None, state=state)
    command = [sys.executable, "-m", "judge_gym.simulator", "--state", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    (said,) = result.stderr.splitlines()
    assert f"{tmp_path / 'batches' / 'b.json'}: it is not a record" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [("--batch-seconds", "-1"), ("--latency", "nan"), ("--batch-seconds", "soon")],
)
def test_durations_are_seconds(option, value, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simulator", f"{option}={value}"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert f"argument {option}" in capsys.readouterr().err
