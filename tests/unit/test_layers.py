"""The dependency rule of CONTRIBUTING, enforced; and that the command line starts light."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

REPOSITORY = Path(__file__).parents[2]
HEAVY = (
    "prefect",
    "litellm",
    "pandas",
    "scipy",
    "statsmodels",
    "sqlalchemy",
    "numpy",
    "trafilatura",
)


@pytest.fixture
def loggers_left_on() -> Iterator[None]:
    """The linter switches every logger off that is there, which the tests after it would miss."""
    every = [
        one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)
    ]
    on = [one for one in every if not one.disabled]
    yield
    for one in on:
        one.disabled = False


@pytest.mark.usefixtures("loggers_left_on")
def test_layers_import_one_way_only(capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(config_filename=str(REPOSITORY / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from deployments.cli.app import app\n"
        "try:\n"
        "    app(['--help'])\n"
        "finally:\n"
        f"    print('heavy:', sorted(set({HEAVY}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "judge-gym" in done.stdout or "sweep" in done.stdout
    assert "heavy: []" in done.stdout
