"""A small sweep judged by real models' names, with stand-ins for their vendors behind them."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from flows.sweep import sweep
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.masses import Rule
from judge_gym.report.facts import read_facts
from judge_gym.report.tables import result_tables
from judge_gym.shipped import DEPLOYMENTS
from judge_gym.store import tables as t
from judge_gym.store.results import load_results
from support.flow_runs import run_flow
from support.simulation import Simulator

pytestmark = pytest.mark.slow

MODELS = ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai/gpt-5-mini")
SWEEP = f"""
name: vendors
description: Three vendors, three articles.
utility_model: sim/utility-1
on_unsupported: mark
windows:
  valmora:
    query: government, courts, press and elections in Valmora
    country: Valmora
    start: 2026-01-05
    end: 2026-01-18
    max_documents: 3
    source: {{kind: corpus, path: {DEPLOYMENTS}/sweeps/corpora/valmora.jsonl}}
blocks:
  - concept: democratic backsliding
    window: valmora
    model: [{", ".join(MODELS)}]
    temperature: [0, 1]
    replicates: 2
"""


def test_a_sweep_over_three_vendors_ends_with_scored_samples(
    place: pytest.MonkeyPatch, database: str, simulator: Simulator, tmp_path: Path
) -> None:
    root = simulator.url.removesuffix("/v1")
    place.setenv("OPENAI_BASE_URL", simulator.url)
    place.setenv("ANTHROPIC_BASE_URL", root)
    place.setenv("GEMINI_BASE_URL", f"{root}/v1beta")
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        place.setenv(f"{name}_API_KEY", "unread")
    file = tmp_path / "vendors.yaml"
    file.write_text(SWEEP)
    state = run_flow(sweep, str(file))
    assert state.is_completed(), state

    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with Session(engine) as session:
        samples = sa.select(t.Experiment.model, t.Sample.status, sa.func.count()).group_by(
            t.Experiment.model, t.Sample.status
        )
        counted = session.execute(
            samples.join(t.Arm, t.Arm.id == t.Sample.arm_id).join(
                t.Experiment, t.Experiment.id == t.Arm.experiment_id
            )
        ).all()
        lost = session.execute(
            sa.select(t.Call.model, t.Call.parameters["temperature"].as_float(), t.Call.not_applied)
            .where(t.Call.agent == "scorer")
            .distinct()
        ).all()
        simulated = session.scalars(sa.select(t.Call.simulated).distinct()).all()
        run_id = session.scalars(sa.select(t.AnalysisRun.id)).one()
        figures, facts = load_results(session, run_id), read_facts(session, run_id)
    scored = {model: count for model, status, count in counted if status == "scored"}
    # 3 articles, 2 temperatures, 2 replicates; a few abstain.
    assert all(6 <= scored[model] <= 12 for model in MODELS), counted
    assert {status for _, status, _ in counted} <= {"scored", "abstained"}, counted
    assert simulated == [True]
    assert {(model, value): names for model, value, names in lost} == {
        ("anthropic/claude-sonnet-4-5", 0.0): ["seed"],
        ("anthropic/claude-sonnet-4-5", 1.0): ["seed"],
        ("gemini/gemini-2.5-flash", 0.0): [],
        ("gemini/gemini-2.5-flash", 1.0): [],
        ("openai/gpt-5-mini", 0.0): ["temperature"],
        ("openai/gpt-5-mini", 1.0): [],
    }

    said = "temperature not applied by openai/gpt-5-mini"
    lost_axis = Remark(RemarkKind.NOT_APPLIED, names=("temperature", "openai/gpt-5-mini"))
    cautioned = [row for row in figures if lost_axis in row.remarks]
    changed = [row for row in figures if row.scope.get("axis") == "temperature"]
    assert {row.metric for row in changed} >= {"contrast", "axis_effect", "axis_share_higher"}
    for row in changed:
        theirs = row.scope.get("judge", "openai/gpt-5-mini") == "openai/gpt-5-mini"
        at_zero = "0.0" in {str(row.scope.get(end)) for end in ("from", "to", "level")}
        assert (row in cautioned) == (theirs and at_zero), row
        # It is left out of contrasts on the axis; the other two judges remain.
        alone = row.scope.get("judge") == "openai/gpt-5-mini"
        # Of three articles, the mean over two judges may be any change.
        open_mean = row.metric.startswith("axis_effect") and "are too few" in row.because
        assert (row.estimate is None) == (alone or open_mean), row
        if row.scope.get("rule") in (Rule.DEMPSTER, Rule.LOG_POOL):
            # Both multiply, and so say nothing of an item on which judges fully conflict.
            assert 0 < row.n_items <= 3, row
        else:
            assert row.n_items == (0 if alone else 3), row
    at = {row.scope["temperature"] for row in cautioned if "temperature" in row.scope}
    assert at == {0.0}
    assert facts.warnings == (
        "openai/gpt-5-mini does not apply temperature 0: its answers are at its own default.",
    )
    tables = {table.title: table for table in result_tables(figures)}
    lost_contrast = next(row for row in changed if row.scope.get("judge") == "openai/gpt-5-mini")
    assert lost_contrast.because == "openai/gpt-5-mini did not apply temperature as set"
    assert any(said in note for note in tables["Axes over the grid"].notes)
