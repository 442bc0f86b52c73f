"""Columns of one judge that differ in the order in which pairs were shown."""

import pytest

from judge_gym.recorded.orders import columns_in_two_orders, two_orders


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        (("AB", "BA"), "AB"),
        (("(b, a)", "(a, b)"), "(a, b)"),
        (("swapped", "original"), "original"),
        (("", "_swapped"), ""),
        (("12", "21"), "12"),
    ],
)
def test_the_plain_order_comes_first(names: tuple[str, str], plain: str) -> None:
    assert two_orders(*names) == (plain, *(one for one in names if one != plain))


@pytest.mark.parametrize(
    "names", [("A", "B"), ("1", "2"), ("AB", "AC"), ("swap", "reverse"), ("AA", "aa"), ("x", "y")]
)
def test_other_names_are_of_no_order(names: tuple[str, str]) -> None:
    assert two_orders(*names) is None


def test_columns_of_a_judge_are_found_by_what_their_names_share() -> None:
    found = columns_in_two_orders(
        ["gpt4_AB", "gpt4_BA", "claude", "claude_swapped", "verdict (a,b) o1", "verdict (b,a) o1",
         "judge_1", "judge_2", "AB", "BA"]
    )  # fmt: skip
    assert found == {
        "gpt4": ("gpt4_AB", "gpt4_BA"),
        "claude": ("claude", "claude_swapped"),
        "verdict o1": ("verdict (a,b) o1", "verdict (b,a) o1"),
    }
