"""Parts of polarization against ANOVA tables by hand, what was planted, and their own rules."""

from dataclasses import replace

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
)


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


def test_a_part_below_0_is_shown_as_0_and_said():
    # 2 judges x 2 rubrics x 4 items, cell means +1 and -1 by the parity of the three codes and
    # replicates at -0.1 and +0.1: all of it is the interaction of all three, with mean square
    # 2*16/3 = 32/3; within 0.02
    # judge x item: (0 - 32/3)/(2*2) = -8/3; judge: (0 - 0 - 0 + 32/3)/(2*2*4) = 2/3
    # judge x rubric: (0 - 32/3)/(2*4) = -4/3; all three: (32/3 - 0.02)/2
    judge, rubric, item, _ = (part.ravel() for part in np.indices((2, 2, 4, 2)))
    score = (-1.0) ** (judge + rubric + item) + np.tile([-0.1, 0.1], 16)
    found = polarization_parts(crossed_cells((JUDGE, RUBRIC, ITEM), (judge, rubric, item), score))
    for part in ("judges", "rubrics"):
        assert (found[part].estimate, found[part].lower) == (0, None)
        assert found[part].method.endswith("set to 0, as the estimate is below it")
    assert found["judges_reading_rubrics"].estimate == pytest.approx(4 - 0.01)
    assert found["share_judges_reading_rubrics"].estimate == 1


@pytest.mark.slow
def test_parts_of_uneven_cells_are_unbiased():
    # three judges by three rubrics, a third of the samples missing; the planted parts stay off 0
    spread = {(JUDGE, ITEM): 0.4, (RUBRIC, ITEM): 0.4, (): 0.2}
    rng = np.random.default_rng(5)
    runs = []
    for _ in range(150):
        found = values(polarization_parts(swap_design(FULL, 8, 3, rng, spread, kept=2 / 3)))
        runs.append([found["judges"], found["rubrics"]])
    error = np.std(runs, axis=0) / 150**0.5
    assert (np.abs(np.mean(runs, axis=0) - 0.16) < 3.5 * error).all()


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
    spread = {(JUDGE, ITEM): 0.4, (ITEM,): 0.2, (): 0.1}
    cells = swap_design(FULL, 8, 5, rng, spread, kept=0.7)
    present = np.arange(8) != 3

    def items(kept):
        return replace(
            cells,
            n=cells.n * kept,
            total=cells.total * kept,
            squares=cells.squares * kept,
        )

    whole = polarization_parts(items(present))["judges"]
    parts = [
        polarization_parts(items(present & (np.arange(8) != one)))["judges"].estimate
        for one in np.flatnonzero(present)
    ]
    # seven items: t(6) at 97.5% is 2.446912
    error = (6 / 7 * ((np.array(parts) - np.mean(parts)) ** 2).sum()) ** 0.5
    assert whole.upper - whole.estimate == pytest.approx(2.446912 * error, rel=1e-6)
    assert whole.n_items == 7


def test_identical_judges_have_no_polarization_to_divide(rng):
    noise_free = swap_design(FULL, 10, 2, rng, {(ITEM,): 0.2})
    found = polarization_parts(noise_free)
    assert found["polarization"].estimate == pytest.approx(0, abs=1e-12)
    assert found["share_judges"].reason == (
        "not estimable, because the judges show no polarization to divide"
    )


def test_two_items_are_too_few(rng):
    found = polarization_parts(swap_design(FULL, 2, 2, rng, {(): 0.2}))
    assert {one.reason for one in found.values()} == {
        "not estimable, because it needs 3 items, and there are 2"
    }


def test_a_common_shift_of_all_scores_changes_nothing(rng):
    codes = [part.ravel() for part in np.indices((2, 2, 10, 2))][:3]
    score = rng.random(80)
    near, far = (
        values(polarization_parts(crossed_cells((JUDGE, RUBRIC, ITEM), codes, score + shift)))
        for shift in (0.0, 1e6)
    )
    assert near == pytest.approx(far, abs=1e-8)
