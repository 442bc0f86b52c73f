"""The analysis flow's tasks: compute the figures, and show them in Prefect's page.

The library's analysis and report are imported by the tasks: every sweep imports this module, and
most of its runs begin with hours of calls.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from prefect import task
from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact
from sqlalchemy.orm import Session

from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.results import conclusions_of
from tasks.artifacts import artifact_key
from tasks.events import emit_analysed
from tasks.policy import WRITING
from tasks.runtime import runtime

if TYPE_CHECKING:
    from judge_gym.report.facts import Facts
    from judge_gym.report.markdown import RunMarkdown


@task(name="analyse-sweep", task_run_name="analyse {sweep}", **WRITING)
async def analyse_sweep(sweep: str) -> int:
    """Compute and store every figure of a sweep; returns the id of the analysis run."""
    from judge_gym.analysis.running import analyse

    async with runtime() as current:
        run_id = await asyncio.to_thread(analyse, current.engine, sweep)
        with current.session() as session:
            emit_analysed(run_id, conclusions_of(session, run_id))
    return run_id


@task(name="show-results", task_run_name="show the results of {sweep}", **WRITING)
async def show_results(sweep: str, run_id: int, *, with_report: bool) -> None:
    """Show an analysis run as a text and a table, `with_report` after its report is written."""
    async with runtime() as current:
        shown = await asyncio.to_thread(_run_markdown, current, run_id, with_report=with_report)
    await acreate_markdown_artifact(shown.text, artifact_key("findings", sweep), shown.description)
    await acreate_table_artifact(shown.rows, artifact_key("figures", sweep), shown.caption)


def _run_markdown(runtime: Runtime, run_id: int, *, with_report: bool) -> "RunMarkdown":
    from judge_gym.report.facts import read_facts
    from judge_gym.report.markdown import run_markdown

    with runtime.session() as session:
        facts, file = (
            _report(session, run_id, runtime.settings)
            if with_report
            else (read_facts(session, run_id), None)
        )
        return run_markdown(session, facts, where_the_report_is(file, runtime.settings.reports_url))


def _report(session: Session, run_id: int, settings: Settings) -> "tuple[Facts, Path]":
    """Write the report; returns what it was read from, and its file."""
    # What draws the plots takes seconds to import.
    from judge_gym.report.page import read_report, save_report

    report = read_report(session, run_id)
    return report.facts, save_report(report, settings.reports_dir).resolve()


def where_the_report_is(file: Path | None, address: str) -> str:
    """Return in Markdown where the report is; a page of a server cannot link to a file."""
    if file is None:
        return "`judge-gym analyse figures SWEEP` writes the report, with every table and plot."
    if address:
        return f"[The report]({address}/{quote(file.name)}) has every table and plot."
    from judge_gym.report.table import escaped

    return f"The report, with every table and plot, is where this ran: {escaped(str(file))}"
