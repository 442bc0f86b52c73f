"""What a person edits in Prefect's page, and deploying after it, on a real server.

The server is one for all of these tests, which stand in this order: deploying takes long.
"""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect.workers.process import ProcessWorker

from deployments import bootstrap, deploying
from judge_gym.llm.providers import load_providers
from judge_gym.settings import Settings
from support.command_line import CommandLine
from support.postgres import temporary_database
from support.prefect_api import Server
from support.prefect_server import PrefectServer, free_port

pytestmark = pytest.mark.slow

DAILY, NIGHTLY, WEEKLY = "windows/daily", "judge-review/nightly", "windows/weekly"
CRON = {"cron": "30 4 * * 2", "timezone": "Europe/Lisbon", "day_or": True}
EVERY = {"interval": 7200, "anchor_date": "2026-01-01T00:00:00Z", "timezone": "UTC"}


class Edited(Server):
    """A server whose deployments are edited as Prefect's page does it."""

    def stands(self, name: str) -> dict[str, Any]:
        """What can be edited of a deployment with one schedule, and stands there."""
        found = self.get(f"/deployments/name/{name}")
        [schedule] = found["schedules"]
        when = schedule["schedule"]
        return {
            "when": when.get("cron", when.get("interval")),
            "active": schedule["active"],
            "slug": schedule["slug"],
            "parameters": found["parameters"],
        }

    def change(self, name: str, **parameters: Any) -> None:
        """Edit a schedule, switch it on, and edit parameters."""
        found = self.get(f"/deployments/name/{name}")
        path = f"/deployments/{found['id']}"
        schedule = f"{path}/schedules/{found['schedules'][0]['id']}"
        self.ask("PATCH", schedule, active=True, schedule=CRON)
        self.ask("PATCH", path, parameters=found["parameters"] | parameters)

    def replace_schedule(self, name: str) -> None:
        """Delete a schedule and add another."""
        found = self.get(f"/deployments/name/{name}")
        path = f"/deployments/{found['id']}/schedules"
        self.ask("DELETE", f"{path}/{found['schedules'][0]['id']}")
        added = [{"active": False, "schedule": EVERY}]
        self.answer("POST", path, added).raise_for_status()


@pytest.fixture(scope="module")
def server(prefect_server: PrefectServer) -> Edited:
    return Edited(prefect_server.url)


@pytest.fixture(scope="module")
def command(
    prefect_server: PrefectServer,
    postgres_server: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CommandLine]:
    with temporary_database(postgres_server, migrated_template) as url:
        environment = {**prefect_server.environment, "JUDGE_GYM_DATABASE_URL": url}
        yield CommandLine(tmp_path_factory.mktemp("edited"), environment, in_process=True)


@pytest.fixture(scope="module")
def made(server: Edited, command: CommandLine) -> dict[str, dict[str, Any]]:
    """What stands there before anything is edited."""
    command("database", "init", "--overwrite").fine()
    return {name: server.stands(name) for name in (DAILY, WEEKLY)}


