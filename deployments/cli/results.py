"""Showing an analysis run: its tables, where its report is, and what to do next."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from deployments.cli.output import command, console

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from judge_gym.report.table import Table

GAP = 2
NARROWEST = 8


def show_results(run_id: int, next_file: Path | None = None) -> None:
    """Print the tables of an analysis run, write its report, and say what comes next.

    `next_file` is the sweep file the run came from, when there is one to go on with.
    """
    from deployments.cli.database import database
    from judge_gym.report.page import read_report, save_report
    from judge_gym.report.scopes import DEFAULTS_NOTE
    from judge_gym.settings import settings

    with database() as session:
        report = read_report(session, run_id)
        where = _where(session)
    file = save_report(report, settings().data_dir / "reports")
    console.print()
    for table in (report.findings, *report.results, *report.planted[:1]):
        if table.rows and table.brief:
            show_table(table)
    _line(DEFAULTS_NOTE if report.results else "There is no figure yet.")
    for note in report.facts.calls.notes:
        _line(note)
    for warning in report.facts.warnings:
        _line(f"Warning: {warning}")
    if report.facts.run.simulated:
        _line("SIMULATED: these figures show judge-gym at work, and say nothing of real models.")
    if report.imported:
        _line("IMPORTED: the judgements were made elsewhere and brought in; judge-gym asked none.")
    _line()
    _pairs([("Report", str(file.resolve())), ("Database", where)])
    _line()
    _pairs(next_steps(report.facts.run.sweep, next_file))


def _where(session: "Session") -> str:
    from judge_gym.settings import settings

    url = session.get_bind().engine.url.render_as_string(hide_password=False)
    note = "" if settings().database_url else "  (embedded: up while a judge-gym command runs)"
    return psql_command(url) + note


def psql_command(url: str) -> str:
    """Return the command that opens a database; a password in the URL is left out."""
    from sqlalchemy import make_url

    plain = make_url(url).set(drivername="postgresql").difference_update_query(["password"])
    return f"psql {shlex.quote(plain._replace(password=None).render_as_string())}"


def next_steps(sweep: str, file: Path | None) -> list[tuple[str, str]]:
    """Return (what for, what to type)."""
    name = shlex.quote(sweep)
    again = shlex.quote(_short(file)) if file else "FILE"
    program = shlex.quote(command())
    return [
        ("How far it is", f"{program} sweep status {name}"),
        ("What was judged", f"{program} window list"),
        ("Who judged what", f"{program} experiment list --sweep {name}"),
        ("These tables again", f"{program} analyse {name}"),
        ("Your own sweep", f"copy {again}, edit it, then {program} sweep plan COPY"),
        ("Real models", "set a provider's key and name its model in the copy; see README.md"),
    ]


def _short(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _line(text: str = "") -> None:
    console.print(Text(text))


def _pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print what stands where, never broken: a path must survive being copied."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        console.print(Text(f"{name:<{width}}  {value}"), soft_wrap=True)


def show_table(table: "Table") -> None:
    """Print a table with its explanation and notes; nothing in it is read as markup."""
    mark = f" ({', '.join(table.marks)})" if table.marks else ""
    console.print(Text(f"{table.title}{mark}", style="bold"))
    console.print(Text(table.explanation, style="dim"))
    indent = GAP if any(row.heading for row in table.rows) else 0
    widths = _widths(table, console.width - indent)
    console.print(_grid(table, widths, [table.columns], indent, style="underline"))
    for heading, rows in table.sections():
        if heading:
            console.print(Text(heading, style="italic"))
        console.print(_grid(table, widths, rows, indent))
    for note in table.notes:
        console.print(Text(f"  {note}", style="dim"))
    console.print()


def _widths(table: "Table", room: int) -> list[int]:
    """Return the width of each column; columns of words give way where there is not the room."""
    widths = [
        max(cell_len(heading), *(cell_len(row.cells[place]) for row in table.rows))
        for place, heading in enumerate(table.columns)
    ]
    excess = sum(widths) + GAP * (len(widths) - 1) - room
    for _ in range(excess):
        widest = max(range(table.words), key=lambda place: widths[place])
        widths[widest] = max(NARROWEST, widths[widest] - 1)
    return widths


def _grid(
    table: "Table",
    widths: Sequence[int],
    rows: Iterable[Sequence[str]],
    indent: int,
    style: str = "",
) -> Padding:
    """Return rows as columns of these widths, so that the parts of a table stand aligned."""
    grid = RichTable(box=None, pad_edge=False, show_header=False, padding=(0, GAP, 0, 0))
    for place, width in enumerate(widths):
        side: Literal["left", "right"] = "left" if place < table.words else "right"
        grid.add_column(justify=side, width=width, overflow="fold")
    for cells in rows:
        grid.add_row(*(Text(cell, style=style) for cell in cells))
    return Padding(grid, (0, 0, 0, indent), expand=False)
