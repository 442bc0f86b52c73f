"""Where the gateway's CPU goes: `python -m bench.profile_gateway [--calls 2000] [--save FILE]`.

Runs `bench.judging` under cProfile, once for the event loop and once for the threads that write the
ledger, and prints the CPU of each by module, what is called from there included in its own module
only. A profiler slows Python code down more than C code: shares are approximate, times are not to
be trusted. `--save` keeps the loop's profile for pstats or snakeviz.
"""

import argparse
import asyncio
import cProfile
import pstats
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from bench.place import REPOSITORY, Place, place
from bench.study import write_sweep
from bench.table import show

TOP = 45


def main() -> None:
    """Run the profiled client, or be it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        profiled(asked.inside, asked.save)
        return
    with place() as here:
        outside(here, asked.calls, asked.save)


def outside(here: Place, calls: int, save: Path | None) -> None:
    """Start the profiled client, whose tables are the output."""
    sweep = write_sweep(here.folder, calls)
    command = [sys.executable, "-m", "bench.profile_gateway", "--inside", str(sweep)]
    if save:
        command += ["--save", str(save.absolute())]
    with here.database() as url:
        here.measure(command, here.environment(url, chunk_size=100, workers=4))


def profiled(sweep: Path, save: Path | None) -> None:
    """Judge the sweep with a profile of the loop and one of each thread's work."""
    from bench import judging

    loop, threads = cProfile.Profile(time.thread_time), cProfile.Profile(time.thread_time)
    lock, measured = threading.Lock(), judging.judge_all
    to_thread = asyncio.to_thread

    async def in_thread(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        @wraps(work)
        def watched() -> Any:
            with lock:  # one profile, so one thread at a time; the ledger has one writer anyway
                return threads.runcall(work, *given, **named)

        return await to_thread(watched)

    async def watched_all(*given: Any) -> None:
        asyncio.to_thread = in_thread  # type: ignore[assignment]
        loop.enable()
        await measured(*given)
        loop.disable()

    judging.judge_all = watched_all
    asyncio.run(judging.main(sweep))
    for name, profile in (("event loop", loop), ("ledger threads", threads)):
        report(name, pstats.Stats(profile))
    if save:
        loop.dump_stats(save)


def report(name: str, stats: pstats.Stats) -> None:
    """Print own CPU by module and by function, and what was called, callees included."""
    functions: dict[Any, Any] = stats.stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in functions.values())
    by_module: dict[str, float] = defaultdict(float)
    for (file, _, _), entry in functions.items():
        by_module[module(file)] += entry[2]
    rows = sorted(by_module.items(), key=lambda pair: -pair[1])[:20]
    shares = [(what, f"{own:.2f}", f"{own / total:.0%}") for what, own in rows]
    show(
        f"{name}: own CPU by package ({total:.2f} s)", ("package", "s", "share"), shares, sys.stderr
    )
    inside = sorted(functions.items(), key=lambda pair: -pair[1][3])[:TOP]
    lines = [
        (f"{short(file)}:{line} {function}", f"{count:,}", f"{own:.2f}", f"{below:.2f}")
        for (file, line, function), (_, count, own, below, _) in inside
    ]
    columns = ("function", "calls", "own s", "with callees s")
    show(f"{name}: functions with what they call", columns, lines, sys.stderr)


def module(file: str) -> str:
    """The package of a file; judge-gym's by module."""
    name = short(file)
    return name if name.startswith("judge_gym") else name.split("/")[0]


def short(file: str) -> str:
    """A file's path below site-packages, the standard library or the repository."""
    path = file.replace(str(REPOSITORY) + "/", "")
    for mark in ("site-packages/", "lib/python3.11/", "lib/python3.12/", "lib/python3.13/"):
        path = path.rpartition(mark)[2]
    return path


if __name__ == "__main__":
    main()
