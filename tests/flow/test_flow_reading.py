"""Rubrics that a person reads: a run waits for them, and scores what was approved."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.approving import ApprovalRequiredError
from flows.sweep import sweep
from support.flow_runs import Deployed, error_of, run_flow
from support.postgres import selected
from support.simulation import Simulator
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.slow


@pytest.fixture
def file(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    text = scoring_sweep("read", "sim/calm-1", documents=2, replicates=1)
    content = yaml.safe_load(text)
    content["pause_after"] = "w2-rubric"
    content["blocks"][0]["rubric"] = "own"
    content["blocks"][0]["model"] = ["sim/calm-1", "sim/high-1"]
    path = tmp_path / "read.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def asked(database: str, statement: str) -> list[tuple[Any, ...]]:
    return selected(database, statement)


def judges(database: str) -> set[str]:
    return {model for (model,) in asked(database, "SELECT model FROM analysis.samples")}


def test_a_deployment_waits_for_a_reader_and_scores_what_was_approved(
    database: str, simulator: Simulator, file: Path
) -> None:
    run = Deployed(sweep, file=str(file))
    state = run.work()
    assert (state.type.value, state.name) == ("PAUSED", "Suspended")
    assert judges(database) == set()
    keys = state.state_details.run_input_keyset
    assert keys is not None
    shown = run.form(keys["description"])
    assert "Rubric 1 by sim/calm-1" in shown
    assert "Rubric 2 by sim/high-1" in shown
    assert run.answer(name="Ada", refuse=[2], reason="vague") == "ACCEPT"
    assert run.work().is_completed()
    assert judges(database) == {"sim/calm-1"}
    [(decision, person, reason)] = asked(
        database,
        "SELECT decision, person, reason FROM analysis.decisions WHERE decision = 'refuse'",
    )
    assert (decision, person, reason) == ("refuse", "Ada", "vague")
    status = CliRunner().invoke(app, ["sweep", "status", "read", "--json"]).stdout
    assert '"person": "Ada"' in status
    assert '"state": "finished"' in status


def test_a_command_ends_before_scoring_and_goes_on_once_rubrics_are_read(
    database: str, simulator: Simulator, file: Path
) -> None:
    error = error_of(run_flow(sweep, file))
    assert isinstance(error, ApprovalRequiredError)
    assert "2 rubrics of sweep read wait for a person" in error.message
    assert judges(database) == set()
    runner = CliRunner()
    printed = runner.invoke(app, ["sweep", "rubrics", "read"]).stdout
    assert "Rubric 1 by sim/calm-1" in printed
    assert "2 rubrics not decided about" in printed
    given = ["--refuse", "1", "--approve", "all", "--by", "Ada", "--reason", "vague"]
    decided = runner.invoke(app, ["sweep", "rubrics", "read", *given])
    assert decided.exit_code == 0, decided.output
    assert run_flow(sweep, file).is_completed()
    assert judges(database) == {"sim/high-1"}
    # A person may think again: the rest is scored by the next run.
    runner.invoke(app, ["sweep", "rubrics", "read", "--approve", "1", "--by", "Bo"])
    assert run_flow(sweep, file).is_completed()
    assert judges(database) == {"sim/calm-1", "sim/high-1"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--approve", "1"], "Pass --by NAME"),
        (["--approve", "7", "--by", "Ada"], "There is no rubric 7"),
        (["--approve", "one", "--by", "Ada"], "Use numbers with commas"),
        (["--approve", "1", "--refuse", "1", "--by", "Ada"], "both approved and refused"),
    ],
)
def test_decisions_that_cannot_be_stored_are_refused(
    database: str, simulator: Simulator, file: Path, given: list[str], said: str
) -> None:
    error_of(run_flow(sweep, file))
    result = CliRunner().invoke(app, ["sweep", "rubrics", "read", *given])
    assert said in str(result.exception) + result.output
    assert not asked(database, "SELECT 1 FROM analysis.decisions")


def test_only_the_rubrics_of_blocks_that_pause_are_waited_for(
    database: str, simulator: Simulator, file: Path
) -> None:
    content = yaml.safe_load(file.read_text())
    del content["pause_after"]
    [block] = content["blocks"]
    content["blocks"] = [
        {**block, "model": "sim/calm-1"},
        {**block, "model": "sim/high-1", "pause_after": "w2-rubric"},
    ]
    file.write_text(yaml.safe_dump(content))
    error = error_of(run_flow(sweep, file))
    assert isinstance(error, ApprovalRequiredError)
    assert "1 rubric of sweep read waits" in error.message
