"""`judge-gym` in this process: its arguments, its folder and its environment, then all as before.

It spares a command its imports, most of a short one's time. What only a process shows (kills,
signals, a PostgreSQL or a Prefect server of its own, what is logged while importing) needs
`CommandLine.start`.
"""

import io
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

from judge_gym.lab.sweeps import LEAVING_LOG
from judge_gym.settings import settings
from judge_gym.store import embedded

_OF_IMPORTS = {"TIKTOKEN_CACHE_DIR", "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"}
"""Variables that are set once, when litellm is imported: its tokenizers, and how it sends."""


def run_here(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str, str]:
    """Run `judge-gym` to its end; its exit code, what it printed and its errors."""
    from deployments.cli.app import main

    import_module("prefect.main")  # it sets up the log, whose level is changed below
    from support.prefect_settings import prefect_at

    output, errors = io.StringIO(), io.StringIO()
    with (
        _process_state(folder, arguments, environment),
        # Prefect has read the environment when it was imported.
        prefect_at(environment.get("PREFECT_API_URL"), environment.get("PREFECT_HOME")),
        _prefect_logs(errors, verbose="--verbose" in arguments),
        redirect_stdout(output),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    return (code if isinstance(code, int) else int(code is not None)), *map(
        io.StringIO.getvalue, (output, errors)
    )


@contextmanager
def _process_state(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> Iterator[None]:
    """What a process of its own would have; undone on leaving."""
    from deployments.cli.output import console

    levels, handlers = _log_levels(), list(logging.root.handlers)
    modules = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch, open(os.devnull) as nothing:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["judge-gym", *arguments])
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "stdin", nothing)
        patch.setattr(console, "stderr", console.stderr)  # `--json` prints there
        for name in os.environ.keys() - environment.keys() - _OF_IMPORTS:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        inherited = dict(os.environ)
        settings.cache_clear()
        try:
            yield
        finally:
            # The command sets defaults, of which the patch knows nothing.
            for name in os.environ.keys() - inherited.keys() - _OF_IMPORTS:
                del os.environ[name]
            embedded.release(folder / "data" / "postgres")
            # Judges of one's own are modules of the folder.
            for name in sys.modules.keys() - modules:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                    del sys.modules[name]
    for logger, level in levels.items():
        logger.setLevel(level)
    logging.root.handlers[:] = handlers  # with `--json`, its own
    logging.captureWarnings(False)
    settings.cache_clear()


def _log_levels() -> dict[logging.Logger, int]:
    """The level of each logger that a command changes."""
    names = ("judge_gym.llm", LEAVING_LOG, "EventsWorker", "judge_gym")
    loggers = [logging.root, *map(logging.getLogger, names)]
    return {logger: logger.level for logger in loggers}


@contextmanager
def _prefect_logs(errors: io.StringIO, *, verbose: bool) -> Iterator[None]:
    """Prefect's console log among the errors: it holds the stderr of its import."""
    logger = logging.getLogger("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logger, "level", logging.INFO if verbose else logging.CRITICAL)
        for handler in logger.handlers:
            if hasattr(handler, "console"):
                patch.setattr(handler.console, "file", errors)
        logger.manager._clear_cache()
        yield
    logger.manager._clear_cache()
