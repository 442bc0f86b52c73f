"""The life of a study as a command: agree, judge what is missing, save and print its report."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import typer

from deployments.cli.json_output import json_output
from deployments.cli.output import (
    confirmed,
    console,
    marked,
    say_simulated,
    show_note,
    show_table,
)
from deployments.cli.parts_done import report_judging
from deployments.cli.thresholds import exit_by, shown_held
from judge_gym.counting import counted
from judge_gym.writable import check_reports

if TYPE_CHECKING:
    from judge_gym.errors import JudgeGymError
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.use import Use
    from judge_gym.model_names import Answered
    from judge_gym.report.judge_study import StudyReport
    from judge_gym.report.table import Table
    from judge_gym.runtime import Runtime
    from judge_gym.studies import Study

T = TypeVar("T")


@dataclass(frozen=True)
class StudyCommand:
    """What the options of a command say of how its study is run."""

    files: Sequence[Path]
    """The judge files, one for each judge of the study."""
    plan: bool
    retry_failed: bool
    as_json: bool
    yes: bool = True
    """Whether calls to a real model need no confirmation at a terminal."""
    concurrency: int | None = None
    thresholds: Mapping[str, float] | None = None
    """Figure → least value of `--fail-under`."""
    everything: bool = False
    """Whether to print all tables of the page."""

    def run(self, study: "Study[T]") -> "EndedStudy[T] | None":
        """Judge what is missing, save the report and print it; None where it is only planned.

        What stopped the judging is raised here where the study reports nothing then, and by
        `EndedStudy.exit` otherwise.
        """
        from deployments.cli.environment import in_runtime
        from judge_gym.errors import StoreError

        if not self._begins(study):
            return None

        async def work(current: "Runtime") -> "EndedStudy[T]":
            stopped = await self._judged(current, study)
            try:
                report, saved = study.write(current)
            except StoreError as error:  # nothing was judged: what stopped it says why
                raise stopped or error from None
            return EndedStudy(report, saved.page or saved.path, stopped, self)

        items = max((len(one.items) for one in study.asked), default=0)
        ended = in_runtime(work, study.judges, f"Judging {counted(items, 'item')}.")
        ended.show()
        return ended

    def run_by_flow(
        self, study: "Study[T]", flow: str, parameters: Mapping[str, Any]
    ) -> "EndedStudy[T] | None":
        """Do the same by the study's flow, whose calls go as batches where the provider takes them.

        What stopped it is raised by `EndedStudy.exit` if anything was judged.
        """
        import asyncio

        from deployments.cli.environment import prepare_environment, run_flow, simulator_knowing
        from judge_gym.errors import JudgeGymError
        from judge_gym.report.judge_study import stem_of
        from judge_gym.runtime import runtime

        if not self._begins(study):
            return None
        prepare_environment()
        ended: list[EndedStudy[T]] = []

        async def read() -> "EndedStudy[T]":
            async with runtime() as current:
                report = study.report(current)
                page = report.page_in(current.settings.reports_dir).resolve()
            return EndedStudy(report, page, None, self)

        def show() -> None:
            ended.append(asyncio.run(read()))
            ended[0].show()

        knowing = simulator_knowing(
            stem_of(study.called), study.worths, study.judges, study.also_asked
        )
        try:
            run_flow(flow, show, knowing, show_failed=study.partial, **parameters)
        except JudgeGymError as stopped:
            if not ended:
                raise
            return replace(ended[0], stopped=stopped)
        return ended[0]

    def _begins(self, study: "Study[Any]") -> bool:
        """Say what was read, check what can be, and return whether to judge."""
        from deployments.cli.answerers import check_functions
        from judge_gym.settings import settings

        console.plain(study.read)
        check_functions(zip(study.judges, self.files, strict=True))
        if not self._agreed(study):
            return False
        check_reports(settings().reports_dir)
        if any(one.items for one in study.asked):
            report_judging(study.to_judge)
        return True

    def _agreed(self, study: "Study[Any]") -> bool:
        """Return whether to judge: print what it costs for a plan, and at a terminal ask first.

        Simulated and stored judgements cost nothing, so nothing is asked. Neither is it without a
        terminal, where nobody could answer. Raises `typer.Exit` if the person declines.
        """
        if not self.plan and (self.yes or not sys.stdin.isatty()):
            return True
        if study.uses:
            self._show_uses(study, study.uses)
            return False
        from deployments.cli.environment import database
        from deployments.cli.estimates import show_judging, show_perturbing
        from judge_gym.judges.planning import plan_judging
        from judge_gym.llm.providers import load_providers
        from judge_gym.settings import settings

        with database() as session:
            requests, previewed = study.planned(session), study.previewed(session)
            providers = load_providers(settings().providers_file)
            plans = [] if self.plan else plan_judging(session, providers, settings(), requests)
        paid = any(plan.calls and not plan.judge.is_simulated for plan in plans)
        if self.plan or paid:
            for table in previewed:
                show_table(table.title, table.columns, [row.cells for row in table.rows])
            if study.perturbing and study.perturbing[1]:
                show_perturbing(*study.perturbing)
            show_judging(study.called, requests)
        if paid and not confirmed("Make these calls?", yes=self.yes):
            raise typer.Exit(1)
        return not self.plan

    def _show_uses(self, study: "Study[Any]", uses: "Callable[[Runtime], Sequence[Use]]") -> None:
        """Print what all that a study asks will use."""
        import asyncio

        from deployments.cli.environment import prepare_environment
        from deployments.cli.estimates import RETRIED_ONCE, show_uses
        from judge_gym.runtime import runtime

        async def planned() -> "Sequence[Use]":
            async with runtime() as current:
                return uses(current)

        prepare_environment()
        show_uses(f"{study.called}: estimate", asyncio.run(planned()))
        console.print(RETRIED_ONCE)

    async def _judged(self, current: "Runtime", study: "Study[T]") -> "JudgeGymError | None":
        """Judge what is missing; return what stopped it, or makes the study no success."""
        from judge_gym.answers.readability import too_few_readable
        from judge_gym.judges.calibrating.judging import answers_of
        from judge_gym.judges.judging import BOUND_ERRORS

        try:
            study.begin(current)
            for one, file in zip(study.asked, self.files, strict=True):
                await self._judge(current, one, file)
            with current.session() as session:
                critics = study.critics(session)
            for critic in critics:
                await self._judge(current, critic, None)
        except BOUND_ERRORS as stopped:
            if not study.partial:
                raise
            return stopped
        with current.session() as session:
            answers = [answers_of(session, one) for one in study.asked]
        error = too_few_readable(answers) if study.needs_readable else None
        if error and not study.partial:
            raise error
        return error

    async def _judge(self, current: "Runtime", asked: "Asked", file: Path | None) -> None:
        from contextlib import nullcontext

        from deployments.cli.answerers import naming_file
        from judge_gym.judges.calibrating.judging import judge_asked

        if asked.items:
            with naming_file(file) if file else nullcontext():
                await judge_asked(
                    current, asked, concurrency=self.concurrency, retry_failed=self.retry_failed
                )


@dataclass(frozen=True)
class EndedStudy(Generic[T]):
    """A study whose report is saved, and how its command ends."""

    report: "StudyReport[T]"
    page: Path
    stopped: "JudgeGymError | None"
    options: StudyCommand

    def show(self) -> None:
        """Print the report, what was found first."""
        show_report(self.report, everything=self.options.everything)
        if self.report.page.more and not self.options.everything:
            console.print("All tables: on the page, or rerun the command with --all.")
        console.plain(f"Page: {self.page}")

    def exit(self, *, by_verdict: bool = False) -> None:
        """Print what is left to print, then raise or exit by thresholds, and by the verdict."""
        least = self.options.thresholds
        checks = shown_held(self.report, least or {})
        value = self.report.value
        # A list has no place for what stopped the study, which is printed then.
        if self.options.as_json and not (self.stopped and isinstance(value, list)):
            if least:
                from judge_gym.store.judges import check_values

                value = {**value, "thresholds": list(map(check_values, checks))}
            json_output.give(value)
        if self.stopped:
            raise self.stopped
        exit_by([*(self.report.results if by_verdict else ()), *(one.result for one in checks)])


def show_report(report: "StudyReport[T]", *, everything: bool = False) -> None:
    """Print a report: what was found, its tables, and what else there is to say."""
    page = report.page
    tables = [*page.tables, *(page.more if everything else ())]
    console.plain(f"{marked(page.title, simulated=page.simulated)}\n{page.found}".strip())
    show_parts(tables, page.sentences, report.answered, simulated=page.simulated)


def show_parts(
    tables: "Iterable[Table]",
    sentences: Iterable[str],
    answered: "Iterable[Answered]" = (),
    *,
    simulated: bool,
) -> None:
    """Print tables and sentences, each marked or followed by a word where they are simulated."""
    for table in tables:
        title = marked(table.title, simulated=simulated)
        show_table(title, table.columns, [row.cells for row in table.rows])
    for sentence in sentences:
        console.plain(sentence)
    for one in answered:
        show_note(one)
    if simulated:
        say_simulated()
