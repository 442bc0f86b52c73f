"""The `judge-gym` command: its groups, and how errors reach a person."""

import logging
import os
import sys
import traceback
from typing import NoReturn

import typer

from deployments.cli import (
    analyse,
    axes,
    batches,
    benchmark,
    bundle,
    calibrate,
    cancel,
    clean,
    demo,
    doctor,
    experiment,
    gym,
    import_verdicts,
    init,
    injection,
    judge,
    judge_compare,
    judge_review,
    local_model,
    mcp,
    panel,
    panel_evaluate,
    panel_serve,
    power,
    retry,
    roles,
    selftest,
    simulator,
    status,
    sweep,
    up,
    window,
)
from deployments.cli.output import errors, fail

_INTERRUPTED = 130
"""What typer ends with after Ctrl-C, without a word."""
app = typer.Typer(
    name="judge-gym",
    help="A lab for judging the judges: LLM-as-Judge experiments as data.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(up.up)
app.command()(init.init)
app.command()(axes.axes)
app.add_typer(sweep.app, name="sweep")
app.command()(status.status)
app.command()(retry.retry)
app.command()(cancel.cancel)
app.command()(clean.clean)
app.add_typer(window.app, name="window")
app.add_typer(experiment.app, name="experiment")
app.add_typer(batches.app, name="batches")
app.command()(power.power)
app.command()(selftest.selftest)
app.command()(analyse.analyse)
app.command()(import_verdicts.import_verdicts)
app.command("export")(bundle.export_bundle)
app.command("import")(bundle.import_bundle)
app.add_typer(roles.app, name="database")
app.command()(injection.injection)
judge.app.command("compare")(judge_compare.compare)
judge.app.command("review")(judge_review.review)
app.add_typer(judge.app, name="judge")
app.add_typer(judge.app, name="judges", hidden=True)
app.command()(calibrate.calibrate)
app.command()(benchmark.benchmark)
app.add_typer(gym.app, name="gym")
panel.app.command()(panel_evaluate.evaluate)
panel.app.command()(panel_serve.serve)
app.add_typer(panel.app, name="panel")
app.command()(simulator.simulator)
app.add_typer(local_model.app, name="local-model")
app.command()(mcp.mcp)
app.command()(doctor.doctor)


def main() -> NoReturn:
    """Run the command line; a user's error is one line with its remedy and exit code 1."""
    from judge_gym.errors import JudgeGymError, first_line

    # Before numpy is imported: on small matrices its threads cost more than they give.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except JudgeGymError as error:
        fail(error.message, error.remedy)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            errors.print("Stopped. What was learnt is kept: the same command goes on from there.")
        raise
    except Exception as error:
        where = _log(error)
        fail(f"Unexpected {type(error).__name__}: {first_line(error)}", where)
    sys.exit(0)


def _log(error: BaseException) -> str:
    """Write an error's trace to the log; returns a sentence on where it is."""
    from judge_gym.errors import JudgeGymError, masked
    from judge_gym.settings import settings

    try:
        file = settings().data_dir / "judge-gym.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(file)
    except (JudgeGymError, OSError) as refusal:
        return f"Its trace could not be written: {refusal}"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("judge_gym.cli")
    logger.addHandler(handler)
    logger.propagate = False
    logger.error(masked("".join(traceback.format_exception(error))))
    return f"The trace is in {file}."
