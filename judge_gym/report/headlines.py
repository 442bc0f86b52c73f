"""What a sweep comes to: its headlines, and a summary of a dozen lines."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from judge_gym.analysis.facets import averaged
from judge_gym.analysis.groups import PARTS
from judge_gym.counting import counted
from judge_gym.design.plans import PlanState
from judge_gym.formats import dollars, figures_text, number, percent
from judge_gym.lab.status import Status, WorkflowStatus
from judge_gym.metrics.accuracy import OF_PAIRS
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.metrics.hypotheses import VALIDITY_CHECKS, contrast_figure
from judge_gym.report.facts import Facts
from judge_gym.report.findings import (
    AXES,
    NOT_TESTABLE,
    change_of,
    claimed,
    distinct_labels,
    joint_label,
    levels_unsaid,
    open_by_correction,
)
from judge_gym.report.moves import (
    NO_SETTINGS,
    UNTESTED,
    MovedSettings,
    in_numbers,
    largest_settings,
)
from judge_gym.report.multiverse import rule_cautions, sign_change_cautions
from judge_gym.report.planted import Planted
from judge_gym.report.plots.plot import Plot, PlotPanel
from judge_gym.report.remarks import remark_text
from judge_gym.report.scale_use import NO_USE, ScaleUse, scale_use
from judge_gym.report.scopes import behind, evidence_link, may_abstain, setting_phrases
from judge_gym.report.table import Row, Table
from judge_gym.store.results import FindingRow, ResultRow

TITLE = "Headlines"
_DECIDED = "the 95% interval decides each claim, after correction for many tests"
CHECKS = "Checks of the measurement"
_QUESTIONS: Mapping[str, tuple[str, str, str]] = {
    "H1": (
        "Do judges disagree beyond chance?",
        "polarization above its noise floor, bits",
        "disagreement",
    ),
    "H2": ("Do judges overestimate agreement?", "stated minus realised agreement", "confidence"),
    "H3": (
        "Does a rival's rubric lower confidence?",
        "change beyond a second own rubric",
        "rival rubrics",
    ),
    "H4.polarization": (
        "Does forced choice inflate disagreement?",
        "polarization, forced minus free, bits",
        "forced choice",
    ),
    "H4.distance": (
        "Does forced choice move sets apart?",
        "distance of sets, forced minus free",
        "forced choice",
    ),
    "V1.polarization": ("Do judges agree on the control?", "bits", "a control"),
    "V1.reference": (
        "Are verdicts near the reference index?",
        "distance on the 0-1 scale",
        "a reference index",
    ),
    "V2": ("Does the more contested concept polarize more?", "bits", "an order of concepts"),
    "V3.chance": (
        "Are judges right more often than chance?",
        "share correct",
        "known answers",
    ),
    "V3.published": ("Is accuracy as published?", "share correct", "published accuracy"),
    "V4.variance": ("Do judges repeat themselves?", "variance, 0-1 scale", "repeats"),
    "V4.icc": ("Do repeats tell items apart?", "ICC", "repeats"),
    "V5": ("Does conflict follow polarization?", "rank correlation", "single verdicts"),
}
"""Claim → its question in plain words, the measure that answers it with its unit, and its topic."""


def _asked(finding: FindingRow) -> tuple[str, str, str]:
    """Return the question that a finding answers, the measure that answers it, and its topic."""
    if figure_of := contrast_figure(finding.hypothesis):
        change = change_of(finding)
        question = f"Does {change} {_moves(finding, figure_of.words)}?"
        return question, f"change, {figure_of.unit}", change
    return _QUESTIONS[finding.hypothesis]


def _moves(finding: FindingRow, words: str) -> str:
    """Return what a planned contrast claims, so that a supported one is answered by yes."""
    if finding.direction == "within":
        return f"leave the {words} as it is"
    if finding.direction == "above":
        return f"raise the {words}" if finding.margin >= 0 else f"keep the {words} from falling"
    return f"lower the {words}" if finding.margin <= 0 else f"keep the {words} from rising"


_NAMED_BY_WHAT_IS_MISSING = frozenset({"V1.reference", "V2", "V3.chance", "V3.published"})
"""Claims whose topic names what a sweep lacks that has no figure of them."""
_CHECKS = frozenset(check.key for check in VALIDITY_CHECKS)
_ORDER = ("supported", "refuted", "inconclusive")
_SINGLE = 3
"""Findings of one claim that still have a row each."""
_MANY_ABSTENTIONS = 0.1
"""Share of abstentions from which a judge's are mentioned."""
_LONGEST_NAMES = 66
"""Characters of a row's label that names the judges of several findings."""


