"""`judge-gym judge gate`: whether a judge may be merged or deployed, for CI."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
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
from deployments.cli.output import console, errors, show_labels
from deployments.cli.study import show_report
from deployments.cli.thresholds import exit_by, least_of
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.writable import check_reports, check_writable

if TYPE_CHECKING:
    from judge_gym.judges.gate import GateReport
    from judge_gym.judges.gate_texts import LoadedGate
    from judge_gym.report.gate import Stopped
    from judge_gym.runtime import Runtime

_NO_FILE = Path("gate")
"""Stands for the judge file where the command line names none."""
_THRESHOLDS = ("readable", "agreement", "accuracy", "sensitivity", "specificity")


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

    written = _Written(files, junit, markdown, as_json)
    with written.where_none_begins(plan=plan):
        written.check(plan=plan)
        given: dict[str, object] = {**least_of(fail_under, _THRESHOLDS)}
        columns = label_fields_of(labels, label_fields)
        if labels:
            # Without columns of its own, the file has those of the gate.
            given |= {"labels": labels, **({"label_fields": columns} if columns else {})}
        loaded = _loaded(files, given, certificate)
        if plan or recheck:
            _warn_of_drift(loaded)
        if not plan:
            check_functions((one.judge, file) for one, file in zip(loaded, files, strict=True))
    if plan:
        _show_plan(loaded, recheck=recheck)
        return
    reports = _reported(files, loaded, written, recheck=recheck, retry_failed=retry_failed)
    exit_by(report.result for report in reports)


def _loaded(
    files: Sequence[Path], given: dict[str, object], certificates: Sequence[Path] | None
) -> "list[LoadedGate]":
    """Read judges with their gates as options change them; warn of what cannot decide."""
    from judge_gym.judges.gate_checks import sentinel_caution
    from judge_gym.judges.gate_texts import load_gates

    loaded = load_gates(files, given, certificates or ())
    for one in loaded:
        if caution := sentinel_caution(one.judge, one.rule, one.sentinel, one.labelled):
            errors.warn(caution, soft_wrap=True)
    return loaded


def _warn_of_drift(gates: "Sequence[LoadedGate]") -> None:
    """Warn of texts that, judged again, would be too few to show that nothing changed."""
    from judge_gym.judges.gate_checks import drift_caution

    for one in gates:
        if caution := drift_caution(one.judge, one.rule, len(one.sentinel), len(one.texts)):
            errors.warn(caution, soft_wrap=True)


def _reported(
    files: Sequence[Path],
    loaded: "Sequence[LoadedGate]",
    written: "_Written",
    *,
    recheck: bool,
    retry_failed: bool,
) -> "list[GateReport]":
    """Run the gates and write their reports, also where one of them stops or is refused."""
    from judge_gym.judges.certifying.checking import CertificateError
    from judge_gym.judges.judging import UnreadableError
    from judge_gym.report.gate import Stopped

    reports: list[GateReport] = []
    try:
        _run(files, loaded, reports, recheck=recheck, retry_failed=retry_failed)
    except (Exception, KeyboardInterrupt, SystemExit) as stop:
        why = _why(stop)
        left = [Stopped(one.judge.name, why, judge=one.judge) for one in loaded[len(reports) :]]
        if isinstance(stop, UnreadableError | CertificateError):
            left[0] = replace(left[0], fails=True)
        written.report(reports, left)
        raise
    written.report(reports, [])
    return reports


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
                _Written(self.judges, junit, markdown, self.as_json)._files([], stopped)
        with suppress(OSError, ConfigError, ReportError):
            folder = settings().reports_dir
            were = self.judges and all(file.is_file() for file in self.judges)
            if were or (self.judges and gates_page(self.judges, folder).exists()):
                save_gates(gates_report(self.judges, [], stopped, folder), folder)

    def report(self, reports: "Sequence[GateReport]", stopped: "Sequence[Stopped]") -> None:
        """Write and print the gates that ended, and why the others were stopped."""
        from judge_gym.report.gate import gates_report, save_gates
        from judge_gym.settings import settings

        folder = settings().reports_dir
        found = gates_report(self.judges, reports, stopped, folder)
        self._files(reports, stopped)
        if self.as_json:
            json_output.give(found.value)
        elif reports:
            show_report(found)
        console.plain(f"Page: {save_gates(found, folder).path}")

    def _files(self, reports: "Sequence[GateReport]", stopped: "Sequence[Stopped]") -> None:
        """Write what --junit and --markdown name."""
        from judge_gym.report.gate import gate_junit, gate_markdown

        if self.junit:
            self.junit.write_text(
                gate_junit(self.judges or [_NO_FILE], reports, stopped), encoding="utf-8"
            )
        if self.markdown:
            # GITHUB_STEP_SUMMARY is shared by the steps of a job.
            with self.markdown.open("a", encoding="utf-8") as summary:
                summary.write(gate_markdown(reports, stopped))


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


def _show_plan(gates: "Sequence[LoadedGate]", *, recheck: bool) -> None:
    """Print what the gates would ask for, and of the sentinel sets what is asked again."""
    from sqlalchemy.orm import Session

    from deployments.cli.environment import database_engine
    from deployments.cli.estimates import show_judging
    from judge_gym.judges.gate import asked_again, asked_first

    show_labels((gate.judge.name, gate.said()) for gate in gates)
    show_judging("Gates", list(map(asked_first, gates)))
    with database_engine() as engine, Session(engine) as session:
        found = [asked_again(session, gate, recheck=recheck) for gate in gates]
    for asked, why in filter(None, found):
        show_judging(f"Again, {why}", [asked])


def _run(
    files: Sequence[Path],
    gates: "Sequence[LoadedGate]",
    reports: "list[GateReport]",
    *,
    recheck: bool,
    retry_failed: bool,
) -> None:
    """Run the gates in order, and add the report of each one that ends to `reports`."""
    from deployments.cli.answerers import naming_file
    from deployments.cli.environment import in_runtime
    from judge_gym.judges.gate import run_gate

    def warn(caution: str) -> None:
        if not recheck:  # of --recheck it was said at the start
            errors.warn(caution, soft_wrap=True)

    async def run_all(current: "Runtime") -> None:
        for file, one in zip(files, gates, strict=True):
            with naming_file(file):
                reports.append(
                    await run_gate(
                        current, one, recheck=recheck, retry_failed=retry_failed, warn=warn
                    )
                )

    judges = [one.judge for one in gates]
    in_runtime(run_all, judges, f"Judging for {counted(len(gates), 'gate')}.")
