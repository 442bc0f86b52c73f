"""Which claims a sweep's replicates put at risk, read from its file alone."""

from pathlib import Path

import pytest

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.power.comparisons import replicate_warnings
from support.command_line import sweep_text

SHARED = ("replicates: 2", "rubric: {shared: sim/calm-1}\n    replicates: 2")
SWAP = ("swap:\n  pairs:\n    - [sim/high-1, sim/low-1]\n  sham: true\n", "")


@pytest.mark.parametrize(
    ("block", "warned"),
    [
        ("replicates: 5", "may leave too few"),
        ("replicates: 5\n    abstain: false", ""),
        ("replicates: 6", ""),
        ("replicates: 4\n    abstain: false", "cannot be tested"),
    ],
)
def test_a_claim_about_polarization_needs_five_scored_replicates_a_cell(
    tmp_path: Path, block: str, warned: str
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(sweep_text("quick.yaml", SHARED, ("replicates: 2", block), SWAP))
    warnings = replicate_warnings(load_sweep(file))
    assert len(warnings) == bool(warned)
    assert all("H1" in warning and warned in warning for warning in warnings)


def test_rubrics_of_their_own_and_single_families_test_no_claim_about_polarization(
    tmp_path: Path,
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(sweep_text("quick.yaml"))
    assert replicate_warnings(load_sweep(file)) == []
    judges = ("[sim/calm-1, sim/high-1, sim/low-1]", "[sim/calm-1, sim/calm-2]")
    file.write_text(sweep_text("quick.yaml", SHARED, judges, SWAP))
    assert replicate_warnings(load_sweep(file)) == []
