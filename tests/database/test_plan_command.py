"""`judge-gym sweep plan`, from the sweep file to the tables a person reads."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import SWEEPS, CommandLine, sweep_text

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from deployments.cli.app import app
try:
    app(["sweep", "plan", sys.argv[1]])
finally:
    print("litellm:", "litellm" in sys.modules)
"""


def planned(database: str, folder: Path, *changes: tuple[str, str]) -> str:
    """What the plan of the quick sweep, so changed, says; its words parted by single spaces."""
    (folder / "my.yaml").write_text(sweep_text("quick.yaml", *changes))
    command = CommandLine(folder, {"JUDGE_GYM_DATABASE_URL": database}, in_process=True)
    return " ".join(command("sweep", "plan", "my.yaml").fine().output.split())


def test_a_simulated_sweep_costs_nothing_and_needs_no_litellm(
    database: str, tmp_path: Path
) -> None:
    (tmp_path / "my.yaml").write_text(sweep_text("quick.yaml"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "my.yaml"],
        cwd=tmp_path,
        env=os.environ | {"JUDGE_GYM_DATABASE_URL": database, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "litellm: False" in said
    assert "0 (simulated)" in said
    assert "—" not in said


def test_a_plan_is_json_for_programs_and_names_a_rival_without_a_rubric(
    database: str, tmp_path: Path
) -> None:
    mistyped = ("[sim/high-1, sim/low-1]", "[sim/high-1, sim/lo-1]")
    (tmp_path / "my.yaml").write_text(sweep_text("quick.yaml", mistyped))
    command = CommandLine(tmp_path, {"JUDGE_GYM_DATABASE_URL": database}, in_process=True)
    plan = json.loads(command("sweep", "plan", "my.yaml", "--json").fine().output)
    shown = command("sweep", "plan", "my.yaml").fine().output
    assert f"Sweep {plan['sweep']}: {plan['experiments']} experiments." in shown
    sums = [sum(line[of] for line in plan["lines"]) for of in ("calls", "done", "to_do", "at_most")]
    assert re.search(rf"all +{sums[0]} +{sums[1]} +{sums[2]} +{sums[3]}", shown)
    [warning] = [warning for warning in plan["warnings"] if "rival 'sim/lo-1'" in warning]
    assert "Did you mean sim/low-1?" in warning


def test_what_rubric_draws_cost_is_said(database: str, tmp_path: Path) -> None:
    said = planned(database, tmp_path, ("name: quick", "rubric_draws: 3\nname: quick"))
    # Of 30 own judgements, 10 swaps and 30 shams for each draw.
    assert "rubric_draw has 3 levels (0, 1, 2): 140 of 210 judgements are of others than 0." in said


def test_claims_that_need_a_common_rubric_are_said_to_be_missing(
    database: str, tmp_path: Path
) -> None:
    assert "(H1) and Overconfidence in agreement (H2) cannot be tested" in planned(
        database, tmp_path
    )


def test_where_a_run_waits_for_a_person_is_said(database: str, tmp_path: Path) -> None:
    asks = "name: quick\napprove_over_usd: 2\npause_after: w2-rubric"
    said = planned(database, tmp_path, ("name: quick", asks))
    assert "more than 2 USD" in said
    assert "judge-gym sweep rubrics quick" in said
    assert "waits" not in planned(database, tmp_path)


def test_a_model_without_a_price_is_told_and_never_free(database: str, tmp_path: Path) -> None:
    judges = ("[sim/calm-1, ", "[local/judge-1, openai/gpt-4.1-mini, ")
    more = ("name: quick", "budget: {max_calls: 2000}\nutility_model: sim/utility-1\nname: quick")
    said = planned(database, tmp_path, judges, more)
    assert "The cost of local/judge-1 is unknown (—): no price for this model." in said
    assert 'prices."judge-1" = {prompt = DOLLARS, completion = DOLLARS}' in said
    assert f"table [local] of {SWEEPS.parent / 'providers.toml'}" in said
    assert "cost of openai" not in said
    assert "+ —" in said
    assert "Budget: max_calls 2000." in said
    assert "Warning: the sweep may" not in said


def test_a_sweep_that_may_cost_more_than_its_budget_is_warned_of(
    database: str, tmp_path: Path
) -> None:
    judges = ("[sim/calm-1, ", "[openai/gpt-4.1-mini, ")
    budget = "budget: {max_calls: 20, max_cost_usd: 0.001}\nutility_model: sim/utility-1\n"
    budget += "name: quick"
    said = planned(database, tmp_path, judges, ("name: quick", budget))
    assert "more than max_cost_usd 0.001. It stops when the budget is used up." in said
    assert "calls, more than max_calls 20." in said


def test_a_window_that_another_sweep_named_otherwise_is_told(database: str, tmp_path: Path) -> None:
    command = CommandLine(tmp_path, {"JUDGE_GYM_DATABASE_URL": database}, in_process=True)
    (tmp_path / "first.yaml").write_text(sweep_text("quick.yaml"))
    command("sweep", "run", "first.yaml", "--only", "w1-evidence").fine()
    renamed = (
        ("  valmora:", "  other:"),
        ("name: quick", "name: second"),
        ("window: valmora", "window: other"),
    )
    said = planned(database, tmp_path, *renamed)
    assert "Warning: Window other is stored as valmora. A run renames it" in said
    assert "is stored as" not in planned(database, tmp_path)
