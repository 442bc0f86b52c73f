"""Waiting for other processes: ask again until a deadline, never hope."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(ask: Callable[[], T], what: str, seconds: float = 300.0, every: float = 0.2) -> T:
    """The first true value of `ask`; fails the test when `seconds` pass without one."""
    found = until_or_not(ask, seconds, every)
    assert found, f"waited {seconds:.0f} s in vain for {what}"
    return found


def until_or_not(ask: Callable[[], T], seconds: float, every: float = 0.2) -> T:
    """The first true value of `ask`, or its last false one when `seconds` pass."""
    deadline = time.monotonic() + seconds
    while not (found := ask()) and time.monotonic() < deadline:
        time.sleep(every)
    return found
