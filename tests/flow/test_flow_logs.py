"""The Logs of a flow run: judge-gym's warnings are among them, its line for each call is not."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from ruamel.yaml import YAML

from deployments.local.stack import LOGGERS
from judge_gym.lab.sweeps import LEAVING_LOG
from judge_gym.llm import call_log
from support.command_line import REPOSITORY
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.waiting import until

pytestmark = pytest.mark.slow
NAME = f"told-{uuid4().hex[:8]}"
FLOW = f"""
import logging
from prefect import flow
from judge_gym.llm import call_log

@flow(name="{NAME}")
def told():
    logging.getLogger("{LEAVING_LOG}").warning("Two experiments leave it.")
    logging.getLogger(call_log.__name__).warning("A call failed.")

told()
"""


def test_warnings_of_judge_gym_are_in_the_logs_of_a_run(
    prefect_server: PrefectServer, tmp_path: Path
) -> None:
    script = tmp_path / "told.py"
    script.write_text(FLOW)
    environment = {
        **os.environ,
        **prefect_server.environment,
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_EXTRA_LOGGERS": LOGGERS,
        "PYTHONPATH": str(REPOSITORY),
    }
    subprocess.run([sys.executable, str(script)], env=environment, cwd=tmp_path, check=True)
    server = Server(prefect_server.url)
    [run] = server.post("/flow_runs/filter", flows={"name": {"any_": [NAME]}})

    def lines() -> dict[str, tuple[str, int]]:
        found = server.post("/logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}})
        return {one["message"]: (one["name"], one["level"]) for one in found}

    said = until(lambda: lines() if "Two experiments leave it." in lines() else None, "the logs")
    assert said["Two experiments leave it."] == (LEAVING_LOG, logging.WARNING)
    assert "A call failed." not in said
    assert call_log.__name__ not in LOGGERS


def test_workers_of_compose_forward_the_same() -> None:
    services = YAML(typ="safe").load(REPOSITORY / "compose.yaml")["services"]
    assert services["worker"]["environment"]["PREFECT_LOGGING_EXTRA_LOGGERS"] == LOGGERS
