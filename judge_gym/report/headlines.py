"""What a sweep comes to: its headlines, and a summary of a dozen lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from judge_gym.counting import counted
from judge_gym.formats import number
from judge_gym.lab.status import Status, WorkflowStatus
from judge_gym.metrics.accuracy import OF_PAIRS
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.metrics.hypotheses import VALIDITY_CHECKS
from judge_gym.report.facts import Facts
from judge_gym.report.findings import NOT_TESTABLE, told_apart
from judge_gym.report.planted import Planted
from judge_gym.report.plots.plot import Panel, Plot
from judge_gym.report.remarks import remark_text
from judge_gym.report.table import Row, Table
from judge_gym.store.results import FindingRow, ResultRow

TITLE = "Headlines"
EXPLANATION = (
    "Supported or refuted: the 95% interval decides the claim, after correction for many tests."
)
CHECKS = "Checks of the measurement"
_QUESTIONS: Mapping[str, tuple[str, str]] = {
    "H1": ("Do judges disagree beyond chance?", "polarization above its noise floor, bits"),
    "H2": ("Do judges overestimate agreement?", "stated less realised agreement"),
    "H3": ("Does a rival's rubric lower confidence?", "change beyond a second own rubric"),
    "H4.polarization": (
        "Does forced choice inflate disagreement?",
        "polarization, forced less free choice, bits",
    ),
    "H4.distance": (
        "Does forced choice move sets apart?",
        "distance of sets, forced less free choice",
    ),
    "V1.polarization": ("Do judges agree on the control?", "bits"),
    "V1.reference": ("Are verdicts near the reference index?", "distance on the 0-1 scale"),
    "V2": ("Does the more contested concept polarize more?", "bits"),
    "V3.chance": ("Are judges right more often than chance?", "share correct"),
    "V3.published": ("Is accuracy as published?", "share correct"),
    "V4.variance": ("Do judges repeat themselves?", "variance, 0-1 scale"),
    "V4.icc": ("Do repeats tell items apart?", "ICC"),
    "V5": ("Does conflict follow polarization?", "rank correlation"),
}
"""Claim → its question in plain words, and the measure that answers it with its unit."""
_CHECKS = frozenset(check.key for check in VALIDITY_CHECKS)
_ORDER = ("supported", "refuted", "inconclusive")
_SINGLE = 3
"""Findings of one claim that still have a row each."""
_LONGEST_NAMES = 44
"""Characters of judges' names in a row that stands for several findings."""


@dataclass(frozen=True)
class Headline:
    """One row: findings of one claim that came out alike, or all of a check.

    `question` and `measure` are the claim's; `conclusion` holds counts where findings differ.
    """

    question: str
    measure: str
    claim: str
    label: str
    conclusion: str
    findings: Sequence[FindingRow]
    is_check: bool

    @property
    def figure(self) -> str:
        """The value with its interval, or the range of several values."""
        values = sorted(one.estimate for one in self.findings if one.estimate is not None)
        if len(self.findings) > 1 and values:
            low, high = number(values[0]), number(values[-1])
            return low if low == high else f"{low} to {high}"
        [only] = self.findings
        interval = "" if only.lower is None else f" [{number(only.lower)}, {number(only.upper)}]"
        return f"{number(only.estimate)}{interval}"


def headlines(findings: Sequence[FindingRow]) -> list[Headline]:
    """Return a row or a few per claim that could be tested, claims before checks.

    Where a plan confirms some figures of a claim, those alone are its headline. A claim with more
    than three figures has a row per conclusion; a check has one row.
    """
    tested = [
        one for one in findings if one.conclusion != NOT_TESTABLE and "category" not in one.scope
    ]
    by_claim = [list(of) for _, of in groupby(tested, key=lambda one: one.hypothesis)]
    claims = [of for of in by_claim if of[0].hypothesis not in _CHECKS]
    checks = [of for of in by_claim if of[0].hypothesis in _CHECKS]
    return [
        *(headline for of in claims for headline in _of_claim(of)),
        *(_headline(of, _QUESTIONS[of[0].hypothesis][0], is_check=True) for of in checks),
    ]


