"""Wall time, CPU and peak memory of this process; the standard library alone.

Also imported in other environments, which lack judge-gym's dependencies.
"""

import json
import os
import re
import resource
import time
from pathlib import Path
from types import TracebackType
from typing import Any

MARK = "MEASURED "
"""Begins the line in which a measured process says its figures."""


def cpu_s() -> float:
    """Return CPU seconds, user and system, of this process and its finished children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_mb() -> float:
    """Return the peak resident memory of this process, in MB.

    `ru_maxrss` is not usable: on Linux it starts from the memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) / 1024
    unit = 1024**2 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Meter:
    """Measures its block and prints the result to standard output at its end."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts

    def __enter__(self) -> "Meter":
        self._start_cpu, self._start = cpu_s(), time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        wall, cpu = time.perf_counter() - self._start, cpu_s() - self._start_cpu
        if kind is None:
            measured = {"wall_s": wall, "cpu_s": cpu, "start_cpu_s": self._start_cpu}
            print(MARK + json.dumps(measured | {"peak_mb": peak_mb()} | self.facts), flush=True)
