"""What tools give back is plain and bounded, and what they are given is checked."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import TextContent
from ruamel.yaml import YAML

from deployments.mcp.answers import LONGEST_TEXT, MOST_ENTRIES, below_here, bounded
from deployments.mcp.server import server
from judge_gym.errors import ConfigError
from judge_gym.shipped import DEPLOYMENTS


@dataclass(frozen=True)
class Line:
    name: str
    at: datetime
    parts: tuple[Any, ...]


def test_values_become_plain() -> None:
    line = Line("n", datetime(2026, 1, 2, tzinfo=UTC), (1, 2.5, None, True, Decimal("1.50")))
    assert bounded({1: line}) == {
        "1": {
            "name": "n",
            "at": "2026-01-02 00:00:00+00:00",
            "parts": [1, 2.5, None, True, "1.50"],
        }
    }


def test_long_texts_and_lists_are_cut_with_a_word_about_it() -> None:
    text = "x" * (LONGEST_TEXT + 7)
    assert bounded([text]) == [f"{text[:LONGEST_TEXT]} ... and 7 more characters"]
    assert bounded("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    many = bounded(list(range(MOST_ENTRIES + 3)))
    assert many[MOST_ENTRIES:] == ["... and 3 more"]


def test_paths_stay_below_the_folder_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "link").symlink_to(tmp_path)
    monkeypatch.chdir(here)
    assert below_here("sub/sweep.yaml") == here / "sub" / "sweep.yaml"
    for path in ("..", "../here-too/x", "/etc/passwd", "link/x"):
        with pytest.raises(ConfigError, match="outside"):
            below_here(path)
    for path in (".git/hooks", "sub/.hidden/x", ".env"):
        with pytest.raises(ConfigError, match="hidden"):
            below_here(path)


def test_every_tool_refuses_unknown_arguments_and_the_server_has_a_version() -> None:
    async def work() -> None:
        async with Client(server()) as client:
            assert client.server_info.version == version("judge-gym")
            tools = (await client.list_tools()).tools
            for tool in tools:
                assert tool.input_schema["additionalProperties"] is False, tool.name
                assert "name" not in tool.input_schema["properties"], tool.name
            wrong = (
                ("status", {"sweep": "x", "verbose": True}, "verbose"),
                ("list_axes", {"x": 1}, "x"),
                ("query", {"sql": "SELECT 1", "most_rows": -5}, "most_rows"),
                ("query", {"sql": "SELECT 1", "most_rows": 10_000}, "most_rows"),
                ("export", {"sweep": "x", "folder": ".git/hooks"}, "hidden"),
            )
            for tool_name, given, named in wrong:
                result = await client.call_tool(tool_name, given)
                assert result.is_error, tool_name
                assert isinstance(result.content[0], TextContent)
                assert named in result.content[0].text

    asyncio.run(work())


def called(tools: MCPServer, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
    async def work() -> list[Any]:
        async with Client(tools) as client:
            return [await client.call_tool(name, given) for name, given in requests]

    return asyncio.run(work())


def said(result: Any) -> str:
    return "".join(one.text for one in result.content)


OWN = (
    {"kind": "http", "name": "own", "url": "http://evil.example", "key_env": "OPENAI_API_KEY"},
    {"kind": "callable", "name": "own", "function": "own_code:judge"},
)


@pytest.mark.parametrize("own", OWN, ids=lambda own: str(own["kind"]))
def test_an_agent_runs_no_code_and_sends_no_key_unless_a_person_lets_it(
    own: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_code.py").write_text("open('made', 'w')\n")
    (tmp_path / "own.yaml").write_text(json.dumps(own))
    both = {
        "kind": "ensemble",
        "name": "both",
        "members": ["own.yaml", "own2.yaml"],
        "rule": "mean",
    }
    (tmp_path / "own2.yaml").write_text(json.dumps(own | {"name": "own2", "version": "2"}))
    [of_both, of_own] = [
        (json.loads(said(result)) if not result.is_error else pytest.fail(said(result)))["file"]
        for result in called(
            server(),
            ("define", {"kind": "judge", "definition": both}),
            ("define", {"kind": "judge", "definition": own}),
        )
    ]
    items = [{"id": "a", "text": "a text"}]
    for file in (of_own, of_both, "own.yaml"):
        asked = ("run_judge", {"judge": file, "items": items, "confirm_calls": 10})
        [refused] = called(server(), asked)
        assert refused.is_error
        assert "--own-judges" in said(refused)
        # Permitted, it goes on to the items.
        asked = ("run_judge", {"judge": file, "items": "missing.jsonl"})
        [permitted] = called(server(own_judges=True), asked)
        assert "missing.jsonl" in said(permitted)
    server()
    assert not (tmp_path / "made").exists()


def test_a_sweep_reads_no_evidence_outside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    row = {
        "title": "Private",
        "url": "https://a.example/1",
        "date": "2026-01-02",
        "text": "x " * 80,
    }
    (tmp_path / "private.jsonl").write_text(json.dumps(row) + "\n")
    (here / "own.jsonl").write_text(json.dumps(row) + "\n")
    given = json.loads(
        json.dumps(YAML(typ="safe").load(DEPLOYMENTS / "sweeps" / "quick.yaml"), default=str)
    )
    window = next(iter(given["windows"].values()))

    def with_evidence(path: str) -> dict[str, Any]:
        source = {"kind": "corpus", "path": path}
        return given | {"windows": dict.fromkeys(given["windows"], window | {"source": source})}

    (here / "by-hand.yaml").write_text(json.dumps(with_evidence("../private.jsonl"), default=str))
    for name, asked in (
        ("define", {"kind": "sweep", "definition": with_evidence("../private.jsonl")}),
        ("define", {"kind": "sweep", "definition": with_evidence(str(tmp_path / "private.jsonl"))}),
        *((tool, {"file": "by-hand.yaml"}) for tool in
          ("plan_sweep", "create_windows", "create_experiments", "run_sweep")),
    ):  # fmt: skip
        [refused] = called(server(), (name, asked))
        assert refused.is_error, name
        assert "outside" in said(refused), name
    own = {"kind": "sweep", "definition": with_evidence("own.jsonl")}
    [defined] = called(server(), ("define", own))
    assert not defined.is_error, said(defined)
