"""Where a scale may end, by the numbers that are off it."""

import pytest

from judge_gym.scale_ends import wider


@pytest.mark.parametrize(
    ("ends", "given", "said"),
    [
        ((1, 4), [5, 5, 3], "If the scale ends at 5, write `highest: 5`."),
        ((1, 5), [10, 7, 55], "If the scale ends at 10, write `highest: 10`."),  # 55 is a slip
        ((1, 10), range(32, 85), ""),  # 32 to 39 are near, and of the scale of the others
        ((1, 10), range(12, 51), ""),
        ((1, 10), [39], ""),  # no scale ends there
        ((1, 10), [40, 34], ""),  # 40 is far, and no scale ends at 34
        ((1, 10), [30, 25], "If the scale ends at 30, write `highest: 30`."),
        ((0, 1), [0.5, 3, 2], "If the scale ends at 3, write `highest: 3`."),
        ((1, 5), [55], ""),
    ],
)
def test_an_end_is_said_only_where_a_scale_may_end(ends, given, said):
    assert wider(*ends, given) == said
