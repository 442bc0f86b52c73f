"""The demo sweep, run twice by its command: the session's most expensive fixture."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.figures import Demo, figures_of
from support.postgres import temporary_database
from support.prefect_server import PrefectServer
from support.simulation import Simulator


@pytest.fixture
def command(
    database: str,
    simulator: Simulator,
    prefect_server: PrefectServer,
    tmp_path: Path,
) -> CommandLine:
    """A folder to type commands in, with a database of its own and the shared servers."""
    environment = {
        "JUDGE_GYM_DATABASE_URL": database,
        "JUDGE_GYM_SIMULATOR_URL": simulator.url,
        **prefect_server.environment,
    }
    return CommandLine(tmp_path, environment, in_process=True)


@pytest.fixture(scope="session")
def demo(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    prefect_server: PrefectServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Demo]:
    """`judge-gym demo`, and again where no Prefect server answers."""
    with temporary_database(postgres_server, migrated_template) as url:
        command = CommandLine(
            tmp_path_factory.mktemp("demo"),
            {
                "JUDGE_GYM_DATABASE_URL": url,
                "JUDGE_GYM_SIMULATOR_URL": simulator.url,
                **prefect_server.environment,
            },
        )
        start = simulator.answered()
        first = command("demo").fine()
        middle, figures = simulator.answered(), figures_of(url, "demo")
        second = command("demo", PREFECT_API_URL="http://127.0.0.1:1/api").fine()
        end, later = simulator.answered(), figures_of(url, "demo")
        yield Demo(url, command, first, second, figures, later, middle - start, end - middle)
