"""Progress in Prefect's page: an artifact of a flow run that moves as its work ends."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from judge_gym.errors import first_line
from judge_gym.runtime import Runtime
from judge_gym.store.progress import Progress, share_done
from judge_gym.workflows.asking import WAITING
from judge_gym.workflows.status import progress_of
from tasks.artifacts import artifact_key
from tasks.policy import LAUNCHED

LOOK_S = 15.0
"""How often the progress of a whole sweep is read."""


@dataclass
class Bar:
    """A progress artifact of this flow run, made when it is shown first.

    Its key is the name of the work: a later run of the same work is shown in its place, while runs
    of other work have a bar of their own. One of a sweep's many launched runs is shown with its run
    alone.
    """

    work: str
    _artifact: UUID | None = None

    async def show(self, share: float, said: str) -> None:
        """Show a share, from 0 to 1, and of what it is. What cannot be shown stops nothing."""
        percent = math.floor(1000 * share) / 10  # 100 says that all is done
        with _only_logged():
            if self._artifact is None:
                launched = LAUNCHED in flow_run.tags
                key = None if launched else artifact_key("progress", self.work)
                self._artifact = await acreate_progress_artifact(percent, key, said)
            else:
                await aupdate_progress_artifact(self._artifact, percent, said)


@dataclass
class Counted:
    """A bar of units that end; `what` names them, in the plural."""

    what: str
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
            return f"No {self.what} were missing."
        parts = [f"{self.done:,} of {self.total:,} {self.what}"]
        if failed := self.ends["failed"]:
            parts.append(f"{failed:,} of them failed")
        if waiting := self.ends[WAITING]:
            parts.append(f"{waiting:,} wait in batches")
        return ", ".join(parts)


@asynccontextmanager
async def sweep_followed(runtime: Runtime, sweep: str) -> AsyncIterator[None]:
    """Show how far a sweep is while the block runs, whoever works on it, and at the end."""
    bar, over = Bar(f"sweep {sweep}"), asyncio.Event()

    async def look() -> None:
        with _only_logged():
            progress = await asyncio.to_thread(progress_of, runtime.engine, sweep)
            if progress is not None:
                await bar.show(share_done(progress), _told(progress))

    async def follow() -> None:
        while not over.is_set():
            await look()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_S)

    following = asyncio.create_task(follow())
    try:
        yield
    finally:
        over.set()
        await following
        await look()


@contextmanager
def _only_logged() -> Iterator[None]:
    """Log what cannot be shown: no run ends for want of its picture."""
    try:
        yield
    except Exception as error:
        get_run_logger().warning("Its progress cannot be shown: %s", first_line(error))


def _told(progress: Mapping[str, Progress]) -> str:
    """Return "w1-evidence 5 of 5, w3-scoring 12 of 30, w5-probe pending"."""
    return ", ".join(
        f"{name} {part.state}" if part.total is None else f"{name} {part.done:,} of {part.total:,}"
        for name, part in progress.items()
    )
