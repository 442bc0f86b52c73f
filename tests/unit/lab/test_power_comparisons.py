"""Which claims a sweep's replicates put at risk, read from its file alone."""

import math
from pathlib import Path

import pytest

from judge_gym.design.plan_scopes import check_primary_scopes
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.power.comparisons import (
    comparisons,
    outcomes_without_figure,
    primary_family,
    replicate_warnings,
    rubric_warnings,
)
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


@pytest.mark.parametrize(
    ("draws", "replicates", "warned"),
    [(3, 2, ""), (2, 2, "With 4, it cannot be tested"), (20, 1, "")],
)
def test_draws_of_a_rubric_are_samples_of_its_cells(
    tmp_path: Path, draws: int, replicates: int, warned: str
) -> None:
    """Polarization is of all draws together: a cell of 3 draws and 2 replicates holds 6."""
    file = tmp_path / "my.yaml"
    block = ("replicates: 2", f"replicates: {replicates}")
    draw = ("windows:", f"rubric_draws: {draws}\nwindows:")
    file.write_text(sweep_text("quick.yaml", SHARED, block, SWAP, draw))
    warnings = replicate_warnings(load_sweep(file))
    assert len(warnings) == bool(warned)
    assert all(warned in warning for warning in warnings)


def test_rubrics_of_their_own_and_single_families_test_no_claim_about_polarization(
    tmp_path: Path,
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(sweep_text("quick.yaml"))
    assert replicate_warnings(load_sweep(file)) == []
    judges = ("[sim/calm-1, sim/high-1, sim/low-1]", "[sim/calm-1, sim/calm-2]")
    file.write_text(sweep_text("quick.yaml", SHARED, judges, SWAP))
    assert replicate_warnings(load_sweep(file)) == []


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ((), ["(H1)", "(H2)"]),
        (("[sim/calm-1, sim/high-1, sim/low-1]", "[sim/calm-1, sim/calm-2]"), ["(H2)"]),
        (("[sim/calm-1, sim/high-1, sim/low-1]", "sim/calm-1"), []),
        (SHARED, []),
    ],
)
def test_what_needs_a_common_rubric_is_missed_before_the_run(
    tmp_path: Path, change: tuple[str, str] | tuple[()], lost: list[str]
) -> None:
    """Families of judges for H1, and two judges for H2."""
    file = tmp_path / "my.yaml"
    file.write_text(sweep_text("quick.yaml", SWAP, *([change] if change else [])))
    warnings = rubric_warnings(load_sweep(file))
    assert len(warnings) == bool(lost)
    assert [key for key in ("(H1)", "(H2)") if any(key in one for one in warnings)] == lost


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


WORDED = """
name: worded
plan: plan.yaml
windows: {week: {country: Valmora, query: courts, max_documents: 50,
                 source: {kind: corpus, path: c.jsonl}}}
blocks:
  - {concept: fascism, window: week, model: [sim/calm-1, sim/high-1],
     rubric: {shared: sim/calm-1}, replicates: 6, wording: [standard, concise, formal]}
"""
PLANNED = """
name: worded-plan
sweep: worded
description: Two simulated judges.
margins: [{hypothesis: H1, margin: 0.05, why: Less does not matter.}]
primary: [{hypothesis: H1, scope: {concept: fascism}}]
confirmatory: [H1]
"""


@pytest.mark.parametrize(
    ("draws", "facets"),
    [("", {"wording": 3}), ("rubric_draws: 2", {"rubric_draw": 2, "wording": 3})],
)
def test_a_claim_over_facets_is_one_outcome_at_the_whole_level(
    tmp_path: Path, draws: str, facets: dict[str, int]
) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    (tmp_path / "worded.yaml").write_text(f"{WORDED}{draws}\n")
    (tmp_path / "plan.yaml").write_text(PLANNED)
    sweep = load_sweep(tmp_path / "worded.yaml")
    (one,) = comparisons(sweep)
    assert dict(one.facets) == facets
    assert primary_family(sweep).level(one, 0.05) == 0.05
    # two judges, as often as there are levels
    assert one.judgements == 2 * math.prod(facets.values())
    assert len(one.families) == 2


