"""Which claims a sweep's replicates put at risk, read from its file alone."""

from pathlib import Path

import pytest

from judge_gym.design.sweep import load_sweep
from judge_gym.lab.power.comparisons import comparisons, replicate_warnings
from support.command_line import sweep_text
from support.study import corpus

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


COUNTED = """
name: counted
windows: {{week: {{country: Valmora, query: courts, {window}}}}}
blocks:
  - concept: fascism
    window: week
    model: [sim/calm-1, sim/high-1]
    rubric: {{shared: sim/calm-1}}
    bundle_size: {size}
"""
FILE = "max_documents: 50, source: {kind: corpus, path: c.jsonl}"
NEWS = "max_documents: 50, start: 2026-01-01, end: 2026-02-01, source: {kind: firecrawl}"


@pytest.mark.parametrize(
    ("window", "size", "items", "assumed"),
    [
        (FILE, 1, 14, False),
        (FILE, 4, 3, False),
        (FILE.replace("50", "9"), 1, 9, False),
        # Of 14 days, 5 are inside.
        (f"start: 2026-01-10, end: 2026-01-14, {FILE}", 1, 5, False),
        (NEWS, 1, 50, True),
        (NEWS, 4, 12, True),
    ],
)
def test_power_is_that_of_the_documents_there_are(
    tmp_path: Path, window: str, size: int, items: int, assumed: bool
) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    file = tmp_path / "counted.yaml"
    file.write_text(COUNTED.format(window=window, size=size))
    found = comparisons(load_sweep(file))
    assert {(one.design.items, one.items_assumed) for one in found} == {(items, assumed)}
