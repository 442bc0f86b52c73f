"""Where a scale may end, by the numbers that are off it."""

from collections import Counter

import pytest

from judge_gym.scale_ends import never_reached, scales_apart, wider


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


@pytest.mark.parametrize(
    ("highest", "given", "end"),
    [
        # (5/7)^13 = 0.013, (5/7)^14 = 0.009; (5/6)^25 = 0.0105, (5/6)^26 = 0.0087.
        (7, [1, 2, 3, 4, 5] * 2 + [5] * 3, None),
        (7, [1, 2, 3, 4, 5] * 2 + [5] * 4, 5),
        (6, [1, 2, 3, 4, 5] * 5, None),
        (6, [1, 2, 3, 4, 5] * 5 + [5], 5),
        (6, [1, 2, 3, 4, 5] * 9 + [6], None),
        (6, [1, 2, 3, 4] * 9, None),  # no scale ends at 4
        (6, [2, 3, 4, 5] * 9, None),  # nor is one known to start at 2
        (6, [1, 2.5, 4, 5] * 9, None),  # means of people are seldom at an end
        (5, [1, 2, 3, 4, 5] * 9, None),
        (6, [1] * 40, None),
        (6, [], None),
    ],
)
def test_labels_that_stop_below_the_end_of_a_scale_are_of_another_beyond_chance(
    highest, given, end
):
    assert never_reached((1, highest), given) == end


@pytest.mark.parametrize(
    ("scores", "apart"),
    [
        ({1: 4, 2: 103, 3: 99, 4: 93, 5: 1}, True),
        ({1: 4, 2: 103, 3: 99, 4: 93}, False),  # nothing tells where it ends
        ({1: 4, 2: 103, 3: 99, 4: 93, 7: 1}, False),  # no scale ends there
    ],
)
def test_one_five_among_many_lower_scores_is_the_end_of_their_scale(scores, apart):
    ten = Counter(dict.fromkeys(range(1, 11), 30))
    assert bool(scales_apart({"a": Counter(scores), "b": ten})) is apart
