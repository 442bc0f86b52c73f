"""One Prefect server for every flow test, and a configured place to run flows in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.testing.utilities import prefect_test_harness

from deployments.cli.environment import server_settings
from support.flow_runs import configured
from support.simulation import Simulator


@pytest.fixture(scope="session", autouse=True)
def _prefect() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # As the command line has it, too; set here so that it is undone.
        for name, value in server_settings().items():
            patch.setenv(name, value)
        with prefect_test_harness(server_startup_timeout=120):
            yield


@pytest.fixture
def place(database: str, simulator: Simulator, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Flows run against the test's own database and the shared simulator."""
    with configured(
        tmp_path, JUDGE_GYM_DATABASE_URL=database, JUDGE_GYM_SIMULATOR_URL=simulator.url
    ) as patch:
        yield patch
