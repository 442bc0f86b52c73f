"""The largest effects in words: called an effect only where the figures allow it."""

from judge_gym.report.findings import largest_effects

SWAP = {"concept": "order", "judge": "acme/a-1", "rival": "bolt/b-1"}


def test_the_largest_swap_that_stands_is_named_with_what_speaks_against_it(make_row) -> None:
    rows = [
        make_row("swap_sensitivity", -0.4, (-0.9, 0.1), scope=SWAP, p_adjusted=0.1),
        make_row("swap_sensitivity", -0.2, (-0.3, -0.1), scope=SWAP, p_adjusted=0.004),
        make_row("swap_sensitivity", 0.1, (0.05, 0.15), scope=SWAP, p_adjusted=0.01),
        make_row("swap_sensitivity", scope=SWAP),
    ]
    assert largest_effects(rows) == [
        "The swap that moves confidence most is acme/a-1 under the rubric of bolt/b-1 on order: "
        "-0.20 [-0.30, -0.10], corrected p 0.004; chosen as the largest of 3, so likely overstated."
    ]


def test_an_axis_whose_interval_holds_zero_is_no_effect(make_row) -> None:
    scope = {"axis": "evidence_view", "from": "raw", "to": "cleaned"}
    rows = [make_row("axis_effect", -0.2, (-0.5, 0.1), scope=scope)]
    assert largest_effects(rows) == [
        "No axis is shown to move the mean verdict; the largest change is evidence view from raw "
        "to cleaned: -0.20 [-0.50, 0.10] of the scale."
    ]


def test_families_are_compared_under_a_common_rubric_where_there_is_one(make_row) -> None:
    scope = {"concept": "order", "pair": "a and b"}
    mixed = make_row("polarization_pair_mixed", 0.9, (0.8, 1.0), scope=scope, p_adjusted=0.01)
    common = make_row("polarization_pair", 0.4, (0.3, 0.5), scope=scope, p_adjusted=0.01, floor=0.1)
    [said] = largest_effects([mixed, common])
    assert said.endswith("a and b on order: 0.40 [0.30, 0.50] bits, beside a floor of 0.10, "
                         "corrected p 0.010.")  # fmt: skip
    [alone] = largest_effects([mixed])
    assert "on order, each by its own rubric: 0.90" in alone


def test_without_intervals_nothing_is_said(make_row) -> None:
    assert largest_effects([make_row("swap_sensitivity", 0.2, scope=SWAP)]) == []
