"""The calibration flow: what is judged once, what goes on, and the page at the end."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from prefect.client.schemas.objects import State
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.calibration import calibration
from flows.endings import PartialFailure
from flows.judge_study import PartlyJudgedError
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.settings import settings
from support.flow_runs import error_of, run_flow, task_runs
from support.postgres import selected

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
GOOD = Path(__file__).parents[2] / "deployments" / "calibrations" / "good.yaml"
# They differ in more than figures, or all would be one text without them.
TEXTS = [f"In 20{n}0 there were {'7' * n} ships{' again' * n}. It rained." for n in range(1, 9)]


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


def checks(database: str) -> list[tuple[Any, ...]]:
    """(judge, corpus, check, perturbation, result, items, simulated) of what is stored."""
    statement = """
        SELECT judge, corpus, name, perturbation, result, n_items, simulated
        FROM analysis.calibration_checks ORDER BY judge, name
    """
    return selected(database, statement)


def test_texts_are_judged_once_and_the_page_is_written(file: Path, database: str) -> None:
    state = run_flow(calibration, file)
    # eight originals, each with vague words and with feeling
    assert len(asked(file)) == 24
    assert {run.name for run in task_runs(state, 2)} >= {"texts by own 1-24 of 24"}
    page = page_of(state)
    assert "own" in page.read_text()
    book = (page.parent / "LOGBOOK.md").read_text()
    # all are readable, each digit is gone, and exclamations count for nothing
    held = book.partition("Held: ")[2].partition(".")[0].split(", ")
    assert {"readable", "invariant:tone", "drop:vague_ify"} == set(held)

    found = checks(database)
    by_name = {row[2]: (row[3], row[4], row[5], row[6]) for row in found}
    assert by_name["drop:vague_ify"] == ("vague_ify", "passes", 8, False)
    assert by_name["invariant:tone"] == ("tone", "passes", 8, False)
    assert by_name["band"][0] == ""
    assert {row[0] for row in found} == {"own"}

    again = run_flow(calibration, file)
    assert again.is_completed()
    assert checks(database) == found
    assert len(asked(file)) == 24
    assert (page.parent / "LOGBOOK.md").read_text() == book


def test_a_threshold_that_is_missed_fails_the_run_after_its_page(file: Path) -> None:
    unknown = run_flow(calibration, file, fail_under={"agreement": 0.5})
    # The message is for people: no name of a class, and nothing is asked.
    assert str(unknown.message).startswith("fail_under agreement needs labels.")
    assert not (file.parent / "asked.txt").exists()

    (file.parent / "broken").touch()
    missed = run_flow(calibration, file, fail_under={"readable": 0.9})
    assert (missed.name, len(asked(file))) == ("Failed", 24)
    assert "readable: " in str(missed.message)
    assert run_flow(calibration, file, fail_under={"readable": 0.5}).is_completed()
    assert len(asked(file)) == 24


@pytest.mark.slow
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
    assert not isinstance(error, PartialFailure)
    assert "nowhere:score cannot be loaded" in str(error)


@pytest.fixture
def two(file: Path, place: pytest.MonkeyPatch) -> Path:
    """A calibration of two simulated judges, one after the other; the first may call four times."""
    place.setenv("JUDGE_GYM_WORKERS", "1")
    settings.cache_clear()
    for name in ("good", "mumbling"):
        text = GOOD.read_text().replace("name: good", f"name: {name}")
        (file.parent / f"{name}.yaml").write_text(text.replace("sim/good-1", f"sim/{name}-1"))
    bound(file, 4)
    file.write_text(FILE.replace("[judge.yaml]", "[good.yaml, mumbling.yaml]"))
    return file


def bound(file: Path, calls: int) -> None:
    """Let the first judge make this many calls."""
    judge = file.parent / "good.yaml"
    text = judge.read_text().partition("budget:")[0]
    judge.write_text(f"{text}budget: {{max_calls: {calls}}}\n")


def commanded(*arguments: object) -> Result:
    given = ["judge", "calibrate", *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200"})


def planned(file: Path) -> str:
    ended = commanded(file, "--plan")
    assert ended.exception is None
    return " ".join(ended.output.split())


@pytest.mark.slow
def test_what_a_budget_leaves_over_is_reported_and_told(
    two: Path, database: str, place: pytest.MonkeyPatch
) -> None:
    # It would set what this process, and the tests after this one, read.
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    said = planned(two)
    # eight texts, each with vague words and with feeling
    assert "vague_ify rules drop 1 8 0" in said
    assert "with their changes 24 texts, 1 time each" in said
    assert "good, sim/good-1 0 24 24" in said
    assert "all 0 48 48" in said
    assert "0 (simulated)" in said

    ended = commanded(two)
    error = ended.exception
    assert isinstance(error, PartlyJudgedError)
    assert "max_calls is 4" in error.message
    assert "Judge 'good': 4 of 24 items are judged." in error.message
    assert "Raise budget.max_calls" in error.remedy
    page = settings().reports_dir / "calibration-own.html"
    assert str(page.resolve()) in error.message
    gap = "44 of 48 judgements are missing"
    assert gap in " ".join(ended.output.split())
    assert gap in page.read_text()
    assert gap in (page.parent / "LOGBOOK.md").read_text()
    assert "good: only 4 of 24 judgements exist" in page.read_text()
    # where it is written, so that a rerun does not stop again
    assert "has reached its budget: max_calls is 4" in page.read_text()
    assert f"Raise budget.max_calls in {two.parent / 'good.yaml'}" in page.read_text()
    assert {(row[0], row[6]) for row in checks(database)} == {("good", True), ("mumbling", False)}
    assert "good, sim/good-1 4 20 20" in planned(two)

    bound(two, 4000)
    before = len(checks(database))
    assert run_flow(calibration, two).is_completed()
    assert "are missing" not in page.read_text()
    assert len(checks(database)) == before
    assert {row[6] for row in checks(database)} == {True}


@pytest.mark.slow
def test_a_budget_used_up_before_ends_a_calibration_at_once_and_plans_warn_of_it(
    two: Path, place: pytest.MonkeyPatch
) -> None:
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    assert "budget.max_calls is 4, 0 used, and this needs 24 more" in planned(two)
    assert isinstance(commanded(two).exception, PartlyJudgedError)
    # Of other texts nothing is judged when the budget is used up already.
    items = two.parent / "items.jsonl"
    items.write_text(items.read_text().replace("ships", "boats"))
    assert "Judge 'good' has reached its budget: max_calls is 4, and 4 calls" in planned(two)

    error = commanded(two).exception

    assert isinstance(error, BudgetExceededError)
    assert not isinstance(error, PartlyJudgedError)
    assert "max_calls is 4" in error.message
    assert "Raise budget.max_calls" in error.remedy


@pytest.mark.slow
def test_a_model_changes_texts_once_before_they_are_judged(file: Path) -> None:
    with file.open("a") as design:
        design.write("perturber: {model: sim/calm-1, types: [vague_ify]}\n")
    said = planned(file)
    assert "vague_ify sim/calm-1 drop 1 8 0" in said
    assert "sim/calm-1 0 8" in said
    assert "with their changes 24 texts, 1 time each" in said
    state = run_flow(calibration, file)
    # the first text has a year alone, the others figures, too: all can be changed
    assert str(state.message) == "8 changed, 24 scored"
    assert {run.name for run in task_runs(state, 3)} >= {
        "texts changed by sim/calm-1 1-8 of 8",
        "texts by own 1-24 of 24",
    }
    page = page_of(state)
    assert "<td>sim/calm-1</td>" in page.read_text()
    assert "SIMULATED" in page.read_text(), "the simulator made texts that the judge judged"
    assert "Changed by sim/calm-1: vague_ify" in (page.parent / "LOGBOOK.md").read_text()

    assert "sim/calm-1 8 0" in planned(file)
    again = run_flow(calibration, file)
    assert again.message == "nothing was missing"
    assert len(asked(file)) == 24
