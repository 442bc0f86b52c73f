"""Contrasts of a plan are checked against the experiments of its sweep."""

from pathlib import Path

import pytest

from judge_gym.design.plan_scopes import check_primary_scopes, contrasted, pairs_of_axis
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError

SWEEP = """\
name: moved
plan: plan.yaml
windows: {week: {country: Valmora, query: courts, start: 2026-01-01, end: 2026-02-01,
  source: {kind: firecrawl}}}
blocks:
  - concept: [fascism, trust]
    window: week
    model: [sim/calm-1, sim/high-1]
    rubric: {shared: sim/calm-1}
    abstain: [false, true]
    evidence_view: [raw, neutralized]
    wording: [standard, plain]
"""
PLAN = """\
name: moved
sweep: moved
description: Simulated judges.
contrasts:
  - axis: abstain
    levels: [false, true]
    figure: abstain_share
    direction: above
    margin: 0.1
    why: because
    scope: {judge: sim/high-1}
"""
AXIS, LEVELS, SCOPE = "axis: abstain", "levels: [false, true]", "scope: {judge: sim/high-1}"
FIGURE = "figure: abstain_share"


def sweep_with(folder: Path, *changes: tuple[str, str], sweep: str = SWEEP):
    plan = PLAN
    for old, new in changes:
        assert old in plan
        plan = plan.replace(old, new, 1)
    (folder / "plan.yaml").write_text(plan)
    (folder / "s.yaml").write_text(sweep)
    return load_sweep(folder / "s.yaml")


def test_a_contrast_is_of_the_pairs_that_have_its_scope(tmp_path: Path) -> None:
    sweep = sweep_with(tmp_path)
    check_primary_scopes(sweep)
    assert sweep.plan is not None
    found = contrasted(sweep, sweep.plan.contrasts[0])
    # Two concepts and two views; both wordings are one measurement.
    assert len(found) == 4
    assert {one.after.model for one in found} == {"sim/high-1"}
    assert all(not one.before.abstain and one.after.abstain for one in found)


@pytest.mark.parametrize(
    ("axis", "levels"),
    [("concept", ("fascism", "trust")), ("evidence_view", ("raw", "neutralized"))],
)
def test_levels_are_as_the_analysis_orders_them(tmp_path: Path, axis: str, levels) -> None:
    pairs = pairs_of_axis(sweep_with(tmp_path), axis)
    assert {one.levels for one in pairs} == {levels}
    assert len(pairs) == 8


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([(AXIS, "axis: abstention")], ["line 5", "axis is 'abstention'", "Did you mean abstain?"]),
        ([(AXIS, "axis: wording")], ["axis is 'wording'", "not compared level by level"]),
        ([(LEVELS, "levels: [true, false]")], ["line 6", "false to true", "in this order"]),
        (
            [(AXIS, "axis: scale_size"), (LEVELS, "levels: [4, 5]")],
            ["levels is 4 to 5", "no two experiments", "Vary the axis"],
        ),
        ([(SCOPE, "scope: {judge: sim/higher-1}")], ["line 11", "Did you mean sim/high-1?"]),
        ([(SCOPE, "scope: {abstain: 'true'}")], ["scope.abstain", "what the contrast changes"]),
        ([(SCOPE, "scope: {top_p: '1.0'}")], ["scope.top_p", "one value"]),
        ([(FIGURE, "figure: set_size")], ["line 7", "several stages", "subset"]),
    ],
)
def test_a_contrast_that_the_sweep_does_not_make_is_refused(
    tmp_path: Path, changes, told: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_primary_scopes(sweep_with(tmp_path, *changes))
    assert "plan.yaml" in str(caught.value)
    for part in told:
        assert part in str(caught.value)


def test_stages_of_two_scales_are_not_compared(tmp_path: Path) -> None:
    longer = SWEEP.replace("abstain: [false, true]", "scale_size: [4, 5]")
    changes = [(AXIS, "axis: scale_size"), (LEVELS, "levels: [4, 5]")]
    check_primary_scopes(sweep_with(tmp_path, *changes, (FIGURE, "figure: score"), sweep=longer))
    stages = (FIGURE, "figure: expected_stage")
    with pytest.raises(ConfigError, match="Use score"):
        check_primary_scopes(sweep_with(tmp_path, *changes, stages, sweep=longer))
    between = (FIGURE, "figure: middle_mass")
    with pytest.raises(ConfigError, match="the longer has more between its ends"):
        check_primary_scopes(sweep_with(tmp_path, *changes, between, sweep=longer))


def test_an_axis_on_or_off_may_be_written_as_in_the_sweep(tmp_path: Path) -> None:
    view = [(AXIS, "axis: evidence_view"), (LEVELS, "levels: [raw, neutralized]")]
    for written in ("true", "True"):
        scope = (SCOPE, f"scope: {{abstain: '{written}'}}")
        sweep = sweep_with(tmp_path, *view, scope)
        check_primary_scopes(sweep)
        assert sweep.plan is not None
        assert {one.after.abstain for one in contrasted(sweep, sweep.plan.contrasts[0])} == {True}


def test_sides_without_a_wording_in_common_are_refused(tmp_path: Path) -> None:
    """A difference of the two could be that of the wordings."""
    block = SWEEP[SWEEP.index("  - concept") :]
    on = block.replace("[false, true]", "true")
    off = block.replace("[false, true]", "false")
    some = off.replace("[standard, plain]", "[plain, formal]")
    other = off.replace("[standard, plain]", "[formal, courteous]")

    shared = sweep_with(tmp_path, sweep=SWEEP.replace(block, on + some))
    check_primary_scopes(shared)
    assert {one.wordings for one in pairs_of_axis(shared, "abstain")} == {frozenset({"plain"})}
    apart = sweep_with(tmp_path, sweep=SWEEP.replace(block, on + other))
    with pytest.raises(ConfigError, match="no wording in common"):
        check_primary_scopes(apart)
