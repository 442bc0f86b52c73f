"""Single against subset verdicts: the null by hand, and judges whose doubt is and is not real."""

import numpy as np
import pytest

from judge_gym.metrics.cells import Verdicts, pignistic, set_sizes
from judge_gym.metrics.polarization import jensen_shannon, pairwise_mean
from judge_gym.metrics.subsets import forced_choice, widened_at_random


def by_item(verdicts):
    """Divergence of the judges' pignistic distributions, per item."""
    return pairwise_mean(jensen_shannon, pignistic(verdicts)[0].swapaxes(0, 1))


def verdicts(stages, replicates):
    """Verdicts from an array (judges, items, replicates) of bitmasks."""
    judge, item, _ = np.indices(stages.shape)
    return Verdicts(
        judge=judge.ravel(), item=item.ravel(), stages=stages.ravel(),
        n_judges=stages.shape[0], n_items=stages.shape[1], n_stages=4,
    )  # fmt: skip


def test_widening_keeps_the_stage_and_takes_the_size(rng):
    single = verdicts(np.full((2, 3, 4), 0b0010), 4)
    subset = verdicts(np.full((2, 3, 4), 0b0110), 4)
    wide = widened_at_random(single, subset, rng)
    assert (set_sizes(wide.stages) == 2).all()
    assert ((wide.stages & 0b0010) > 0).all()
    # three partners are equally likely: with 24 draws all appear
    assert set(wide.stages.tolist()) == {0b0011, 0b0110, 0b1010}


def test_widening_draws_from_the_same_cell(rng):
    stages = np.array([[[0b0001, 0b0010], [0b0100, 0b0100]], [[0b1000, 0b1000], [0b0001, 0b0001]]])
    single = verdicts(stages, 2)
    wide = widened_at_random(single, single, rng)
    for judge in range(2):
        for item in range(2):
            cell = wide.stages[(wide.judge == judge) & (wide.item == item)]
            assert set(cell.tolist()) <= set(stages[judge, item].tolist())


def test_shared_doubt_is_found(rng):
    # one judge says 2, the other 3, and both mean "2 or 3"
    items = 20
    single = verdicts(np.stack([np.full((items, 5), 0b0010), np.full((items, 5), 0b0100)]), 5)
    subset = verdicts(np.full((2, items, 5), 0b0110), 5)
    found = forced_choice("forced_choice_polarization", single, subset, by_item, rng, "bits")
    assert found.drop.estimate == pytest.approx(1.0)
    # the subsets are equal, so all that widening at random leaves apart is beyond chance
    assert found.drop.floor == pytest.approx(1 - found.beyond_chance.estimate)
    assert found.beyond_chance.lower > 0.2
    assert found.beyond_chance.metric == "forced_choice_polarization"


def test_random_widening_alone_is_not_inflation(rng):
    # the subsets are themselves single verdicts widened at random
    items = 40
    single = verdicts(np.stack([np.full((items, 5), 0b0010), np.full((items, 5), 0b1000)]), 5)
    sizes = verdicts(np.full((2, items, 5), 0b0011), 5)
    subset = widened_at_random(single, sizes, rng)
    found = forced_choice("p", single, subset, by_item, rng, "bits")
    # the drop by itself would have read as inflation
    assert found.drop.lower > 0.2
    assert found.beyond_chance.lower < 0 < found.beyond_chance.upper


def test_items_without_both_forms_are_left_out(rng):
    single = verdicts(np.full((2, 3, 2), 0b0010), 2)
    subset = verdicts(np.full((2, 3, 2), 0b0110), 2)
    partial = subset.rows(~((subset.judge == 1) & (subset.item == 0)))
    assert forced_choice("p", single, partial, by_item, rng, "bits").drop.n_items == 2
    none = forced_choice("p", single, subset.rows(subset.judge == 0), by_item, rng, "bits")
    assert none.beyond_chance.reason == (
        "not estimable, because no item was scored by every judge in both forms"
    )
