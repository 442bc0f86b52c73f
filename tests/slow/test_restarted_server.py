"""A Prefect server that is killed and started again during a sweep, with leases on disk or not.

Server, PostgreSQL, provider and command are real processes.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from deployments.local.temporary_server import LEASES_IN_MEMORY, LEASES_ON_DISK, LEASES_VARIABLE
from judge_gym.simulator.launch import running
from support.command_line import CommandLine, small_sweep
from support.prefect_api import Server
from support.prefect_server import ServerProcess
from support.prefect_settings import leave_prefect
from support.simulation import Simulator
from support.waiting import until

pytestmark = pytest.mark.slow
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
[restarted]
litellm = "openai"
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
concurrency = 2
task_slots = 2
"""
JUDGEMENTS = 2 * 60


@pytest.fixture(params=[LEASES_ON_DISK, LEASES_IN_MEMORY], ids=["on disk", "in memory"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "support.prefect_server.server_settings", lambda: {LEASES_VARIABLE: request.param}
        )
        process.start()
        yield process
    leave_prefect()
    process.stop()


def test_a_sweep_survives_a_restart_and_leaves_no_slot_behind(
    server: ServerProcess, own_database: str, tmp_path: Path
) -> None:
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    file = tmp_path / "restart.yaml"
    file.write_text(small_sweep("restart", "restarted/calm-1", ("replicates: 2", "replicates: 60")))
    with running(latency=0.3) as url:
        command = CommandLine(
            tmp_path,
            {
                **server.server.environment,
                "JUDGE_GYM_DATABASE_URL": own_database,
                "JUDGE_GYM_SIMULATOR_URL": url,
                "JUDGE_GYM_PROVIDERS_FILE": str(tmp_path / "providers.toml"),
                "JUDGE_GYM_CHUNK_SIZE": "30",
            },
            in_process=True,
        )
        parts = ("--only", "w1-evidence", "--only", "w2-rubric", "--only", "w3-scoring")
        run = command.start("sweep", "run", file, *parts)
        api = Server(server.server.url)
        until(lambda: samples(own_database) >= 5, "some judgements", 300)
        until(lambda: restarted_with_a_slot_taken(server, api), "a server killed at work", 120)
        output, errors = run.communicate(timeout=500)
        assert run.returncode == 0, output + errors
        assert samples(own_database) == JUDGEMENTS
        assert Simulator(url).answered() == JUDGEMENTS
        in_memory = server.server.environment[LEASES_VARIABLE] == LEASES_IN_MEMORY
        # Slots that the restart lost: a task of the run that waited for them has freed them, or
        # they are left for the next run.
        left = slots(api)
        assert in_memory or not left
        said = command("doctor").output
        assert ("a restart loses the slots" in said) == in_memory
        assert ("slots of tag:provider:restarted" in said) == (left > 0)
        # The next run needs both slots.
        again = file.read_text().replace("replicates: 60", "replicates: 62")
        file.write_text(again)
        command("sweep", "run", file, *parts, "--yes").fine()
        assert slots(api) == 0


def restarted_with_a_slot_taken(server: ServerProcess, api: Server) -> bool:
    """Kill the server while a task holds a slot, unless the task gives it back just before."""
    until(lambda: slots(api) > 0, "a task in a slot")
    server.kill()
    server.start()
    return slots(api) > 0


def slots(api: Server) -> int:
    return int(api.get("/v2/concurrency_limits/tag:provider:restarted")["active_slots"])


def samples(url: str) -> int:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM samples").scalar_one())
