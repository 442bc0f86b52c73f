"""Three judges against one: numbers by hand, and a choice that is judged on other items."""

import numpy as np
import pytest

from judge_gym.metrics.estimate import jackknife_interval
from judge_gym.metrics.three_judges import KAPPA, PARTS, SHARE, names_of, three_judges_leads

ITEMS = 500


def leads(stages, truth, by=SHARE, cluster=None, seed=3):
    cluster = np.arange(len(truth)) if cluster is None else cluster
    rng = np.random.default_rng(seed)
    *parts, whole = three_judges_leads("lead", stages, truth, cluster, rng, by)
    return parts, whole


def judges(rng, truth, rates):
    """Judges of two stages who are right at these rates, independently of each other."""
    right = rng.random((len(truth), len(rates))) < np.array(rates)
    return np.where(right, truth[:, None], 3 - truth[:, None])


def test_three_judges_who_err_on_different_items_are_ahead_by_all_errors_of_the_one() -> None:
    # Judge j of three errs on items that are j modulo 5, the fourth on items 3 and 4 modulo 5.
    item = np.arange(ITEMS)
    truth = 1 + item // 5 % 2
    wrong = np.stack([item % 5 == 0, item % 5 == 1, item % 5 == 2, item % 5 > 2], axis=1)
    stages = np.where(wrong, 3 - truth[:, None], truth[:, None])
    parts, whole = leads(stages, truth)
    # No two of the first three err on one item: their majority is right on all, the one on 4 of 5.
    for part in parts:
        assert part.three == (0, 1, 2)
        assert part.estimate.n == ITEMS * 4 // 5
        assert part.estimate.estimate == pytest.approx(wrong[:, part.one][_rest(part.part)].mean())
    mean = np.mean([part.estimate.estimate for part in parts])
    assert whole.estimate.estimate == pytest.approx(mean)
    assert whole.estimate.lower < 0.2 < whole.estimate.upper
    # Both stages are as frequent as each other, so kappa is twice the share less 1.
    _, kappa = leads(stages, truth, KAPPA)
    assert kappa.estimate.estimate == pytest.approx(2 * whole.estimate.estimate, abs=0.01)


def _rest(part: int) -> np.ndarray:
    return np.random.default_rng(3).permutation(ITEMS) % PARTS != part - 1


def test_the_median_is_the_verdict_of_three_where_stages_are_ordered() -> None:
    # Of 1, 2 and 4 the median is 2, which is right; nobody else is right anywhere.
    truth = np.where(np.arange(60) % 2 == 0, 2, 3)
    low, high = np.full(60, 1), np.full(60, 4)
    far = np.where(truth == 2, 4, 1)
    parts, _ = leads(np.stack([low, truth, high, far], axis=1), truth)
    assert {part.one for part in parts} == {1}
    assert all(part.estimate.estimate == pytest.approx(0.0) for part in parts)


def test_a_choice_among_judges_of_pure_chance_is_ahead_of_nobody() -> None:
    # On the items it is chosen on, the best of 816 threes of coins is ahead by more than 0.05.
    rng = np.random.default_rng(11)
    found = []
    for _ in range(20):
        truth = rng.integers(1, 3, ITEMS)
        _, whole = leads(judges(rng, truth, [0.5] * 18), truth)
        found.append(whole.estimate)
    assert abs(np.mean([one.estimate for one in found])) < 0.01
    # 20 intervals of 95%: 17 or more hold 0 in 98 of 100 such tests.
    assert sum(one.lower <= 0 <= one.upper for one in found) >= 17


def test_items_of_one_question_are_one_piece_of_evidence() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 3, ITEMS)
    of_question = judges(rng, truth[::10], [0.9, 0.8, 0.8, 0.8])
    stages = np.repeat((of_question == truth[::10, None]), 10, axis=0)
    stages = np.where(stages, truth[:, None], 3 - truth[:, None])
    _, apart = leads(stages, truth)
    _, together = leads(stages, truth, cluster=np.arange(ITEMS) // 10)
    width = [one.estimate.upper - one.estimate.lower for one in (apart, together)]
    assert together.estimate.estimate == apart.estimate.estimate
    # Ten copies of each question: an error of up to √10 times as much, as four fifths hold.
    assert 2 * width[0] < width[1] < 4.5 * width[0]


@pytest.mark.parametrize(("items", "of_a_question"), [(33, 1), (12, 1), (612, 1), (30, 4)])
def test_the_mean_of_the_parts_varies_as_each_question_is_left_out(
    items: int, of_a_question: int
) -> None:
    rng = np.random.default_rng(items)
    truth = 1 + np.arange(items) % 2
    stages = judges(rng, truth, [0.9, 0.7, 0.7, 0.6, 0.6])
    cluster = np.arange(items) // of_a_question
    parts, whole = leads(stages, truth, cluster=cluster)
    right = stages == truth[:, None]
    drawn = np.random.default_rng(3).permutation(items) % PARTS
    left_out = []
    for block in range(min(cluster.max() + 1, 500)):
        by_part = []
        for part in parts:
            rest = (drawn != part.part - 1) & (cluster % 500 != block)
            three = right[rest][:, part.three].sum(axis=1) > 1
            by_part.append(three.mean() - right[rest, part.one].mean())
        left_out.append(np.mean(by_part))
    ends = jackknife_interval(whole.estimate.estimate, np.array(left_out))
    assert (whole.estimate.lower, whole.estimate.upper) == pytest.approx(ends)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("by", [SHARE, KAPPA])
def test_items_of_one_question_alone_give_no_interval(by: str) -> None:
    truth = 1 + np.arange(20) % 2
    stages = judges(np.random.default_rng(4), truth, [0.9, 0.7, 0.7, 0.6])
    parts, whole = leads(stages, truth, by, cluster=np.zeros(20, dtype=int))
    assert all(one.estimate.estimate is not None for one in (*parts, whole))
    assert all(one.estimate.lower is None for one in (*parts, whole))


@pytest.mark.parametrize(("shape", "stage"), [((50, 3), 1), ((9, 5), 1), ((50, 5), 0)])
def test_what_is_missing_is_named(shape: tuple[int, int], stage: int) -> None:
    truth = 1 + np.arange(shape[0]) % 2 * stage
    [lead] = three_judges_leads(
        "lead", np.ones(shape, int), truth, np.arange(shape[0]), np.random.default_rng(1), SHARE
    )
    assert lead.estimate.estimate is None
    assert "4 judges, 10 items" in lead.estimate.because


def test_judges_are_named_in_words() -> None:
    assert names_of((2, 0, 1), ("a", "b", "c")) == "c, a and b"
    assert names_of((1,), ("a", "b")) == "b"
