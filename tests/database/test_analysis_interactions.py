"""Interactions of the axes of a sweep, from verdicts written down."""

import pytest

from support.lab import Lab, labels, only, rubric

ALPHA, BETA = "acme/alpha-1", "zeta/beta-1"
FOUR = {"rubric": {"provided": rubric(*labels(4))}}
HIGH, LOW = [[4], [4], [3], [4], [4], [3]], [[1], [2], [1], [1], [1], [2]]


def test_a_difference_of_judges_that_turns_with_the_view(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 6)
    for model, raw, cleaned in ((ALPHA, HIGH, LOW), (BETA, LOW, HIGH)):
        lab.own(model, raw, evidence_view="raw", **FOUR)
        lab.own(model, cleaned, evidence_view="cleaned", **FOUR)
    rows = lab.analyse()

    share = only(rows, "interaction_share_both", axis="judge", moderator="evidence_view")
    assert share.estimate == pytest.approx(1.0)
    turned = only(rows, "effect_over_levels", axis="judge", moderator="evidence_view")
    assert (turned.scope["lowest_at"], turned.scope["highest_at"]) == ("raw", "cleaned")
    assert turned.p_adjusted is not None
    assert turned.p_adjusted < 0.01
    # Judges are 3, 2, 2, 3, 3 and 1 stages of three apart.
    lowest = only(rows, "effect_lowest", axis="judge", moderator="evidence_view")
    assert lowest.estimate == pytest.approx(-14 / 18)


def test_an_incomplete_crossing_leaves_the_largest_full_block(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 6)
    for view in ("raw", "cleaned"):
        for model in (ALPHA, BETA):
            lab.own(model, HIGH if model == ALPHA else LOW, evidence_view=view, **FOUR)
    lab.own("acme/gamma-1", LOW, evidence_view="raw", **FOUR)
    rows = lab.analyse()
    (change,) = [
        row for row in rows
        if row.metric == "effect_over_levels" and row.scope["axis"] == "judge"
    ]  # fmt: skip
    assert (change.scope["from"], change.scope["to"]) == (ALPHA, BETA)
