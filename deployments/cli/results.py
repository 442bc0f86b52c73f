"""Showing an analysis run: its headlines or all its tables, its report, and what to do next."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from deployments.cli.json_output import json_output
from deployments.cli.output import command, console
from judge_gym.shipped import DEPLOYMENTS, documented

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from judge_gym.report.page import Report
    from judge_gym.report.table import Table, TerminalTable

MOST_LINES = 40
"""Lines that `demo`, `sweep run` and `analyse` print by default, whatever the terminal's width."""
_LINES_BEFORE = 1
"""Lines those commands print first: the sweep's name, or that nothing was missing."""
_MOST_CAUTIONS = 5
_FEWEST_CAUTIONS = 3
"""Cautions that are printed, however little room there is."""
_MOST_ROWS = 12
_FEWEST_ROWS = 3
"""Rows of a table that stay, however little room there is."""


def show_results(
    run_id: int,
    next_file: Path | None = None,
    *,
    everything: bool = False,
    as_json: bool = False,
) -> None:
    """Write the report of an analysis run; print its headlines, or `everything`, and what is next.

    `next_file` is the sweep file the run came from, when there is one to go on with. As JSON, the
    claims are printed, and with `everything` all figures.
    """
    from deployments.cli.environment import database
    from judge_gym.report.page import read_report, save_report
    from judge_gym.settings import settings

    with database() as session:
        report = read_report(session, run_id)
        where = _where(session)
    file = save_report(report, settings().reports_dir)
    places = [("Report", str(file.resolve()))]
    steps = next_steps(report.facts.run.sweep, next_file, imported=report.imported == 1)
    if as_json:
        print_json(report, file, everything=everything)
    elif everything:
        show_everything(report, [*places, ("Database", where), *steps])
    else:
        show_headlines(report, [*places, *steps[:2]])


def show_headlines(report: "Report", places: Sequence[tuple[str, str]]) -> None:
    """Print a report's summary and `places`, in `MOST_LINES` lines with what stood before."""
    from judge_gym.report.headline_tables import headline_table, shorter_table
    from judge_gym.report.table import TerminalTable

    opening = Group(*(Text(line, style=style) for line, style in _opening(report)))
    careful = _careful(report, _MOST_CAUTIONS)
    opened = report.audit.opening if report.audit else []
    left = MOST_LINES - _LINES_BEFORE - len(places) - _height(opening)
    audited = _fitted(opened, left - _height(careful), report)
    left -= _height(audited)
    rows = report.summary.headlines
    settings, uses = report.summary.settings, report.summary.uses
    brief = replace(uses, brief=True)
    whole = [
        headline_table(rows, settings, uses=uses),
        *(
            headline_table(rows, settings, most, brief, count_checks=counted)
            for counted in (False, True)
            for most in (1, 0, None)
        ),
    ]
    choices = [
        *whole,
        # Figures of claims come before the use of the scale.
        headline_table(rows, settings, None, count_checks=True),
        shorter_table(rows, settings, brief),
        shorter_table(rows, settings, brief, planned_figures_only=True),
    ]
    if not choices[0].rows:
        choices = [
            replace(table, rows=table.rows[:_MOST_ROWS], notes=())
            for table in report.results[:1]
            if not report.audit
        ]
    drawn = [TerminalTable(table, report.marks_beside(table)) for table in choices]
    # Both of them come before the last cautions.
    for most in range(_MOST_CAUTIONS, _FEWEST_CAUTIONS - 1, -1):
        fewer = _careful(report, most)
        if uses.regimes and _first_of(drawn[: len(whole)], left - _height(fewer)):
            careful = fewer
            break
    fitting = _first_of(drawn, left - _height(careful))
    last = drawn[-1] if drawn else Group("No figures yet.", "")
    if report.audit and fitting is None:
        last = Group()
    console.print(Group(opening, audited, fitting or last, careful))
    _pairs(places)


def _careful(report: "Report", most: int) -> Group:
    """Return the first cautions of a report, `most` of them, and how many more there are."""
    cautions = [Text(f"- {line}") for line in report.summary.cautions[:most]]
    if more := len(report.summary.cautions) - len(cautions):
        cautions.append(Text(f"- {more} more: add --all"))
    return Group(Text("Be careful", style="bold"), *cautions, "") if cautions else Group()


def _first_of(drawn: "Sequence[TerminalTable]", room: int) -> "TerminalTable | None":
    """Return the first of these tables that has room."""
    return next((table for table in drawn if _height(table) <= room), None)


def _fitted(tables: "Sequence[Table]", room: int, report: "Report") -> Group:
    """Return tables without the last rows of the longest, where they need more lines than room."""
    from judge_gym.report.table import TerminalTable

    def drawn() -> Group:
        return Group(*(TerminalTable(table, report.marks_beside(table)) for table in shown))

    shown = list(tables)
    while _height(drawn()) > room and any(len(table.rows) > _FEWEST_ROWS for table in shown):
        place = max(range(len(shown)), key=lambda one: len(shown[one].rows))
        rows, whole = shown[place].rows[:-1], len(tables[place].rows)
        note = f"{whole - len(rows)} of {whole} rows are in the report alone."
        notes = (*tables[place].notes, note)
        shown[place] = replace(shown[place], rows=rows, notes=notes)
    return drawn()


