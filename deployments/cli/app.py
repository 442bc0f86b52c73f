"""The `judge-gym` command: its groups, and how errors are printed."""

import logging
import os
import signal
import sys
import threading
import traceback
from typing import NoReturn

import typer

from deployments.cli import (
    analyse,
    audit,
    changing,
    data,
    database,
    doctor,
    evidence,
    freeze,
    gym,
    judge,
    judge_align,
    judge_compare,
    judge_estimate,
    judge_gate,
    judge_label,
    judge_studies,
    model_checks,
    models,
    multiverse,
    panel,
    panel_evaluate,
    power,
    publish,
    selftest,
    serving,
    status,
    sweep,
)
from deployments.cli.output import (
    BAD_INPUT,
    BUDGET_USED_UP,
    EXIT_CODES,
    TRY_AGAIN_LATER,
    errors,
    fail,
)
from judge_gym.collecting import collect_rarely

_INTERRUPTED = 130
"""Exit code of typer after Ctrl-C."""
_TERMINATED = 143
"""Exit code after SIGTERM, as a shell gives it."""
_STOPPED = "Stopped. Progress is saved. Rerun the command to resume."
app = typer.Typer(
    name="judge-gym",
    help="Run LLM-as-judge experiments and evaluate LLM judges.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(sweep.demo)
app.command()(serving.up)
app.command()(audit.audit)
app.add_typer(sweep.app, name="sweep")
sweep.app.command()(status.status)
sweep.app.command()(multiverse.multiverse)
sweep.app.command()(changing.retry)
sweep.app.command()(changing.cancel)
sweep.app.command()(power.power)
sweep.app.command()(freeze.freeze)
sweep.app.add_typer(changing.batches_app, name="batches")
app.add_typer(evidence.app, name="evidence")
app.add_typer(analyse.app, name="analyse")
analyse.app.command()(selftest.selftest)
app.add_typer(judge.app, name="judge")
judge.app.command()(judge_gate.gate)
judge.app.command()(judge_studies.calibrate)
judge.app.command()(judge_align.align)
judge.app.command()(judge_compare.compare)
judge.app.command()(judge_compare.review)
judge.app.command()(judge_compare.decide)
judge.app.command()(judge_label.label)
judge.app.command()(judge_label.agreement)
judge.app.command()(judge_estimate.estimate)
judge.app.command()(judge_studies.benchmark)
judge.app.command()(gym.gym)
judge.app.command()(gym.injection)
app.add_typer(panel.app, name="panel")
panel.app.command()(panel_evaluate.evaluate)
app.add_typer(data.app, name="data")
data.app.command()(publish.publish)
data.app.command()(publish.replicate)
app.add_typer(models.app, name="models")
models.app.command()(model_checks.check)
app.add_typer(database.app, name="database")
app.command()(serving.simulator)
app.command()(doctor.doctor)
app.command()(serving.mcp)


def main() -> NoReturn:
    """Run the command line; a known error prints its message and remedy."""
    from judge_gym.errors import JudgeGymError, first_line

    collect_rarely()
    # Before numpy is imported: on small matrices threads slow it down.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if threading.current_thread() is threading.main_thread():  # no other may set a handler
        signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except JudgeGymError as error:
        fail(error.message, error.remedy, _exit_code(error))
    except SystemExit as exit_error:
        if exit_error.code in (_INTERRUPTED, _TERMINATED):
            errors.print(_STOPPED)
        raise
    except Exception as error:
        from deployments.cli.environment import server_failure

        where = _log(error)
        if failure := server_failure(error):
            fail(failure.message, failure.remedy)
        fail(f"Unexpected {type(error).__name__}: {first_line(error)}", where)
    except BaseException as error:
        # Prefect's, which no command imports only to name it: a run got SIGTERM.
        if type(error).__name__ != "TerminationSignal":
            raise
        errors.print(_STOPPED)
        sys.exit(_TERMINATED)
    sys.exit(0)


def _terminated(*_: object) -> NoReturn:
    """End as after Ctrl-C, with what the command has opened closed."""
    sys.exit(_TERMINATED)


def _exit_code(error: Exception) -> int:
    """Return the exit code of a known error; docs/reference/exit-codes.md lists them."""
    from judge_gym.asking.budgeting import BudgetExceededError
    from judge_gym.errors import ConfigError, DataFileError
    from judge_gym.llm.hourly import HourlyBoundError

    if isinstance(error, BudgetExceededError):
        return BUDGET_USED_UP
    if isinstance(error, HourlyBoundError):
        return TRY_AGAIN_LATER
    return BAD_INPUT if isinstance(error, ConfigError | DataFileError) else 1


def _log(error: BaseException) -> str:
    """Write the traceback of an error to the log; return a sentence with its path."""
    from judge_gym.errors import JudgeGymError, masked
    from judge_gym.settings import settings

    try:
        file = settings().data_dir / "judge-gym.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(file)
    except (JudgeGymError, OSError) as refusal:
        return f"Its traceback could not be written: {refusal}"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("judge_gym.cli")
    logger.addHandler(handler)
    logger.propagate = False
    logger.error(masked("".join(traceback.format_exception(error))))
    return f"The traceback is in {file}."
