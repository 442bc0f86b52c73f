"""The report: one HTML file that opens by a double click and loads nothing from anywhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shutil import rmtree

from sqlalchemy.orm import Session

from judge_gym.analysis import registry
from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.rubric_texts import RubricPair, nearest_and_farthest
from judge_gym.formats import plain
from judge_gym.lab.status import sweep_status
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS
from judge_gym.report.audit import audit
from judge_gym.report.audit_findings import Audit
from judge_gym.report.cases import Cases, read_cases
from judge_gym.report.checklist import checklist, methods_paragraph
from judge_gym.report.evidence import (
    MAX_ON_PAGE,
    ShownWindow,
    shown_evidence,
)
from judge_gym.report.facts import Facts, read_facts
from judge_gym.report.files import (
    ENVIRONMENT,
    Prompts,
    csv_download,
    replace_file,
    results_csv,
    unwritable,
)
from judge_gym.report.findings import HOW_DECIDED, findings_table, largest_effects, sentences
from judge_gym.report.headline_tables import headline_plot, headline_table
from judge_gym.report.multiverse import specification_plot
from judge_gym.report.planted import Planted, compare_planted
from judge_gym.report.plots.content import read_plots
from judge_gym.report.plots.content_of_verdicts import OVERVIEW
from judge_gym.report.plots.plot import Plot, without_links
from judge_gym.report.plots.svg import drawings, drawn_before
from judge_gym.report.questions import Section, sections
from judge_gym.report.scopes import DEFAULTS_NOTE, evidence_link
from judge_gym.report.summary import Summary, summary_of
from judge_gym.report.table import Table, marks_of
from judge_gym.report.tables import result_tables
from judge_gym.report.trust import Tile, trust_tiles
from judge_gym.report.undecided import undecided
from judge_gym.store.results import ResultRow, load_findings, load_results, run_info


@dataclass(frozen=True)
class Report:
    """What a page shows; `wholly_simulated` when every figure rests on a simulated call.

    `sentences` are the findings in words, `largest` those on the largest effects, and `csv` holds
    every figure. `imported` is the share of figures that rest on judgements made elsewhere.
    """

    facts: Facts
    summary: Summary
    sentences: Sequence[str]
    largest: Sequence[str]
    findings: Table
    results: Sequence[Table]
    figures: Sequence[ResultRow]
    planted: Planted
    cases: Cases | None
    """None for an audit without a database."""
    evidence: Sequence[ShownWindow]
    csv: str
    wholly_simulated: bool
    imported: float
    written: datetime
    concepts: Sequence[str] = ()
    trust: Sequence[Tile] = ()
    methods: str = ""
    """How the study was done, in sentences."""
    checklist: Table | None = None
    plots: Sequence[Plot] = ()
    rubrics: Sequence[RubricPair] = ()
    """The nearest and the farthest rubrics of two owners."""
    audit: Audit | None = None
    """Of recorded judgements."""
    warning: str = ""
    """Why the figures may not be what they seem; a banner says it first."""

    @property
    def banner_marks(self) -> Sequence[str]:
        """The marks that hold for every figure: a banner shows them once for the whole page."""
        return marks_of(self.wholly_simulated, self.imported == 1)

    def marks_beside(self, shown: Table | Plot) -> Sequence[str]:
        """Return the marks that a table or plot needs beside those of the banner."""
        return [mark for mark in shown.marks if mark not in self.banner_marks]

    @property
    def undecided(self) -> Sequence[str]:
        """The claims that are left open, and what would decide them."""
        return undecided(self.summary.headlines)

    @property
    def headlines(self) -> Plot:
        """The claims as one picture, with the headline table as its numbers."""
        rows = self.summary.headlines
        table = headline_table(rows, self.summary.settings, uses=self.summary.uses)
        return replace(headline_plot(rows), numbers=table)

    @property
    def disagreement(self) -> Plot | None:
        """The picture of the item on which judges stand furthest apart; None without one."""
        return next((plot for plot in self.plots if plot.beside == OVERVIEW and plot.panels), None)

    @property
    def has_items(self) -> bool:
        """Whether the page shows items with their judgements: an audit may have no texts."""
        return bool(self.cases or self.evidence)

    @cached_property  # every page of an item shows them
    def outcomes(self) -> Sequence[str]:
        """What became of the judgements that the page shows, each once."""
        documents = (document for window in self.evidence for document in window.documents)
        return sorted({one.status for document in documents for one in document.judgements})

    @property
    def sections(self) -> Sequence[Section]:
        """The questions with their answers, tables and pictures."""
        return sections(self.summary.headlines, self.results, self.plots)


def read_report(session: Session, run_id: int) -> Report:
    """Return everything that is shown of an analysis run, in the terminal or on the page.

    Planted parameters are compared only when every figure is simulated. Raises `StoreError` when
    there is no such run.
    """
    sweep = run_info(session, run_id).sweep
    data = load_sweep_data(session, sweep)
    facts = read_facts(session, run_id, [arm for judge in data.judges for arm in judge.served])
    rows = load_results(session, run_id)
    findings = load_findings(session, run_id)
    wholly = facts.run.simulated and all(row.simulated for row in rows)
    models = (judge.model for judge in data.judges)
    planted = compare_planted(rows, models) if wholly else Planted()
    summary = summary_of(facts, sweep_status(session, sweep), findings, planted, rows, data)
    concepts = concepts_of(rows)
    trust = trust_tiles(rows, summary.headlines, facts.served, findings)
    return Report(
        facts=facts,
        summary=summary,
        sentences=sentences(findings),
        largest=largest_effects(rows),
        findings=findings_table(findings, facts.run.standing),
        results=result_tables(rows),
        figures=rows,
        planted=planted,
        cases=read_cases(session, sweep, data, facts.experiment_ids),
        evidence=shown_evidence(session, sweep, facts.experiment_ids),
        csv=results_csv(facts.run, rows, findings),
        wholly_simulated=wholly,
        imported=sum(row.imported for row in rows) / len(rows) if rows else 0.0,
        written=datetime.now(UTC),
        concepts=concepts,
        trust=trust,
        methods=methods_paragraph(facts, concepts),
        checklist=checklist(facts, concepts, trust, findings),
        rubrics=nearest_and_farthest(data),
        audit=audit(data, rows),
        plots=[*read_plots(session, sweep, data, rows), specification_plot(rows)],
    )


def concepts_of(rows: Sequence[ResultRow]) -> list[str]:
    """Return the concepts that figures are about, sorted."""
    return sorted({str(row.scope["concept"]) for row in rows if "concept" in row.scope})


def save_report(report: Report, folder: Path, kind: str = "report") -> Path:
    """Write `<kind>-<sweep>.html` into `folder`, replacing an older one at once; returns its path.

    Where it shows more than `MAX_ON_PAGE` documents, each has a page in a folder beside it.

    Raises `ReportError` when the folder cannot be written to.
    """
    path = report_file(report.facts.run.sweep, folder, kind)
    items = _items_folder(report, path.stem)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        older = path.read_text("utf-8", errors="replace") if path.exists() else ""
        if items:
            _save_items(report, folder / items, path.name)
        replace_file(path, render_page(report, older, items))
        for stale in set(_ITEMS.findall(older)) - {items}:
            rmtree(folder / stale, ignore_errors=True)
    except OSError as error:
        raise unwritable(f"The report {path}", folder, error, stored=kind == "report") from error
    return path


_ITEMS = re.compile(r'<main data-items="([A-Za-z0-9._-]*-items-[0-9]{14})">')


def _items_folder(report: Report, stem: str) -> str:
    """Return the folder of the items' own pages; empty where the report's page holds them.

    It is named after the analysis, so that a report that is kept does not lose its items.
    """
    if sum(len(window.documents) for window in report.evidence) <= MAX_ON_PAGE:
        return ""
    return f"{stem}-items-{report.facts.run.created_at:%Y%m%d%H%M%S}"


def _save_items(report: Report, folder: Path, page: str) -> None:
    """Write a page per item, which leads back to the report's page."""
    folder.mkdir(exist_ok=True)
    template = ENVIRONMENT.get_template("item.html.j2")
    for window in report.evidence:
        for document in window.documents:
            text = template.render(report=report, document=document, page=page, prompts=Prompts())
            replace_file(folder / f"item-{document.id}.html", text)


