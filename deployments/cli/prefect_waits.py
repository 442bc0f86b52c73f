"""What a command prints while Prefect's client waits for its server, in the middle of a run."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from deployments.cli import output

_CLIENT = "prefect.client"
"""The logger on which Prefect's client notes, for debugging, that it will try again."""
_RETRIES = "_send_with_retry"
"""The function of Prefect's client that does so, and notes nothing else."""
_LONGEST_S = 90.0
"""Seconds between two attempts of one request at most: its client waits 64 s and a part more."""
_LINE = (
    "Prefect's server does not answer, or refuses for now. Waiting for it; all answers received "
    "are stored."
)


class _Waits(logging.Filter):
    """Notes attempts of Prefect's client, and says once that they take long."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level
        self._first: dict[tuple[int, int], float] = {}
        self._newest: dict[tuple[int, int], float] = {}
        self._said = -_LONGEST_S

    def filter(self, record: logging.LogRecord) -> bool:
        if record.funcName == _RETRIES:
            self._attempt()
        return record.levelno >= self._level

    def _attempt(self) -> None:
        """Note that a request will be tried again; requests of one task come one after another."""
        now, request = monotonic(), _request()
        if now - self._newest.get(request, -_LONGEST_S) > _LONGEST_S:
            self._first[request] = now
        self._newest[request] = now
        long = now > self._first[request] and now - self._first[request] >= output.SILENT_S
        if long and now - self._said > _LONGEST_S:
            output.say_progress(_LINE)
        if long:
            self._said = now


def _request() -> tuple[int, int]:
    """Return the thread and the task that send a request."""
    try:
        task = id(asyncio.current_task())
    except RuntimeError:
        task = 0
    return threading.get_ident(), task


@contextmanager
def saying_waits() -> Iterator[None]:
    """Print one line when Prefect's server keeps a request of the block waiting for seconds."""
    logger = logging.getLogger(_CLIENT)
    level = logger.level
    waits = _Waits(logger.getEffectiveLevel())
    logger.addFilter(waits)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeFilter(waits)
