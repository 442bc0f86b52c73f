"""`judge-gym judge align`: bring a judge nearer to people's labels, and test whether it worked."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.output import console, say_simulated
from deployments.cli.thresholds import exit_by
from judge_gym.counting import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from judge_gym.judges.aligning.loading import LoadedAlignment
    from judge_gym.judges.aligning.running import AlignmentReport
    from judge_gym.runtime import Runtime

_MOST_ROWS = 10
"""Candidates that are printed; the page has all."""


def align(
    file: Annotated[Path, typer.Argument(help="The alignment file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the chosen judge here, whatever the test set says.",
            show_default="NAME-aligned.yaml beside the judge, if the gain survives",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a judge file that is there.")
    ] = False,
    look_again: Annotated[
        bool,
        typer.Option(
            "--look-again", help="Test on texts that were looked at before; counted and shown."
        ),
    ] = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Improve a judge by examples and proposed rubrics, tested on sealed texts.

    Exits with 0 if the gain survives the test set, 1 if the new judge is worse there, 3 if the
    data cannot tell. Writes a page. Rerun the command to resume; stored results are reused.
    """
    from judge_gym.judges.aligning.loading import load
    from judge_gym.judges.aligning.writing import aligned_path, check_writable, written_judge
    from judge_gym.settings import settings
    from judge_gym.writable import check_reports

    # Errors in files are raised before a server is started.
    loaded = load(file)
    target = out or aligned_path(loaded.design.judge)
    check_writable(target, loaded.design.judge, replace=replace)
    console.plain(loaded.items.said(loaded.judge, file))
    if plan:
        _plan(loaded, look_again=look_again)
        return
    check_reports(settings().reports_dir)
    report = _run(loaded, retry_failed=retry_failed, look_again=look_again)
    written = written_judge(report, target, always=out is not None, replace=replace)
    page = _show(report, written)
    if as_json:
        from judge_gym.report.alignment import alignment_json

        json_output.give(alignment_json(report, written, page))
    exit_by([report.result])


def _plan(loaded: "LoadedAlignment", *, look_again: bool) -> None:
    from deployments.cli.environment import in_runtime
    from deployments.cli.estimates import show_alignment
    from judge_gym.judges.aligning.loading import too_few
    from judge_gym.judges.aligning.planning import plan
    from judge_gym.judges.aligning.sealing import sealed_texts
    from judge_gym.report.alignment import left_out, planned_look, split_table
    from judge_gym.report.table import TerminalTable

    console.print(TerminalTable(split_table(loaded)))
    if without := left_out(loaded):
        console.plain(f"{without}.")
    if parts := too_few(loaded):
        console.print(f"Too few labels for {', '.join(parts)}: nothing would be judged.")
        return

    async def planned(current: "Runtime") -> None:
        sealed = sealed_texts(current, loaded)
        if looked := planned_look(sealed, look_again=look_again):
            console.plain(looked)
        if sealed.is_used_up and not look_again:
            return
        show_alignment(loaded, plan(current, loaded))

    in_runtime(planned)


def _run(loaded: "LoadedAlignment", *, retry_failed: bool, look_again: bool) -> "AlignmentReport":
    from deployments.cli.environment import in_runtime
    from judge_gym.judges.aligning.running import align

    def run(current: "Runtime") -> "Awaitable[AlignmentReport]":
        return align(current, loaded, retry_failed=retry_failed, look_again=look_again)

    proposer = loaded.design.proposer
    models = [proposer.model] if proposer else []
    return in_runtime(run, [loaded.judge], "Aligning.", models=models)


def _show(report: "AlignmentReport", written: str) -> Path:
    """Print the report, write its page, and return the page's path."""
    from judge_gym.report.alignment import (
        left_out,
        paid,
        save_alignment,
        seal,
        sentence,
        split_table,
        test_table,
        tried_table,
    )
    from judge_gym.report.table import TerminalTable
    from judge_gym.settings import settings

    loaded = report.loaded
    tables = [split_table(loaded)]
    if report.tried:
        tried = tried_table(report)
        tables.append(dataclasses.replace(tried, rows=tried.rows[:_MOST_ROWS]))
    tested = test_table(report)
    for table in [*tables, *([tested] if tested else [])]:
        console.print(TerminalTable(table, table.marks))
    hidden = len(report.tried) + 1 - _MOST_ROWS
    if hidden > 0:
        console.print(f"{counted(hidden, 'more candidate')} on the page.")
    for line in (left_out(loaded), seal(report), paid(report) if report.tried else ""):
        if line:
            console.plain(line)
    if loaded.simulated:
        say_simulated()
    console.plain(sentence(report))
    if written:
        console.plain(f"Judge file: {written}")
    page = save_alignment(report, settings().reports_dir, written)
    console.plain(f"Page: {page.resolve()}")
    return page
