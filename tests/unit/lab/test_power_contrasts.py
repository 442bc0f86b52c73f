"""The power of planned contrasts: what is found in 80% of runs is found in 80% of simulated runs.

The simulated runs go through the estimator and the decision of the analysis, not the formula.
"""

from pathlib import Path

import numpy as np
import pytest

from judge_gym.design.plans import PlannedContrast
from judge_gym.design.sweep import load_sweep
from judge_gym.lab.power.contrasts import CHANGE_SD, REPLICATE_SD, contrast_powers
from judge_gym.metrics.cells import CellMeans, FloatArray
from judge_gym.metrics.inference import (
    detectable_beyond,
    detectable_difference,
    equivalence_items,
    equivalence_margin,
    equivalence_within,
    paired_contrast,
    paired_power,
)
from judge_gym.metrics.margins import (
    ALPHA,
    Conclusion,
    Direction,
    MarginClaim,
    conclude,
    p_at_margin,
)
from support.study import corpus

TRIALS = 1000
ITEMS = 24
Drawn = tuple[FloatArray, FloatArray]

SWEEP = """
name: moved
plan: plan.yaml
windows: {{week: {{country: Valmora, query: courts, max_documents: 50,
  source: {{kind: corpus, path: c.jsonl}}}}}}
blocks:
  - concept: fascism
    window: week
    model: [sim/calm-1, sim/high-1]
    rubric: {{shared: sim/calm-1}}
    replicates: 5
    {axes}
"""
PLAN = """
name: moved
sweep: moved
description: Simulated judges.
contrasts:
{contrasts}
"""
CONTRAST = (
    "  - {{axis: {axis}, levels: [{levels}], figure: {figure}, direction: {direction}, "
    "margin: {margin}, why: because{more}}}"
)
ABSTAIN = {"axis": "abstain", "levels": "false, true", "figure": "abstain_share"}
TEMPERATURE = {"axis": "temperature", "levels": "0.0, 1.0", "figure": "score"}


def contrast(about: dict[str, str], direction: str = "above", margin: float = 0.0, more: str = ""):
    return CONTRAST.format(**about, direction=direction, margin=margin, more=more)


def powers(folder: Path, axes: str, *contrasts: str):
    """What `sweep plan` says of planned contrasts on 24 items."""
    corpus(folder, ITEMS, "c.jsonl")
    (folder / "plan.yaml").write_text(PLAN.format(contrasts="\n".join(contrasts)))
    (folder / "s.yaml").write_text(SWEEP.format(axes=axes))
    return contrast_powers(load_sweep(folder / "s.yaml"))


def found_in(draw, claim: MarginClaim, tests: int) -> float:
    """The share of simulated runs whose contrast supports the claim at Holm's strictest step."""
    supported = 0
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        before, after = (CellMeans(side[None], np.full((1, len(side)), 5)) for side in draw(rng))
        estimate = paired_contrast("contrast", before, after, rng, "share")
        p = p_at_margin(estimate, claim)
        supported += (
            conclude(estimate, claim) is Conclusion.SUPPORTED
            and p is not None
            and p < ALPHA / tests
        )
    return supported / TRIALS


def means(change: float, replicates: int = 5):
    """Values on 0 to 1 with the assumed noise, whose items move by unlike amounts."""

    def draw(rng: np.random.Generator) -> Drawn:
        moved = np.stack([np.zeros(ITEMS), rng.normal(change, CHANGE_SD, ITEMS)])
        noise = rng.logistic(0, REPLICATE_SD * 3**0.5 / np.pi, (2, ITEMS, replicates))
        before, after = 0.4 + moved + noise.mean(axis=2)
        return before, after

    return draw


