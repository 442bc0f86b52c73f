"""Findings as a table: what was claimed, what the figures say, and whether it was planned."""

from collections import Counter
from collections.abc import Iterator, Sequence

from judge_gym.design.axes import axes as design_axes
from judge_gym.formats import number, p_value
from judge_gym.report.scopes import rubric_phrase, setting_phrases, short_label
from judge_gym.report.table import Row, Table
from judge_gym.store.results import FindingRow

NOT_TESTABLE = "not testable here"
HOW_DECIDED = (
    "Each claim is decided by its 95% interval against a margin, never by a point estimate: "
    "supported when the interval lies within the claim, refuted when outside, else inconclusive."
)
BESIDE = {"rival": "rival", "less contested": "against", "category": "part"}
"""What a finding is about besides its judge and concept, and the word that leads to it."""
AXES = frozenset(axis.name for axis in design_axes()) - {"rubric"}


def findings_table(findings: Sequence[FindingRow], standing: str) -> Table:
    """Return the findings by hypothesis; what cannot be tested is a note, with the reason."""
    tested = [one for one in findings if one.conclusion != NOT_TESTABLE]
    rest = [one for one in findings if one.conclusion == NOT_TESTABLE]
    return Table(
        "Findings one by one",
        "Each row is one figure that a claim rests on, with its 95% interval.",
        ("about", "conclusion", "plan", "figure", "claim", "p (adjusted)"),
        tuple(_row(one, label) for one, label in zip(tested, told_apart(tested), strict=True)),
        notes=(
            f"Plan: {standing}." if standing else "Plan: none.",
            *_not_testable(rest, {one.hypothesis for one in tested}),
        ),
        words=3,
        simulated=any(one.simulated for one in findings),
        imported=any(one.imported for one in findings),
    )


def _not_testable(findings: Sequence[FindingRow], tested: set[str]) -> Iterator[str]:
    """Yield each reason of a claim once; where it has figures that decide, how many more lack."""
    for (claim, reason), count in Counter((one.hypothesis, one.reason) for one in findings).items():
        more = f"{count} more {'is' if count == 1 else 'are'} " if claim in tested else ""
        yield f"{claim}: {more}not testable here, because {reason}."


def _row(one: FindingRow, label: str) -> Row:
    return Row(
        (
            label,
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


def told_apart(findings: Sequence[FindingRow]) -> list[str]:
    """Return what each finding is about, with its rubric where one of its claim reads the same."""
    alike = Counter((one.hypothesis, about(one)) for one in findings)
    return [
        f"{about(one)}, {rubric}"
        if alike[one.hypothesis, about(one)] > 1
        and (rubric := rubric_phrase(str(one.scope.get("rubric", ""))))
        else about(one)
        for one in findings
    ]


def _claim(one: FindingRow) -> str:
    if one.direction == "within":
        return f"within {number(one.margin)} of {number(one.reference)}"
    return f"{one.direction} {number(one.reference + one.margin)}"
