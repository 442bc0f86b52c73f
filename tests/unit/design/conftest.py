"""A folder with a corpus and a rubric in which tests write sweep files."""

from collections.abc import Callable
from pathlib import Path

import pytest

RUBRIC = """\
stages:
  - {label: No sign, criteria: [courts sit, papers print, parties meet]}
  - {label: Some signs, criteria: [a court is closed, a paper is closed, a party is fined]}
  - {label: Many signs, criteria: [courts are packed, papers are seized, parties are banned]}
  - {label: All signs, criteria: [courts obey, papers obey, one party is left]}
reasoning: from free to unfree
"""

HEAD = """\
name: demo
windows:
  valmora-week: {country: Valmora, source: {kind: corpus, path: corpora/valmora.jsonl}}
  ostrand-week: {country: Ostrand, source: {kind: corpus, path: corpora}}
defaults: {window: valmora-week, concept: fascism, model: sim/calm-1}
"""


@pytest.fixture
def write_sweep(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a sweep file beside a corpus and a rubric file."""
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "valmora.jsonl").write_text('{"text": "The court of Valmora sat."}\n')
    (tmp_path / "corpora" / "ostrand.csv").write_text("text\nThe court of Ostrand rose.\n")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)

    def write(text: str) -> Path:
        path = tmp_path / "sweep.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def write_blocks(write_sweep: Callable[[str], Path]) -> Callable[[str], Path]:
    """Return a function that writes a sweep file of `HEAD` (five lines) and what follows."""
    return lambda rest: write_sweep(HEAD + rest)
