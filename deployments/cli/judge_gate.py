"""`judge-gym judge gate`: whether a judge may be merged or deployed, for CI."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import (
    AsJson,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    label_fields_of,
)
from deployments.cli.output import (
    console,
    errors,
    marked,
    say_simulated,
    show_checks,
    show_note,
)
from deployments.cli.thresholds import exit_by, least_of
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, first_line

if TYPE_CHECKING:
    from judge_gym.judges.gate import GateReport
    from judge_gym.judges.gate_texts import LoadedGate

_THRESHOLDS = ("readable", "agreement", "accuracy")


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
    from judge_gym.judges import load_judge
    from judge_gym.judges.gate_texts import load_gate
    from judge_gym.report.gate import gate_json, gate_junit, gate_markdown

    for option, file in (("--junit", junit), ("--markdown", markdown)):
        _check_writable(option, file)
    judges = [load_judge(file) for file in files]
    given: dict[str, object] = {**least_of(fail_under, _THRESHOLDS)}
    if labels:
        given |= {"labels": labels, "label_fields": label_fields_of(label_fields)}
    loaded = [
        load_gate(
            judge.model_copy(update={"gate": judge.gate.model_copy(update=given)})
            if judge.gate
            else judge
        )
        for judge in judges
    ]
    if plan:
        _show_plan(loaded, recheck=recheck)
        return
    reports = _run(loaded, recheck=recheck, retry_failed=retry_failed)
    if junit:
        junit.write_text(gate_junit(reports), encoding="utf-8")
    if markdown:
        # GITHUB_STEP_SUMMARY is shared by the steps of a job.
        with markdown.open("a", encoding="utf-8") as summary:
            summary.write(gate_markdown(reports))
    if as_json:
        console.print_json(json.dumps([gate_json(report) for report in reports]), ensure_ascii=True)
    else:
        _show(reports)
    exit_by(report.result for report in reports)


def _check_writable(option: str, file: Path | None) -> None:
    """Make the folder of a file; raises `ConfigError` before anything is judged if it cannot."""
    if file is None:
        return
    reason = "it is a folder" if file.is_dir() else ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = first_line(error)
    if not reason and not os.access(file if file.exists() else file.parent, os.W_OK):
        reason = "it cannot be written"
    if reason:
        raise ConfigError(f"{option} is {file}: {reason}.", "Name a file that you can write.")


def _show_plan(gates: "Sequence[LoadedGate]", *, recheck: bool) -> None:
    """Print what the gates would ask for; of the sentinel set only what `--recheck` asks again."""
    from deployments.cli.environment import database
    from deployments.cli.estimates import show_judging
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.gate import recheck_day

    for gate in gates:
        console.print(gate.said(), markup=False, soft_wrap=True)
    show_judging("Gates", [Asked(gate.judge, gate.texts, gate.rule.repeats) for gate in gates])
    if not recheck:
        return
    by_day: dict[str, list[Asked]] = {}
    with database() as session:
        for gate in gates:
            again = Asked(gate.judge, gate.sentinel, gate.rule.repeats)
            by_day.setdefault(recheck_day(session, gate), []).append(again)
    for day, rechecked in by_day.items():
        show_judging("Again, by --recheck", rechecked, review_day=day)


def _run(gates: "Sequence[LoadedGate]", *, recheck: bool, retry_failed: bool) -> "list[GateReport]":
    import asyncio

    from deployments.cli.environment import prepare_environment, simulator_for
    from judge_gym.judges.gate import run_gate
    from judge_gym.runtime import runtime
    from judge_gym.settings import settings

    async def run_all() -> "list[GateReport]":
        async with runtime() as current:
            return [
                await run_gate(current, one, recheck=recheck, retry_failed=retry_failed)
                for one in gates
            ]

    prepare_environment(settings().data_dir, verbose=False)
    with (
        simulator_for(model for one in gates for model in one.judge.answerers),
        errors.status(f"Judging for {counted(len(gates), 'gate')}."),
    ):
        return asyncio.run(run_all())


def _show(reports: "Sequence[GateReport]") -> None:
    for report in reports:
        title = f"{report.judge.name}, {report.answered}"
        show_checks(marked(title, simulated=report.simulated), report.checks)
        console.print(report.labels, markup=False, soft_wrap=True)
        console.print(
            f"{counted(report.texts, 'text')}, {counted(report.new_judgements, 'new judgement')}."
        )
        if report.answers:
            console.print(report.answers, markup=False, soft_wrap=True)
        show_note(report.answered)
        console.print(report.sentence, markup=False)
    if any(report.simulated for report in reports):
        say_simulated()
