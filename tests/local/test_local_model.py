"""A real model, which is a poor judge: what it says is reported, and nothing is made of the rest.

What is asserted holds for any model: rows are there, statuses add up, no answer that says nothing
has become a score, and a rerun asks nothing.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State

from flows.calibration import calibration
from flows.sweep import sweep
from judge_gym.errors import ConfigError
from judge_gym.judges import load_judge, read_items
from judge_gym.llm.providers import load_providers
from judge_gym.local_model import MODEL, serving
from judge_gym.store import tables as t
from support.command_line import small_sweep
from support.flow_runs import run_flow
from support.rig import run

NOTES = (
    "The ferry carried 41,200 people in March and 33,900 in April. Reopen the pier.",
    "According to Ossa Tell the oven used 312 kWh. The seal should be checked.",
    "It is nice. Many people like it, and more will.",
)
JUDGED, SCORED = ("scored", "abstained", "unparseable"), ("scored", "unparseable")
CHANGED = ("changed", "unusable")
JUDGE = """
kind: rubric
name: small
model: {model}
task: Mark a short note for a reader who has to decide something.
criteria:
  - name: evidence
    description: Claims come with figures or sources.
max_tokens: 80
temperature: 0
"""
BINARY = """
kind: binary
name: figures
model: {model}
task: Does the note give a figure?
verdicts:
  - {{name: "yes", description: The note gives a figure.}}
  - {{name: "no", description: The note gives no figure.}}
max_tokens: 80
"""
CALIBRATION = """
name: small
judges: [judge.yaml]
items: items.jsonl
repeats: 1
severities: [1.0]
perturbations: [vague_ify, tone]
perturber: {{model: {model}, types: [tone]}}
"""


def rows(database: str, table: Any) -> list[Any]:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return list(connection.execute(sa.select(table.__table__)))


def attempts(database: str) -> int:
    """Requests sent so far."""
    return sum(row.attempts for row in rows(database, t.Call))


def rates(found: Sequence[Any], *statuses: str) -> str:
    """How many ended in each status, those named first though it be none."""
    counts = Counter(dict.fromkeys(statuses, 0))
    counts.update(one.status for one in found)
    return ", ".join(f"{count} of {len(found)} {status}" for status, count in counts.items())


@pytest.fixture
def files(place: pytest.MonkeyPatch, tmp_path: Path, model: str) -> Path:
    """A folder with two judges, a calibration of one of them, and three notes."""
    (tmp_path / "judge.yaml").write_text(JUDGE.format(model=model))
    (tmp_path / "binary.yaml").write_text(BINARY.format(model=model))
    (tmp_path / "calibration.yaml").write_text(CALIBRATION.format(model=model))
    lines = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(NOTES)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_it_serves_on_loopback_what_it_says_it_serves(providers: Path) -> None:
    address = load_providers(providers).of(f"local/{MODEL}").base_url
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{address}/models") as response:
        (served,) = json.load(response)["data"]
    assert served["id"] == MODEL
    assert round(served["meta"]["n_params"] / 1e6, 1) == 134.5
    assert served["meta"]["n_ctx"] == 8192
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(address.removesuffix("/v1"))


def test_a_port_that_is_taken_is_named(providers: Path) -> None:
    taken = urllib.parse.urlsplit(load_providers(providers).of(f"local/{MODEL}").base_url).port
    assert taken is not None
    with pytest.raises(ConfigError, match=f"If port {taken} is taken"), serving(taken):
        pass


def test_a_sweep_of_two_articles(
    place: pytest.MonkeyPatch, database: str, tmp_path: Path, model: str, reported: Any
) -> None:
    file = tmp_path / "sweep.yaml"
    changes = (("replicates: 2", "replicates: 2\n    max_tokens: 120"),)
    file.write_text(small_sweep("small", model, *changes))
    with reported("sweep of 2 articles, 2 replicates") as lines:
        state: State[Any] = run_flow(sweep, file)
        samples, probes = rows(database, t.Sample), rows(database, t.Probe)
        lines += [f"judgements: {rates(samples, *JUDGED)}", f"probes: {rates(probes)}"]
    assert state.is_final()
    assert len(samples) == 4
    for one in samples:
        assert not one.simulated
        assert (one.stages is None) == (one.status != "scored")
        assert (one.failure is None) == (one.status in ("scored", "abstained"))
    scored = [one for one in samples if one.status == "scored"]
    assert {one.sample_id for one in probes} == {one.id for one in scored}
    assert all((one.probability is None) == (one.status != "answered") for one in probes)
    calls = rows(database, t.Call)
    assert {(one.model, one.simulated, one.cost_usd) for one in calls} == {(model, False, 0)}

    before = attempts(database)
    run_flow(sweep, file)
    assert attempts(database) == before
    assert rows(database, t.Sample) == samples


def test_a_calibration_of_three_notes(files: Path, database: str, reported: Any) -> None:
    file = files / "calibration.yaml"
    with reported("calibration of 3 notes and 2 changes") as lines:
        state = run_flow(calibration, file)
        results, texts = rows(database, t.JudgeResult), rows(database, t.PerturbedText)
        calls = Counter(row.agent for row in rows(database, t.Call))
        lines += [f"judgements: {rates(results, *SCORED)}", f"texts: {rates(texts, *CHANGED)}"]
        lines += [f"calls {', '.join(f'{n} by the {agent}' for agent, n in calls.items())}"]
    assert len(texts) == len(NOTES)
    assert not {one.text for one in texts} & set(NOTES)
    items = rows(database, t.JudgeItem)
    by_model = [one for one in items if one.perturber]
    assert len(by_model) == sum(one.status == "changed" for one in texts)
    assert len(results) == len(items)
    for one in results:
        assert not one.simulated
        assert (one.score is None) == (one.status != "scored")
        assert one.score is None or 0 <= one.score <= 100
        assert (one.failure is None) == (one.status == "scored")
    assert state.is_final()
    page = (files / "data" / "reports" / "calibration-small.html").read_text()
    assert "SIMULATED" not in page
    assert "is of the same family as small" in page

    before = attempts(database)
    assert run_flow(calibration, file).message == "nothing was missing"
    assert attempts(database) == before


def test_a_judge_scores_three_notes(files: Path, database: str, reported: Any) -> None:
    judge, items = load_judge(files / "binary.yaml"), read_items(files / "items.jsonl")
    with reported("judging 3 notes with two verdicts to choose from") as lines:
        found = run(judge.ascore_batch(items))
        lines += [rates(found, *SCORED)]
    assert [one.item for one in found] == [item.id for item in items]
    for one in found:
        assert not one.simulated
        assert (one.score is None) == (one.status != "scored")
        assert len(one.call_ids) in (1, 2)
    before = attempts(database)
    assert run(judge.ascore_batch(items)) == found
    assert attempts(database) == before
