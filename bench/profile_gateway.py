"""Profile the gateway's CPU: `bench.profile_gateway [--calls N] [--client litellm-tuned]`.

Runs `bench.judging` (or litellm alone, for comparison) and samples the event loop every two
milliseconds of CPU. Prints milliseconds of CPU per call, by package and by function including its
callees. CPU that is used while the loop waits belongs to the threads that read and write the
database. Sampling hardly slows the code down; cProfile makes Python code several times slower.
"""

import argparse
import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from bench import bare, judging
from bench.gateway_vs_inspect import gateway, warm_up
from bench.meter import Meter, cpu_s
from bench.place import REPOSITORY, Place, place
from bench.study import write_sweep
from bench.table import show

EVERY_S = 0.002
TOP = 60
WAITING = "selectors.py:select"
Stack = tuple[str, ...]


def main() -> None:
    """Start the sampled client, or be it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument(
        "--client", choices=["gateway", "litellm", "litellm-tuned"], default="gateway"
    )
    parser.add_argument("--inside", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        watched(asked.client, *asked.inside)
        return
    with place() as here:
        outside(here, asked.client, asked.calls)


def outside(here: Place, client: str, calls: int) -> None:
    """Start the sampled client, which prints the tables."""
    warm_up(here)
    sweep, prompts = write_sweep(here.folder, calls), here.folder / "prompts.jsonl"
    given = [str(sweep)]
    if client != "gateway":
        gateway(here, sweep, prompts)
        given = [str(prompts), here.url]
    command = [sys.executable, "-m", "bench.profile_gateway", "--client", client, "--inside"]
    with here.database() as url:
        here.measure([*command, *given], here.environment(url, chunk_size=100, workers=4))


def watched(client: str, *given: str) -> None:
    """Run the client, sampled while its meter runs."""
    sampler = Sampler()
    bare.Meter = judging.Meter = sampler.meter  # type: ignore[attr-defined]
    if client != "gateway":
        asyncio.run(bare.main(client, Path(given[0]), given[1], "openai"))
    else:
        asyncio.run(judging.main(Path(given[0])))
    sampler.report()


class Sampler:
    """Counts stacks of the main thread, once every `EVERY_S` of this process's CPU."""

    def __init__(self) -> None:
        self.stacks: Counter[Stack] = Counter()
        self.cpu_s = 0.0
        self.facts: dict[str, Any] = {}

    def meter(self, **facts: Any) -> Meter:
        """Return a meter that also samples."""
        sampler = self

        class Sampling(Meter):
            def __enter__(self) -> Meter:
                sampler.facts = self.facts
                sampler.cpu_s = -cpu_s()
                signal.signal(signal.SIGPROF, sampler.sample)
                signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
                return super().__enter__()

            def __exit__(self, *error: Any) -> None:
                signal.setitimer(signal.ITIMER_PROF, 0)
                sampler.cpu_s += cpu_s()
                super().__exit__(*error)

        return Sampling(**facts)

    def sample(self, _signal: int, frame: FrameType | None) -> None:
        """Count the stack, innermost first."""
        self.stacks[tuple(self.names(frame))] += 1

    @staticmethod
    def names(frame: FrameType | None) -> Iterator[str]:
        """Return the functions on the stack, each with its file."""
        while frame is not None:
            yield f"{short(frame.f_code.co_filename)}:{frame.f_code.co_name}"
            frame = frame.f_back

    def report(self) -> None:
        """Print milliseconds of CPU per call to standard error."""
        per_sample = self.cpu_s * 1000 / self.stacks.total() / self.facts["calls"]
        own: Counter[str] = Counter()
        inclusive: Counter[str] = Counter()
        for stack, count in self.stacks.items():
            waiting = stack[0] == WAITING
            own["(threads: the database)" if waiting else package(stack[0])] += count
            inclusive.update(dict.fromkeys(stack, count))
        total = self.stacks.total()
        for title, counted, top in (
            ("own CPU by package", own, 25),
            ("CPU by function, with what it calls", inclusive, TOP),
        ):
            rows = [
                (what, f"{count * per_sample:.3f}", f"{count / total:.1%}")
                for what, count in counted.most_common(top)
            ]
            show(title, ("", "ms a call", "share"), rows, sys.stderr)


def package(function: str) -> str:
    """Return the package of a function, or the module for judge-gym."""
    file = function.rpartition(":")[0]
    return file if file.startswith("judge_gym") else file.split("/")[0]


def short(file: str) -> str:
    """Return a path relative to site-packages, the standard library or the repository."""
    path = file
    for mark in (f"{REPOSITORY}/", "lib/python3.11/", "lib/python3.12/", "lib/python3.13/"):
        path = path.rpartition(mark)[2]
    return path.removeprefix("site-packages/")


if __name__ == "__main__":
    main()
