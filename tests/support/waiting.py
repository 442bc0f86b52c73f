"""Waiting for other processes: ask again until a deadline, never hope."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(ask: Callable[[], T], what: str, seconds: float = 180.0, every: float = 0.2) -> T:
    """The first true value of `ask`; fails the test when `seconds` pass without one."""
    deadline = time.monotonic() + seconds
    while True:
        if found := ask():
            return found
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(every)
