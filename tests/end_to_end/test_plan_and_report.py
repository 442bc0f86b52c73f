"""What a plan says of a sweep before it is run, beside what the report says afterwards."""

import re

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.power.comparisons import primary_family
from judge_gym.store.results import FindingRow, latest_run, load_findings
from support.command_line import CommandLine
from support.study import corpus

pytestmark = pytest.mark.slow

SWEEP = """
name: small
plan: plan.yaml
windows: {week: {country: Valmora, query: courts, source: {kind: corpus, path: corpus.jsonl}}}
blocks:
  - concept: fascism
    window: week
    model: [sim/calm-1, sim/high-1]
    rubric: {shared: sim/calm-1}
    replicates: 5
    abstain: false
    scoring_method: [single, subset]
    scale_size: [4, 5]
"""
PLAN = """
name: small
sweep: small
description: Simulated judges.
margins:
  - {hypothesis: H1, margin: 0.05, why: Less is noise.}
  - {hypothesis: H2, margin: 0.1, why: Less is noise.}
primary: [{hypothesis: H1}, {hypothesis: H2}]
confirmatory: [H1, H2]
contrasts:
  - {axis: scoring_method, levels: [single, subset], figure: score, direction: within,
     margin: 0.1, why: Less is noise.}
"""


@pytest.fixture
def small(command: CommandLine) -> CommandLine:
    corpus(command.folder, 14)
    (command.folder / "plan.yaml").write_text(PLAN)
    (command.folder / "small.yaml").write_text(SWEEP)
    return command


def confirmed(database: str) -> list[FindingRow]:
    """The confirmatory findings of the latest analysis that have a p."""
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        run = latest_run(session, "small")
        assert run is not None
        found = load_findings(session, run.id)
    return [one for one in found if one.confirmatory and one.p is not None]


def test_the_report_corrects_over_the_figures_that_the_plan_counts(
    small: CommandLine, database: str
) -> None:
    """H1 has a figure of each method and scale (4), H2 of each judge, too (8); 4 contrasts."""
    family = primary_family(load_sweep(small.folder / "small.yaml"))
    assert (family.figures, family.uncounted) == (4 + 8 + 4, ())
    planned = small("sweep", "plan", "small.yaml").fine().output
    assert "Holm over 16 primary figures" in " ".join(planned.split())
    # Two scales, one row: a score is on 0 to 1 on both.
    assert planned.count("C1.score ") == 1
    small("sweep", "run", "small.yaml", "--yes").fine()
    assert len(confirmed(database)) == 16


def test_a_design_that_changes_after_judgements_is_said_beside_the_outcomes(
    command: CommandLine, database: str
) -> None:
    """2 judges x 4 items x 2 replicates are 16 judgements when the third replicate is added."""
    corpus(command.folder, 4)
    (command.folder / "plan.yaml").write_text(PLAN.split("contrasts:")[0])
    file = command.folder / "small.yaml"
    first = SWEEP.split("    scoring_method")[0].replace("replicates: 5", "replicates: 2")
    file.write_text(first)
    run = ("sweep", "run", "small.yaml", "--yes")
    assert "The design" not in command(*run).fine().output
    # Text that changes no experiment is no change of the design.
    file.write_text(first.replace("name: small", "name: small\ndescription: Two judges."))
    assert "design" not in command("sweep", "plan", "small.yaml").fine().output
    assert "The design" not in command(*run).fine().output

    file.write_text(first.replace("replicates: 2", "replicates: 3"))
    shown = " ".join(command("sweep", "plan", "small.yaml").fine().output.split())
    assert "The design differs from that of 16 judgements." in shown
    shown = " ".join(command(*run).fine().output.split())
    assert "The design was changed after judgements. Outcomes are confirmatory" in shown
    assert ", after 16 judgements." in shown
    # Changed again, and run again as it is: the first change is the one that is said.
    file.write_text(first.replace("replicates: 2", "replicates: 4"))
    command(*run).fine()
    shown = " ".join(command(*run).fine().output.split())
    assert ", after 16 judgements." in shown


def test_plan_status_and_packages_count_alike(command: CommandLine) -> None:
    """A rubric of its own for each of 2 judges, drawn twice."""
    corpus(command.folder, 4)
    own = SWEEP.split("    scoring_method")[0].replace("{shared: sim/calm-1}", "own")
    drawn = own.replace("plan: plan.yaml", "rubric_draws: 2").replace(
        "replicates: 5", "replicates: 1"
    )
    (command.folder / "small.yaml").write_text(drawn)
    said = "2 experiments (4 with rubric draws)"
    assert said in command("sweep", "plan", "small.yaml").fine().output
    assert said in command("sweep", "run", "small.yaml", "--yes").fine().output
    assert said in command("sweep", "status", "small").fine().output

    published = command("data", "publish", "small", "--to", "package").fine().output
    files = re.search(r"(\d+) files", published)
    assert files is not None
    # The manifest has no digest of itself.
    here = sum(one.is_file() for one in (command.folder / "package").rglob("*"))
    assert here == int(files[1]) + 1
    replicated = command("data", "replicate", "package").fine().output
    assert f"{files[1]} files: every digest agrees" in replicated
