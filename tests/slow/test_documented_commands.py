"""Every command of README.md and of the pages in docs/, typed as it is written."""

import shlex
import shutil
from collections.abc import Iterator

import pytest

from support.command_line import REPOSITORY, CommandLine
from support.documents import shell_commands
from support.postgres import temporary_database
from support.prefect_server import PrefectServer
from support.simulation import Simulator

pytestmark = pytest.mark.slow
PAGES = (
    "README.md",
    *(
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("how-to", "explanation", "reference")
        for path in sorted((REPOSITORY / "docs" / folder).glob("*.md"))
    ),
)
ELSEWHERE = {
    "sweep run my-sweeps/real-models.yaml": "end_to_end/test_rehearsal.py",
    "analyse figures real-models": "end_to_end/test_rehearsal.py",
    "database restore": "database/test_backup.py",
    "database init": "slow/test_workers.py",
    "judge benchmark": "flow/test_benchmark_flow.py",
    "data import-annotations": "end_to_end/test_alt_test_command.py",
    "analyse figures judgebench": "end_to_end/test_alt_test_command.py",
    "analyse alt-test": "end_to_end/test_alt_test_command.py",
    "sweep multiverse": "end_to_end/test_multiverse_command.py",
    "models check": "end_to_end/test_models_command.py",
    "models serve": "local/conftest.py",
    "judge gate deployments/calibrations/good.yaml --recheck": "end_to_end/test_gate_command.py",
    "judge estimate": "end_to_end/test_label_commands.py",
    "judge label": "slow/test_label_page.py",
    "judge score my-judge.yaml": "local/test_local_model.py",
    "up": "slow/test_up.py",
    "simulator": "end_to_end/test_rehearsal.py",
}
"""The beginning of a command → the test that runs it: it needs a server or data of its own."""


@pytest.fixture(scope="module")
def command(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CommandLine]:
    """A folder with the examples, their copies under the names of the pages, and a small sweep."""
    folder = tmp_path_factory.mktemp("documented")
    shutil.copytree(REPOSITORY / "deployments", folder / "deployments")
    shutil.copytree(folder / "deployments" / "sweeps", folder / "my-sweeps")
    (folder / "corpora").symlink_to(folder / "deployments" / "sweeps" / "corpora")
    shutil.copytree(REPOSITORY / "tests" / "support" / "foreign" / "made", folder / "logs")
    shutil.copy(folder / "my-sweeps" / "quick.yaml", folder / "my-sweep.yaml")
    with temporary_database(postgres_server, migrated_template) as url:
        environment = {
            "JUDGE_GYM_DATABASE_URL": url,
            "JUDGE_GYM_SIMULATOR_URL": simulator.url,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": simulator.url,
            **prefect_server.environment,
        }
        command = CommandLine(folder, environment, in_process=True)
        command("sweep", "run", "my-sweep.yaml").fine()
        yield command


def documented() -> list[str]:
    """Return each command once, in the order in which the pages have it."""
    return list(dict.fromkeys(shlex.join(one) for page in PAGES for one in shell_commands(page)))


def elsewhere(line: str) -> list[str]:
    return [path for start, path in ELSEWHERE.items() if f"{line} ".startswith(f"{start} ")]


@pytest.mark.parametrize("line", [one for one in documented() if not elsewhere(one)])
def test_a_documented_command_runs(line: str, command: CommandLine) -> None:
    command(*shlex.split(line)).fine()


def test_every_exception_is_documented_and_run_by_its_test() -> None:
    for start, path in ELSEWHERE.items():
        assert any(f"{one} ".startswith(f"{start} ") for one in documented()), start
        assert (REPOSITORY / "tests" / path).exists(), path
