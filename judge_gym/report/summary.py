"""A sweep in a dozen lines: what ran, what it came to, and what to be careful about."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judge_gym.counting import counted
from judge_gym.formats import number
from judge_gym.lab.status import Status, WorkflowStatus
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.report.facts import Facts
from judge_gym.report.findings import NOT_TESTABLE
from judge_gym.report.headlines import Headline, headlines
from judge_gym.report.planted import Planted
from judge_gym.report.remarks import remark_text
from judge_gym.store.results import FindingRow, ResultRow

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
