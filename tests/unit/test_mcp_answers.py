"""What tools give back is plain and bounded, and what they are given is checked."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import TextContent

from deployments.mcp.answers import LONGEST_TEXT, MOST_ENTRIES, below_here, bounded
from deployments.mcp.server import server
from judge_gym.errors import ConfigError


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