@dataclass(frozen=True)
class Headline:
    """One row: findings of one claim that came out alike, or all of a check.

    `question` and `measure` are the claim's; `conclusion` holds counts where findings differ. A
    row that is `not testable` has no `label` where no finding of its claim has an estimate.
    """

    question: str
    measure: str
    claim: str
    label: str
    conclusion: str
    findings: Sequence[FindingRow]
    names: Sequence[str]
    """What each finding is about."""
    is_check: bool
    unsaid: Mapping[str, object]
    """The levels at which planned findings are and which their labels do not name."""
    is_beside: bool = False
    """Whether these are what a plan confirms, at other levels, which the plan does not confirm."""
    explored: str = ""
    """How the claim's figures came out that the plan does not confirm, which have no row."""

    @property
    def claim_key(self) -> str:
        """The claim, such as `H1`."""
        return self.findings[0].hypothesis

    @property
    def figure(self) -> str:
        """The value with its interval, or the range of several values."""
        return figures_text(self.findings)

    @property
    def said(self) -> str:
        """The conclusion; where the intervals would decide all, that the correction does not."""
        alone = all(open_by_correction(finding) for finding in self.findings)
        return f"{self.conclusion} after correction" if alone else self.conclusion

    @property
    def untested_outcome(self) -> bool:
        """Whether the plan confirms it and it cannot be tested."""
        return self.conclusion == UNTESTED and self.findings[0].confirmatory

    @property
    def reasons(self) -> str:
        """Why what is not testable is not, each reason once."""
        return "; ".join(dict.fromkeys(finding.reason for finding in self.findings))


def headlines(findings: Sequence[FindingRow]) -> list[Headline]:
    """Return a row or a few per claim with a figure, or a primary outcome; claims before checks.

    Where a plan confirms some figures of a claim, those are its headline, and beside them the same
    at other levels of an axis. A claim with more than three figures has a row per conclusion; a
    check has one row. What is not testable has one row for each claim.
    """
    figures = [
        finding
        for finding in findings
        if (finding.scope or finding.confirmatory) and not finding.scope.keys() & set(PARTS)
    ]
    by_claim = [list(of) for _, of in groupby(figures, key=lambda finding: finding.hypothesis)]
    claims = [of for of in by_claim if of[0].hypothesis not in _CHECKS]
    checks = [of for of in by_claim if of[0].hypothesis in _CHECKS]
    return [
        *(headline for of in claims for headline in _claim_headlines(of)),
        *(_headline(_tested(of) or of, _asked(of[0])[0], of, is_check=True) for of in checks),
    ]


def audit_headlines(findings: Sequence[FindingRow]) -> list[Headline]:
    """Return the headlines without the claim that judges are right more often than by chance.

    Every judge in use is. The claim is among the findings.
    """
    return headlines([finding for finding in findings if finding.hypothesis != "V3.chance"])


def _tested(findings: Sequence[FindingRow]) -> list[FindingRow]:
    return [finding for finding in findings if finding.conclusion != NOT_TESTABLE]


def _claim_headlines(findings: Sequence[FindingRow]) -> Iterator[Headline]:
    chosen = [finding for finding in findings if finding.confirmatory] or findings
    settings = [_apart_from_levels(finding.scope) for finding in chosen]
    others = [
        finding for finding in findings if chosen is not findings and not finding.confirmatory
    ]
    beside = [one for one in _tested(others) if _apart_from_levels(one.scope) in settings]
    left = Counter(one.conclusion for one in others if one not in beside)
    explored = ", ".join(f"{left[word]} {word}" for word in _ORDER if left[word])
    for row in _rows_of(chosen, findings):
        yield replace(row, explored=explored)
    for row in _rows_of(beside, findings):
        yield replace(row, is_beside=True, explored=explored)


