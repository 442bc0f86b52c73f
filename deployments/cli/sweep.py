"""`judge-gym demo` and `judge-gym sweep`: plan and run sweeps; axes of the design space."""

import asyncio
import logging
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.environment import (
    begin_database,
    database,
    database_engine,
    is_database_new,
    prefect_api,
    prepare_environment,
    result_of,
    simulator,
)
from deployments.cli.freeze import frozen_notes
from deployments.cli.json_output import print_json
from deployments.cli.options import AsJson, Everything, RetryFailed, SweepFile, Yes
from deployments.cli.output import (
    command,
    confirmed,
    console,
    log_is_json,
    progress_lines,
    say_progress,
    show_table,
    stopping,
)
from deployments.cli.parts_done import report_sweep
from deployments.cli.status import WATCH_S, check_failed_work, running_view
from judge_gym.counting import counted
from judge_gym.design.names import PARTS
from judge_gym.model_names import is_simulated_provider
from judge_gym.shipped import DEPLOYMENTS

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from judge_gym.analysis.finished import Finished
    from judge_gym.design.sweep import Sweep
    from judge_gym.errors import JudgeGymError
    from judge_gym.llm.providers import Provider
    from judge_gym.store.experiments import Leaving


FIRST_ANSWER_S = 0.5
"""How often a run's first answer is looked for, until there is one."""
DEMO = DEPLOYMENTS / "sweeps" / "demo.yaml"


def demo(everything: Everything = False, as_json: AsJson = False) -> None:
    """Run the demo sweep on simulated judges and write its report."""
    run(DEMO, everything=everything, yes=True, as_json=as_json)


def axes() -> None:
    """List the axes of the design space, their values and defaults."""
    from judge_gym.design.axes import axes as all_axes

    rows = [(axis.name, axis.legal, axis.default, axis.why) for axis in all_axes()]
    show_table("The design space", ("axis", "legal values", "default", "why"), rows)


_IMPORTED = ("flows.sweep", "judge_gym.llm.gateway")


def run_sweep(
    file: Path,
    *,
    retry_failed: bool = False,
    verbose: bool = False,
    only: Sequence[str] | None = None,
    yes: bool = True,
    keep_templates: bool = False,
    approved_by: str = "",
    processes: int = 1,
) -> int | None:
    """Run the flow of a sweep, or only some parts; return the id of the analysis run.

    Without `yes`, asks before calls leave a sweep that has other experiments. Returns None if the
    analysis was not among the parts. Raises `JudgeGymError` if the sweep cannot run or calls
    failed. Exits with code 75 if calls wait in batches.
    """
    from judge_gym.design.frozen import frozen_file
    from judge_gym.design.sweep import load_sweep

    sweep = load_sweep(file)  # a mistake in it is found before what takes long to import
    report_sweep(sweep.name)
    from judge_gym.lab.sweeps import providers_of, unwritten_rivals
    from judge_gym.settings import settings

    is_new = is_database_new()
    begin_database()
    providers = providers_of(settings(), sweep)
    title = f"Sweep {sweep.name}: {sweep.experiments_text}."
    changes: list[str] = []
    # Nothing is stored in a new database, which is made while Prefect's server starts.
    if not is_new or frozen_file(sweep.path).exists():
        changes = _confirmed_changes(sweep, yes=yes, keep_templates=keep_templates)
        if not retry_failed and (done := _finished(sweep, only)) is not None:
            figures = "" if done.run_id is None else f"; figures of analysis run {done.run_id}"
            console.print(
                f"{title} Nothing was missing: no request was made{figures}.", soft_wrap=True
            )
            return done.run_id
        if not retry_failed and (only is None or set(only) != {"analysis"}):
            _check_budget(sweep)
    console.print(title)
    _warn((*changes, *_evidence(sweep, is_new=is_new), *unwritten_rivals(sweep)))
    if approved_by:
        _approve(sweep, approved_by, only)
    prepare_environment(verbose=verbose)
    simulated = any(is_simulated_provider(provider.name) for provider in providers)
    beside = [database_engine(), simulator() if simulated else nullcontext()]
    with prefect_api(*_IMPORTED, beside=beside):
        options: dict[str, Any] = {
            "retry_failed": retry_failed,
            "only": list(only) if only else None,
        }
        if processes > 1:  # each needs a chunk to do
            options["settings"] = {"workers": max(settings().workers, processes)}
        return _flow_ended(file, sweep, providers, options, processes)


def _confirmed_changes(sweep: "Sweep", *, yes: bool, keep_templates: bool) -> list[str]:
    """Return what changed since the stored judgements; asks before calls leave the sweep."""
    with database() as session:
        changes = _changes(session, sweep, keep_templates=keep_templates)
        _warn(frozen_notes(session, sweep))
        confirm_leaving(leaving_of(session, sweep), yes=yes)
    return changes


