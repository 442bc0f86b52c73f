"""The local model as a person starts it, once for this tier; skipped where it is not installed."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.local_model import MODEL, PROVIDER, weights
from support.flow_runs import configured, flows_at
from support.prefect_server import PrefectServer

COMMAND = "from deployments.cli.app import main; main()"
REPORTED = pytest.StashKey[list[str]]()
"""What the model made of its work, as it is: shown when the tests have ended."""
Reported = Callable[[str], AbstractContextManager[list[str]]]


@pytest.fixture(scope="session")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A providers file made of what `judge-gym models serve` prints, while that serves."""
    try:
        weights()
    except ConfigError as error:
        pytest.skip(str(error))
    started = [sys.executable, "-c", COMMAND, "local-model", "serve", "--port", "0"]
    process = subprocess.Popen(started, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = ""
    while "Stop with Ctrl-C." not in printed:
        line = process.stdout.readline()
        assert line, f"it ended with {process.wait()}: {printed}"
        printed += line
    file = tmp_path_factory.mktemp("local") / "providers.toml"
    table = printed[printed.index(f"[{PROVIDER}]") :].partition("\n\n")[0]
    file.write_text(f'[sim]\nbase_url_env = "JUDGE_GYM_SIMULATOR_URL"\n\n{table}\n')
    try:
        yield file
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


@pytest.fixture(scope="session")
def _prefect(
    providers: Path, prefect_server: PrefectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    with flows_at(prefect_server, tmp_path_factory.mktemp("flow-home")):
        yield


@pytest.fixture
def place(
    providers: Path, _prefect: None, database: str, tmp_path: Path
) -> Iterator[pytest.MonkeyPatch]:
    """Flows run against the test's own database and the local model."""
    given = {"JUDGE_GYM_DATABASE_URL": database, "JUDGE_GYM_PROVIDERS_FILE": str(providers)}
    with configured(tmp_path, **given) as patch:
        yield patch


@pytest.fixture
def model() -> str:
    return f"{PROVIDER}/{MODEL}"


@pytest.fixture
def reported(pytestconfig: pytest.Config) -> Reported:
    """Keeps what a block says of itself, with the time it took, to be shown in the end."""

    @contextmanager
    def keep(what: str) -> Iterator[list[str]]:
        lines: list[str] = []
        started = time.perf_counter()
        yield lines
        said = f"{what}, {time.perf_counter() - started:.0f} s: {'; '.join(lines)}"
        pytestconfig.stash.setdefault(REPORTED, []).append(said)

    return keep


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if lines := config.stash.get(REPORTED, []):
        terminalreporter.section("what the local model made of it")
        for line in lines:
            terminalreporter.write_line(line)
