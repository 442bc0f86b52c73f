"""The flow of gyms on the samples of deployments/gyms: all four, once, and what a person sees."""

import asyncio
import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.cli.json_output import json_output
from flows.gym import gym
from flows.judge_study import PartlyJudgedError
from support.command_line import REPOSITORY
from support.flow_runs import error_of, run_flow, task_runs
from support.simulation import Simulator

pytestmark = pytest.mark.slow

SAMPLES = REPOSITORY / "deployments" / "gyms"
KINDS = ("apply", "cleanup", "abstract", "extract")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_gym_runs_and_asks_nothing_twice(
    simulator: Simulator, place: pytest.MonkeyPatch
) -> None:
    for kind in KINDS:
        state = run_flow(gym, SAMPLES / f"{kind}.yaml")
        assert state.is_completed(), state.message
        if kind == "abstract":
            names = {run.name for run in task_runs(state, 4)}
            assert {"cases by lesson 1-8 of 8", "report of the gym"} <= names
            assert "16 written" in str(state.message)
        page = asyncio.run(state.aresult())
        assert "SIMULATED" in page.read_text()
        assert "{{" not in page.read_text()
        figures = rows_of(page.with_name(f"{page.stem}-figures.csv"))
        scores = [row for row in figures if row["metric"] == "score" and not row["less"]]
        names = [row["candidate"] for row in scores]
        pairs = [row for row in figures if row["metric"] == "score" and row["less"]]
        assert len(pairs) == len(names) * (len(names) - 1) / 2
        assert all(row["estimate"] for row in scores if row["candidate"] != "embedding")
        assert {row["simulated"] for row in figures} == {"True"}
        cases = rows_of(page.with_name(f"{page.stem}-cases.csv"))
        assert {row["candidate"] for row in cases} == set(names)
        assert {row["status"] for row in cases} <= {"scored", "unavailable", "missing"}

        if kind not in ("apply", "extract"):  # judged candidates, and written ones
            continue
        before = simulator.answered()
        again = run_flow(gym, SAMPLES / f"{kind}.yaml")
        assert "nothing was missing" in str(again.message)
        assert simulator.answered() == before


def invoked(*arguments: str | Path) -> str:
    ended = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.output.split())


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """What a command that ends gives as JSON."""
    json_output.begin(wanted=True)
    invoked(*arguments, "--json")
    capsys.readouterr()
    json_output.end()
    return json.loads(capsys.readouterr().out)


def test_the_command_plans_runs_and_prints(
    simulator: Simulator, place: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = SAMPLES / "cleanup.yaml"
    before = simulator.answered()
    planned = invoked("judge", "gym", file, "--plan")
    # decisions of its own, and at most 14 x 4 judged, less the equal ones of similarity
    assert "judge sim/good-1 14 " in planned
    assert re.search(r"decisions sim/good-2 (2\d|3\d) .* 0 \(simulated\)", planned)
    assert "words from 0.3 no model" in planned
    assert simulator.answered() == before
    shown = invoked("judge", "gym", file)
    assert re.search(r"words from 0.3 14 scored .* 85.7 \[", shown)
    assert "SIMULATED" in shown
    assert "gym-cleanup-sample.html" in shown
    told = as_json(capsys, "judge", "gym", file)
    assert (told["name"], told["simulated"]) == ("cleanup-sample", True)
    assert len(told["cases"]) == 4 * 14


def test_a_judge_of_pairs_is_refused(place: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text("kind: pairwise\nname: p\nmodel: sim/good-1\ntask: t\n")
    (tmp_path / "notes.jsonl").write_text('{"id": "1", "text": "It rained."}\n')
    (tmp_path / "gym.yaml").write_text(
        "kind: abstract\nname: x\ncorpus: notes.jsonl\njudge: pair.yaml\ncandidates: [{name: a}]\n"
    )
    assert "is a judge of pairs" in str(error_of(run_flow(gym, tmp_path / "gym.yaml")))


@pytest.mark.slow
def test_a_budget_that_is_passed_leaves_a_page_of_what_there_is(
    place: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("abstract.yaml", "abstract-notes.jsonl", "abstract-judge.yaml"):
        text = (SAMPLES / name).read_text()
        (tmp_path / name).write_text(text.replace("{max_calls: 5000}", "{max_calls: 1}"))
    error = error_of(run_flow(gym, tmp_path / "abstract.yaml"))
    assert isinstance(error, PartlyJudgedError)
    assert "Judge 'generalisations' has reached its budget" in error.message
    page = Path(error.message.rsplit("how much is missing: ")[1].removesuffix("."))
    assert "not judged yet" in page.read_text()
