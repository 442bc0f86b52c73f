"""The recipe that launches a deployment by Prefect's API and waits for its end, as written."""

import os
import shutil
import subprocess
from uuid import uuid4

import pytest

from support.documents import blocks
from support.prefect_api import Server
from support.prefect_server import PrefectServer
from support.waiting import until

[RECIPE] = blocks("docs/how-to/prefect.md", "bash")


@pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "jq"))), reason="the recipe needs curl and jq"
)
def test_the_recipe_launches_one_run_and_prints_how_it_ended(prefect_server: PrefectServer) -> None:
    server, name = Server(prefect_server.url), uuid4().hex
    flow = server.post("/flows/", name="sweep")["id"]
    deployment = server.post("/deployments/", name=name, flow_id=flow)["id"]
    script = RECIPE.replace("sweep/default", f"sweep/{name}").replace("sleep 10", "sleep 1")
    assert script.count(name) == 1

    def launched() -> list[str]:
        of = {"deployments": {"id": {"any_": [deployment]}}}
        return [run["id"] for run in server.post("/flow_runs/filter", **of)]

    def began() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            env=os.environ | prefect_server.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    first = began()
    [run] = until(launched, "the run")
    assert first.poll() is None  # it waits for the end
    server.post(f"/flow_runs/{run}/set_state", state={"type": "FAILED"}, force=True)
    assert first.communicate(timeout=60)[0] == "FAILED\n"
    again = began()
    assert again.communicate(timeout=60)[0] == "FAILED\n"
    assert launched() == [run]