def test_levels_that_not_every_concept_has_are_not_pooled(tmp_path: Path) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    (tmp_path / "worded.yaml").write_text(
        WORDED + "  - {concept: democracy, window: week, model: [sim/calm-1, sim/high-1],\n"
        "     rubric: {shared: sim/calm-1}, replicates: 6, wording: concise}\n"
    )
    (tmp_path / "plan.yaml").write_text(PLANNED.replace("{concept: fascism}", "{}"))
    found = comparisons(load_sweep(tmp_path / "worded.yaml"))
    pooled, alone = sorted(found, key=lambda one: -len(one.facets))
    assert (dict(pooled.facets), "wording" in dict(pooled.scope)) == ({"wording": 3}, False)
    assert (alone.facets, dict(alone.scope)["wording"]) == ((), "concise")
    assert alone.about == "democracy, wording concise"


VARIED = WORDED.replace(
    "formal]}", "formal], prompt_order: [rubric_first, evidence_first]}"
)  # fmt: skip


@pytest.mark.parametrize(
    ("hypothesis", "scope", "figures"),
    [
        ("H1", "{prompt_order: rubric_first}", 1),
        ("H1", "{prompt_order: evidence_first, rubric: shared by sim/calm-1, window: week}", 1),
        ("H1", "{judge: sim/calm-1}", None),
        ("H2", "{judge: sim/calm-1, prompt_order: rubric_first}", 1),
        ("H2", "{prompt_order: rubric_first}", 2),
        ("H2", "{concept: fascism}", 4),
    ],
)
@pytest.mark.parametrize("method", ["single", "subset"])
def test_an_outcome_is_found_by_any_part_of_its_figures_scope(
    tmp_path: Path, hypothesis: str, scope: str, figures: int | None, method: str
) -> None:
    """Polarization has a figure of each order, overconfidence one of each judge and order."""
    corpus(tmp_path, 14, "c.jsonl")
    text = VARIED.replace("replicates: 6", f"replicates: 6, scoring_method: {method}")
    (tmp_path / "worded.yaml").write_text(text)
    plan = PLANNED.replace("{concept: fascism}", scope).replace("H1", hypothesis)
    (tmp_path / "plan.yaml").write_text(plan)
    sweep = load_sweep(tmp_path / "worded.yaml")
    assert len(outcomes_without_figure(sweep)) == (figures is None)
    # power is simulated of single stages alone
    if figures is not None and method == "single":
        assert sum(one.figures for one in comparisons(sweep)) == figures


@pytest.mark.parametrize(
    ("scope", "line", "said"),
    [
        ("{concept: facism}", 6, "scope.concept is 'facism', .* Did you mean fascism"),
        ("{concpt: fascism}", 6, "scope.concpt is no part .* Did you mean concept"),
        ("{country: Valmoora}", 6, "Did you mean Valmora"),
        ("{judge: sim/calm-2}", 6, "Did you mean sim/calm-1"),
        ("{window: weeks}", 6, "Did you mean week"),
        ("{rubric: provided}", 6, "Use shared by sim/calm-1"),
        ("{wording: concise}", 6, "is one of several wordings"),
        ("{wording: concize}", 6, "Did you mean concise"),
        ("{scale_size: '4'}", 6, "one value in this sweep"),
        ("{concept: fascism, country: Other}", 6, "country is 'Other'"),
    ],
)
def test_a_primary_outcome_that_fits_no_experiment_is_an_error_at_its_line(
    tmp_path: Path, scope: str, line: int, said: str
) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    (tmp_path / "worded.yaml").write_text(WORDED)
    (tmp_path / "plan.yaml").write_text(PLANNED.replace("{concept: fascism}", scope))
    sweep = load_sweep(tmp_path / "worded.yaml")
    with pytest.raises(ConfigError, match=said) as found:
        comparisons(sweep)
    assert f"plan.yaml, line {line}: primary[0].scope" in found.value.message


@pytest.mark.parametrize(
    "scope",
    ["{}", "{concept: fascism, country: Valmora, window: week, rubric: shared by sim/calm-1}"],
)
def test_parts_that_a_figure_has_are_fine(tmp_path: Path, scope: str) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    (tmp_path / "worded.yaml").write_text(WORDED)
    (tmp_path / "plan.yaml").write_text(PLANNED.replace("{concept: fascism}", scope))
    check_primary_scopes(load_sweep(tmp_path / "worded.yaml"))


def test_the_plan_of_another_sweep_is_an_error_in_the_plan(tmp_path: Path) -> None:
    corpus(tmp_path, 14, "c.jsonl")
    (tmp_path / "worded.yaml").write_text(WORDED)
    (tmp_path / "plan.yaml").write_text(PLANNED.replace("sweep: worded", "sweep: other"))
    with pytest.raises(ConfigError, match=r"plan\.yaml, line 3: sweep is 'other', .* 'worded'"):
        load_sweep(tmp_path / "worded.yaml")
