"""The calibration flow: what is judged once, what goes on, and the page at the end."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from flows.calibration import calibration
from flows.chunks import Gaps
from support.flow_runs import error_of, run_flow, task_runs

FUNCTION = """
from pathlib import Path


def score(asked):
    with Path("asked.txt").open("a") as file:
        file.write(asked["id"] + "\\\\n")
    if Path("broken").exists() and asked["id"] in ("3", "4"):
        raise RuntimeError("away")
    return min(100, 10 * sum(character.isdigit() for character in asked["text"]))
"""
FILE = """
name: own
judges: [judge.yaml]
items: items.jsonl
repeats: 1
perturbations: [vague_ify, tone]
severities: [1.0]
"""
TEXTS = [f"In 20{n}0 there were {'7' * n} ships. It rained." for n in range(1, 9)]


@pytest.fixture
def file(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A calibration of a function of one's own, in the working folder."""
    # Modules stay loaded: a name of its own.
    module = f"planted_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(FUNCTION.replace("\\\\n", "\\n"))
    judge = f"kind: callable\nname: own\nfunction: {module}:score\n"
    (tmp_path / "judge.yaml").write_text(judge)
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(TEXTS)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    (tmp_path / "calibration.yaml").write_text(FILE)
    return tmp_path / "calibration.yaml"


def asked(file: Path) -> list[str]:
    """The items that the function was asked about, so far."""
    return (file.parent / "asked.txt").read_text().split()


def page_of(state: State[Any]) -> Path:
    return asyncio.run(state.aresult())


def test_texts_are_judged_once_and_the_page_is_written(file: Path) -> None:
    state = run_flow(calibration, file)
    # eight originals, each with vague words and with feeling
    assert len(asked(file)) == 24
    assert {run.name for run in task_runs(state, 2)} >= {"texts by own 1-24 of 24"}
    page = page_of(state)
    assert "own" in page.read_text()
    book = (page.parent / "LOGBOOK.md").read_text()
    # each digit is gone, and exclamations count for nothing
    assert "Held: invariant:tone, drop:vague_ify" in book

    again = run_flow(calibration, file)
    assert again.is_completed()
    assert len(asked(file)) == 24
    assert (page.parent / "LOGBOOK.md").read_text() == book


def test_what_failed_is_told_and_asked_again_on_request(file: Path) -> None:
    (file.parent / "broken").touch()
    state = run_flow(calibration, file)
    assert state.is_completed()
    assert "6 failed" in str(state.message)
    assert len(asked(file)) == 24

    (file.parent / "broken").unlink()
    assert "nothing was missing" in str(run_flow(calibration, file).message)
    assert len(asked(file)) == 24
    assert "6 scored" in str(run_flow(calibration, file, retry_failed=True).message)
    assert sorted(asked(file)[24:]) == sorted("333444")


def test_a_function_that_is_not_there_is_named(file: Path) -> None:
    (file.parent / "judge.yaml").write_text("kind: callable\nname: own\nfunction: nowhere:score\n")
    error = error_of(run_flow(calibration, file))
    assert not isinstance(error, Gaps)
    assert "nowhere:score cannot be loaded" in str(error)
