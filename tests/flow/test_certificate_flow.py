"""The certificate flow: texts judged once, the command's certificate, and none of a part."""

import asyncio
import csv
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.certificate import certificate
from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.judges import load_judge
from judge_gym.judges.certifying.certificate import read_certificate
from judge_gym.judges.certifying.verifying import verified
from support.command_line import REPOSITORY
from support.flow_runs import artifacts, error_of, flow_run, run_flow
from support.simulation import Simulator

pytestmark = pytest.mark.slow
NOTES = REPOSITORY / "deployments" / "calibrations" / "notes.jsonl"
JUDGE = """
kind: binary
name: keep
model: sim/good-1
task: Decide whether a research note is good enough to be kept.
verdicts: [{name: keep, description: It has evidence.}, {name: drop, description: It has none.}]
certify: {sensitivity: 0.02, specificity: 0.02, readable: 0.1, items: notes.csv}
"""


@pytest.fixture
def file(place: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A simulated judge and notes, of which the better half is to be kept."""
    notes = [json.loads(line) for line in NOTES.read_text().splitlines()]
    labelled = [note for note in notes if note.get("truth") is not None]
    labelled.sort(key=lambda note: float(note["truth"]))
    with (tmp_path / "notes.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "text", "truth"])
        for place_of, note in enumerate(labelled):
            kept = place_of >= len(labelled) // 2
            writer.writerow([note["id"], note["text"], "keep" if kept else "drop"])
    path = tmp_path / "keep.yaml"
    path.write_text(JUDGE)
    return path


def texts(file: Path) -> int:
    with (file.parent / "notes.csv").open(newline="") as handle:
        return len(list(csv.DictReader(handle)))


def path_of(state: State[Any]) -> Path:
    path: Path = asyncio.run(state.aresult())
    return path


def test_texts_are_judged_once_and_the_certificate_is_that_of_the_command(
    file: Path, simulator: Simulator, place: pytest.MonkeyPatch
) -> None:
    before = simulator.answered()
    state = run_flow(certificate, file)
    assert simulator.answered() - before == texts(file)
    assert flow_run(state).name == "certify keep.yaml"
    written = path_of(state)
    assert written == file.with_name("keep.certificate.json").resolve()
    ours = read_certificate(written)
    data = written.with_name("keep.certificate-data")
    assert verified(ours, data, judge=load_judge(file)).fault == ""
    shown = [str(one.data) for one in artifacts(state) if (one.key or "").startswith("certificate")]
    assert ["SIMULATED" in text and str(written) in text for text in shown] == [True]

    assert "nothing was missing" in str(run_flow(certificate, file).message)
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    given = ["judge", "certify", str(file), "--out", str(file.with_name("c.json"))]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert simulator.answered() - before == texts(file)
    theirs = read_certificate(file.with_name("c.json"))
    assert theirs.findings == ours.findings
    assert theirs.earlier_uses == ours.earlier_uses == ()


def test_a_run_that_its_budget_stops_writes_none_and_the_next_one_resumes(
    file: Path, simulator: Simulator, database: str
) -> None:
    file.write_text(f"{JUDGE}budget: {{max_calls: 3}}\n")
    error = error_of(run_flow(certificate, file))
    assert isinstance(error, BudgetExceededError)
    assert not list(file.parent.glob("*.certificate*"))
    # The texts were used, as the next judge's certificate has to say.
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM alignment_looks")).scalar() == 1
    file.write_text(JUDGE)
    before = simulator.answered()
    path_of(run_flow(certificate, file))
    assert simulator.answered() - before < texts(file)


def test_what_cannot_be_used_is_refused_before_anything_is_asked(
    file: Path, simulator: Simulator
) -> None:
    before = simulator.answered()
    none = file.parent / "none" / "c.json"
    assert "none is no folder" in str(error_of(run_flow(certificate, file, out=none)))
    named = str(error_of(run_flow(certificate, file, sign=file)))
    assert "is no private Ed25519 key" in named
    assert simulator.answered() == before
