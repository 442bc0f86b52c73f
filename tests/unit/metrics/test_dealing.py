"""The null by dealing: cells keep their sizes, chances are right, and many items need few deals."""

from math import comb

import numpy as np
import pytest

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.dealing import FEWEST_DEALS, deal
from judge_gym.metrics.divergence import mean_jensen_shannon


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

    deal(verdicts_of(cells), keep, rng, 50)
    # one layout at a time: (2, 2) before (3, 1), items in order within
    for item, p in zip([1, 0, 2], np.concatenate(seen).reshape(3, 50, 2, 3), strict=True):
        assert p.sum(axis=-1) == pytest.approx(np.ones((50, 2)))
        counts = p * np.array(sizes[item])[:, None]
        assert counts.sum(axis=1) == pytest.approx(np.tile(totals[item], (50, 1)), abs=1e-5)


def test_means_by_item_are_those_of_each_item(rng):
    # the expected share of stage 1 in judge 0's cell is that of the item: 3/4, then 1/4
    cells = [[[1, 1], [1, 2]], [[1], [2, 2, 4]]]
    found = deal(verdicts_of(cells), lambda p: p[..., 0, 0], rng, 20_000)
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
    found = deal(verdicts, mean_jensen_shannon, rng, 2000)
    assert found.means.std() == pytest.approx(spread / items**0.5, rel=0.1)
    deals = 2000 if items == 1 else FEWEST_DEALS * items
    assert found.per_item.mean() == pytest.approx(mean, abs=4 * spread / deals**0.5)
    assert found.means.mean() == pytest.approx(found.per_item.mean(), abs=spread / items**0.5 / 10)


def test_the_same_seed_deals_the_same(rng):
    verdicts = verdicts_of([[[1, 2, 3], [4]], [[1, 2], [2, 4]]])
    first, second = (
        deal(verdicts, mean_jensen_shannon, np.random.default_rng(3), 100) for _ in range(2)
    )
    assert (first.means == second.means).all()
    assert (first.per_item == second.per_item).all()
