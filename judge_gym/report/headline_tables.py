"""Headlines as tables and as a picture."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from judge_gym.formats import figures_text
from judge_gym.report.findings import claimed
from judge_gym.report.headlines import (
    CONCLUSIONS,
    SINGLE,
    Headline,
    as_headline,
    conclusion_of,
    tested_among,
    topic_of,
)
from judge_gym.report.moves import NO_SETTINGS, UNTESTED, MovedSettings, in_numbers
from judge_gym.report.plots.plot import Plot, PlotPanel
from judge_gym.report.scale_use import NO_USE, ScaleUse
from judge_gym.report.scopes import behind, evidence_link, setting_phrases
from judge_gym.report.table import Row, Table
from judge_gym.store.results import FindingRow

TITLE = "Headlines"
_DECIDED = "the 95% interval decides each claim, after correction for many tests"
CHECKS = "Checks of the measurement"


def headline_table(
    rows: Sequence[Headline],
    settings: MovedSettings = NO_SETTINGS,
    most: int | None = SINGLE,
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
    conclusions = [conclusion_of(finding) for finding in checked]
    refuted = [one for one in checked if one.conclusion == "refuted"]
    topics = ", ".join(dict.fromkeys(topic_of(one) for one in refuted))
    said = in_numbers(conclusions, CONCLUSIONS) + (f"; refuted: {topics}" if topics else "")
    if checked:
        yield Row((), heading=f"{CHECKS}  {said}")


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
        whole.append(replace(as_headline(found, "", found, is_check=is_check), question=asked))

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
    tested = tested_among(row.findings)
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
    labels = Counter((row.question, row.label) for row in claims)
    drawn = [
        {
            "question": f"{row.question} ({row.measure}; {row.findings[0].kind}: {row.claim})",
            "label": row.label
            if labels[row.question, row.label] == 1
            # Rows of one label would stand on one line.
            else f"{row.label} ({row.conclusion})",
            "estimate": finding.estimate,
            "lower": finding.lower,
            "upper": finding.upper,
            **_margin(finding),
            "conclusion": finding.conclusion,
            # The interval over items alone has no room; it is in the table beside the plot.
            "said": figures_text([_whole(one) for one in row.findings])
            if finding is row.findings[0]
            else "",
            "concluded": row.conclusion if finding is row.findings[0] else "",
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
