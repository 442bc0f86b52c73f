"""What a sweep comes to, in a dozen lines: what ran, its headlines and cautions."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from judge_gym.analysis.data import ItemTruth, SweepData
from judge_gym.analysis.facets import averaged
from judge_gym.counting import counted
from judge_gym.design.plans import PlanState
from judge_gym.formats import dollars, number, percent
from judge_gym.lab.status import Status, WorkflowStatus
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.report.facts import Facts
from judge_gym.report.file_cautions import no_known_answer
from judge_gym.report.headlines import Headline, headlines, topic_of
from judge_gym.report.moves import NO_SETTINGS, UNTESTED, MovedSettings, largest_settings
from judge_gym.report.multiverse import rule_cautions, sign_change_cautions
from judge_gym.report.planted import Planted
from judge_gym.report.remarks import remark_text
from judge_gym.report.scale_use import NO_USE, ScaleUse, scale_use
from judge_gym.report.scopes import may_abstain
from judge_gym.store.results import FindingRow, ResultRow

_NAMED_BY_WHAT_IS_MISSING = frozenset({"V1.reference", "V2", "V3.chance", "V3.published"})
"""Claims whose topic names what a sweep lacks that has no figure of them."""
_MANY_ABSTENTIONS = 0.1
"""Share of abstentions from which a judge's are mentioned."""
_WORKFLOWS = {
    "w1-evidence": "W1 evidence",
    "w2-rubric": "W2 rubrics",
    "w3-scoring": "W3 scoring",
    "w4-swap": "W4 swap",
    "w5-probe": "W5 probes",
    "w6-critic": "W6 marks",
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
    settings: MovedSettings = NO_SETTINGS
    uses: ScaleUse = NO_USE


def summary_of(
    facts: Facts,
    status: Status,
    findings: Sequence[FindingRow],
    planted: Planted,
    rows: Sequence[ResultRow],
    data: SweepData,
) -> Summary:
    """Return the summary of an analysis run with the figures `rows`; `status` is its sweep's."""
    rows = averaged(rows)
    documents = counted(sum(window.documents or 0 for window in status.windows), "document")
    is_import = bool(data.imported_arms) and not status.spent.calls
    found = headlines(findings)
    spent = status.spent
    cost = f"{number(spent.cost_usd)} USD"
    empty = sum(judge.count for judge in status.empty)
    return Summary(
        ran=", ".join(
            (
                status.experiments_text,
                counted(len(facts.judges), "judge"),
                items_and_questions(data.truth)
                if is_import
                else documents + (f" ({facts.dropped})" if facts.dropped else ""),
            )
        ),
        progress="  ".join(map(_progress, status.workflows)),
        spent=counted(len(data.samples.arm), "judgement")
        if is_import
        else f"{counted(spent.calls, 'call')}, {spent.failed:,} failed, "
        + (f"{spent.unsent:,} more never sent, " if spent.unsent else "")
        + (f"{empty:,} empty, " if empty else "")
        + "cost "
        + (
            # Rounded to cents, a lower bound may be more than was spent.
            f"at least {dollars(spent.cost_usd)} USD"
            if status.unknown_costs and not status.simulated
            else cost
        ),
        headlines=found,
        cautions=(
            *_without_known_answer(data),
            *_cautions(facts, status, findings, found, planted),
            *abstention_cautions(rows),
            *_understated(rows),
            *sign_change_cautions(rows),
            *rule_cautions(rows),
        ),
        settings=largest_settings(rows),
        uses=scale_use(rows),
    )


def items_and_questions(truth: ItemTruth) -> str:
    """Return how many items there are, and over how many questions their intervals are."""
    items, questions = len(truth.label), len(set(truth.question))
    said = counted(items, "item")
    return f"{said} of {counted(questions, 'question')}" if 0 < questions < items else said


def _without_known_answer(data: SweepData) -> Iterator[str]:
    """Yield how many items of judges with known answers have none."""
    arms = [judge.arms for judge in data.judges if judge.experiment.ground_truth is not None]
    known = [
        bool(data.truth.label[item]) or isfinite(data.truth.value[item])
        for item in data.items_of(arms)
    ]
    if any(known) and not all(known):
        yield no_known_answer(len(known) - sum(known))


def _understated(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield why the polarization of the headlines is too low, where replicates are few."""
    remarks = (remark for row in rows for remark in row.remarks)
    low = next((remark for remark in remarks if remark.kind is RemarkKind.TOO_LOW), None)
    if low:
        yield f"{remark_text(low)}."


def abstention_cautions(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield how often judges abstained where they may, where one did so often."""
    judged: Counter[str] = Counter()
    abstained: dict[str, float] = defaultdict(float)
    rates = [row for row in rows if row.metric == "abstention_rate"]
    allowed = [row for row in rates if may_abstain(row.scope)]
    for row in allowed:
        if "category" not in row.scope and row.n:
            judge = str(row.scope.get("judge", ""))
            judged[judge] += row.n
            abstained[judge] += (row.estimate or 0.0) * row.n
    shares = sorted((count / judged[judge], judge) for judge, count in abstained.items())
    if not shares or shares[-1][0] < _MANY_ABSTENTIONS:
        return
    (least, steady), (most, often) = shares[0], shares[-1]
    others = f" (most), and in {percent(least)} by {steady} (least)" if len(shares) > 1 else ""
    where = "" if len(allowed) == len(rates) else ", where it may abstain"
    yield (
        f"Abstentions in {percent(most)} of judgements by {often}{others}{where}: "
        "figures are of the rest, and judges are compared on items that all of them scored."
    )


def _progress(part: WorkflowStatus) -> str:
    total = "?" if part.total is None else f"{part.total:,}"
    return f"{_WORKFLOWS[part.workflow]} {part.done:,}/{total}"


def _cautions(
    facts: Facts,
    status: Status,
    findings: Sequence[FindingRow],
    rows: Sequence[Headline],
    planted: Planted,
) -> Iterator[str]:
    yield from map(str, status.unread)
    if facts.run.plan_state == PlanState.NOT_HELD:
        yield f"The frozen plan does not hold. Outcomes are {facts.run.standing}."
    elif facts.run.plan_state == PlanState.NOT_IN_TIME:
        yield f"The plan confirms nothing. Its outcomes are {facts.run.standing}."
    elif facts.run.plan_state == PlanState.REDESIGNED:
        yield f"The design was changed after judgements. Outcomes are {facts.run.standing}."
    for row in rows:
        if row.untested_outcome:
            label = f" ({row.label})" if row.label else ""
            yield (
                f"A primary outcome of the plan cannot be tested: {row.question}{label} "
                f"{row.reasons}."
            )
    for failed in status.failures:
        yield (
            f"{_WORKFLOWS[failed.workflow]}: {failed.count:,} failed ({failed.failure}). "
            f"`judge-gym sweep retry {shlex.quote(status.sweep)}` has them made again."
        )
    for refused in status.refusals:
        yield (
            f"{_WORKFLOWS[refused.workflow]}: {counted(refused.calls, 'call')} refused "
            f"({refused.failure})."
        )
    yield from facts.warnings
    yield from facts.calls.notes
    yield from _beside_the_headlines(rows)
    # Of imports, the audit on the page says what the judgements cannot tell.
    if not facts.provenance.imported:
        yield from _not_tested(rows, findings)
    if planted.compared:
        yield _recovery(planted)


def _beside_the_headlines(rows: Sequence[Headline]) -> Iterator[str]:
    """Yield what the plan does not confirm, and of which figures a claim could not be tested."""
    explored = dict.fromkeys(
        f"{topic_of(row.findings[0])} ({row.explored})" for row in rows if row.explored
    )
    if explored:
        yield f"Beside the plan's outcomes, in the report: {', '.join(explored)}."
    for row in rows:
        untested = row.conclusion == UNTESTED and not row.untested_outcome
        if untested and row.label and not row.is_check:
            yield f"{row.question} Not testable for {row.label}: {row.reasons}."


def _not_tested(rows: Sequence[Headline], findings: Sequence[FindingRow]) -> Iterator[str]:
    """Yield which claims and checks could not be tested, and what they lack."""
    lost = {
        topic_of(row.findings[0]): row.findings[0].reason
        for row in rows
        if row.is_check and row.conclusion == UNTESTED and not row.untested_outcome
    }
    absent = {
        topic_of(finding): (
            "none here" if finding.hypothesis in _NAMED_BY_WHAT_IS_MISSING else finding.reason
        )
        for finding in findings
        if not finding.scope and not finding.confirmatory
    }
    if untested_topics := [f"{topic} ({why})" for topic, why in (lost | absent).items()]:
        yield f"Not tested: {', '.join(untested_topics)}."


def _recovery(planted: Planted) -> str:
    counts = f"{planted.held} of {planted.compared} intervals"
    if planted.fails:
        return (
            f"Recovery of planted values fails: only {counts} hold them, and 95% should. See "
            "Recovery in short in the report for the figures that do not."
        )
    return f"Recovery of planted values: {counts} hold them (95% expected)."
