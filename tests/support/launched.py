"""`launcher`: a process that has the imports of `judge-gym`, for the commands of a session."""

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine
from support.launcher import Launcher
from support.prefect_server import PrefectServer


@pytest.fixture(scope="session")
def launcher(
    prefect_server: PrefectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launcher]:
    """For all commands that are not about how they start."""
    folder = tmp_path_factory.mktemp("launcher")
    made = Launcher(folder, CommandLine(folder, prefect_server.environment).variables())
    yield made
    made.close()
