"""The permutation null: cells keep their sizes, and many items need few permutations."""

from collections import Counter
from math import comb

import numpy as np
import pytest

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.permutation import MIN_PER_GROUP, permutation_null, sampled_sums, shuffles
from judge_gym.metrics.polarization import mean_jensen_shannon, measure_polarization


def verdicts_of(cells):
    """Verdicts from cells[item][judge] = list of sets (bitmasks)."""
    rows = [
        (judge, item, chosen)
        for item, judges in enumerate(cells)
        for judge, sets in enumerate(judges)
        for chosen in sets
    ]
    judge, item, stages = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Verdicts(
        judge=judge, item=item, stages=stages,
        n_judges=len(cells[0]), n_items=len(cells), n_stages=3,
    )  # fmt: skip


def test_a_deal_keeps_cell_sizes_and_the_samples_of_the_item(rng):
    # two layouts; {1, 2} counts half for each of its stages
    cells = [[[1, 1, 3], [4]], [[2, 4], [3, 1]], [[1, 2, 4], [3]]]
    totals = [[2.5, 0.5, 1], [1.5, 1.5, 1], [1.5, 1.5, 1]]
    sizes = [[3, 1], [2, 2], [3, 1]]
    seen = []

    def keep(p):
        seen.append(p.copy())
        return p[..., 0, 0]

    permutation_null(verdicts_of(cells), keep, rng, 50)
    # one layout at a time: (2, 2) before (3, 1), items in order within
    for item, p in zip([1, 0, 2], np.concatenate(seen).reshape(3, 50, 2, 3), strict=True):
        assert p.sum(axis=-1) == pytest.approx(np.ones((50, 2)))
        counts = p * np.array(sizes[item])[:, None]
        assert counts.sum(axis=1) == pytest.approx(np.tile(totals[item], (50, 1)), abs=1e-5)


def test_means_by_item_are_those_of_each_item(rng):
    # the expected share of stage 1 in judge 0's cell is that of the item: 3/4, then 1/4
    cells = [[[1, 1], [1, 2]], [[1], [2, 2, 4]]]
    found = permutation_null(verdicts_of(cells), lambda p: p[..., 0, 0], rng, 20_000)
    assert found.per_item == pytest.approx([0.75, 0.25], abs=0.02)
    assert found.means.mean() == pytest.approx(found.per_item.mean())
    assert len(found.means) == 20_000


@pytest.mark.parametrize("items", [1, 3000])
def test_the_null_has_the_mean_and_spread_of_the_hypergeometric(items, rng):
    # five 1s and five 2s: judge 0 gets k of the 1s with chance C(5, k)²/C(10, 5); 3,000 items are
    # dealt 100 times each, and their means still spread as 3,000 independent items do
    k = np.arange(6)
    chance = np.array([comb(5, j) ** 2 for j in k]) / comb(10, 5)
    p = np.stack([np.stack([k, 5 - k], -1), np.stack([5 - k, k], -1)], axis=1) / 5
    value = mean_jensen_shannon(p)
    mean = chance @ value
    spread = (chance @ (value - mean) ** 2) ** 0.5
    verdicts = verdicts_of([[[1] * 5, [2] * 5]] * items)
    found = permutation_null(verdicts, mean_jensen_shannon, rng, 2000)
    assert found.means.std() == pytest.approx(spread / items**0.5, rel=0.1)
    permutations = 2000 if items == 1 else MIN_PER_GROUP * items
    assert found.per_item.mean() == pytest.approx(mean, abs=4 * spread / permutations**0.5)
    assert found.means.mean() == pytest.approx(found.per_item.mean(), abs=spread / items**0.5 / 10)


def test_the_same_seed_deals_the_same(rng):
    verdicts = verdicts_of([[[1, 2, 3], [4]], [[1, 2], [2, 4]]])
    first, second = (
        permutation_null(verdicts, mean_jensen_shannon, np.random.default_rng(3), 100)
        for _ in range(2)
    )
    assert (first.means == second.means).all()
    assert (first.per_item == second.per_item).all()


def test_weights_are_those_of_items(rng):
    # judge 0 has both of an item's samples or none of the other kind, whatever is dealt: the share
    # of stage 1 is 1 on the first item and 0 on the second
    cells = [[[1], [1]], [[2], [2]]]
    found = permutation_null(
        verdicts_of(cells), lambda p: p[..., 0, 0], rng, 3, np.array([0.25, 0.75])
    )
    assert found.means.tolist() == [0.25] * 3


@pytest.mark.parametrize("permutations", [1, 7, 3000])
def test_shuffles_stay_within_their_group(permutations, rng):
    # more than a block: 2,100 groups of 100 samples, and 3,000 permutations of one group
    held = np.sort(rng.integers(0, 5, size=(2100 if permutations == 1 else 3, 100)), axis=1)
    filled = np.zeros((len(held), permutations), dtype=int)
    for groups, columns, permuted in shuffles(held, 5, permutations, rng):
        assert (np.sort(permuted, axis=-1) == held[groups][:, None]).all()
        filled[groups, columns] += 1
    assert (filled == 1).all()


def test_shuffles_are_uniform(rng):
    ((_, _, permuted),) = shuffles(np.array([[0, 1, 2]]), 3, 6000, rng)
    counts = Counter(map(tuple, permuted[0].tolist()))
    assert len(counts) == 6
    # binomial(6000, 1/6) has sd 28.9
    assert all(abs(count - 1000) < 150 for count in counts.values())


def test_one_of_each_takes_a_deal_of_every_group(rng):
    # groups give 0 or 1, and 0 or 10: all four sums of one of each come up, and no other
    values = np.array([[0, 1], [0, 10]], dtype=np.float32)
    sums = sampled_sums(values, np.ones(2), 200, rng)
    assert set(sums.tolist()) == {0, 1, 10, 11}
    # as many permutations as permutations: those themselves
    assert sampled_sums(values, np.array([1.0, 2.0]), 2, rng).tolist() == [0, 21]


def test_the_floor_of_few_items_is_steady_in_its_second_decimal_place(build_verdicts) -> None:
    """Of 40 seeds, the floors of 4 items spread by less than 0.001; of 1,000 permutations more."""
    stages = np.random.default_rng(1).integers(1, 5, size=(3, 4, 5))
    verdicts = build_verdicts(stages.tolist())

    def spread(**given: int) -> float:
        floors = [
            measure_polarization(verdicts, np.random.default_rng(seed), **given).estimate.floor
            for seed in range(40)
        ]
        return float(np.std(floors))

    assert spread() < 0.001 < 4 * spread(permutations=1000)
