"""Prefect's own retention, as `judge-gym up` sets it: only runs that ended long ago go."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.local.stack import VACUUM, VACUUMED
from support.prefect_api import Server
from support.prefect_server import ServerProcess
from support.waiting import until

pytestmark = pytest.mark.slow
SETTINGS = {
    VACUUM: VACUUMED,
    "PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": "7200",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    process = ServerProcess(tmp_path)
    process.start()
    yield process
    process.stop()


def started(api: Server, state: str) -> str:
    """The id of a flow run in a state, with a line in its log and an artifact."""
    flow = api.post("/flows/", name="any")["id"]
    run: str = api.post("/flow_runs/", flow_id=flow, state={"type": state})["id"]
    line = {"name": "any", "level": 20, "message": "a line", "flow_run_id": run}
    api.answer("POST", "/logs/", [line | {"timestamp": "2026-01-01T00:00:00Z"}]).raise_for_status()
    api.post("/artifacts/", type="markdown", data="a page", flow_run_id=run)
    return run


def left(api: Server, run: str) -> tuple[int, int, int]:
    """How many runs, lines and artifacts there are of a flow run."""

    def found(path: str, chosen: dict[str, Any]) -> int:
        return len(api.post(path, **chosen))

    of_run = {"flow_run_id": {"any_": [run]}}
    return (
        found("/flow_runs/filter", {"flow_runs": {"id": {"any_": [run]}}}),
        found("/logs/filter", {"logs": of_run}),
        found("/artifacts/filter", {"artifacts": of_run}),
    )


def test_only_runs_that_ended_long_ago_go_with_their_logs_and_artifacts(
    server: ServerProcess,
) -> None:
    api = Server(server.server.url)
    old = [started(api, state) for state in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")]
    young = started(api, "COMPLETED")
    unended = [started(api, state) for state in ("RUNNING", "PAUSED", "PENDING", "SCHEDULED")]
    assert {left(api, run) for run in (*old, young, *unended)} == {(1, 1, 1)}
    # All at once, so that one pass decides on all of them.
    with sqlite3.connect(server.home / "prefect.db", timeout=60) as database:
        database.execute(
            "UPDATE flow_run SET start_time = datetime('now', '-3 hours'), end_time = CASE WHEN "
            "end_time IS NOT NULL THEN datetime('now', '-3 hours') END WHERE id <> ?",
            (young,),
        )
    database.close()
    until(lambda: {left(api, run) for run in old} == {(0, 0, 0)}, "old runs to go", 120, every=0.5)
    assert {left(api, run) for run in (young, *unended)} == {(1, 1, 1)}
