"""Trace four ways through the code: which files and functions take part in each.

    python -m bench.ways verdict|screen|audit|label

Prints one JSON object. `make house` runs all four.

- verdict: a judgement of a sweep, from the command to the row that is inserted;
- screen: polarization, from loaded samples to the report's page, when it is the only figure;
- audit: twelve recorded judgements in a CSV file, through `judge-gym audit`;
- label: people's labels in a file, to the verdict of a calibration.

Only functions of this repository count, and none that runs while a module is imported.
"""

import asyncio
import csv
import json
import os
import sys
import threading
from asyncio import Handle
from asyncio.base_events import BaseEventLoop
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import sqlalchemy as sa

from bench.place import REPOSITORY, Place, place
from bench.study import write_sweep

OWN = tuple(f"{REPOSITORY}/{name}/" for name in ("judge_gym", "deployments", "flows", "tasks"))
_FUNCTION = 0x1  # CO_OPTIMIZED: the bodies of modules and classes lack it
Frames = tuple[tuple[str, str], ...]


class Trace:
    """The functions of this repository that are called while it is on."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self._importing = threading.local()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Trace the block, in every thread that begins in it."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def counted(self) -> dict[str, Any]:
        """Return how many files and functions took part."""
        files = {file for file, _ in self.functions}
        return {"files": len(files), "functions": len(self.functions)}

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        depth = getattr(self._importing, "depth", 0)
        if code.co_name == "<module>":
            self._importing.depth = depth + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not depth and _is_own(code) and code.co_flags & _FUNCTION:
            self.functions.add((code.co_filename, code.co_qualname))


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(OWN)


_BEGUN_BY: ContextVar[Frames] = ContextVar("begun by", default=())
"""The frames that began this asyncio task."""
_THREAD = threading.local()


def stack() -> Frames:
    """Return the repository's functions that led here, over asyncio's tasks and threads."""
    frames: list[tuple[str, str]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not Handle._run.__code__:
        if _is_own(frame.f_code) and frame.f_code.co_name != "<module>":
            frames.append((frame.f_code.co_filename, frame.f_code.co_qualname))
        frame = frame.f_back
    begun_by: Frames = getattr(_THREAD, "begun_by", None) or _BEGUN_BY.get()
    return (*frames, *begun_by)


@contextmanager
def parents_known() -> Iterator[None]:
    """Note for each task and each call in a thread what began it."""
    create_task, run_in_executor = BaseEventLoop.create_task, BaseEventLoop.run_in_executor

    def task(loop: Any, coroutine: Any, *, context: Any = None, **options: Any) -> Any:
        chosen = context or copy_context()
        chosen.run(_BEGUN_BY.set, stack())
        return create_task(loop, coroutine, context=chosen, **options)

    def in_thread(loop: Any, executor: Any, function: Any, *arguments: Any) -> Any:
        begun_by = stack()

        def call() -> Any:
            _THREAD.begun_by = begun_by
            try:
                return function(*arguments)
            finally:
                _THREAD.begun_by = None

        return run_in_executor(loop, executor, call)

    BaseEventLoop.create_task = task  # type: ignore[method-assign]
    BaseEventLoop.run_in_executor = in_thread  # type: ignore[method-assign]
    try:
        yield
    finally:
        BaseEventLoop.create_task = create_task  # type: ignore[method-assign]
        BaseEventLoop.run_in_executor = run_in_executor  # type: ignore[method-assign]


def command(*words: str) -> None:
    """Run a command of judge-gym in this process, without what it prints."""
    from deployments.cli.app import main

    sys.argv = ["judge-gym", *words]
    with suppress(SystemExit), redirect_stdout(sys.stderr):
        main()


def verdict(here: Place) -> dict[str, Any]:
    """Return the frames and files between the command and the first row of a judgement."""
    found: list[Frames] = []

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if "INSERT INTO samples" in statement:
            found.append(stack())

    sweep = write_sweep(here.folder, 100)
    with parents_known():
        command("sweep", "run", str(sweep))
    frames = found[0]
    return {"frames": len(frames), "files": len({file for file, _ in frames})}


def screen(here: Place) -> dict[str, Any]:
    """Return what takes part between loaded samples and a page, if polarization is all."""
    from types import ModuleType

    from judge_gym.analysis import registry, running
    from judge_gym.analysis.figures import polarization
    from judge_gym.report.page import read_report, render_page

    sweep = write_sweep(here.folder, 400, ("sim/calm-1", "sim/severe-1"))
    command("sweep", "run", str(sweep))
    trace = Trace()
    loading = running.load_sweep_data
    registry.modules.cache_clear()
    only: tuple[ModuleType, ...] = (polarization,)
    registry.modules = lambda: only  # type: ignore[assignment]
    registry.tables.cache_clear()
    registry.figures.cache_clear()

    def loaded(*arguments: Any) -> Any:
        sys.setprofile(None)
        data = loading(*arguments)
        sys.setprofile(trace._profile)
        return data

    running.load_sweep_data = loaded
    engine = sa.create_engine(os.environ["JUDGE_GYM_DATABASE_URL"])
    with trace.on():
        run = running.analyse(engine, "bench")
        with sa.orm.Session(engine) as session:
            report = read_report(session, run)
        render_page(report)
    return trace.counted()


def audit(here: Place) -> dict[str, Any]:
    """Return what takes part in the audit of twelve recorded judgements."""
    file = here.folder / "recorded.csv"
    with file.open("w", newline="") as rows:
        writer = csv.writer(rows)
        writer.writerow(("item", "judge", "verdict", "truth"))
        for item in range(6):
            truth = ("yes", "no")[item % 2]
            writer.writerow((item, "one", truth, truth))
            writer.writerow((item, "two", "yes", truth))
    os.chdir(here.folder)
    trace = Trace()
    with trace.on():
        command("audit", str(file), "--yes")
    return trace.counted()


CALIBRATION = """
name: labelled
judges: [good.yaml]
items: notes.jsonl
labels: labels.csv
label_scale: [0, 100]
perturbations: [vague_ify]
"""


def label(here: Place) -> dict[str, Any]:
    """Return what takes part between a file of labels and a calibration's verdict."""
    from judge_gym.calibration.design import load_calibration
    from judge_gym.judges.calibrating import estimating
    from judge_gym.runtime import runtime

    shipped = REPOSITORY / "deployments" / "calibrations"
    notes = [json.loads(line) for line in (shipped / "notes.jsonl").read_text().splitlines()]
    labels = [(one["id"], "ann", 3 * place) for place, one in enumerate(notes)]
    for one in notes:
        one.pop("truth", None)
    (here.folder / "notes.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in notes))
    (here.folder / "good.yaml").write_text((shipped / "good.yaml").read_text().split("gate:")[0])
    people = here.folder / "labels.csv"
    with people.open("w", newline="") as rows:
        csv.writer(rows).writerows([("item", "annotator", "label"), *labels])
    file = here.folder / "labelled.yaml"
    file.write_text(CALIBRATION)
    command("judge", "calibrate", str(file))
    reads, assessed = [0], [0]
    sys.addaudithook(lambda event, given: _opened(event, given, people, reads))
    trace, assess = Trace(), estimating.assess

    def counting(*arguments: Any, **options: Any) -> Any:
        assessed[0] += 1
        return assess(*arguments, **options)

    estimating.assess = counting

    async def found() -> None:
        async with runtime() as current:
            reads[0] = 0
            with trace.on():
                estimating.read_findings(current, load_calibration(file))

    asyncio.run(found())
    return trace.counted() | {"reads": reads[0], "estimates": assessed[0]}


def _opened(event: str, given: tuple[Any, ...], path: Path, reads: list[int]) -> None:
    if event == "open" and str(given[0]) == str(path):
        reads[0] += 1


WAYS = {one.__name__: one for one in (verdict, screen, audit, label)}


def main() -> None:
    """Trace the way in the first argument, and print what was counted as JSON."""
    with place(latency_s=0.0) as here, here.database() as url:
        os.environ.update(here.environment(url))
        print(json.dumps(WAYS[sys.argv[1]](here)))


if __name__ == "__main__":
    main()