def report_file(sweep: str, folder: Path, kind: str = "report") -> Path:
    """Return where the report of a sweep is written."""
    return folder / f"{kind}-{_file_name(sweep)}.html"


def keep_report(sweep: str, folder: Path) -> Path | None:
    """Rename the report of a sweep to one with the date of its file; None if there is no report.

    Raises `ReportError` when the folder cannot be written to.
    """
    path = report_file(sweep, folder)
    if not path.exists():
        return None
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    kept = path.with_stem(f"{path.stem}-until-{written:%Y%m%d-%H%M%S}")
    try:
        return path.rename(kept)
    except OSError as error:
        raise unwritable(f"The report {kept}", folder, error) from error


def render_page(report: Report, older: str = "", items_folder: str = "") -> str:
    """Return the whole page; equal reports give equal text.

    `older` is a page whose drawings are taken over where they show the same. `items_folder` holds
    the pages of items; empty where they stand on this page.
    """
    template = ENVIRONMENT.get_template("page.html.j2")
    before = drawn_before(older)
    return template.render(
        report=report,
        defaults_note=DEFAULTS_NOTE,
        how_decided=HOW_DECIDED,
        anchor=_anchor,
        evidence_link=evidence_link,
        prompts=Prompts(),
        items_folder=items_folder,
        drawings=lambda plot: drawings(plot if report.has_items else without_links(plot), before),
        figures=csv_download(f"figures-{_file_name(report.facts.run.sweep)}.csv", report.csv),
        methods=registry.tables(),
        decisions=decisions(),
        notation=NOTATION,
        ground_rules=GROUND_RULES,
    )


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _file_name(sweep: str) -> str:
    """Return a sweep's name as part of a file name, whatever characters it has."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", sweep).strip("-.") or "sweep"


NOTATION = (
    ("cell", "one judge, one item and one rubric; it holds the scored replicates, n of them"),
    ("S, s", "the number of stages of the rubric, and one of them from 1 to S"),
    ("A, m(A)", "the set of stages a verdict names, and the share of a cell's verdicts with it"),
    ("p(s)", "Σ m(A)/|A| over sets that hold s: a verdict of several stages counts in equal parts"),
    ("x", "(s − 1)/(S − 1), the verdict on the 0-1 scale; of a set, the mean over its stages"),
    ("c", "the probed probability: the share of experts expected to choose the verdict"),
)
GROUND_RULES = (
    "Abstentions are counted apart, and unparseable, refused and failed samples are never scores. "
    "Judges are compared on the items that all of them scored, judges of one family averaged first "
    "in polarization. Intervals are 95%; items are what is resampled or averaged, never the "
    "replicates within a cell. Verdicts under different rubrics are never compared stage by stage. "
    "Adjusted p: Holm within confirmatory families and over pairs, Benjamini-Hochberg where "
    "something is explored."
)


@dataclass(frozen=True)
class StatedClaim:
    """What a hypothesis or check claims of which figure, and which claim it stands in for."""

    key: str
    statement: str
    claim: str
    replaces: str


def decisions() -> list[StatedClaim]:
    """Return what is decided of which figure, with the margin that holds without a plan."""
    return [
        StatedClaim(
            hypothesis.key,
            hypothesis.statement,
            f"{hypothesis.estimand}, {hypothesis.direction.value} {plain(hypothesis.margin)} "
            "unless the plan says otherwise",
            hypothesis.replaces,
        )
        for hypothesis in (*HYPOTHESES, *VALIDITY_CHECKS)
    ]
