"""Claims that are left open: the figure, its setting, and the items that would decide it."""

from judge_gym.report.headlines import headlines
from judge_gym.report.undecided import undecided

CONTRAST = {
    "hypothesis": "C1.abstain_share",
    "statement": "Planned contrast: abstain from false to true changes the share of abstentions.",
    "margin": 0.1,
    "n_items": 20,
}


def scope(concept: str) -> dict[str, object]:
    levels = {"axis": "abstain", "from": False, "to": True}
    return {"judge": "a/a", "concept": concept, **levels}


def test_an_open_figure_is_named_with_its_setting_and_the_items_that_would_decide_it(
    make_finding,
) -> None:
    """0.06 lies 0.04 below the margin, its interval 0.06 above it: 20 x (0.06 / 0.04)² = 45."""
    rows = headlines(
        [
            make_finding("inconclusive", 0.06, (0.0, 0.12), scope=scope("law"), **CONTRAST),
            make_finding("supported", 0.3, (0.2, 0.4), scope=scope("order"), **CONTRAST),
            make_finding("supported", 0.3, (0.2, 0.4), hypothesis="H2"),
        ]
    )
    head, line = undecided(rows)
    assert head == "1 of 2 claims has an inconclusive figure:"
    assert "a/a on law: 0.06 [0.00, 0.12]; claim: above 0.10. " in line
    assert line.endswith("about 45 would show that it does not hold, you have 20.")
    assert undecided(rows[1:]) == []


def test_items_narrow_their_part_of_the_error_alone(make_finding) -> None:
    """Half of the interval is 0.06, of items alone 0.048: the draws add 0.036, squared.

    To end 0.04 away the items' part has to be (0.04² - 0.036²)^½ = 0.01744: 20 x (0.048 / 0.01744)²
    is 151.6, so about 160.
    """
    of_items = {"items_lower": 0.012, "items_upper": 0.108}
    found = make_finding(
        "inconclusive", 0.06, (0.0, 0.12), scope=scope("law"), **CONTRAST, **of_items
    )
    assert "about 160 would show" in undecided(headlines([found]))[1]


def test_draws_that_differ_too_much_are_not_mended_by_items(make_finding) -> None:
    """Of half a width of 0.06, the draws add 0.052, and the margin is 0.04 away."""
    of_items = {"items_lower": 0.03, "items_upper": 0.09}
    found = make_finding(
        "inconclusive", 0.06, (0.0, 0.12), scope=scope("law"), **CONTRAST, **of_items
    )
    line = undecided(headlines([found]))[1]
    assert "Use more wordings or rubric draws" in line
    assert "would show" not in line


def test_a_figure_that_the_correction_alone_leaves_open_needs_no_items(make_finding) -> None:
    rows = headlines(
        [make_finding("inconclusive", 0.05, (0.0, 0.09), scope=scope("law"), **CONTRAST)]
    )
    assert undecided(rows)[1].endswith("after correction for many tests: plan fewer figures.")
    assert rows[0].said == "inconclusive after correction"


def test_a_figure_that_its_interval_leaves_open_is_not_said_to_be_by_correction(
    make_finding,
) -> None:
    """Of two in one row, the interval of the second holds the margin of 0.1."""
    found = [
        make_finding("inconclusive", 0.05, (0.0, upper), scope=scope(concept), **CONTRAST)
        for concept, upper in (("law", 0.09), ("order", 0.11))
    ]
    assert [row.said for row in headlines(found)] == [
        "inconclusive after correction",
        "inconclusive",
    ]
