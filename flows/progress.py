"""Progress in Prefect's page: of units that end, and of a whole sweep."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from prefect.artifacts import acreate_markdown_artifact
from prefect.runtime import flow_run
from prefect.settings import PREFECT_UI_URL

from judge_gym.asking.engine import WAITING
from judge_gym.counting import counted, in_batches, plural
from judge_gym.lab.status import progress_of, sweep_status
from judge_gym.runtime import Runtime
from judge_gym.store.locks import in_progress
from judge_gym.store.progress import WorkflowProgress, share_done
from tasks.analysis import where_the_report_is
from tasks.artifacts import Bar, artifact_key, only_logged

LOOK_S = 15.0
"""How often the progress of a whole sweep is read."""


@dataclass
class Counted:
    """A bar of units that end; `unit_name` is one in the singular."""

    unit_name: str
    total: int
    ends: Counter[str] = field(default_factory=Counter)
    """How those ended that have, by status; what waits in a batch has not."""
    _bar: Bar = field(default_factory=lambda: Bar(str(flow_run.name)))
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def add(self, ends: Mapping[str, int]) -> None:
        """Count what has ended, if anything, and show how far the work is."""
        self.ends.update(ends)
        async with self._turn:  # the bar never goes back: what is sent last is the furthest
            await self._bar.show(self.done / self.total if self.total else 1.0, str(self))

    @property
    def done(self) -> int:
        return self.ends.total() - self.ends[WAITING]

    def __str__(self) -> str:
        if not self.total:
            return f"No {plural(self.unit_name)} were missing."
        parts = [f"{self.done:,} of {counted(self.total, self.unit_name)}"]
        if failed := self.ends["failed"]:
            parts.append(f"{failed:,} of them failed")
        if waiting := self.ends[WAITING]:
            parts.append(in_batches(waiting))
        return ", ".join(parts)


async def show_end(runtime: Runtime, sweep: str, end: str) -> None:
    """Show with this run how the sweep ended, what it cost and failed, and where its findings are.

    `end` is the message of the run.
    """
    with only_logged():
        text, description = await asyncio.to_thread(_end_in_markdown, runtime, sweep, end)
        await acreate_markdown_artifact(text, artifact_key("end", sweep), description)


def _end_in_markdown(runtime: Runtime, sweep: str, end: str) -> tuple[str, str]:
    from judge_gym.report.table import escaped

    with runtime.session() as session:
        status = sweep_status(session, sweep)
    failed = [f"{one.count:,} {one.failure} in {one.workflow}" for one in status.failures]
    calls = f"{counted(status.spent.calls, 'call')}, cost {status.cost_in_words}"
    lines = [f"**{escaped(end)}**\n", f"- Sweep {escaped(sweep)} so far: {escaped(calls)}.",
             f"- Failures: {escaped(', '.join(failed)) or 'none'}."]  # fmt: skip
    if status.analysed:
        # What draws the report's plots takes seconds to import; the analysis has done so.
        from judge_gym.report.page import report_file

        file = report_file(sweep, runtime.settings.reports_dir)
        where = where_the_report_is(
            file.resolve() if file.exists() else None, runtime.settings.reports_url
        )
        findings = artifact_key("findings", sweep)
        page = f"{PREFECT_UI_URL.value() or ''}/artifacts/key/{findings}"
        lines += [f"- Findings: [{findings}]({page}).", f"- {where}"]
    return "\n".join(lines), f"Sweep {sweep}: {calls}"


@asynccontextmanager
async def sweep_followed(runtime: Runtime, sweep: str) -> AsyncIterator[None]:
    """Show how far a sweep is while the block runs, whoever works on it, and at the end.

    `judge-gym sweep status` sees it as in progress meanwhile.
    """
    bar, over = Bar(f"sweep {sweep}"), asyncio.Event()

    async def look() -> None:
        with only_logged():
            progress = await asyncio.to_thread(progress_of, runtime.engine, sweep)
            if progress is not None:
                await bar.show(share_done(progress), progress_text(progress))

    async def follow() -> None:
        while not over.is_set():
            await look()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_S)

    following = asyncio.create_task(follow())
    try:
        with in_progress(runtime.engine, sweep):
            yield
    finally:
        over.set()
        await following
        await look()


def progress_text(progress: Mapping[str, WorkflowProgress]) -> str:
    """Return "w1-evidence 5 of 5, w3-scoring 12 of 30, w5-probe pending"."""
    return ", ".join(
        f"{name} {part.state}" if part.total is None else f"{name} {part.done:,} of {part.total:,}"
        for name, part in progress.items()
    )
