"""Variance components against ANOVA tables by hand, REML's of a reference, and their own rules."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics.decomposition import (
    ITEM,
    JUDGE,
    PARTS,
    RUBRIC,
    complete_block,
    crossed_cells,
    polarization_parts,
    variance_components,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"


def values(estimates):
    return {name: one.estimate for name, one in estimates.items()}


def swap_design(pairs, items, replicates, rng, spread, *, judges=(0, 0, 0), kept=1.0):
    """Scores with planted normal effects, standard deviations by part name, a share of them kept,
    and what each judge adds."""
    judge, rubric = (np.array(side) for side in zip(*pairs, strict=True))
    judge, rubric, item = (
        np.repeat(np.tile(judge, items), replicates),
        np.repeat(np.tile(rubric, items), replicates),
        np.repeat(np.arange(items), len(pairs) * replicates),
    )
    sizes = {JUDGE: judge, RUBRIC: rubric, ITEM: item}
    score = np.array(judges)[judge].astype(float)
    for term, sd in spread.items():
        levels = np.stack([sizes[name] for name in term]) if term else np.arange(len(item))[None]
        _, code = np.unique(levels, axis=1, return_inverse=True)
        score += sd * rng.normal(size=code.max() + 1)[code.ravel()]
    there = rng.random(len(item)) < kept
    codes = (judge[there], rubric[there], item[there])
    return crossed_cells((JUDGE, RUBRIC, ITEM), codes, score[there])


FULL = [(j, o) for j in range(3) for o in range(3)]
SWAPS = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 0), (2, 0)]


def test_balanced_components_are_the_anova_by_hand():
    # judges x items, cell means 0 1 2 / 1 3 2, replicates -0.1 and +0.1 around them
    # mean squares: items 2*1.5 = 3, judges 2*1.5 = 3, interaction 2*0.5 = 1, within 0.12/6 = 0.02
    # components: (3-1)/(2*3) judges, (3-1)/(2*2) items, (1-0.02)/2 interaction
    judge, item, _ = (part.ravel() for part in np.indices((2, 3, 2)))
    score = np.array([[0, 1, 2], [1, 3, 2.0]])[judge, item] + np.tile([-0.1, 0.1], 6)
    found = values(variance_components(crossed_cells((JUDGE, ITEM), (judge, item), score)))
    assert found == pytest.approx(
        {"judge": 1 / 3, "item": 0.5, "judge x item": 0.49, "replicates": 0.02}
    )


def test_a_component_below_0_is_shown_as_0_and_said():
    # means 0 1 / 1 0: items and judges have mean square 0, interaction 2*1 = 2; within 0.02
    judge, item, _ = (part.ravel() for part in np.indices((2, 4, 2)))
    score = np.array([[0, 1, 0, 1], [1, 0, 1, 0.0]])[judge, item] + np.tile([-0.1, 0.1], 8)
    found = variance_components(crossed_cells((JUDGE, ITEM), (judge, item), score))
    # judge SS 0; interaction SS 2*2 = 4 on 3 df: judge (0 - 4/3)/(2*4)
    assert (found["judge"].estimate, found["judge"].lower) == (0, None)
    assert found["judge"].method.endswith("set to 0, as the estimate is below it")
    assert found["judge x item"].estimate == pytest.approx((4 / 3 - 0.02) / 2)


@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this repository")
def test_reference_components():
    cases = {c["id"]: c for c in json.loads((SHARED / "oracles.json").read_text())["cases"]}
    case = cases["gtheory-varcomp"]
    with (SHARED / case["input"]["csv"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    item = np.unique([row["evidence"] for row in rows], return_inverse=True)[1]
    judge = np.array([int(row["model_b"]) for row in rows])
    cells = crossed_cells((JUDGE, ITEM), (judge, item), np.array([float(r["score"]) for r in rows]))
    full, expected = variance_components(cells)["judge x item"], case["expected"]
    # REML puts the interaction at its bound, 0; the rest is as if it were not in the model
    assert full.estimate == expected["evidence:m"] == 0
    found = values(variance_components(cells, [(JUDGE,), (ITEM,)]))
    assert found == pytest.approx(
        {JUDGE: expected["m"], ITEM: expected["evidence"], "replicates": expected["Residual"]},
        abs=case["tolerance"],
    )


def test_components_of_uneven_cells_are_unbiased():
    # three judges by three rubrics, a third of the samples missing; the planted parts stay off 0
    spread = {(JUDGE, ITEM): 0.4, (RUBRIC, ITEM): 0.4, (): 0.2}
    rng = np.random.default_rng(5)
    runs = []
    for _ in range(150):
        cells = swap_design(FULL, 8, 3, rng, spread, kept=2 / 3)
        found = values(variance_components(cells))
        runs.append([found["judge x item"], found["rubric owner x item"], found["replicates"]])
    error = np.std(runs, axis=0) / 150**0.5
    assert (np.abs(np.mean(runs, axis=0) - [0.16, 0.16, 0.04]) < 3.5 * error).all()


def test_additive_effects_split_by_hand():
    # judges 0 and 0.2, rubrics 0 and 0.4: variances 0.02 and 0.08, so shares 20% and 80%
    judge, rubric, item = (part.ravel() for part in np.indices((2, 2, 5)))
    cells = crossed_cells(
        (JUDGE, RUBRIC, ITEM), (judge, rubric, item), 0.2 * judge + 0.4 * rubric + 0.1 * item
    )
    # one replicate: its noise is one with the interaction of all three
    assert polarization_parts(cells)["share_rubrics"].estimate is None
    twice = crossed_cells(
        (JUDGE, RUBRIC, ITEM),
        tuple(np.repeat(code, 2) for code in (judge, rubric, item)),
        np.repeat(0.2 * judge + 0.4 * rubric + 0.1 * item, 2),
    )
    found = values(polarization_parts(twice))
    assert found["judges"] == pytest.approx(0.02)
    assert found["rubrics"] == pytest.approx(0.08)
    assert found["judges_reading_rubrics"] == pytest.approx(0, abs=1e-12)
    # half the mean squared difference of verdicts that differ in judge and rubric:
    # (0.6² + 0.2²)/2/2 = 0.1
    assert found["polarization"] == pytest.approx(0.1)
    assert found["share_judges"] == pytest.approx(0.2)


def test_parts_add_up_and_find_what_is_planted(rng):
    spread = {(JUDGE, ITEM): 0.3, (RUBRIC, ITEM): 0.15, (ITEM,): 0.2, (): 0.2}
    parts = polarization_parts(swap_design(FULL, 40, 3, rng, spread))
    found = values(parts)
    assert sum(found[name] for name in PARTS) == pytest.approx(found["polarization"])
    assert sum(found[f"share_{name}"] for name in PARTS) == pytest.approx(1)
    # 0.09 of 0.09 + 0.0225
    assert parts["share_judges"].lower < 0.8 < parts["share_judges"].upper
    assert parts["share_rubrics"].lower < 0.2 < parts["share_rubrics"].upper


def test_rubrics_that_only_their_owners_applied_cannot_be_split(rng):
    parts = polarization_parts(
        swap_design([(0, 0), (1, 1), (2, 2)], 12, 2, rng, {(JUDGE,): 0.3, (): 0.1})
    )
    assert {one.estimate for one in parts.values()} == {None}
    assert parts["judges"].reason == (
        "not estimable, because judges and rubrics are not fully crossed: "
        "3 of 9 combinations have a verdict"
    )


def test_an_incomplete_crossing_is_refused_and_its_largest_complete_block_used():
    """Judges +0.1, -0.1 and 0, no effect of rubrics; each judge by its own rubric and a rival's.

    Over all 6 cells the intervals held the rubrics' part in 4% and the judges' in 14% of data sets.
    """
    rng = np.random.default_rng(7)
    spread = {(ITEM,): 0.15, (JUDGE, ITEM): 0.1, (): 0.15}
    held = {"judges": 0, "rubrics": 0}
    for _ in range(100):
        cells = swap_design(SWAPS, 16, 3, rng, spread, judges=(0.1, -0.1, 0))
        assert polarization_parts(cells)["rubrics"].reason.endswith(
            "6 of 9 combinations have a verdict"
        )
        block = complete_block(cells)
        assert (block.judges, block.owners) == ([0, 1], [0, 1])
        parts = polarization_parts(block.cells)
        # judges 0.1 and -0.1 have variance 0.02, and 0.01 is planted by item
        for name, planted in (("judges", 0.03), ("rubrics", 0.0)):
            found = parts[name]
            assert found.estimate >= 0
            assert found.lower is None or found.lower >= 0
            held[name] += found.lower is None or found.lower <= planted <= found.upper
    assert min(held.values()) >= 85


def test_the_block_leaves_out_items_that_lack_one_of_its_cells(rng):
    # the second judge never applied the first rubric to item 3
    cells = swap_design(SWAPS, 6, 2, rng, {(): 0.1})
    cells.n[1, 0, 3] = 0
    block = complete_block(cells)
    assert block.cells.n.shape == (2, 2, 5)
    assert block.cells.total[0, 1].tolist() == np.delete(cells.total[0, 1], 3).tolist()


def test_no_two_judges_with_two_rubrics_in_common_are_no_block(rng):
    chain = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0)]
    assert complete_block(swap_design(chain, 6, 2, rng, {(): 0.1})) is None


def test_the_interval_is_the_jackknife_by_leaving_items_out(rng):
    # uneven cells: a third of the samples are missing, and one item altogether
    judge, item = np.repeat([0, 1, 2], 40), np.tile(np.repeat(np.arange(8), 5), 3)
    kept = (rng.random(120) < 0.7) & (item != 3)
    judge, item = judge[kept], item[kept]
    score = rng.random(len(item)) + 0.5 * judge
    terms = [(JUDGE,), (ITEM,)]
    whole = variance_components(crossed_cells((JUDGE, ITEM), (judge, item), score), terms)
    parts = []
    for one in np.unique(item):
        rest = item != one
        cells = crossed_cells((JUDGE, ITEM), (judge[rest], item[rest]), score[rest])
        parts.append(variance_components(cells, terms)[JUDGE].estimate)
    # seven items: t(6) at 97.5% is 2.446912
    error = (6 / 7 * ((np.array(parts) - np.mean(parts)) ** 2).sum()) ** 0.5
    half = whole[JUDGE].upper - whole[JUDGE].estimate
    assert half == pytest.approx(2.446912 * error, rel=1e-6)
    assert whole[JUDGE].n_items == 7


def test_identical_judges_have_no_polarization_to_divide(rng):
    noise_free = swap_design(FULL, 10, 2, rng, {(ITEM,): 0.2})
    found = polarization_parts(noise_free)
    assert found["polarization"].estimate == pytest.approx(0, abs=1e-12)
    assert found["share_judges"].reason == (
        "not estimable, because the judges show no polarization to divide"
    )


def test_two_items_are_too_few(rng):
    found = variance_components(swap_design(FULL, 2, 2, rng, {(): 0.2}))
    assert {one.reason for one in found.values()} == {
        "not estimable, because it needs 3 items, and there are 2"
    }


def test_a_common_shift_of_all_scores_changes_nothing(rng):
    judge, item = np.repeat([0, 1], 20), np.tile(np.repeat(np.arange(10), 2), 2)
    score = rng.random(40)
    near, far = (
        values(variance_components(crossed_cells((JUDGE, ITEM), (judge, item), score + shift)))
        for shift in (0.0, 1e6)
    )
    assert near == pytest.approx(far, abs=1e-8)