def _flow_ended(
    file: Path,
    sweep: "Sweep",
    providers: "Iterable[Provider]",
    options: dict[str, Any],
    processes: int,
) -> int | None:
    """Run the flow until it ends; says what went at the full price, returns the analysis run."""
    began = datetime.now(UTC)
    with _counting_stopped(sweep.name, began):
        state = asyncio.run(_run(file, sweep, options, processes))
    batched = [provider.name for provider in providers if provider.batch]
    if batched:
        _say_what_went_directly(sweep.name, batched, began)
    return _run_id(state, file)


def _check_budget(sweep: "Sweep") -> None:
    """Raise `BudgetExceededError` before servers are started, where calls are left to make.

    A run makes the same check before each chunk. Calls in batches are paid for, and only a run
    takes them in.
    """
    from judge_gym.asking.budgeting import SweepBudget, exceeded_error
    from judge_gym.errors import StoreError
    from judge_gym.lab.status import sweep_status

    if sweep.budget is None:
        return
    budget = SweepBudget(sweep=sweep.name, file=sweep.path, limits=sweep.budget)
    with database() as session:
        try:
            status = sweep_status(session, sweep.name)
        except StoreError:  # it is not stored yet
            return
        waits = any(part.wait_in_batches for part in status.workflows)
        if status.finished or waits or leaving_of(session, sweep) is not None:
            return
    if error := exceeded_error(budget.spender(), status.spent):
        raise error


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        console.warn(warning, soft_wrap=True)


def _evidence(sweep: "Sweep", *, is_new: bool) -> list[str]:
    """Return warnings about texts that are cut or may be no evidence."""
    from judge_gym.lab.evidence_notes import evidence_notes
    from judge_gym.settings import settings

    if is_new:  # it is made while Prefect's server starts
        return evidence_notes(None, sweep.windows.values(), settings())
    with database() as session:
        return evidence_notes(session, sweep.windows.values(), settings())


def _approve(sweep: "Sweep", person: str, only: Sequence[str] | None) -> None:
    """Store who approves what the sweep is expected to cost, if it needs approval."""
    from judge_gym.lab.approving import plan_spending, save_decision
    from judge_gym.lab.sweeps import register
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    if sweep.approve_over_usd is None:
        return
    with database() as session:
        register(session, settings(), sweep)
        providers = load_providers(settings().providers_file)
        plan = plan_spending(session, sweep, providers, sweep.approve_over_usd, only)
        if plan.needs_approval:
            save_decision(session, plan, "approve", person, flow_run="terminal")


def _say_what_went_directly(sweep: str, providers: Sequence[str], since: datetime) -> None:
    """Print which calls to providers with batches were sent at the full price, and why."""
    from judge_gym.errors import StoreError
    from judge_gym.settings import settings
    from judge_gym.store.batches import sent_directly
    from judge_gym.store.spending import spending_scope

    with database() as session:
        try:
            scope = spending_scope(session, sweep)
        except StoreError:  # the run failed before it stored the sweep
            return
        direct = sent_directly(session, scope, providers, since)
    if direct.unanswered:
        console.print(
            f"{counted(direct.unanswered, 'call')} that a batch did not answer "
            f"{'was' if direct.unanswered == 1 else 'were'} sent directly, at the full price."
        )
    if direct.unbatched:
        console.print(
            f"{counted(direct.unbatched, 'call')} went directly, at the full price: too few for a "
            f"batch (batch_minimum {settings().batch_minimum}, batch_fallback "
            f"{settings().batch_fallback})."
        )


def _finished(sweep: "Sweep", only: Sequence[str] | None) -> "Finished | None":
    """Return that a sweep, or `only` some parts of it, is finished, without importing Prefect."""
    from judge_gym.analysis.finished import finished_parts
    from judge_gym.settings import settings

    with database_engine() as engine:
        return finished_parts(engine, settings(), sweep, only or PARTS)


@contextmanager
def _counting_stopped(sweep: str, began: datetime) -> Iterator[None]:
    """Note what is saved, and what has no answer, where the block is stopped."""
    from sqlalchemy.exc import OperationalError

    from judge_gym.errors import StoreError
    from judge_gym.store.spending import ended_and_open, spending_scope

    try:
        yield
    except Exception:
        raise
    except BaseException:  # Ctrl-C, SIGTERM and Prefect's signal
        with suppress(StoreError, OperationalError), database() as session:
            scope = spending_scope(session, sweep)
            stopping.with_calls(*ended_and_open(session, scope, began))
        raise