def shares(change: float, replicates: int = 5):
    """Yes or no, near one half, of items that move by unlike amounts."""

    def draw(rng: np.random.Generator) -> Drawn:
        moved = rng.normal(change, CHANGE_SD, ITEMS) / 2
        before, after = (
            rng.binomial(replicates, np.clip(0.5 + side, 0, 1)) / replicates
            for side in (-moved, moved)
        )
        return before, after

    return draw


def abstentions(change: float):
    """Items that are always or never abstained on, where it is allowed."""

    def draw(rng: np.random.Generator) -> Drawn:
        return np.zeros(ITEMS), (rng.random(ITEMS) < change).astype(np.float64)

    return draw


@pytest.mark.parametrize(
    ("about", "axes", "draw", "tolerance"),
    [
        (TEMPERATURE, "temperature: [0.0, 1.0]", means, 0.04),
        (TEMPERATURE | {"figure": "middle_mass"}, "temperature: [0.0, 1.0]", shares, 0.04),
        # Of 24 whole numbers of items few shares are possible, so that the power is stepped.
        (ABSTAIN, "abstain: [false, true]", abstentions, 0.1),
    ],
    ids=["a mean", "a share", "abstentions"],
)
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_what_80_percent_find_is_found_in_80_percent_of_simulated_runs(
    tmp_path: Path, about, axes: str, draw, tolerance: float, margin: float
) -> None:
    (power,) = powers(tmp_path, axes, contrast(about, margin=margin))
    assert (power.items, power.items_assumed, power.replicates) == (ITEMS, False, 5)
    assert power.tests == len(power.judges) == 2
    assert power.detectable is not None
    claim = MarginClaim(Direction.ABOVE, margin)
    assert found_in(draw(power.detectable), claim, 2) == pytest.approx(0.8, abs=tolerance)


def test_the_margin_of_an_equivalence_is_shown_in_80_percent_of_simulated_runs(
    tmp_path: Path,
) -> None:
    (power,) = powers(tmp_path, "temperature: [0.0, 1.0]", contrast(TEMPERATURE, "within", 0.1))
    assert power.detectable is not None
    claim = MarginClaim(Direction.WITHIN, power.detectable)
    assert found_in(means(0.0), claim, 2) == pytest.approx(0.8, abs=0.04)


def test_a_spread_from_a_pilot_takes_the_place_of_the_assumption(tmp_path: Path) -> None:
    stated = contrast(TEMPERATURE | {"figure": "expected_stage"}, "below", -0.5, ", item_sd: 0.6")
    (power,) = powers(tmp_path, "temperature: [0.0, 1.0]", stated)
    assert (power.item_sd, power.item_sd_assumed) == (pytest.approx(0.6), False)
    assert power.detectable is not None
    # In stages, and beyond the margin by what a paired t test of 24 items finds.
    beyond = (-0.5 - power.detectable) / 0.6
    assert paired_power(beyond, ITEMS, tests=2) == pytest.approx(0.8, abs=0.01)


def test_every_primary_figure_counts_into_the_correction(tmp_path: Path) -> None:
    one_judge = contrast(TEMPERATURE, more=", scope: {judge: sim/high-1}")
    axes = "temperature: [0.0, 1.0]\n    abstain: [false, true]"
    found = powers(tmp_path, axes, one_judge, contrast(ABSTAIN))
    # One judge at two settings of abstain, and two judges at two temperatures.
    assert [one.hypothesis for one in found] == ["C1.score", "C2.abstain_share"]
    assert {one.tests for one in found} == {2 + 4}
    assert found[0].judges == ("sim/high-1",)


def test_replicates_of_all_wordings_count(tmp_path: Path) -> None:
    axes = "temperature: [0.0, 1.0]\n    wording: [standard, plain]"
    (power,) = powers(tmp_path, axes, contrast(TEMPERATURE))
    assert (power.replicates, power.tests) == (10, 2)


