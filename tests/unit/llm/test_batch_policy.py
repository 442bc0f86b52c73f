"""How many calls go as batches: a table, and laws that hold for every count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.llm.batches.policy import BatchPolicy, Split, policy_of, split
from judge_gym.settings import Settings

POLICY = BatchPolicy(minimum=10, fallback=5, maximum=500)


def test_the_policy_of_the_settings_is_the_documented_one() -> None:
    assert policy_of(Settings()) == POLICY


@pytest.mark.parametrize(
    ("count", "batches", "direct"),
    [
        (0, (), 0),
        (1, (), 1),
        (9, (), 9),
        (10, (10,), 0),
        (499, (499,), 0),
        (500, (500,), 0),
        (501, (500,), 1),
        (505, (500,), 5),
        (506, (500, 6), 0),
        (1000, (500, 500), 0),
        (1004, (500, 500), 4),
        (1730, (500, 500, 500, 230), 0),
    ],
)
def test_splits(count: int, batches: tuple[int, ...], direct: int) -> None:
    assert split(count, POLICY) == Split(batches, direct)


counts = st.integers(0, 3000)
policies = st.builds(BatchPolicy, st.integers(1, 40), st.integers(0, 20), st.integers(1, 600))


@given(counts, policies)
def test_every_call_goes_one_way_and_no_batch_is_too_large(count: int, policy: BatchPolicy) -> None:
    found = split(count, policy)
    assert sum(found.batches) + found.direct == count
    assert all(0 < size <= policy.maximum for size in found.batches)
    if found.batches:
        assert count >= policy.minimum
        assert found.direct <= policy.fallback