def _apart_from_levels(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scope without the levels of axes."""
    return {name: value for name, value in scope.items() if name not in AXES}


def _rows_of(chosen: Sequence[FindingRow], among: Sequence[FindingRow]) -> Iterator[Headline]:
    """Yield a row for each of a few figures, chosen among those of a claim, else per conclusion."""

    def headline(alike: Sequence[FindingRow]) -> Headline:
        label = (
            distinct_labels(alike, among)[0] if len(alike) == 1 else _names(alike, chosen, among)
        )
        return _headline(alike, label, among, is_check=False)

    tested = _tested(chosen)
    if len(tested) <= _SINGLE:
        yield from (headline([finding]) for finding in tested)
    else:
        for conclusion in _ORDER:
            if alike := [finding for finding in tested if finding.conclusion == conclusion]:
                yield headline(alike)
    if untested := [finding for finding in chosen if finding.conclusion == NOT_TESTABLE]:
        yield headline(untested) if tested else _headline(untested, "", among, is_check=False)


def _headline(
    findings: Sequence[FindingRow], label: str, among: Sequence[FindingRow], *, is_check: bool
) -> Headline:
    conclusions = [_conclusion(finding) for finding in findings]
    question, measure, _ = _asked(findings[0])
    if findings[0].unit == OF_PAIRS:
        measure = "pairs judged right less wrong"
    return Headline(
        question,
        measure,
        claimed(findings[0]),
        label,
        in_numbers(conclusions, (*_ORDER, UNTESTED)),
        findings,
        distinct_labels(findings, among),
        is_check,
        levels_unsaid(findings, among),
    )


def _names(
    findings: Sequence[FindingRow], chosen: Sequence[FindingRow], among: Sequence[FindingRow]
) -> str:
    """Return who several of the chosen findings are about: short names, else how many."""
    concepts = {str(finding.scope.get("concept", "")) for finding in findings}
    on_concept = f" on {concepts.pop()}" if len(concepts) == 1 and "" not in concepts else ""
    label = joint_label(findings, among)
    if not label and _judges(findings).isdisjoint(_judges(chosen, besides=findings)):
        label = ", ".join(_judges(findings)) + on_concept
    if "judge" in findings[0].scope and label and len(label) <= _LONGEST_NAMES:
        return label
    return f"{len(findings)} of {len(chosen)} figures{on_concept}"


def _judges(findings: Sequence[FindingRow], besides: Sequence[FindingRow] = ()) -> KeysView[str]:
    left_out = set(map(id, besides))
    return dict.fromkeys(
        str(finding.scope.get("judge", "")) for finding in findings if id(finding) not in left_out
    ).keys()


@dataclass(frozen=True)
class QuestionSummary:
    """What the headlines of one question say: each conclusion with what it holds for."""

    question: str
    is_check: bool
    conclusions: Sequence[tuple[str, str, Sequence[str]]]
    """In words, the last one named, which colours it, and what it holds for."""
    explored: str = ""


def answers(rows: Sequence[Headline]) -> list[QuestionSummary]:
    """Return the answer to each question, in the order of the headlines."""
    found = []
    for (question, is_check), group in groupby(rows, key=lambda row: (row.question, row.is_check)):
        of = list(group)
        found.append(QuestionSummary(question, is_check, _by_conclusion(of), of[0].explored))
    return found


def _by_conclusion(rows: Sequence[Headline]) -> list[tuple[str, str, Sequence[str]]]:
    if rows[0].is_check:
        found = rows[0].findings
        named = zip(found, rows[0].names, strict=True)
        labels = [
            f"refuted for {name}"
            for finding, name in named
            if finding.conclusion == "refuted" and name
        ]
        last = max((finding.conclusion for finding in found), key=(*_ORDER, NOT_TESTABLE).index)
        return [(rows[0].conclusion, last, labels)]
    by_conclusion = {
        conclusion: [
            f"{row.label or row.reasons}{' (not planned)' if row.is_beside else ''}"
            for row in rows
            if row.conclusion == conclusion
        ]
        for conclusion in (*_ORDER, UNTESTED)
    }
    return [(name, name, labels) for name, labels in by_conclusion.items() if labels]


def headline_table(
    rows: Sequence[Headline],
    settings: MovedSettings = NO_SETTINGS,
    most: int | None = _SINGLE,
    uses: ScaleUse = NO_USE,
    *,
    count_checks: bool = False,
) -> Table:
    """Return the headlines as a table: a heading per claim, one for `most` settings, for checks.

    Checks that are counted have one line.
    """
    claims, checks = (
        [
            Row(
                (f"{row.label}{_measured(row)}", row.figure, row.said) if row.label else (),
                heading=_heading(row),
                about=behind(finding.scope for finding in row.findings),
            )
            for row in rows
            if row.is_check is is_check
        ]
        for is_check in (False, True)
    )
    return _table(
        rows,
        ("about", "figure", "conclusion"),
        [
            *claims,
            *settings.rows(most),
            *uses.rows(),
            *(_counted_checks(rows) if count_checks else checks),
        ],
    )


def _counted_checks(rows: Sequence[Headline]) -> Iterator[Row]:
    """Yield the figures of all checks as one line, with the topics of those that are refuted."""
    checked = [finding for row in rows if row.is_check for finding in row.findings]
    conclusions = [_conclusion(finding) for finding in checked]
    refuted = [one for one in checked if one.conclusion == "refuted"]
    topics = ", ".join(dict.fromkeys(_asked(one)[2] for one in refuted))
    said = in_numbers(conclusions, (*_ORDER, UNTESTED)) + (f"; refuted: {topics}" if topics else "")
    if checked:
        yield Row((), heading=f"{CHECKS}  {said}")


def _conclusion(finding: FindingRow) -> str:
    return UNTESTED if finding.conclusion == NOT_TESTABLE else finding.conclusion


def _measured(row: Headline) -> str:
    """Return what the figures of a check are and its claim; "" of others, whose heading says it."""
    if not row.is_check:
        return ""
    claims = {claimed(finding) for finding in row.findings}
    claim = f"; claim: {row.claim}" if len(claims) == 1 else ""
    return f" ({row.measure}{claim})"


def _heading(row: Headline) -> str:
    if row.is_check:
        return CHECKS
    if not row.label:
        return f"{row.question}  {row.conclusion}: {row.reasons}"
    return f"{row.question}  {row.measure}; claim: {row.claim} ({row.findings[0].kind})"


def shorter_table(
    rows: Sequence[Headline],
    settings: MovedSettings = NO_SETTINGS,
    uses: ScaleUse = NO_USE,
    *,
    planned_figures_only: bool = False,
) -> Table:
    """Return the headlines as a table of one row per claim and one per axis.

    A claim has its figure and interval, or the range of several, or only a planned claim does; the
    largest effect of a varied axis has both, too. Checks have no figures.
    """
    whole = []
    for (question, is_check, is_beside), group in groupby(
        rows, key=lambda row: (row.question, row.is_check, row.is_beside)
    ):
        found = [finding for row in group for finding in row.findings]
        asked = f"{question} (other levels, not planned)" if is_beside else question
        whole.append(replace(_headline(found, "", found, is_check=is_check), question=asked))

    def has_figure(row: Headline) -> bool:
        planned = row.findings[0].confirmatory
        return not row.is_check and (planned or not planned_figures_only)

    claims, checks = (
        [
            Row(
                (row.question, _figure_first(row) if has_figure(row) else row.conclusion),
                heading=CHECKS if is_check else "Claims",
            )
            for row in whole
            if row.is_check is is_check
        ]
        for is_check in (False, True)
    )
    claims += [
        Row((row.cells[0], f"{row.cells[1]}, {row.cells[2]}") if row.cells else (), row.heading)
        for row in (*settings.rows(1), *uses.rows())
    ]
    return _table(rows, ("about", "conclusion"), [*claims, *checks])


def _figure_first(row: Headline) -> str:
    """Return the figure of a claim, in bits where it is, or the range of several; then how it is.

    Only the conclusion where none could be tested.
    """
    tested = _tested(row.findings)
    if not tested:
        return row.conclusion
    unit = f" {tested[0].unit}" if tested[0].unit in ("bits", "stages") else ""
    return f"{figures_text([_whole(one) for one in tested])}{unit}, {row.conclusion}"


def _table(rows: Sequence[Headline], columns: tuple[str, ...], lines: Sequence[Row]) -> Table:
    levels = _levels(rows)
    return Table(
        f"{TITLE}: {_DECIDED}",
        "",
        columns,
        tuple(lines),
        words=1,
        notes=(levels,) if levels else (),
        simulated=any(finding.simulated for row in rows for finding in row.findings),
        imported=any(finding.imported for row in rows for finding in row.findings),
    )


def _levels(rows: Sequence[Headline]) -> str:
    """Return the levels that no label of a planned figure names, as a sentence; may be empty."""
    unsaid = {name: level for row in rows for name, level in row.unsaid.items()}
    levels = ", ".join(setting_phrases(unsaid, unsaid))
    return f"Planned figures that name no other level: {levels}." if levels else ""


def headline_plot(rows: Sequence[Headline]) -> Plot:
    """Return the claims' headlines as one picture; checks are in the table beside it."""
    drawable = [row for row in rows if row.conclusion != UNTESTED]
    claims = [row for row in drawable if not row.is_check] or drawable
    plot = Plot(
        "headlines",
        "The claims beside their margins",
        "A claim is supported if its 95% interval lies wholly beyond the shaded margin, and does "
        "so after correction for many tests. In bits, 0 is chance, and 1 is verdicts without "
        "overlap. A mark leads to the answers behind it. Exploratory claims were not planned. "
        f"{_levels(claims)}".strip(),
        TITLE,
        missing="no claim could be tested",
    )
    drawn = [
        {
            "question": f"{row.question} ({row.measure}; {row.findings[0].kind}: {row.claim})",
            "label": row.label,
            "estimate": finding.estimate,
            "lower": finding.lower,
            "upper": finding.upper,
            **_margin(finding),
            "conclusion": finding.conclusion,
            # The interval over items alone has no room; it is in the table beside the plot.
            "said": figures_text([_whole(one) for one in row.findings])
            if finding is row.findings[0]
            else "",
            "link": evidence_link(behind([finding.scope])),
        }
        for row in claims
        for finding in row.findings
    ]
    if not drawn:
        return plot
    return replace(
        plot,
        panels=(PlotPanel("", drawn),),
        simulated=any(finding.simulated for row in claims for finding in row.findings),
        imported=any(finding.imported for row in claims for finding in row.findings),
        missing="",
    )


def _whole(finding: FindingRow) -> FindingRow:
    return replace(finding, items_lower=None, items_upper=None)


def _margin(finding: FindingRow) -> dict[str, float]:
    """Return where the margin begins, and its end, which decides the claim."""
    far = finding.reference + finding.margin
    near = finding.reference - finding.margin if finding.direction == "within" else None
    return {"near": finding.reference if near is None else near, "far": far}


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
    rows: Sequence[ResultRow] = (),
) -> Summary:
    """Return the summary of an analysis run with the figures `rows`; `status` is its sweep's."""
    rows = averaged(rows)
    documents = sum(window.documents or 0 for window in status.windows)
    found = headlines(findings)
    spent = status.spent
    cost = f"{number(spent.cost_usd)} USD"
    empty = sum(judge.count for judge in status.empty)
    return Summary(
        ran=", ".join(
            (
                status.experiments_text,
                counted(len(facts.judges), "judge"),
                counted(documents, "document") + (f" ({facts.dropped})" if facts.dropped else ""),
            )
        ),
        progress="  ".join(map(_progress, status.workflows)),
        spent=f"{counted(spent.calls, 'call')}, {spent.failed:,} failed, "
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
            *_cautions(facts, status, findings, found, planted),
            *abstention_cautions(rows),
            *_understated(rows),
            *sign_change_cautions(rows),
            *rule_cautions(rows),
        ),
        settings=largest_settings(rows),
        uses=scale_use(rows),
    )


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
    yield from _beside_the_headlines(rows, findings)
    if planted.compared:
        yield _recovery(planted)


def _beside_the_headlines(
    rows: Sequence[Headline], findings: Sequence[FindingRow]
) -> Iterator[str]:
    """Yield what the plan does not confirm, and what could not be tested."""
    explored = dict.fromkeys(
        f"{_asked(row.findings[0])[2]} ({row.explored})" for row in rows if row.explored
    )
    if explored:
        yield f"Beside the plan's outcomes, in the report: {', '.join(explored)}."
    for row in rows:
        untested = row.conclusion == UNTESTED and not row.untested_outcome
        if untested and row.label and not row.is_check:
            yield f"{row.question} Not testable for {row.label}: {row.reasons}."
    lost = {
        _asked(row.findings[0])[2]: row.findings[0].reason
        for row in rows
        if row.is_check and row.conclusion == UNTESTED and not row.untested_outcome
    }
    absent = {
        _asked(finding)[2]: (
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
