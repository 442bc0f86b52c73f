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


def test_a_figure_that_the_correction_alone_leaves_open_needs_no_items(make_finding) -> None:
    rows = headlines(
        [make_finding("inconclusive", 0.05, (0.0, 0.09), scope=scope("law"), **CONTRAST)]
    )
    assert undecided(rows)[1].endswith("after correction for many tests: plan fewer figures.")
