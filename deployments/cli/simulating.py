"""Seeded simulations on every core, with their progress shown."""

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from rich.progress import Progress

from deployments.cli.output import errors

Task = TypeVar("Task")
Result = TypeVar("Result")


def on_every_core(work: Callable[[Task], Result], tasks: Sequence[Task], what: str) -> list[Result]:
    """Return the result of each task, in order; `work` and what it takes can be pickled."""
    with (
        Progress(console=errors, transient=True) as progress,
        ProcessPoolExecutor(initializer=_leave_interrupts_to_the_parent) as pool,
    ):
        bar = progress.add_task(what, total=len(tasks))
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
                progress.advance(bar)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
