"""The Dockerfile and compose.yaml: their linter and their format, and what holds across files."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from deployments.bootstrap import WORK_POOL
from deployments.local.temporary_server import LEASES_ON_DISK, LEASES_VARIABLE
from support.command_line import REPOSITORY
from support.image import COMPOSE, DOCKERFILE, composed, stages, validated

VALUES = {"JUDGE_GYM_VERSION": "0f1e2d", "POSTGRES_PASSWORD": "one", "PREFECT_PASSWORD": "two"}


def test_the_linter_finds_nothing_in_the_dockerfile() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_last_stage_has_no_root_no_installer_and_no_sources() -> None:
    last = stages()[-1]
    assert [one.rest for one in last if one.name == "USER"] == ["10001"]
    copied = [one.words for one in last if one.name == "COPY"]
    assert copied == [["--from=build", "/opt/judge-gym", "/opt/judge-gym"]]
    after_user = last[[one.name for one in last].index("USER") :]
    assert "RUN" not in [one.name for one in after_user]


def test_every_copied_path_is_tracked_and_not_ignored() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = [
        source
        for one in stages()[0]
        if one.name == "COPY"
        for source in one.words[:-1]
    ]  # fmt: skip
    assert set(copied) == sent
    assert all((REPOSITORY / source).exists() for source in sent)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return composed(VALUES)


def test_compose_describes_services_that_wait_until_others_are_healthy(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    assert set(services) == {"postgres", "prefect-server", "init", "worker"}
    waited_for = {name for one in services.values() for name in one.get("depends_on", ())}
    for name in waited_for - {"init"}:
        assert services[name]["healthcheck"]["test"]
    assert services["worker"]["command"][:5] == ["prefect", "worker", "start", "--pool", WORK_POOL]
    assert {one["image"] for one in services.values()} - {"judge-gym:0f1e2d"} == {
        services["postgres"]["image"]
    }


def test_only_loopback_reaches_the_server_and_nobody_the_database(compose: dict[str, Any]) -> None:
    published = {name: one["ports"] for name, one in compose["services"].items() if "ports" in one}
    assert published == {"prefect-server": ["127.0.0.1:4200:4200"]}


def test_leases_of_slots_outlive_a_restart_of_the_server(compose: dict[str, Any]) -> None:
    server = compose["services"]["prefect-server"]
    assert server["environment"][LEASES_VARIABLE] == LEASES_ON_DISK
    folders = [mount.split(":", 1)[1] for mount in server["volumes"]]
    assert any(server["environment"]["PREFECT_HOME"].startswith(folder) for folder in folders)


def test_no_secret_is_written_down() -> None:
    for name in ("POSTGRES_PASSWORD", "PREFECT_PASSWORD", "JUDGE_GYM_VERSION"):
        with pytest.raises(KeyError, match=name):
            composed({key: value for key, value in VALUES.items() if key != name})
    assert "PASSWORD" not in DOCKERFILE.read_text()
    empty = (REPOSITORY / "deployments" / "compose" / "example.env").read_text().splitlines()
    assert [line for line in empty if "=" in line and not line.startswith("#")] == [
        "POSTGRES_PASSWORD=",
        "PREFECT_PASSWORD=",
    ]
    assert COMPOSE.read_text().count("PASSWORD:?set it in .env") == 3


def test_the_format_check_refuses_a_misspelt_key(compose: dict[str, Any]) -> None:
    broken = deepcopy(compose)
    broken["services"]["worker"]["comand"] = broken["services"]["worker"].pop("command")
    with pytest.raises(ValueError, match="comand"):
        validated(broken)
