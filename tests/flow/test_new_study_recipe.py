"""A new kind of study is a module and two forms, as CONTRIBUTING.md says: it has the whole life."""

import importlib
import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import deployments.cli
import flows
from judge_gym import studies
from judge_gym.settings import settings
from support.command_line import REPOSITORY
from support.flow_runs import run_flow
from support.simulation import Simulator

pytestmark = pytest.mark.slow
JUDGE = """
kind: binary
name: {name}
model: sim/{model}
task: Decide whether to keep a note.
verdicts: [{{name: keep, description: It has evidence.}}, {{name: drop, description: It has none.}}]
"""
CLEAR = "On {n} May the harbour office counted {n}1 boats, {n} fewer than in April (its report)."
NOTES = 12


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that CONTRIBUTING.md shows, in folders beside those of their packages."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Adding a kind of study")[2].partition("\n## ")[0]
    shown = re.findall(r'^```python title="([\w/.]+)"\n(.*?)^```$', section, re.M | re.S)
    assert len(shown) == 3
    for path, code in shown:
        file = tmp_path / path
        file.parent.mkdir(parents=True)
        file.write_text(code, encoding="utf-8")
    for package in (studies, flows, deployments.cli):
        folder = tmp_path.joinpath(*package.__name__.split("."))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])


@pytest.fixture
def notes(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two judges, and notes of which half have evidence."""
    # It would set what this process, and the tests after this one, read.
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    settings.cache_clear()
    for name, model in (("one", "good-1"), ("two", "good-2")):
        (tmp_path / f"{name}.yaml").write_text(JUDGE.format(name=name, model=model))
    rows = [
        {"id": n, "text": CLEAR.format(n=n) if n % 2 else f"Some boats were late, perhaps. {n}"}
        for n in range(NOTES)
    ]
    (tmp_path / "notes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


@pytest.mark.usefixtures("recipe")
def test_a_study_of_one_module_runs_as_flow_and_command(notes: Path, simulator: Simulator) -> None:
    flow, before = importlib.import_module("flows.means").means, simulator.answered()
    judges = [notes / "one.yaml", notes / "two.yaml"]
    state = run_flow(flow, judges=judges, items=notes / "notes.jsonl")
    assert state.is_completed(), state.message
    asked = simulator.answered()
    assert asked - before == len(judges) * NOTES

    app = typer.Typer()
    app.command()(importlib.import_module("deployments.cli.judge_means").means)
    words = [*map(str, judges), "--items", str(notes / "notes.jsonl")]
    planned = CliRunner().invoke(app, [*words, "--plan"])
    assert planned.exit_code == 0, planned.output
    shown = CliRunner().invoke(app, [*words, "--json"])
    assert shown.exit_code == 0, shown.output
    assert simulator.answered() == asked  # all was stored by the flow
    written = json.loads(next(settings().reports_dir.glob("means-*.json")).read_text())
    assert set(written["means"]) == {"one", "two"}
    assert all(f'"{name}": {mean}' in shown.output for name, mean in written["means"].items())
    assert "SIMULATED" in shown.output
