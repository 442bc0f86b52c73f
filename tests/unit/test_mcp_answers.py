"""What tools give back is plain and bounded."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from deployments.mcp.answers import LONGEST_TEXT, MOST_ENTRIES, below_here, bounded
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
