"""A sweep that cannot be asked as it is: one clear line, its exit code, and Prefect's state."""

import asyncio
import json
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from support.command_line import SWEEPS, CommandLine, Ended, small_sweep
from support.figures import value_of
from support.misbehaving import Step, answers, misbehaving, refuses, replies
from support.prefect_server import PrefectServer, free_port

NOBODY = f"http://127.0.0.1:{free_port()}/v1"
LONG = {"JUDGE_GYM_MAX_DOCUMENT_CHARACTERS": "60000"}
LONG_ARTICLES = [
    json.dumps(
        {
            "title": f"Report {number}",
            "url": f"https://valmora.example/{number}",
            "date": "2026-01-06",
            "text": f"Report {number}. " + "The court sat and heard two newspapers. " * 1400,
        }
    )
    for number in (1, 2)
]
OPENAIS, FOREIGN_KEY = "openai/gpt-4.1-mini", "sk-ant-0123456789abcdef0123456"
TOO_LONG = refuses(400, "maximum context length is 10 tokens", "context_length_exceeded")


@dataclass(frozen=True)
class Case:
    """A model, what answers in its place, and what is said about it."""

    model: str
    words: tuple[str, ...]
    step: Step = field(default_factory=answers)
    environment: dict[str, str] = field(default_factory=dict)
    changes: tuple[tuple[str, str], ...] = ()
    """In the sweep file: what is there, what takes its place."""
    requests: Callable[[int], bool] = lambda count: count == 0
    code: int = 1


CASES = {
    "unknown-model": Case(
        "local/judge-1",
        ("local refuses local/judge-1: The model does not exist", "Check the model's name"),
        refuses(404, "The model does not exist", "model_not_found"),
        requests=lambda count: count <= 4,
    ),
    "unsupported-axis": Case(
        "openai/gpt-5-mini",
        ("openai/gpt-5-mini does not apply temperature 0", "on_unsupported: mark"),
        environment={"OPENAI_API_KEY": "none"},
        changes=(("    evidence_view: raw\n", "    evidence_view: raw\n    temperature: 0\n"),),
        code=2,
    ),
    "key-of-another": Case(
        OPENAIS,
        (f"openai refuses {OPENAIS}: Incorrect API key provided: sk-a***3456. The key looks like "
         "one of Anthropic.", "Check the key in OPENAI_API_KEY"),
        refuses(401, "Incorrect API key provided: sk-a***3456.", "invalid_api_key"),
        environment={"OPENAI_API_KEY": FOREIGN_KEY},
        requests=lambda count: 1 <= count <= 4,
    ),
    "no-access": Case(
        OPENAIS,
        (f"openai refuses {OPENAIS}: Project `p` does not have access to the model",
         "Have the provider grant the account access to this model"),
        refuses(403, "Project `p` does not have access to the model", "model_not_found"),
        environment={"OPENAI_API_KEY": "none"},
        requests=lambda count: 1 <= count <= 4,
    ),
    "retired": Case(
        OPENAIS,
        (f"openai refuses {OPENAIS}: It was shut down.", "has retired this model: use another"),
        refuses(410, "It was shut down."),
        environment={"OPENAI_API_KEY": "none"},
        requests=lambda count: 1 <= count <= 4,
    ),
    "deprecated": Case(
        OPENAIS,
        (f"openai refuses {OPENAIS}: It has been deprecated.", "has retired this model"),
        refuses(404, "It has been deprecated.", "model_not_found"),
        environment={"OPENAI_API_KEY": "none"},
        requests=lambda count: 1 <= count <= 4,
    ),
    "no-scheme": Case(
        "local/judge-1",
        ("LOCAL_BASE_URL is not an address", "begins with http:// or https://"),
        environment={"LOCAL_BASE_URL": "127.0.0.1:8000/v1"},
        code=2,
    ),
    "nobody-there": Case(
        "local/judge-1",
        (f"local at {NOBODY} has given no usable answer yet: Cannot connect to host",
         "Check that the server runs, and base_url or LOCAL_BASE_URL of [local]"),
        environment={"LOCAL_BASE_URL": NOBODY},
    ),
    "html": Case(
        "local/judge-1",
        ("answers with a web page, not an API", "local/judge-1", "<html>Log in</html>",
         "Check base_url or LOCAL_BASE_URL of [local]"),
        replies(200, "<html>Log in</html>"),
        requests=lambda count: 2 <= count <= 8,
    ),
    "too-long": Case(
        "openai/gpt-4",
        ("openai/gpt-4 takes prompts of at most 8,192 tokens", "the shortest of the next 4"),
        environment=LONG | {"OPENAI_API_KEY": "none"},
        code=2,
    ),
    "too-long-as-told": Case(
        "local/judge-1",
        ("Fewer than half the answers are readable. local/judge-1: 0 of 4", "10 tokens"),
        TOO_LONG,
        requests=lambda count: count == 4,
    ),
    "unpriced": Case(
        "local/judge-1",
        ("The cost is unknown for 8 calls: local/judge-1 is in no price list",),
        answers("VERDICT: A\nPROBABILITY: 0.8"),
        requests=lambda count: count == 8,
        code=0,
    ),
}  # fmt: skip


def run_sweep(command: CommandLine, name: str, case: Case) -> tuple[Ended, int]:
    """`judge-gym sweep run` against the case's server; the requests that arrived there."""

    async def run() -> tuple[Ended, int]:
        async with misbehaving(case.step) as provider:
            url = provider.base_url
            where = {"LOCAL_BASE_URL": url, "OPENAI_BASE_URL": url, "JUDGE_GYM_CALL_ATTEMPTS": "2"}
            given = where | case.environment
            ended = await asyncio.to_thread(command, "sweep", "run", f"{name}.yaml", **given)
            return ended, len(provider.requests)

    return asyncio.run(run())


def state_of(server: PrefectServer, flow_run: str) -> tuple[str, str]:
    """The type and message of a flow run's state in Prefect's records."""
    request = urllib.request.Request(
        f"{server.url}/flow_runs/filter",
        json.dumps({"flow_runs": {"name": {"any_": [flow_run]}}}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        [found] = json.load(reply)
    return found["state"]["type"], found["state"]["message"]


QUICK = {"no-scheme"}
"""The classes of the others have a row for each API in tests/database/test_conformance.py."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    command: CommandLine, database: str, prefect_server: PrefectServer, name: str
) -> None:
    case = CASES[name]
    text = small_sweep(name, case.model, *case.changes)
    if name == "too-long":
        file = command.folder / "long.jsonl"
        file.write_text("".join(f"{article}\n" for article in LONG_ARTICLES))
        text = text.replace(f"{SWEEPS}/corpora/valmora.jsonl", str(file))
    (command.folder / f"{name}.yaml").write_text(text)
    ended, requests = run_sweep(command, name, case)
    said = ended.output + ended.errors
    assert ended.code == case.code, said
    assert "Traceback" not in said
    assert FOREIGN_KEY not in said
    assert "Unexpected" not in said
    for words in case.words:
        assert words in " ".join(said.split()), said
    assert case.requests(requests), requests

    kind, message = state_of(prefect_server, f"sweep {name}.yaml")
    if case.code:
        # The line that is printed is the one that Prefect shows.
        assert kind == "FAILED"
        assert case.words[0] in message
    else:
        assert kind == "COMPLETED"
    # What every other call would meet too is missing, not failed.
    kept = value_of(database, "SELECT count(*) FROM samples WHERE status = 'failed'")
    assert kept == (4 if name == "too-long-as-told" else 0)
    assert value_of(database, "SELECT count(*) FROM llm_calls WHERE cost_usd = 0") == 0
