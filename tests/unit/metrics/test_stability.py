"""The spread of shapes between judges and wordings, by hand."""

import numpy as np
import pytest

from judge_gym.metrics.stability import shape_spread

NAN = np.nan


def test_the_spread_is_the_mean_distance_of_means_over_figures_and_pairs():
    # Means of two figures: (0.5, 1), (0.25, 1) and (1, none).
    cells = np.array(
        [
            [[0, 1, 0, 1], [1, 1, 1, 1]],
            [[0, 0, 0, 1], [1, NAN, 1, 1]],
            [[1, 1, 1, 1], [NAN, NAN, NAN, NAN]],
        ]
    )
    found = shape_spread("concept_spread", cells)
    # 0.25 and 0 between the first two, 0.5 and 0.75 to the third.
    assert found.estimate == pytest.approx((0.25 + 0 + 0.5 + 0.75) / 4)
    assert found.lower is not None
    assert 0 <= found.lower <= found.estimate <= found.upper <= 1
    assert found.n_items == 4


def test_equal_shapes_have_no_spread_and_one_cell_has_none_to_tell():
    same = np.tile([[[0.0, 1.0, 1.0]]], (3, 2, 1))
    assert shape_spread("concept_spread", same).estimate == 0
    assert shape_spread("concept_spread", same[:1]).estimate is None
    assert shape_spread("concept_spread", same[:0]).estimate is None
    assert shape_spread("concept_spread", np.full((2, 1, 3), NAN)).estimate is None


def test_whoever_sets_the_order_of_judges_and_items_changes_nothing():
    rng = np.random.default_rng(3)
    cells = rng.random((4, 2, 9))
    mixed = cells[[2, 0, 3, 1]][:, :, rng.permutation(9)]
    first, second = (shape_spread("concept_spread", one) for one in (cells, mixed))
    assert first.estimate == pytest.approx(second.estimate)
    assert (first.lower, first.upper) == pytest.approx((second.lower, second.upper))