@pytest.fixture(scope="module")
def edited(server: Edited, made: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The same when it was edited."""
    server.change(WEEKLY, catch_up=9)
    server.replace_schedule(DAILY)
    now = {name: server.stands(name) for name in made}
    assert now[WEEKLY] == {
        "when": CRON["cron"],
        "active": True,
        "slug": "weekly",
        "parameters": made[WEEKLY]["parameters"] | {"catch_up": 9},
    }
    assert now[DAILY]["when"] == EVERY["interval"]
    return now


def changed(output: str) -> set[str]:
    """The deployments that were changed, by what `database init` printed."""
    lines = [line.split() for line in output.splitlines()]
    names = {words[2] for words in lines if words[:2] == ["changed", "deployment"]}
    assert f"{len(names)} deployment{'s' * (len(names) > 1)} changed" in output
    return names


def test_edits_are_kept_and_named(
    server: Edited,
    command: CommandLine,
    made: dict[str, dict[str, Any]],
    edited: dict[str, dict[str, Any]],
) -> None:
    said = " ".join(command("database", "init").fine().output.split())
    assert {name: server.stands(name) for name in edited} == edited
    assert f"deployment {WEEKLY}: parameter catch_up is 9, in prefect.yaml 4" in said
    assert f'"{CRON["cron"]}", in prefect.yaml "{made[WEEKLY]["when"]}"' in said
    assert "active, is true, in prefect.yaml false" in said
    assert "kept 3 edits" in said
    assert "deployments changed" not in said
    assert "--overwrite" in said


def test_a_change_of_the_file_is_deployed_where_nothing_was_edited(
    server: Edited,
    edited: dict[str, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "prefect.yaml"
    file.write_text(deploying.PREFECT_FILE.read_text().replace('"0 3 * * *"', '"0 5 * * *"'))
    monkeypatch.setattr(deploying, "PREFECT_FILE", file)
    outcomes = {step.name: step.outcome for step in asyncio.run(deploying.deploy_all())}
    assert outcomes[f"deployment {NIGHTLY}"] == "changed"
    assert server.stands(NIGHTLY)["when"] == "0 5 * * *"
    assert {name: server.stands(name) for name in edited} == edited


def test_overwrite_replaces_edits(
    server: Edited,
    command: CommandLine,
    made: dict[str, dict[str, Any]],
    edited: dict[str, dict[str, Any]],
) -> None:
    output = command("database", "init", "--overwrite").fine().output
    assert {name: server.stands(name) for name in edited} == made
    assert changed(output) == {DAILY, NIGHTLY, WEEKLY}


def test_only_what_differs_from_the_server_is_deployed_again(
    server: Edited, command: CommandLine, made: dict[str, dict[str, Any]]
) -> None:
    path = f"/deployments/{server.get(f'/deployments/name/{DAILY}')['id']}"
    before = server.get(path)
    assert "nothing changed" in command("database", "init").fine().output
    assert server.get(path) == before  # not even its time of change
    server.ask("PATCH", path, job_variables={"working_dir": "/elsewhere"})
    assert changed(command("database", "init").fine().output) == {DAILY}
    assert server.get(path)["job_variables"] == before["job_variables"]
    # A schedule that was switched on is an edit, and nothing else differs.
    schedule = f"{path}/schedules/{before['schedules'][0]['id']}"
    server.ask("PATCH", schedule, active=True)
    command("database", "init", "--overwrite").fine()
    assert server.stands(DAILY) == made[DAILY]


def test_the_work_pool_of_an_earlier_version_is_restricted_and_an_edited_one_kept(
    server: Edited, made: dict[str, dict[str, Any]]
) -> None:
    """Its template says which job variables runs may set."""
    pool = f"/work_pools/{bootstrap.WORK_POOL}"
    restricted = server.get(pool)["base_job_template"]
    default = ProcessWorker.get_default_base_job_template()
    edited = deepcopy(restricted)
    edited["variables"]["properties"]["env"]["properties"]["HTTPS_PROXY"] = {"type": "string"}
    for given, overwrite, outcome, then in (
        (default, False, "changed", restricted),
        (edited, False, "kept", edited),
        (edited, True, "changed", restricted),
        (restricted, True, "unchanged", restricted),
    ):
        server.ask("PATCH", pool, base_job_template=given)
        providers = load_providers(Settings().providers_file)
        steps = asyncio.run(bootstrap.bootstrap(providers, 60, overwrite=overwrite))
        assert steps[0].outcome == outcome
        assert server.get(pool)["base_job_template"] == then


@pytest.mark.usefixtures("made")
def test_a_run_with_an_unknown_parameter_is_refused(server: Edited) -> None:
    found = server.get("/deployments/name/sweep/demo")
    path = f"/deployments/{found['id']}/create_flow_run"
    refused = server.answer("POST", path, {"parameters": {"fiel": 3}})
    assert refused.status_code == httpx.codes.CONFLICT
    assert "'fiel' was unexpected" in refused.text
    made = server.post(path, parameters={"retry_failed": False})
    server.ask("DELETE", f"/flow_runs/{made['id']}")


def test_a_server_that_does_not_answer_is_named_with_a_remedy(command: CommandLine) -> None:
    url = f"http://127.0.0.1:{free_port()}/api"
    ended = command.here("database", "init", PREFECT_API_URL=url)
    assert ended.code == 1
    assert f"The Prefect server at {url} does not answer" in ended.errors
    assert "PREFECT_API_URL" in ended.errors
    assert "Unexpected" not in ended.errors