def _of_claim(findings: Sequence[FindingRow]) -> Iterator[Headline]:
    chosen = [one for one in findings if one.confirmatory] or findings
    labels = dict(zip(map(id, chosen), told_apart(chosen), strict=True))
    if len(chosen) <= _SINGLE:
        for one in chosen:
            yield _headline([one], labels[id(one)], is_check=False)
        return
    for conclusion in _ORDER:
        if alike := [one for one in chosen if one.conclusion == conclusion]:
            label = labels[id(alike[0])] if len(alike) == 1 else _names(alike, len(chosen))
            yield _headline(alike, label, is_check=False)


def _headline(findings: Sequence[FindingRow], label: str, *, is_check: bool) -> Headline:
    counts = Counter(one.conclusion for one in findings)
    parts = [f"{counts[one]} {one}" for one in _ORDER if counts[one]]
    question, measure = _QUESTIONS[findings[0].hypothesis]
    if findings[0].unit == OF_PAIRS:
        measure = "pairs judged right less wrong"
    return Headline(
        question,
        measure,
        claimed(findings[0]),
        label,
        ", ".join(parts) if len(counts) > 1 else findings[0].conclusion,
        findings,
        is_check,
    )


def _names(findings: Sequence[FindingRow], of: int) -> str:
    """Return who several findings are about: names where they are short, else how many."""
    concepts = {str(one.scope.get("concept", "")) for one in findings}
    where = f" on {concepts.pop()}" if len(concepts) == 1 and "" not in concepts else ""
    names = ", ".join(dict.fromkeys(str(one.scope.get("judge", "")) for one in findings))
    named = "judge" in findings[0].scope and len(names) <= _LONGEST_NAMES
    return (names if named else f"{len(findings)} of {of} figures") + where


@dataclass(frozen=True)
class Answer:
    """What the headlines of one question say: each conclusion with what it holds for."""

    question: str
    is_check: bool
    told: Sequence[tuple[str, Sequence[str]]]


def answers(rows: Sequence[Headline]) -> list[Answer]:
    """Return the answer to each question, in the order of the headlines."""
    return [
        Answer(question, is_check, _told(list(of)))
        for (question, is_check), of in groupby(rows, key=lambda row: (row.question, row.is_check))
    ]


def _told(rows: Sequence[Headline]) -> list[tuple[str, Sequence[str]]]:
    if rows[0].is_check:
        return [(rows[0].conclusion, ())]
    found = {one: [row.label for row in rows if row.conclusion == one] for one in _ORDER}
    return [(conclusion, labels) for conclusion, labels in found.items() if labels]


def claimed(finding: FindingRow) -> str:
    """Return what a finding claims of its value, such as `above 0.05`."""
    if finding.direction == "within":
        return f"within {number(finding.margin)} of {number(finding.reference)}"
    return f"{finding.direction} {number(finding.reference + finding.margin)}"


def headline_table(rows: Sequence[Headline]) -> Table:
    """Return the headlines as a table, a heading per claim and one for all checks."""
    return _table(
        rows,
        ("about", "figure", "conclusion"),
        [Row((row.label, row.figure, row.conclusion), heading=_heading(row)) for row in rows],
    )


def _heading(row: Headline) -> str:
    if row.is_check:
        return CHECKS
    planned = "" if row.findings[0].confirmatory else " (exploratory)"
    return f"{row.question}  {row.measure}; claim: {row.claim}{planned}"


def shorter_table(rows: Sequence[Headline]) -> Table:
    """Return the headlines as a table of one row per claim, without figures."""
    whole = [
        _headline([one for row in of for one in row.findings], question, is_check=is_check)
        for (question, is_check), of in groupby(rows, key=lambda row: (row.question, row.is_check))
    ]
    return _table(
        rows,
        ("about", "conclusion"),
        [
            Row((row.label, row.conclusion), heading=CHECKS if row.is_check else "Claims")
            for row in whole
        ],
    )


def _table(rows: Sequence[Headline], columns: tuple[str, ...], lines: Sequence[Row]) -> Table:
    return Table(
        TITLE,
        EXPLANATION,
        columns,
        tuple(lines),
        words=1,
        simulated=any(one.simulated for row in rows for one in row.findings),
        imported=any(one.imported for row in rows for one in row.findings),
    )