async def _run(file: Path, sweep: "Sweep", options: dict[str, Any], processes: int) -> Any:
    from flows.sweep import sweep as sweep_flow
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect
    from tasks.processes import worker_processes

    # The flow opens its own engine, with the settings of the run.
    engine = await asyncio.to_thread(connect, settings())
    _say_if_it_waits(engine, sweep.name)
    try:
        with (
            _live_view(engine, sweep.name)
            if console.is_terminal and not log_is_json()
            else progress_lines(f"sweep {sweep.name}"),
            _first_answer(engine, sweep.name),
        ):
            async with worker_processes(processes):
                return await sweep_flow(file, **options, return_state=True)
    finally:
        engine.dispose()


def _say_if_it_waits(engine: Any, sweep: str) -> None:
    """Print that another run works on the sweep: this one waits for the work that both need."""
    from sqlalchemy.orm import Session

    from judge_gym.store.locks import is_in_progress

    with Session(engine) as session:
        if is_in_progress(session, sweep):
            console.plain(
                f"Another run of sweep {sweep} is in progress: waiting for its work. Follow it "
                f"with `{command()} sweep status {shlex.quote(sweep)} --watch`."
            )


def _run_id(state: Any, file: Path) -> int | None:
    result = result_of(state, again=f"{command()} sweep run {shlex.quote(str(file))}")
    return None if result is None else int(result)


@contextmanager
def _live_view(engine: "Engine", sweep: str) -> Iterator[None]:
    """Show progress, rate, failures, cost and time left, until the block ends."""
    from rich.live import Live
    from sqlalchemy.orm import Session

    from judge_gym.errors import StoreError
    from judge_gym.lab.status import sweep_status

    with Live(console=console, auto_refresh=False, transient=True) as live:

        def look() -> None:
            # A run that has just started may not be stored yet.
            with suppress(StoreError), Session(engine) as session:
                live.update(running_view(sweep_status(session, sweep)), refresh=True)

        with _every(WATCH_S, look):
            yield
        look()


@contextmanager
def _first_answer(engine: "Engine", sweep: str) -> Iterator[None]:
    """Print the first answer of the block as soon as it is stored: is it what was asked for?

    Not where lines are a log, which holds no texts.
    """
    from sqlalchemy.orm import Session

    from judge_gym.report.evidence import first_answer
    from judge_gym.store.judgement_texts import newest_sample

    with Session(engine) as session:
        before = newest_sample(session)
    said = log_is_json()

    def look() -> None:
        nonlocal said
        if said:
            return
        with Session(engine) as session:
            answer = first_answer(session, sweep, before)
        if answer:
            say_progress(f"First answer: {answer}")
            said = True

    with _every(FIRST_ANSWER_S, look):
        yield
    look()  # of a run that was over before


@contextmanager
def _every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
    """Call `look` again and again in a thread until the block ends."""
    from sqlalchemy.exc import OperationalError

    from judge_gym.errors import StoreError

    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(seconds):
            with suppress(OperationalError, StoreError):  # the run itself reports a lost database
                look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def leaving_of(session: "Session", sweep: "Sweep") -> "Leaving | None":
    """Return what leaves the stored sweep of this name when `sweep` is stored."""
    from judge_gym.store.experiments import leaving

    return leaving(session, sweep.name, sweep.own)


def _changes(session: "Session", sweep: "Sweep", *, keep_templates: bool) -> list[str]:
    """Return what changed in recipes and names of windows, in sentences.

    With `keep_templates`, raises for a change of a recipe.
    """
    from judge_gym.lab.sweeps import (
        change_notes,
        check_templates_kept,
        identities_of,
        renamed_windows,
    )
    from judge_gym.settings import settings

    stored = identities_of(session, settings(), sweep).values()
    if keep_templates:
        check_templates_kept(sweep, stored)
    return [*change_notes(stored), *renamed_windows(session, sweep)]


def confirm_leaving(left: "Leaving | None", *, yes: bool) -> None:
    """Print what leaves a sweep; if calls or judgements do, ask first, unless `yes`.

    The report of the sweep as it was is kept.
    """
    from judge_gym.lab.sweeps import LEAVING_LOG
    from judge_gym.settings import settings

    if left is None:
        return
    console.warn(left)
    if not log_is_json():
        logging.getLogger(LEAVING_LOG).setLevel(logging.ERROR)  # it is printed already
    if left.loses_work and not confirmed("Replace the sweep's experiments?", yes=yes):
        console.print("Nothing was changed.")
        raise typer.Exit
    from judge_gym.report.page import keep_report

    if left.loses_work and (kept := keep_report(left.sweep, settings().reports_dir)):
        console.print(f"The report of the old sweep is kept as {kept}.", soft_wrap=True)


KeepTemplates = Annotated[
    bool,
    typer.Option(
        "--keep-templates", help="Refuse if a template, or the utility model, has changed."
    ),
]


