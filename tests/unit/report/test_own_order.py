"""The order of a judge's own means beside people's, of many systems."""

import pytest

from judge_gym.report.audit_systems import _own_order

PEOPLE = {name: 0.9 - 0.1 * place for place, name in enumerate("abcdefgh")}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "the same order"),
        ({"g": 0.1, "h": 0.3}, "the same order of the first 6, and another below"),
        ({"a": 0.75}, "b > a > c > d > e > f ..."),
    ],
)
def test_an_order_is_the_same_only_if_that_of_all_systems_is(
    changes: dict[str, float], said: str
) -> None:
    assert _own_order(PEOPLE, PEOPLE | changes) == said
