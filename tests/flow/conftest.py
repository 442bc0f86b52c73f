"""The session's Prefect server for every flow test, and a configured place to run flows in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.flow_runs import configured, flows_at
from support.prefect_server import PrefectServer
from support.simulation import Simulator


@pytest.fixture(scope="session", autouse=True)
def _prefect(
    prefect_server: PrefectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    with flows_at(prefect_server, tmp_path_factory.mktemp("flow-home")):
        yield


@pytest.fixture
def place(database: str, simulator: Simulator, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Flows run against the test's own database and the shared simulator."""
    with configured(
        tmp_path, JUDGE_GYM_DATABASE_URL=database, JUDGE_GYM_SIMULATOR_URL=simulator.url
    ) as patch:
        yield patch
