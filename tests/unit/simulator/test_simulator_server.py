"""The simulator over real HTTP: answers, refusals, counts, and every way of stopping it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import aiohttp
import pytest

from judge_gym.errors import JudgeGymError
from judge_gym.planted.families import planted, served_models, stand_ins
from judge_gym.simulator.launch import LISTENING, running
from judge_gym.simulator.server import MAX_BODY_BYTES, serving

ASK = {
    "model": "sim/calm-1",
    "messages": [
        {
            "role": "user",
            "content": 'Design a rubric of 4 stages for how far evidence shows "fascism" in Oz.\n'
            "- Exactly 4 stages.",
        }
    ],
}


def _post(url: str, body: Any) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=120) as response:
        return json.load(response)


@pytest.fixture(scope="module")
def base_url():
    with running() as url:
        yield url


def test_models_are_listed_with_their_family(base_url):
    models = _get(f"{base_url}/models")["data"]
    assert [model["id"] for model in models] == list(served_models())
    assert {"sim/calm-1", "sim/calm-2"} <= {model["id"] for model in models}
    assert {m["owned_by"].removeprefix("judge-gym/") for m in models} == {*planted(), *stand_ins()}


def test_answer_has_the_shape_marks_and_counts_of_a_provider(base_url):
    body = {**ASK, "messages": [{"role": "user", "content": "Hello, judge!"}]}
    status, answer = _post(f"{base_url}/chat/completions", body)
    assert status == 200
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "sim/calm-1"
    assert answer["system_fingerprint"] == "judge-gym-simulator"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["message"]["role"] == "assistant"
    # "Hello" "," "judge" "!" are 4 tokens. Of the reply, "This is the judge-gym simulator." has
    # 5 words of which one counts three, and a stop: 8; the second sentence has 9 words, one
    # counting three, and a stop: 12.
    assert answer["choices"][0]["message"]["content"] == (
        "This is the judge-gym simulator. It answers the prompts of judge-gym and no others."
    )
    assert answer["usage"] == {
        "prompt_tokens": 4, "completion_tokens": 20, "total_tokens": 24,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip


def test_equal_requests_have_equal_answers_byte_for_byte(base_url):
    def raw(body: dict[str, Any]) -> bytes:
        request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.read()

    assert raw({**ASK, "seed": 5}) == raw({**ASK, "seed": 5})
    assert len({raw({**ASK, "seed": seed}) for seed in range(8)}) > 1
    cold = {**ASK, "temperature": 0}
    assert len({raw({**cold, "seed": seed}) for seed in range(8)}) == 1


@pytest.mark.parametrize("name", ["calm-1", "sim/calm-1", "gpt-4o-mini", "vendor/other-model"])
def test_names_with_and_without_prefix_and_of_other_vendors_are_served(base_url, name):
    status, answer = _post(f"{base_url}/chat/completions", {**ASK, "model": name})
    assert (status, answer["model"]) == (200, name)


def test_answers_are_cut_where_asked(base_url):
    for limit in ("max_tokens", "max_completion_tokens"):
        _, answer = _post(f"{base_url}/chat/completions", {**ASK, limit: 7})
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"]["completion_tokens"] == 7
    _, answer = _post(f"{base_url}/chat/completions", {**ASK, "stop": ["criteria"]})
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["message"]["content"].endswith('"')


MESSAGES = ASK["messages"]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/nowhere", {}, 404, "POST /v1/nowhere"),
        ("/models", {}, 405, "Method Not Allowed"),
        ("/chat/completions", b"{not json", 400, "not JSON"),
        ("/chat/completions", b"\xff\xfe", 400, "not JSON"),
        ("/chat/completions", [], 400, "body"),
        ("/chat/completions", {"model": "sim/calm-1"}, 400, "messages"),
        ("/chat/completions", {"model": "sim/calm-1", "messages": []}, 400, "messages"),
        ("/chat/completions", {"messages": MESSAGES}, 400, "model"),
        ("/chat/completions", {**ASK, "temperature": 3}, 400, "temperature"),
        ("/chat/completions", {**ASK, "n": 2}, 400, "n:"),
        ("/chat/completions", {**ASK, "stream": True}, 400, "stream"),
        ("/chat/completions", {**ASK, "model": "sim/calm-9"}, 404, "sim/calm-1, sim/calm-2"),
        ("/chat/completions", b" " * (MAX_BODY_BYTES + 1), 413, "Too Large"),
    ],
)
def test_refusals_have_the_shape_of_openai(base_url, path, body, status, said):
    code, answer = _post(f"{base_url}{path}", body)
    assert code == status
    assert said in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


def test_calls_are_counted_by_model_and_role():
    with running() as url:
        for model in ("sim/low-1", "sim/low-1", "gpt-4o-mini"):
            _post(f"{url}/chat/completions", {**ASK, "model": model})
        _post(f"{url}/chat/completions", b"")
        stats = _get(url.replace("/v1", "/stats"))
    assert stats["calls"] == {"sim/low-1": {"rubricer": 2}, "gpt-4o-mini": {"rubricer": 1}}
    assert (stats["total"], stats["refused"], stats["in_flight"]) == (3, 1, 0)


def test_calls_wait_side_by_side():
    asyncio.run(_five_calls_at_once())


async def _five_calls_at_once() -> None:
    async with serving(latency=0.5) as url, aiohttp.ClientSession() as session:

        async def call() -> int:
            async with session.post(f"{url}/chat/completions", json=ASK) as response:
                await response.read()
                return response.status

        calls = [asyncio.create_task(call()) for _ in range(5)]
        in_flight = 0
        while in_flight < 5 and not all(task.done() for task in calls):
            async with session.get(url.replace("/v1", "/stats")) as response:
                in_flight = (await response.json())["in_flight"]
        assert in_flight == 5
        assert await asyncio.gather(*calls) == [200] * 5


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_it_cleanly(signal_number):
    command = [sys.executable, "-m", "judge_gym.simulator", "--port", "0", "--latency", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"{LISTENING}http://127.0.0.1:")
        process.send_signal(signal_number)
        assert process.wait(20) == 0


def test_it_stops_when_the_block_ends_and_when_the_parent_is_killed():
    with running() as url:
        assert _get(f"{url}/models")
    with pytest.raises(urllib.error.URLError):
        _get(f"{url}/models")
    script = (
        "import os, signal\nfrom judge_gym.simulator.launch import running\n"
        "with running() as url:\n    print(url, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    url = parent.communicate(timeout=120)[0].strip()
    assert parent.returncode == -signal.SIGKILL
    _wait_until_refused(url)


def _wait_until_refused(url: str) -> None:
    """Return once nobody listens; the test's own timeout is the loop's bound."""
    for _ in range(10_000):
        try:
            _get(f"{url}/models")
        except OSError:
            return
    pytest.fail(f"{url} still answers")


def test_port_in_use_is_said_in_one_line():
    with running() as url:
        port = url.split(":")[2].removesuffix("/v1")
        command = [sys.executable, "-m", "judge_gym.simulator", "--port", port]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    assert result.stderr.strip().splitlines() == [
        f"the simulator cannot listen on port {port}: {result.stderr.split(': ', 1)[1].strip()}"
    ]


def test_failing_to_start_is_an_error_that_says_where_to_look(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path))
    (tmp_path / "aiohttp.py").write_text("raise ImportError('no aiohttp here')")
    log = tmp_path / "simulator.log"
    with pytest.raises(JudgeGymError, match=r"simulator\.log"), running(log):
        pass
    assert "no aiohttp here" in log.read_text()
