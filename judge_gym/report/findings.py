"""Findings as a table: what was claimed, what the figures say, and whether it was planned."""

from collections.abc import Sequence

from judge_gym.design.axes import axes as design_axes
from judge_gym.report.scopes import setting_phrases, short_label
from judge_gym.report.table import Row, Table, number, p_value
from judge_gym.store.results import FindingRow

NOT_TESTABLE = "not testable here"
BESIDE = {"rival": "rival", "less contested": "against", "category": "part"}
"""What a finding is about besides its judge and concept, and the word that leads to it."""
AXES = frozenset(axis.name for axis in design_axes()) - {"rubric"}


def findings_table(findings: Sequence[FindingRow], standing: str) -> Table:
    """Return the findings by hypothesis; what cannot be tested is a note, with the reason."""
    tested = [one for one in findings if one.conclusion != NOT_TESTABLE]
    rest = [one for one in findings if one.conclusion == NOT_TESTABLE]
    return Table(
        "Findings one by one",
        "Each claim is decided by its 95% interval against a margin, never by a point estimate: "
        "supported when the interval lies within the claim, refuted when outside, else "
        "inconclusive.",
        ("about", "conclusion", "plan", "figure", "claim", "p (adjusted)"),
        tuple(_row(one) for one in tested),
        notes=(
            f"Plan: {standing}." if standing else "Plan: none.",
            *(f"{one.hypothesis}: not testable here, because {because(one)}." for one in rest),
        ),
        words=3,
        simulated=any(one.simulated for one in findings),
        imported=any(one.imported for one in findings),
    )


def because(one: FindingRow) -> str:
    """Return why a finding is not testable, to stand behind the word "because"."""
    return one.reason.removeprefix("not estimable, because ")


def _row(one: FindingRow) -> Row:
    return Row(
        (
            about(one),
            one.conclusion,
            "confirmatory" if one.confirmatory else "exploratory",
            f"{number(one.estimate)} [{number(one.lower)}, {number(one.upper)}]"
            if one.lower is not None
            else number(one.estimate),
            _claim(one),
            p_value(one.p_adjusted),
        ),
        heading=f"{one.hypothesis}  {one.statement}",
    )


def about(one: FindingRow) -> str:
    """Return in words what a finding is about: who, which concept, and what is set otherwise."""
    axes = {name: value for name, value in one.scope.items() if name in AXES}
    told = [f"{word} {one.scope[name]}" for name, word in BESIDE.items() if name in one.scope]
    return ", ".join([short_label(one.scope), *told, *setting_phrases(axes)])


def _claim(one: FindingRow) -> str:
    if one.direction == "within":
        return f"within {number(one.margin)} of {number(one.reference)}"
    return f"{one.direction} {number(one.reference + one.margin)}"
