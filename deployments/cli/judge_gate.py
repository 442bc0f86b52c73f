"""`judge-gym judge gate`: whether a judge may be merged or deployed, for CI."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import (
    AsJson,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    label_fields_of,
)
from deployments.cli.output import (
    CANNOT_TELL,
    console,
    errors,
    exit_code_of,
    fail,
    show_labels,
)
from deployments.cli.study import show_report
from deployments.cli.thresholds import exit_by, least_of
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.writable import check_reports, check_writable

if TYPE_CHECKING:
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.gate import GateEnd, GateRun
    from judge_gym.runtime import Runtime

_NO_FILE = Path("gate")
"""Stands for the judge file where the command line names none."""


def gate(
    files: Annotated[
        list[Path],
        typer.Argument(help="Judge files (YAML) with a gate, one or more.", show_default=False),
    ],
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            help="A threshold in place of the file's, as agreement=0.6; may be repeated.",
            show_default=False,
        ),
    ] = None,
    labels: Labels = None,
    label_fields: LabelFields = None,
    certificate: Annotated[
        list[Path] | None,
        typer.Option(
            help="Refuse a judge without a certificate that holds; may be repeated.",
            show_default=False,
        ),
    ] = None,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Judge the sentinel set again today.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML to this file.", show_default=False)
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Append a Markdown summary to this file.", show_default=False),
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Decide whether judges reach the thresholds in their files.

    Decides by 95% intervals. Exits with 0 if every judge passes, 1 if one fails, 3 if the data
    cannot tell. Stored judgements are reused: an unchanged judge makes no calls.
    """
    from deployments.cli.answerers import check_functions
    from judge_gym.judges.gate import GateRun
    from judge_gym.judges.gate_rule import THRESHOLDS
    from judge_gym.judges.gate_texts import load_gates

    written = _Written(files, junit, markdown, as_json)
    with written.where_none_begins(plan=plan):
        written.check(plan=plan)
        given: dict[str, object] = {**least_of(fail_under, THRESHOLDS)}
        columns = label_fields_of(labels, label_fields)
        if labels:
            # Without columns of its own, the file has those of the gate.
            given |= {"labels": labels, **({"label_fields": columns} if columns else {})}
        loaded = load_gates(files, given, certificate or ())
        gates = [GateRun(one, recheck, retry_failed) for one in loaded]
        for gate in gates:
            for caution in gate.cautions(judging_again=plan or recheck):
                _warn(caution)
        judges = [gate.loaded.judge for gate in gates]
        check_functions(zip(judges, files, strict=True))
    if plan:
        _show_plan(gates)
        return
    _run(gates, written, retry_failed=retry_failed)


def _warn(caution: str) -> None:
    errors.warn(caution, soft_wrap=True)


def _run(gates: "Sequence[GateRun]", written: "_Written", *, retry_failed: bool) -> None:
    """Run the gates, and write and print how they end, also where the run is stopped.

    Raises the error of the one that was stopped where it decides, and exits by the checks else.
    """
    from judge_gym.calibration.checks import Result
    from judge_gym.judges.gate import Stopped, deciding_stop

    ended: list[GateEnd] = []
    try:
        _judge(gates, ended, written.judges, retry_failed=retry_failed)
    except (Exception, KeyboardInterrupt, SystemExit) as stop:
        left = [gate.loaded.judge for gate in gates[len(ended) :]]
        why = _why(stop)
        written.report([*ended, *(Stopped(judge.name, why, judge) for judge in left)])
        raise
    written.report(ended)
    if error := deciding_stop(ended):
        code = exit_code_of(error)
        cannot_tell = code == 1 and Result.FAILS not in [one.result for one in ended]
        fail(error.message, error.remedy, CANNOT_TELL if cannot_tell else code)
    exit_by(one.result for one in ended)


def _judge(
    gates: "Sequence[GateRun]",
    ended: "list[GateEnd]",
    files: Sequence[Path],
    *,
    retry_failed: bool,
) -> None:
    """Run the gates in order, and add how each one ends to `ended`."""
    from deployments.cli.answerers import naming_file
    from deployments.cli.environment import in_runtime
    from judge_gym.judges.calibrating.judging import judge_asked
    from judge_gym.judges.gate import run_gates

    judges = [gate.loaded.judge for gate in gates]
    file_of = {judge.key: file for judge, file in zip(judges, files, strict=True)}

    async def work(current: "Runtime") -> None:
        async def judged(asked: "Asked") -> None:
            with naming_file(file_of[asked.judge.key]):
                await judge_asked(current, asked, retry_failed=retry_failed)

        await run_gates(gates, current.session, judged, ended, _warn)

    in_runtime(work, judges, f"Judging for {counted(len(gates), 'gate')}.")


_SIGNALLED = "Stopped by Ctrl-C or SIGTERM. Progress is saved. Rerun the command to resume."