def headline_plot(rows: Sequence[Headline]) -> Plot:
    """Return the claims' headlines as one picture; checks are in the table beside it."""
    claims = [row for row in rows if not row.is_check] or rows
    plot = Plot(
        "headlines",
        "The claims beside their margins",
        "A point is a figure with its 95% interval; the red tick is the margin that the claim is "
        "decided against. Filled: supported. Cross: refuted. Hollow: inconclusive.",
        TITLE,
        missing="no claim could be tested",
    )
    drawn = [
        {
            "question": f"{row.question} ({row.measure})",
            "label": row.label,
            "estimate": one.estimate,
            "lower": one.lower,
            "upper": one.upper,
            "margin": margin,
            "conclusion": one.conclusion,
            "said": row.figure if one is row.findings[0] else "",
        }
        for row in claims
        for one in row.findings
        for margin in _margins(one)
    ]
    if not drawn:
        return plot
    return replace(
        plot,
        panels=(Panel("", drawn),),
        simulated=any(one.simulated for row in claims for one in row.findings),
        imported=any(one.imported for row in claims for one in row.findings),
        missing="",
    )


def _margins(one: FindingRow) -> list[float]:
    if one.direction == "within":
        return [one.reference - one.margin, one.reference + one.margin]
    return [one.reference + one.margin]


_WORKFLOWS = {
    "w1-evidence": "W1 evidence",
    "w2-rubric": "W2 rubrics",
    "w3-scoring": "W3 scoring",
    "w4-swap": "W4 swap",
    "w5-probe": "W5 probes",
}


@dataclass(frozen=True)
class Summary:
    """The opening of the report and all that the terminal prints by default.

    `ran` counts experiments, judges and documents, `progress` the units of each workflow, `spent`
    the calls and their cost.
    """

    ran: str
    progress: str
    spent: str
    headlines: Sequence[Headline]
    cautions: Sequence[str]


def summary_of(
    facts: Facts,
    status: Status,
    findings: Sequence[FindingRow],
    planted: Planted,
    rows: Sequence[ResultRow] = (),
) -> Summary:
    """Return the summary of an analysis run with the figures `rows`; `status` is its sweep's."""
    documents = sum(int(window.documents or 0) for window in status.windows)
    spent = status.spent
    cost = f"{number(spent.cost_usd)} USD"
    return Summary(
        ran=", ".join(
            (
                counted(status.experiments, "experiment"),
                counted(len(facts.judges), "judge"),
                counted(documents, "document"),
            )
        ),
        progress="  ".join(map(_progress, status.workflows)),
        spent=f"{counted(spent.calls, 'call')}, {spent.failed:,} failed, cost "
        + (f"at least {cost}" if spent.unpriced else cost),
        headlines=headlines(findings),
        cautions=(*_cautions(facts, status, findings, planted), *_understated(rows)),
    )


def _understated(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield why the polarization of the headlines is too low, where replicates are few."""
    remarks = (remark for row in rows for remark in row.remarks)
    low = next((remark for remark in remarks if remark.kind is RemarkKind.TOO_LOW), None)
    if low:
        yield f"{remark_text(low)}."


def _progress(part: WorkflowStatus) -> str:
    total = "?" if part.total is None else f"{part.total:,}"
    return f"{_WORKFLOWS[part.workflow]} {part.done:,}/{total}"


def _cautions(
    facts: Facts, status: Status, findings: Sequence[FindingRow], planted: Planted
) -> Iterator[str]:
    for kept in status.failures:
        yield f"{_WORKFLOWS[kept.workflow]}: {kept.count:,} failed ({kept.failure})."
    for refused in status.refusals:
        yield (
            f"{_WORKFLOWS[refused.workflow]}: {counted(refused.calls, 'call')} refused "
            f"({refused.failure})."
        )
    yield from facts.warnings
    yield from facts.calls.notes
    untested = {one.hypothesis for one in findings if one.conclusion == NOT_TESTABLE}
    untested -= {one.hypothesis for one in findings if one.conclusion != NOT_TESTABLE}
    if untested:
        yield f"Not testable with this data: {', '.join(sorted(untested))}. The report says why."
    if planted.compared:
        yield (
            f"Recovery of planted values: {planted.held} of {planted.compared} intervals hold "
            "them (95% expected)."
        )
