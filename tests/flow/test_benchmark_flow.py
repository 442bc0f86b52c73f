"""The benchmark flow: pairs are judged once in both orders, and the page says what came of it."""

import asyncio
import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.benchmark import benchmark
from flows.judge_study import PartlyJudgedError
from judge_gym.settings import settings
from support.flow_runs import run_flow, task_runs
from support.simulation import Simulator

pytestmark = pytest.mark.slow

MAPPING = Path(__file__).parents[2] / "deployments" / "benchmarks" / "chosen-rejected.yaml"
JUDGE = "kind: pairwise\nname: {0}\nmodel: sim/{0}-1\ntask: Which is right?\n"
PAIRS = 12


@pytest.fixture
def given(place: pytest.MonkeyPatch, tmp_path: Path) -> tuple[list[Path], Path, Path]:
    """Two judges, and sums of which the chosen one is right."""
    for name in ("good", "firstpick"):
        (tmp_path / f"{name}.yaml").write_text(JUDGE.format(name))
    rows = [
        {"id": n, "subset": "even" if n % 2 else "odd", "prompt": "Which?",
         "chosen": f"Claim: {n} + 4 = {n + 4}", "rejected": f"Claim: {n} + 4 = {n + 5}"}
        for n in range(PAIRS)
    ]  # fmt: skip
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)))
    judges = [tmp_path / "good.yaml", tmp_path / "firstpick.yaml"]
    return judges, tmp_path / "set.jsonl", MAPPING


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_pairs_are_judged_once_whatever_was_done_before(
    given: tuple[list[Path], Path, Path], simulator: Simulator, place: pytest.MonkeyPatch
) -> None:
    before = simulator.answered()
    run_flow(benchmark, *given, limit=4)  # as a run that ended early
    assert simulator.answered() - before == 2 * 2 * 4

    state = run_flow(benchmark, *given)
    assert simulator.answered() - before == 2 * 2 * PAIRS
    assert "texts by good 1-8 of 8" in {run.name for run in task_runs(state, 3)}
    page = asyncio.run(state.aresult())
    assert "What the judges are asked" in page.read_text()
    figures = rows_of(page.with_name("benchmark-chosen-rejected-figures.csv"))
    of = {(row["of"], row["judge"], row["category"], row["metric"]) for row in figures}
    assert {("judge", "good", part, "accuracy") for part in ("", "even", "odd")} <= of
    (apart,) = [row for row in figures if row["of"] == "apart"]
    assert (apart["judge"], apart["less"]) == ("firstpick", "good")
    assert apart["p"]
    assert {row["simulated"] for row in figures} == {"True"}
    said = rows_of(page.with_name("benchmark-chosen-rejected-judgements.csv"))
    assert len(said) == 2 * PAIRS
    assert {row["truth"] for row in said} == {"first"}

    assert "nothing was missing" in str(run_flow(benchmark, *given).message)
    assert simulator.answered() - before == 2 * 2 * PAIRS


def test_what_a_budget_leaves_over_is_reported_and_told(
    given: tuple[list[Path], Path, Path], place: pytest.MonkeyPatch
) -> None:
    # It would set what this process, and the tests after this one, read.
    place.setattr("deployments.cli.environment.prepare_environment", lambda *_, **__: None)
    (judge, _), items, mapping = given
    judge.write_text(judge.read_text() + "budget: {max_calls: 4}\n")
    arguments = ["judge", "benchmark", str(judge), "--items", str(items), "--mapping", str(mapping)]
    ended = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    error = ended.exception
    assert isinstance(error, PartlyJudgedError)
    assert "has reached its budget" in error.message
    assert f"Raise budget.max_calls in {judge}" in error.remedy
    table = settings().reports_dir / "benchmark-chosen-rejected-figures.csv"
    page = table.with_name("benchmark-chosen-rejected.html")
    assert str(page.resolve()) in error.message
    (accuracy,) = [
        row for row in rows_of(table) if (row["category"], row["metric"]) == ("", "accuracy")
    ]
    judged = int(accuracy["n_items"])
    assert 0 < judged < PAIRS
    assert f"{PAIRS - judged} missing" in ended.output
    said = rows_of(table.with_name("benchmark-chosen-rejected-judgements.csv"))
    assert [row["status"] for row in said].count("missing") == PAIRS - judged