def _why(stop: BaseException) -> str:
    if isinstance(stop, JudgeGymError):
        return str(stop)
    # The text of a defect may hold anything, rows and prompts included.
    return f"It ended with {type(stop).__name__}." if isinstance(stop, Exception) else _SIGNALLED


@dataclass(frozen=True)
class _Written:
    """Where the reports of gates go."""

    judges: Sequence[Path]
    junit: Path | None
    markdown: Path | None
    as_json: bool

    def check(self, *, plan: bool) -> None:
        """Make the files' folders; raises `ConfigError` before anything is judged.

        A `plan` writes no page.
        """
        from judge_gym.settings import settings

        for option, file in (("--junit", self.junit), ("--markdown", self.markdown)):
            check_writable(option, file)
        if not plan:
            check_reports(settings().reports_dir)

    @contextmanager
    def where_none_begins(self, *, plan: bool) -> Iterator[None]:
        """Write why no gate begins, where the block fails; a `plan` writes no reports."""
        try:
            yield
        except (Exception, KeyboardInterrupt, SystemExit) as stop:
            if not plan:
                self.none_begins(_why(stop))
            raise

    def none_begins(self, why: str) -> None:
        """Write why no gate begins in place of what an earlier run wrote.

        Standard output has the error alone. A file that cannot be written stays as it is: the error
        that is reported says more. The page of a file that is missing is only written over one that
        is there.
        """
        from judge_gym.report.files import ReportError
        from judge_gym.report.gate import gates_page, gates_report, not_begun, save_gates
        from judge_gym.settings import settings

        stopped = not_begun(why, self.judges or [_NO_FILE])
        for junit, markdown in ((self.junit, None), (None, self.markdown)):
            with suppress(OSError):
                _Written(self.judges, junit, markdown, self.as_json)._files(stopped)
        with suppress(OSError, ConfigError, ReportError):
            folder = settings().reports_dir
            were = self.judges and all(file.is_file() for file in self.judges)
            if were or (self.judges and gates_page(self.judges, folder).exists()):
                save_gates(gates_report(self.judges, stopped, folder), folder)

    def report(self, ended: "Sequence[GateEnd]") -> None:
        """Write and print the gates that ended, and why the others were stopped."""
        from judge_gym.report.gate import gates_report, save_gates
        from judge_gym.settings import settings

        folder = settings().reports_dir
        found = gates_report(self.judges, ended, folder)
        self._files(ended)
        if self.as_json:
            json_output.give(found.value)
        elif found.of or len(ended) > 1:  # the error says why a single one was stopped
            show_report(found)
        console.plain(f"Page: {save_gates(found, folder).path}")

    def _files(self, ended: "Sequence[GateEnd]") -> None:
        """Write what --junit and --markdown name."""
        from judge_gym.report.gate import gate_junit, gate_markdown

        if self.junit:
            junit = gate_junit(self.judges or [_NO_FILE], ended)
            self.junit.write_text(junit, encoding="utf-8")
        if self.markdown:
            # GITHUB_STEP_SUMMARY is shared by the steps of a job.
            with self.markdown.open("a", encoding="utf-8") as summary:
                summary.write(gate_markdown(ended))


def _not_understood(why: str, options: Mapping[str, Sequence[str]], others: Sequence[str]) -> None:
    """Write why no gate begins where the command line cannot be read.

    `options` are the values as they were typed, by option. The `others` are judge files, and
    perhaps the value of an unknown option.
    """
    if "--plan" in options:
        return
    judges = [
        file for file in map(Path, others) if file.suffix in (".yaml", ".yml") or file.is_file()
    ]
    junits, markdowns = (
        [Path(value) for value in options.get(name, ())] for name in ("--junit", "--markdown")
    )
    # One that is given twice is an error, and neither may stay as it was.
    for junit, markdown in [*zip_longest(junits, markdowns)] or [(None, None)]:
        _Written(judges, junit, markdown, as_json=False).none_begins(why)


gate.on_usage_error = _not_understood  # type: ignore[attr-defined]


def _show_plan(gates: "Sequence[GateRun]") -> None:
    """Print what the gates would ask for, and of the sentinel sets what is asked again."""
    from sqlalchemy.orm import Session

    from deployments.cli.environment import database_engine
    from deployments.cli.estimates import show_judging
    from judge_gym.judges.gate import asked_again, asked_first

    loaded = [gate.loaded for gate in gates]
    show_labels((one.judge.name, one.said()) for one in loaded)
    show_judging("Gates", list(map(asked_first, loaded)))
    with database_engine() as engine, Session(engine) as session:
        found = [asked_again(session, gate.loaded, recheck=gate.recheck) for gate in gates]
    for asked, why in filter(None, found):
        show_judging(f"Again, {why}", [asked])
