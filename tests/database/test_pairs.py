"""A sweep of pairs: collected, judged in both orders, probed and analysed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.finished import finished_parts
from judge_gym.analysis.running import analyse
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.planning import plan_sweep
from judge_gym.llm.providers import load_providers
from judge_gym.report.page import read_report, save_report
from judge_gym.settings import Settings
from judge_gym.store import tables as t
from support.postgres import temporary_database
from support.whole_sweep import whole_sweep

pytestmark = pytest.mark.slow
PAIRS = 60
GOOD, FIRSTPICK = "sim/good-1", "sim/firstpick-1"
SWEEP = f"""\
name: sums
description: Which of two sums is right.
windows:
  sums: {{country: any, max_documents: 100, source: {{kind: pairs, path: sums.jsonl}}}}
defaults:
  task_type: pairs
  window: sums
  concept: correctness
  scale_size: 3
  evidence_view: raw
  abstain: false
  replicates: 2
  ground_truth: {{source: arithmetic, per_item: true}}
blocks:
  - model: [{GOOD}, {FIRSTPICK}]
"""


@pytest.fixture(scope="module")
def done(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A database with the sweep, run and analysed, and its file."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = []
    for number in range(PAIRS):
        right, wrong = (f"Claim: {number} + 17 = {number + 17 + more}" for more in (0, 3))
        first, second = (right, wrong) if number % 2 else (wrong, right)
        winner = "A>B" if number % 2 else "B>A"
        question = f"What is {number} + 17?"
        rows.append(
            {"question": question, "response_A": first, "response_B": second, "label": winner}
        )
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = folder / "sums.yaml"
    file.write_text(SWEEP)
    with temporary_database(postgres_server, migrated_template) as url:
        asyncio.run(whole_sweep(url, file))
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        analyse(engine, "sums")
        yield engine, file


def rows(engine: sa.Engine, table: Any) -> list[Any]:
    with Session(engine) as session:
        return list(session.scalars(sa.select(table)))


def test_each_judge_sees_each_pair_in_both_orders_and_is_probed(done: Any) -> None:
    engine, _ = done
    samples = rows(engine, t.Sample)
    orders: dict[tuple[int, int], set[int]] = {}
    for sample in samples:
        orders.setdefault((sample.arm_id, sample.item_id), set()).add(sample.display_order[0])
    assert len(orders) == 2 * PAIRS
    assert all(seen == {1, 3} for seen in orders.values())
    scored = [sample.id for sample in samples if sample.status == "scored"]
    assert len(scored) > 0.9 * len(samples)
    assert {probe.sample_id for probe in rows(engine, t.Probe)} == set(scored)


def test_no_rubric_is_written_and_nothing_is_left_to_do(done: Any) -> None:
    engine, file = done
    assert [rubric.source for rubric in rows(engine, t.Rubric)] == ["provided"]
    sweep = load_sweep(file)
    with Session(engine) as session:
        plan = plan_sweep(session, sweep, load_providers(Settings().providers_file))
    assert {(line.workflow, line.to_do) for line in plan.lines} == {
        ("w3-scoring", 0),
        ("w5-probe", 0),
    }
    assert finished_parts(engine, Settings(), sweep) is not None


def test_it_is_planned_before_anything_is_collected(database: str, done: Any) -> None:
    _, file = done
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session:
        plan = plan_sweep(session, load_sweep(file), load_providers(Settings().providers_file))
    calls = {line.workflow: line.to_do for line in plan.lines}
    assert calls == {"w3-scoring": 2 * 2 * PAIRS, "w5-probe": round(2 * 2 * PAIRS * 1.1)}
    assert all(line.left.prompt_tokens > 0 for line in plan.lines)


def test_its_report_shows_accuracy_over_both_orders(done: Any, tmp_path: Path) -> None:
    engine, _ = done
    with Session(engine) as session:
        run = session.scalars(sa.select(t.AnalysisRun.id)).one()
        page = save_report(read_report(session, run), tmp_path)
    assert "Accuracy on pairs" in page.read_text("utf-8")


def test_planted_accuracy_and_bias_to_the_first_are_found(done: Any) -> None:
    """The first judge is right in 0.95, and in 0.95² = 0.90 in both orders.

    The other takes the first answer in 0.3, else it is right in 0.8: in 0.86 where the right answer
    is first, in 0.56 where it is second, and in 0.86 · 0.56 = 0.48 in both orders.
    """
    engine, _ = done
    found = {
        (row.metric, row.scope.get("judge")): row
        for row in rows(engine, t.AnalysisResult)
        if "category" not in row.scope
    }
    for judge, correct in ((GOOD, 0.9025), (FIRSTPICK, 0.4816)):
        row = found["accuracy_both_orders", judge]
        assert row.lower <= correct <= row.upper
        assert row.n_items == PAIRS
    assert found["position_bias", FIRSTPICK].lower > 0
    assert abs(found["position_bias", GOOD].estimate) < 0.1
    assert abs(found["label_bias", FIRSTPICK].estimate) < 0.15
    assert found["order_inconsistency", GOOD].upper < 0.3
    assert found["order_inconsistency", FIRSTPICK].lower > 0.2
    for metric in ("confidence", "self_conflict", "accuracy", "cohens_kappa"):
        assert found[metric, GOOD].estimate is not None
    assert found["belief_distance", None].estimate > 0


def test_pairs_test_the_hypothesis_about_chance(done: Any) -> None:
    engine, _ = done
    found = {
        row.scope["judge"]: row.conclusion
        for row in rows(engine, t.AnalysisFinding)
        if row.hypothesis == "V3.chance"
    }
    assert found == {GOOD: "supported", FIRSTPICK: "supported"}
