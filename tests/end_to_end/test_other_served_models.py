"""Another served model than the one asked for, on the terminal and the pages of product judges."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.command_line import CommandLine
from support.simulation import Simulator

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "deployments"
OTHER = "another-model"
GOOD = "sim/good-1"
BOTH = f"{GOOD}, served by {OTHER}"
CALIBRATION = """
name: small
judges: [good.yaml, clustering.yaml]
items: items.jsonl
repeats: 1
perturbations: [vague_ify]
severities: [1.0]
"""
REVIEW = """
name: own
time_zone: UTC
reviews:
  - judge: clustering.yaml
    items: items.jsonl
    decision: Chosen.
    alternatives: [judge: good.yaml]
"""


@pytest.fixture
def wrong(simulator: Simulator) -> Iterator[Callable[[], None]]:
    """Call it, and from then on good-1 is answered by another model."""
    yield lambda: simulator.use_faults({"kind": "wrong_model", "model": "good-1"})
    simulator.use_faults()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two judges and four texts with labels."""
    for name in ("good", "clustering"):
        text = (EXAMPLES / "calibrations" / f"{name}.yaml").read_text()
        (tmp_path / f"{name}.yaml").write_text(text)
    lines = (EXAMPLES / "calibrations" / "notes.jsonl").read_text().splitlines()[:4]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    return tmp_path


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_score_names_the_models_of_a_mixture(
    command: CommandLine, folder: Path, database: str, wrong: Callable[[], None]
) -> None:
    lines = (folder / "items.jsonl").read_text().splitlines()
    first = folder / "first.jsonl"
    first.write_text("\n".join(lines[:1]))
    said = command("judge", "score", "good.yaml", "--items", first).fine().output
    assert "served" not in said
    assert "mixture" not in said

    wrong()
    (folder / "others.jsonl").write_text("\n".join(lines[1:]))
    said = flat(command("judge", "score", "good.yaml", "--items", "others.jsonl").fine().output)
    assert BOTH in said
    assert f"{GOOD} was asked for and {OTHER} answered" in said

    # Nothing is asked again: one text by the model, three by the other.
    scored = command("judge", "score", "good.yaml", "--items", "items.jsonl", "--json").fine()
    assert json.loads(scored.output)["served_models"] == [OTHER, "good-1"]
    assert f"{GOOD} was answered by {OTHER} and good-1" in flat(scored.errors)
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        served = sa.text("SELECT item, served_models FROM analysis.judge_results")
        names = [models for _, models in connection.execute(served)]
    assert sorted(names) == [[OTHER], [OTHER], [OTHER], ["good-1"]]


def test_a_calibration_names_them_in_its_recommendation(
    command: CommandLine, folder: Path, wrong: Callable[[], None]
) -> None:
    wrong()
    (folder / "small.yaml").write_text(CALIBRATION)
    said = flat(command("judge", "calibrate", "small.yaml").fine().output)
    page = (command.data / "reports" / "calibration-small.html").read_text()
    book = (command.data / "reports" / "LOGBOOK.md").read_text()
    for text in (said, flat(page), book):
        assert BOTH in text
        assert f"{GOOD} was asked for and {OTHER} answered" in text
        assert "sim/clustering-1, served by" not in text


def test_a_comparison_a_review_and_a_benchmark_name_them(
    command: CommandLine, folder: Path, wrong: Callable[[], None]
) -> None:
    wrong()
    note = f"{GOOD} was asked for and {OTHER} answered"
    files = ("clustering.yaml", "good.yaml")
    said = flat(command("judge", "compare", *files, "--items", "items.jsonl").fine().output)
    assert f"good, {BOTH}, in place of" in said
    assert said.count(note) == 1

    (folder / "review.yaml").write_text(REVIEW)
    said = flat(command("judge", "review", "review.yaml", "--date", "2026-02-01").fine().output)
    assert note in said.replace("│ ", "")
    page = command.data / "reports" / "judge_review_2026-02-01.html"
    assert note in page.read_text()

    judge = folder / "pair.yaml"
    judge.write_text(f"kind: pairwise\nname: pair\nmodel: {GOOD}\ntask: Which is right?\n")
    pair = {"id": 1, "subset": "s", "prompt": "Which?", "chosen": "Right.", "rejected": "Wrong!"}
    (folder / "pairs.jsonl").write_text(json.dumps(pair))
    mapping = EXAMPLES / "benchmarks" / "chosen-rejected.yaml"
    asked = ("judge", "benchmark", judge, "--items", "pairs.jsonl", "--mapping", mapping)
    assert note in flat(command(*asked).fine().output)


def test_a_gym_names_them_on_its_page(
    command: CommandLine, folder: Path, simulator: Simulator
) -> None:
    simulator.use_faults({"kind": "wrong_model"})
    try:
        said = flat(command("judge", "gym", EXAMPLES / "gyms" / "apply.yaml").fine().output)
    finally:
        simulator.use_faults()
    assert f"was asked for and {OTHER} answered" in said
    page = (command.data / "reports" / "gym-apply-sample.html").read_text()
    assert f"served by {OTHER}" in page
    assert f"was asked for and {OTHER} answered" in page
