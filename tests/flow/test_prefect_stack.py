"""The installed stack works together: a server that starts, deployments that deploy and run.

An upgrade can break this without a line of ours changing: FastAPI has done it twice (see
docs/decisions/0001-dependencies.md).
"""

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.flow_runs import configured, prepared
from support.prefect_server import PrefectServer

REPOSITORY = Path(__file__).parents[2]
QUICK = REPOSITORY / "deployments" / "sweeps" / "quick.yaml"
ENTRYPOINTS = {
    "flows.analysis.analysis",
    "flows.sweep.sweep",
    "flows.w1_evidence.w1_evidence",
    "flows.w2_rubric.w2_rubric",
    "flows.w3_scoring.w3_scoring",
    "flows.w4_swap.w4_swap",
    "flows.w5_probe.w5_probe",
    "flows.windows.windows",
}


@pytest.fixture(scope="module")
def deployed(prefect_server: PrefectServer) -> PrefectServer:
    """The server, with everything prefect.yaml describes."""
    prefect_server.command(
        "--no-prompt", "work-pool", "create", "judge-gym", "--type", "process", "--overwrite"
    )
    prefect_server.command(
        "--no-prompt",
        "deploy",
        "--all",
        "--prefect-file",
        str(REPOSITORY / "prefect.yaml"),
        JUDGE_GYM_HOME=str(REPOSITORY),
    )
    return prefect_server


def test_every_flow_is_deployed(deployed: PrefectServer) -> None:
    listed = json.loads(deployed.command("deployment", "ls", "--output", "json"))
    assert {one["entrypoint"] for one in listed} >= ENTRYPOINTS


def test_a_worker_runs_a_deployment(deployed: PrefectServer, database: str, tmp_path: Path) -> None:
    with configured(tmp_path, JUDGE_GYM_DATABASE_URL=database):
        [window] = prepared_windows()
    environment = {"JUDGE_GYM_DATABASE_URL": database, "JUDGE_GYM_HOME": str(REPOSITORY)}
    parameters = json.dumps({"windows": [window], "views": [], "utility_model": "sim/utility-1"})
    deployed.command("deployment", "run", "w1-evidence/default", "--params", parameters)
    # Does what is scheduled and ends.
    deployed.command("worker", "start", "--pool", "judge-gym", "--run-once", **environment)
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        collected = connection.scalar(sa.text("SELECT count(*) FROM documents"))
    assert collected == 5


def prepared_windows() -> list[int]:
    """The windows of quick.yaml, stored; no simulator is needed for that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGE_GYM_SIMULATOR_URL", "http://127.0.0.1:9/v1")
        return prepared(QUICK).windows