def test_the_spread_of_bundles_is_not_assumed(tmp_path: Path) -> None:
    regrouped = {"axis": "bundle_size", "levels": "2, 4", "figure": "score"}
    (power,) = powers(tmp_path, "bundle_size: [2, 4]", contrast(regrouped))
    assert power.detectable is None
    assert "give item_sd" in power.reason
    (power,) = powers(tmp_path, "bundle_size: [2, 4]", contrast(regrouped, more=", item_sd: 0.1"))
    assert power.items == 6  # of four documents each
    assert power.detectable is not None


def test_a_difference_is_detectable_from_the_first_that_has_the_power() -> None:
    least = detectable_difference(lambda _: 0.2, 34)
    assert least is not None
    # 34 items find d_z = 0.5 (Cohen 1988), here 0.1.
    assert least == pytest.approx(0.1, abs=0.001)
    assert paired_power((least - 0.001) / 0.2, 34) < 0.8 <= paired_power(least / 0.2, 34)
    assert detectable_difference(lambda _: 0.2, 2, most=0.3) is None
    assert detectable_difference(lambda _: 0.2, 1) is None


@pytest.mark.parametrize("items", [9, 16, 100])
def test_the_margin_of_an_equivalence_is_the_inverse_of_its_items(items: int) -> None:
    margin = equivalence_margin(0.2, items, tests=3)
    assert margin is not None
    assert equivalence_items(0.2, margin * 1.0001, tests=3) == items
    assert equivalence_margin(0.2, 1) is None


def test_a_contrast_says_what_it_is_of() -> None:
    planned = PlannedContrast(
        axis="abstain", levels=(False, True), figure="abstain_share", direction="above",
        margin=0.1, why="because", scope={"concept": "order", "shuffle_order": "true"},
    )  # fmt: skip
    scope = {"axis": "abstain", "from": False, "to": True, "concept": "order"}
    assert planned.matches(scope | {"shuffle_order": True})
    assert not planned.matches(scope | {"shuffle_order": False})
    assert not planned.matches(scope)
    assert not planned.matches({"concept": "order", "shuffle_order": True})


def test_a_margin_that_the_plan_cannot_show_is_said_with_the_items_that_would(tmp_path) -> None:
    """With SD 0.3, 24 items: (t(0.975; 23) + z(0.9)) x 0.3 / sqrt 24 = (2.069 + 1.282) x 0.0612."""
    given = ", item_sd: 0.3"
    axes = "temperature: [0.0, 1.0]"
    [short] = powers(tmp_path, axes, scoped(contrast(TEMPERATURE, "within", 0.1, given)))
    assert short.detectable == pytest.approx(0.205, abs=1e-3)
    needed = equivalence_items(0.3, 0.1)
    assert "cannot be expected to show score within 0.1" in short.shortfall
    assert f"24 items show 0.21 in 80% of runs. With this spread it needs {needed} items" in (
        short.shortfall
    )
    [enough] = powers(tmp_path, axes, scoped(contrast(TEMPERATURE, "within", 0.21, given)))
    assert enough.shortfall == ""
    [beyond] = powers(tmp_path, axes, scoped(contrast(TEMPERATURE, "above", 0.1, given)))
    assert beyond.shortfall == ""


def scoped(text: str) -> str:
    """A contrast of one judge alone, so that Holm's correction is over one test."""
    return text.replace("why: because", "why: because, scope: {judge: sim/calm-1}")


@pytest.mark.parametrize("tests", [1, 61])
def test_a_report_takes_from_an_interval_what_the_plan_takes_from_a_spread(tests: int) -> None:
    """24 items with a spread of 0.13 have a half-width of 2.069 x 0.13 / √24 = 0.0549."""
    beyond = detectable_beyond(0.0549, 23, tests)
    assert beyond == pytest.approx(detectable_difference(lambda _: 0.13, 24, tests=tests), abs=2e-3)
    assert equivalence_within(0.0549, 23, tests) == pytest.approx(
        equivalence_margin(0.13, 24, tests), rel=1e-3
    )
