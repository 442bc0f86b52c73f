"""The `judge-gym` command: its groups, and how errors are printed."""

import logging
import os
import signal
import sys
import threading
import traceback
from typing import Annotated, Any, NoReturn

import typer

from deployments.cli.groups import USAGE_ERROR, group
from deployments.cli.json_output import json_output
from deployments.cli.output import (
    EXIT_CODES,
    begin_output,
    exit_code_of,
    fail,
    log_is_json,
    say_progress,
    say_stopped,
)
from deployments.cli.standby import Here, StandbyKilledError, leave, run_in_standby
from judge_gym.collecting import collect_rarely
from judge_gym.shipped import documented

_INTERRUPTED = 130
"""Exit code of typer after Ctrl-C."""
_TERMINATED = 143
"""Exit code after SIGTERM, as a shell gives it."""
_LEFT = (
    "A standby process waits {minutes:g} minutes for the next command, which starts faster "
    "(standby_minutes)."
)
_KILLED = 137
"""Exit code after SIGKILL, as a shell gives it."""
app = group(
    {
        "demo": "sweep:demo",
        "up": "serving:up",
        "audit": "audit:audit",
        "sweep": group(
            {
                "axes": "sweep:axes",
                "plan": "sweep:plan",
                "run": "sweep:run",
                "create": "sweep:create",
                "status": "status:status",
                "rubrics": "reading:rubrics",
                "multiverse": "multiverse:multiverse",
                "retry": "changing:retry",
                "cancel": "changing:cancel",
                "power": "power:power",
                "freeze": "freeze:freeze",
                "batches": group(
                    {"list": "changing:list_batches", "cancel": "changing:cancel_one_batch"},
                    help="List and cancel batches at providers.",
                ),
            },
            help="Plan, run and follow sweeps of experiments.",
        ),
        "evidence": group(
            {
                "list": "evidence:list_windows",
                "show": "evidence:show",
                "bundles": group(
                    {"show": "evidence:bundles"}, help="Show which documents are judged together."
                ),
                "collect": "evidence:collect",
                "create": "evidence:create",
            },
            help="List, show and create evidence windows.",
        ),
        "analyse": group(
            {
                "figures": "analyse:figures",
                "published": "analyse:published",
                "atlas": "atlas:atlas",
                "alt-test": "analyse:alt_test",
                "notebooks": "analyse:notebooks",
                "selftest": "selftest:selftest",
                "experiments": group(
                    {"list": "analyse:list_experiments", "show": "analyse:show"},
                    help="List and show experiments.",
                ),
            },
            help="Compute figures again, read experiments and check the estimators.",
        ),
        "judge": group(
            {
                "check": "judge:check",
                "score": "judge:score",
                "gate": "judge_gate:gate",
                "certify": "judge_certify:certify",
                "certificate": group(
                    {"show": "judge_certify:show", "verify": "judge_certify:verify"},
                    help="Show and verify certificates of judges.",
                ),
                "calibrate": "judge_studies:calibrate",
                "align": "judge_align:align",
                "compare": "judge_compare:compare",
                "review": "judge_compare:review",
                "decide": "judge_compare:decide",
                "label": "judge_label:label",
                "agreement": "judge_label:agreement",
                "estimate": "judge_estimate:estimate",
                "benchmark": "judge_studies:benchmark",
                "gym": "gym:gym",
                "injection": "injection:injection",
            },
            help="Check, use, calibrate and compare judges for products.",
        ),
        "panel": group(
            {
                "run": "panel:run",
                "serve": "panel:serve",
                "evaluate": "panel:evaluate",
            },
            help="Run, evaluate and serve panels of LLM raters with an arbiter.",
        ),
        "data": group(
            {
                "export": "data:export_bundle",
                "import": "data:import_bundle",
                "import-verdicts": "data:import_verdicts",
                "import-annotations": "data:import_annotations",
                "delete-annotations": "data:delete_annotations",
                "examples": "data:examples",
                "schema": "data:schema",
                "views": "data:views",
                "publish": "publish:publish",
                "replicate": "publish:replicate",
            },
            help="Import and export experiments, and describe the views.",
        ),
        "models": group(
            {
                "list": "models:list_models",
                "show": "models:show",
                "serve": "models:serve",
                "check": "model_checks:check",
            },
            help="List what models accept, check models, serve a small one.",
        ),
        "database": group(
            {
                "roles": "database:roles",
                "serve": "database:serve",
                "backup": "database:backup",
                "restore": "database:restore",
                "init": "database:init",
                "status": "installation:status",
                "clean": "database:clean",
                "prune": "database:prune",
            },
            help="Set up, watch, back up and clean an installation.",
        ),
        "simulator": "serving:simulator",
        "doctor": "doctor:doctor",
        "mcp": "serving:mcp",
    },
    name="judge-gym",
    help="Run LLM-as-judge experiments and evaluate LLM judges.",
    epilog=EXIT_CODES,
)
"""Every command, by the words that a person types."""


def _version(*, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"judge-gym {version('judge-gym')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options of the command itself."""


def main() -> NoReturn:
    """Run the command line, in a standby process if one waits; may leave one at the end."""
    collect_rarely()
    here = Here.now()
    # Before numpy is imported: on small matrices threads slow it down.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if (code := run_in_standby(here)) is not None:
            sys.exit(code)
    except StandbyKilledError:
        begin_output()
        fail(
            "The standby process that ran this command was killed.",
            f"Stored answers are kept. Rerun the command; see {documented('how-to/standby.md')}.",
            _KILLED,
        )
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    try:
        run_command()
    except SystemExit as ended:
        if (minutes := leave(here, ended.code)) and here.at_terminal:
            say_progress(_LEFT.format(minutes=minutes))
        raise


def run_command() -> NoReturn:
    """Run the command in this process; a known error prints its message and remedy."""
    from judge_gym.errors import JudgeGymError, first_line

    if threading.current_thread() is threading.main_thread():  # no other may set a handler
        signal.signal(signal.SIGTERM, _terminated)
    begin_output()
    try:
        _run()
    except JudgeGymError as error:
        fail(error.message, error.remedy, exit_code_of(error))
    except SystemExit as exit_error:
        if exit_error.code in (_INTERRUPTED, _TERMINATED):
            say_stopped(exit_error.code)
        raise
    except Exception as error:
        from flows.outages import outage_of

        where = _log(error)
        if failure := outage_of(error):
            fail(failure.message, failure.remedy)
        fail(f"Unexpected {type(error).__name__}: {first_line(error)}", where)
    except BaseException as error:
        # Prefect's, which no command imports only to name it: a run got SIGTERM.
        if type(error).__name__ != "TerminationSignal":
            raise
        say_stopped(_TERMINATED)
        sys.exit(_TERMINATED)
    finally:
        json_output.end()
    sys.exit(0)


def _run() -> None:
    """Run the command that was typed; exits with its code unless that is 0."""
    try:
        if code := app(standalone_mode=False):
            sys.exit(code)
    except typer.Abort:
        fail("Aborted.")
    except Exception as error:
        if not isinstance(error, USAGE_ERROR):
            raise
        usage: Any = error
        if log_is_json():
            where = f"See `{usage.ctx.command_path} --help`." if usage.ctx else ""
            fail(usage.format_message(), where, usage.exit_code)
        usage.show()
        sys.exit(usage.exit_code)


def _terminated(*_: object) -> NoReturn:
    """End as after Ctrl-C, with what the command has opened closed."""
    sys.exit(_TERMINATED)


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