def plan(file: SweepFile, keep_templates: KeepTemplates = False, as_json: AsJson = False) -> None:
    """Estimate the calls, cost and time of a sweep without running it."""
    from judge_gym.design.sweep import load_sweep

    sweep = load_sweep(file)  # a mistake in it is found before what takes long to import
    from judge_gym.lab.sweeps import providers_of
    from judge_gym.settings import settings

    providers_of(settings(), sweep)
    from deployments.cli.estimates import show_plan
    from judge_gym.lab.planning import plan_sweep
    from judge_gym.llm.providers import load_providers

    providers = load_providers(settings().providers_file)
    with database() as session:
        planned = plan_sweep(session, sweep, providers, keep_templates=keep_templates)
        left = leaving_of(session, sweep)
        frozen = frozen_notes(session, sweep)
    planned = replace(planned, warnings=[*planned.warnings, *frozen])
    if as_json:
        lines = [asdict(line) | {"to_do": line.to_do} for line in planned.lines]
        found = asdict(planned) | {"lines": lines, "leaving": None if left is None else str(left)}
        print_json(sweep=sweep.name, experiments=sweep.count(), **found)
        return
    console.print(f"Sweep {sweep.name}: {sweep.experiments_text}.")
    show_plan(planned, providers, sweep.budget)
    if left:
        console.warn(left)
    console.print(f"Next: {command()} sweep run {file}", markup=False)


def run(
    file: SweepFile,
    retry_failed: RetryFailed = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART", help=f"Only {', '.join(PARTS)}; may be repeated.", show_default=False
        ),
    ] = None,
    everything: Everything = False,
    yes: Yes = False,
    keep_templates: KeepTemplates = False,
    approved_by: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Who approves a cost over approve_over_usd.", show_default=False
        ),
    ] = "",
    processes: Annotated[
        int,
        typer.Option(min=1, max=64, help="Processes that make the calls, to use more cores."),
    ] = 1,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print Prefect's log.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run or resume a sweep; only missing calls are made.

    Exit codes: 1 failed calls, 2 bad input, 4 budget used up, 75 calls wait in batches or for a
    bound per hour. Rerun the command to resume.
    """
    from judge_gym.design.sweep import load_sweep
    from judge_gym.errors import JudgeGymError

    _check_parts(only or ())
    failure = None
    try:
        run_id = run_sweep(
            file,
            retry_failed=retry_failed,
            verbose=verbose,
            only=only,
            yes=yes,
            keep_templates=keep_templates,
            approved_by=approved_by,
            processes=processes,
        )
    except JudgeGymError as error:
        failure, run_id = error, getattr(error, "analysis_run", None)
        if run_id is None:
            raise
    if run_id is not None:
        from deployments.cli.results import show_results

        show_results(run_id, next_file=file, everything=everything, as_json=as_json)
    if failure is not None:
        raise _with_report(failure, file)
    check_failed_work(load_sweep(file).name, only)


def _check_parts(parts: Sequence[str]) -> None:
    from judge_gym.errors import ConfigError, did_you_mean

    if unknown := set(parts) - set(PARTS):
        raise ConfigError(
            f"A sweep has no part {', '.join(sorted(unknown))}.",
            f"{did_you_mean(min(unknown), PARTS)}Use {', '.join(PARTS)}.",
        )


def _with_report(failure: "JudgeGymError", file: Path) -> "JudgeGymError":
    """Return what failed in a run whose report is written, with advice that a freeze allows."""
    from judge_gym.design.frozen import frozen_file
    from judge_gym.errors import JudgeGymError

    remedies: Sequence[str] = failure.remedies
    if frozen_file(file).exists():
        remedies = (
            f"{file.name} is frozen, so leave it as it is: its report counts these answers as "
            "missing and says so. To change a model, max_tokens or a prompt, copy the file under "
            "another name, freeze that, and run it with --retry-failed, since experiments that "
            "are the same in both share their failed calls. In the copy:",
            *remedies,
        )
    return JudgeGymError(f"{failure.message} The report of the rest is written.", remedies)


def create(
    file: Annotated[Path, typer.Argument(help="A sweep file.", show_default=False)],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Store the experiments of a sweep file and print their tags.

    Nothing is run.
    """
    from judge_gym.design.sweep import load_sweep
    from judge_gym.lab.sweeps import register
    from judge_gym.settings import settings

    sweep = load_sweep(file)
    with database() as session:
        _warn(frozen_notes(session, sweep))
        confirm_leaving(leaving_of(session, sweep), yes=yes)
        stored = register(session, settings(), sweep)
    if as_json:
        print_json(sweep=stored.name, experiments=stored.tags)
        return
    for tag in stored.tags:
        console.print(tag, markup=False)