def print_json(
    report: "Report", file: Path, *, everything: bool = False, notes: Sequence[str] = ()
) -> None:
    """Print the claims of a report, what to be careful about and where it is; or all figures.

    `notes` say how a file was read.
    """
    run, summary = report.facts.run, report.summary
    values = {
        "sweep": run.sweep,
        "run": run.id or None,
        "simulated": run.simulated,
        "imported": report.imported > 0,
        "ran": summary.ran,
        "progress": summary.progress,
        "spent": summary.spent,
        "claims": [
            {"question": row.question, "check": row.is_check, **asdict(finding)}
            for row in summary.headlines
            for finding in row.findings
        ],
        **({"notes": list(notes)} if notes else {}),
        "careful": list(summary.cautions),
        "report": str(file.resolve()),
        **({"figures": [asdict(row) for row in report.figures]} if everything else {}),
    }
    json_output.give(values)


def _opening(report: "Report") -> Iterator[tuple[str, str]]:
    """Yield the lines that say what ran, each with its style."""
    run, summary = report.facts.run, report.summary
    if run.simulated:
        part = "" if report.wholly_simulated else " (in part)"
        yield f"SIMULATED DATA{part}: not evidence about real models", "bold yellow"
    if report.imported:
        part = "" if report.imported == 1 else " (in part)"
        yield f"IMPORTED{part}: judgements recorded elsewhere", "bold yellow"
    if report.warning:
        yield f"UNREADABLE: {report.warning}", "bold yellow"
    yield f"{run.sweep}: {summary.ran}; {summary.spent}", ""
    if summary.progress:
        yield summary.progress, ""
    yield "", ""


def show_everything(report: "Report", places: Sequence[tuple[str, str]]) -> None:
    """Print all tables and cautions of a report, and `places`."""
    from judge_gym.report.scopes import DEFAULTS_NOTE
    from judge_gym.report.table import TerminalTable

    for line, style in _opening(report):
        console.print(Text(line, style=style))
    opened = report.audit.opening if report.audit else []
    for table in (*opened, report.findings, *report.results, *report.planted.tables[:1]):
        if table and table.rows:
            console.print(TerminalTable(table, report.marks_beside(table)))
    for line in (DEFAULTS_NOTE if report.results else "No figures yet.", *report.summary.cautions):
        console.print(Text(line))
    console.print()
    _pairs(places)


def _height(drawn: RenderableType) -> int:
    """Return how many lines this takes on the console."""
    return len(console.render_lines(drawn, pad=False))


def _where(session: "Session") -> str:
    from judge_gym.settings import settings

    url = session.get_bind().engine.url.render_as_string(hide_password=False)
    serve = f"  (embedded: `{command()} database serve` keeps it running)"
    return psql_command(url) + ("" if settings().database_url else serve)


def psql_command(url: str) -> str:
    """Return the command that opens a database; a password in the URL is left out."""
    from sqlalchemy import make_url

    plain = make_url(url).set(drivername="postgresql").difference_update_query(["password"])
    return f"psql {shlex.quote(plain._replace(password=None).render_as_string())}"


def next_steps(sweep: str, file: Path | None, *, imported: bool = False) -> list[tuple[str, str]]:
    """Return (purpose, what to type). An imported sweep has no file that could be copied."""
    from judge_gym.design.frozen import frozen_file

    name = shlex.quote(sweep)
    program = shlex.quote(command())
    if file and not file.resolve().is_relative_to(DEPLOYMENTS.resolve()):
        source = shlex.quote(_short(file))
        change = f"edit {source}, then {program} sweep plan {source}"
        if frozen_file(file).exists():
            change = f"copy {source} under another name: a change to it ends its frozen plan"
        own_sweep = [("Extend it", change)]
    else:
        example = file.name if file else "quick.yaml"
        copied = f"my-examples/{DEPLOYMENTS.name}/sweeps/{example}"
        own_sweep = [
            (
                "Your own sweep",
                f"{program} data examples my-examples, then name your models in {copied}; see "
                f"{documented('how-to/providers.md')}",
            ),
        ]
    return [
        ("All tables", f"{program} analyse figures {name} --all"),
        *([] if imported else own_sweep),
        ("Progress", f"{program} sweep status {name}"),
        ("Evidence", f"{program} evidence list"),
        ("Experiments", f"{program} analyse experiments list --sweep {name}"),
    ]


def _short(file: Path) -> str:
    working_folder = Path.cwd()
    return str(file.relative_to(working_folder) if file.is_relative_to(working_folder) else file)


def _pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print what stands where, never broken: a path must survive being copied."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        console.print(Text(f"{name:<{width}}  {value}"), soft_wrap=True)
