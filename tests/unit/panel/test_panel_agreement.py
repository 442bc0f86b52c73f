"""Agreement of raters, by hand-derived figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.judges import Scale
from judge_gym.panel.agreement import agreement_of, clamped, item_agreements
from support.panels import reviewed

ONE_TO_FIVE = Scale(lowest=1, highest=5)
SCORES = st.lists(st.integers(1, 5), min_size=2, max_size=26)


@pytest.mark.parametrize(
    ("scores", "mean", "median", "spread", "level"),
    [
        ((3, 3, 3), 3.0, 3.0, 0, "strong"),
        ((4, 4, 3), 3.7, 4.0, 1, "strong"),  # 11 / 3
        ((2, 3, 4), 3.0, 3.0, 2, "moderate"),
        ((1, 4), 2.5, 2.5, 3, "weak"),
        ((5, 1, 1), 2.3, 1.0, 4, "weak"),  # 7 / 3
        ((2, 2, 2, 3), 2.3, 2.0, 1, "strong"),  # 2.25, halves up
        ((4, 4, 4, 5), 4.3, 4.0, 1, "strong"),  # 4.25
    ],
)
def test_figures_on_a_scale_from_1_to_5(
    scores: tuple[int, ...], mean: float, median: float, spread: int, level: str
) -> None:
    found = agreement_of(scores, ONE_TO_FIVE)
    assert found.scores == scores
    assert (found.mean, found.median, found.spread, found.level) == (mean, median, spread, level)


@pytest.mark.parametrize(
    ("scale", "levels"),
    [
        (Scale(lowest=0, highest=10), "ssmmmwwwww"),  # a quarter is 2.5, half is 5
        (Scale(lowest=0, highest=1), "w"),
        (Scale(lowest=-4, highest=4), "ssmmwwww"),
    ],
)
def test_levels_go_by_the_width_of_the_scale(scale: Scale, levels: str) -> None:
    spreads = range(1, scale.highest - scale.lowest + 1)
    found = [agreement_of((scale.lowest, scale.lowest + spread), scale).level for spread in spreads]
    named = {"s": "strong", "m": "moderate", "w": "weak"}
    assert found == [named[one] for one in levels]


def test_each_item_has_its_own() -> None:
    states = [reviewed("rater_a", 1, 5, 3), reviewed("rater_b", 5, 5, 3)]
    one, two = item_agreements([state.review for state in states if state.review], ONE_TO_FIVE)
    assert (one.id, one.scores, one.level) == ("one", (1, 5), "weak")
    assert (two.id, two.mean, two.level) == ("two", 5.0, "strong")


@given(SCORES, st.integers(-1000, 1000))
def test_a_final_score_never_leaves_the_raters(scores: list[int], raw: int) -> None:
    held = clamped(raw, scores)
    assert min(scores) <= held <= max(scores)
    assert held == raw or not min(scores) <= raw <= max(scores)


@given(SCORES)
def test_order_does_not_count_and_nothing_leaves_its_range(scores: list[int]) -> None:
    found, turned = agreement_of(scores, ONE_TO_FIVE), agreement_of(scores[::-1], ONE_TO_FIVE)
    assert turned.model_dump(exclude={"scores"}) == found.model_dump(exclude={"scores"})
    assert min(scores) <= found.mean <= max(scores)
    assert round(found.mean * 10) == pytest.approx(found.mean * 10)
