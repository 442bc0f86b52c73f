"""Pooling rules by hand, and that nothing is judged on the truth it was fitted to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.metrics import pooling

SCALE = np.arange(1.0, 6.0)


def table(*rows):
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize(
    ("scores", "mean", "median", "majority"),
    [
        ((2, 2, 5), 3, 2, 2),
        ((1, 3, 5), 3, 3, 3),  # a tie of all three: their mean
        ((2, 4), 3, 3, 3),
        ((1, 1, 4, 4, 5), 3, 4, 2.5),  # a tie of 1 and 4
        ((5,), 5, 5, 5),
    ],
)
def test_rules_that_need_no_truth(scores, mean, median, majority):
    given = table(scores)
    found = (pooling.mean(given), pooling.median(given), pooling.majority(given, SCALE))
    assert [float(one[0]) for one in found] == [mean, median, majority]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_a_scale_turned_round_turns_the_majority_round(scores):
    found = pooling.majority(table(scores, [6 - one for one in scores]), SCALE)
    assert found[0] == pytest.approx(6 - found[1])


@pytest.mark.parametrize(("trusted", "score"), [(0.7, 4), (0.75, 3), (0.8, 2)])
def test_dempsters_rule_by_hand(trusted, score):
    # Two say 4 with mass 1/2 each, one says 2 with mass t. Before the conflict is divided out,
    # 4 has (1 - 1/4)·(1 - t) and 2 has 1/4·t: equal at t = 3/4, where the tie is met halfway.
    said, reliability = table([4, 4, 2]), table([0.5, 0.5, trusted])
    assert pooling.dempster_shafer(said, SCALE, reliability)[0] == pytest.approx(score)


def test_a_record_by_hand():
    # errors -1 0 -1 0: mean -1/2, squares about it 4·(1/4) over 3; two of four right
    known = pooling.record(table([2], [3], [2], [3]), np.full(4, 3.0))
    assert known.bias == pytest.approx([-0.5])
    assert known.variance == pytest.approx([1 / 3 + 1 / 12])
    assert known.reliability == pytest.approx([3 / 6])


def test_weights_by_hand():
    known = pooling.KnownErrors(np.array([-1.0, 0.0]), np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    # (3·1 + 4·1/3) / (4/3), and less biases 6 and 5, which is beyond the scale
    found = pooling.weighted(table([2, 4], [5, 5]), SCALE, known)
    assert found == pytest.approx([3.25, 5])
    assert pooling.weighted(table([2]), SCALE, known.of(np.array([0])))[0] == 3


def test_halves_round_up():
    assert pooling.rounded(np.array([2.5, 3.5, 2.49, 1 / 3 + 1 / 6 + 2])).tolist() == [3, 4, 2, 3]


@given(st.integers(0, 2**32 - 1))
def test_records_leave_out_the_whole_document(seed):
    rng = np.random.default_rng(seed)
    document = np.array([0, 0, 1, 2, 2, 2, 3])
    scores = rng.integers(1, 6, size=(7, 3)).astype(np.float64)
    truth = rng.integers(1, 6, size=7).astype(np.float64)
    found = pooling.records_without(scores, truth, document)
    for unit, own in enumerate(document):
        rest = document != own
        one = pooling.record(scores[rest], truth[rest])
        for name in ("bias", "variance", "reliability"):
            assert getattr(found, name)[unit] == pytest.approx(getattr(one, name))
