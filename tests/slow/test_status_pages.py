"""The state of the installation under `judge-gym up`: a page, JSON and metrics, and the command."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.chromium import chromium
from support.command_line import CommandLine
from support.installation import Installation
from support.waiting import until

pytestmark = pytest.mark.slow
PATHS = ("", "status.json", "metrics")


def answer(up: Installation, path: str, password: str | None = None) -> httpx.Response:
    user, _, secret = (up.password if password is None else password).partition(":")
    auth = (user, secret) if user else None
    return httpx.get(f"{up.address}/status/{path}", auth=auth, timeout=60)


def told(up: Installation) -> dict[str, Any]:
    found: dict[str, Any] = answer(up, "status.json").raise_for_status().json()
    return found


@pytest.fixture(scope="module")
def lost(up: Installation) -> str:
    """The name of a run that failed, as the status tells it."""
    run = up.run("sweep/default", file="no-such-file.yaml")

    def name() -> str:
        return next((one["run"] for one in told(up)["failed_runs"] if one["id"] == run), "")

    return until(name, "the failure to be told", 120, every=2)


def test_the_state_needs_the_password_of_the_server(up: Installation) -> None:
    for path in PATHS:
        for password in ("", "judge-gym:guessed"):
            refused = answer(up, path, password)
            assert (refused.status_code, "PostgreSQL" in refused.text) == (401, False)
        assert answer(up, path).status_code == 200
        elsewhere = httpx.get(f"{up.address}/status/{path}", headers={"Host": "evil.example"})
        assert elsewhere.status_code == 400


def test_no_address_asks_for_a_password_that_goes_to_the_api_too(up: Installation) -> None:
    # A browser sends it to all paths below the folder of the one that asked for it.
    for path in ("/status", "/metrics", "/reports", "/"):
        shown = httpx.get(f"{up.address}{path}")
        assert "www-authenticate" not in shown.headers


def test_every_part_the_worker_and_a_failed_run_are_shown(up: Installation, lost: str) -> None:
    found = told(up)
    assert {part["name"]: part["healthy"] for part in found["parts"]} == {
        "PostgreSQL": True, "Prefect's server": True, "Workers": True, "Simulator": True,
    }  # fmt: skip
    [worker] = found["workers"]
    assert (worker["name"], worker["pool"], worker["online"]) == ("judge-gym up", "judge-gym", True)
    [failure] = [one for one in found["failed_runs"] if one["run"] == lost]
    assert "no-such-file.yaml" in failure["message"]
    assert failure["remedy"]
    assert set(found["backlog"]) == {
        "running", "waiting", "late", "suspended", "oldest_wait_s", "batches",
    }  # fmt: skip
    page = answer(up, "").text
    assert lost in page
    assert "judge-gym up" in page


def test_prometheus_reads_the_metrics_with_the_password(up: Installation, lost: str) -> None:
    shown = answer(up, "metrics")
    assert shown.headers["content-type"].startswith("text/plain")
    samples = [
        sample for family in text_string_to_metric_families(shown.text) for sample in family.samples
    ]
    up_parts = {s.labels["part"]: s.value for s in samples if s.name == "judge_gym_part_up"}
    assert up_parts == {"PostgreSQL": 1, "Prefect's server": 1, "Workers": 1, "Simulator": 1}
    [failed] = [s.value for s in samples if s.name == "judge_gym_flow_runs_failed_last_day"]
    assert failed >= 1
    [age] = [s for s in samples if s.name == "judge_gym_worker_heartbeat_age_seconds"]
    assert (age.labels["worker"], age.labels["pool"]) == ("judge-gym up", "judge-gym")


def test_the_state_has_no_secret(up: Installation, lost: str) -> None:
    secret = up.password.partition(":")[2]
    for path in PATHS:
        text = answer(up, path).text
        assert secret not in text
        assert "postgresql" not in text


def test_old_runs_are_deleted_by_prefect(up: Installation) -> None:
    vacuum = up.get("/admin/settings")["server"]["services"]["db_vacuum"]
    assert set(vacuum["enabled"]) == {"events", "flow_runs"}


def test_the_page_fits_a_telephone_and_loads_nothing(
    up: Installation, lost: str, tmp_path: Path
) -> None:
    with chromium(tmp_path) as browser:
        browser.ask("Emulation.setDeviceMetricsOverride", width=400, height=900,
                    deviceScaleFactor=1, mobile=True)  # fmt: skip
        browser.open(f"http://{up.password}@127.0.0.1:{up.port}/status/", "Last heartbeat".lower())
        assert browser.value("document.documentElement.scrollWidth") <= 400
        assert browser.value("performance.getEntriesByType('resource').length") == 0
        assert browser.value("document.title") == "All parts are up: judge-gym"


def test_the_command_says_the_same_of_ones_own_server(
    up: Installation, lost: str, tmp_path: Path
) -> None:
    own = CommandLine(
        up.command.folder, up.environment | {"JUDGE_GYM_DATA_DIR": str(up.command.data)}
    )
    found = json.loads(own("database", "status", "--json").fine().output)
    assert {part["name"] for part in found["parts"]} >= {"PostgreSQL", "Prefect's server"}
    assert lost in {one["run"] for one in found["failed_runs"]}
    assert "judge_gym_part_up" in own("database", "status", "--metrics").fine().output
    shown = own("database", "status").fine().output
    assert lost in " ".join(shown.split())
    assert "Row(" not in shown
    own("database", "status", "--page", str(tmp_path / "state.html")).fine()
    assert lost in (tmp_path / "state.html").read_text()


def test_the_command_without_an_address_asks_the_up_of_its_data_folder(
    up: Installation, lost: str, tmp_path: Path
) -> None:
    environment = {
        name: value for name, value in up.environment.items() if not name.startswith("PREFECT_")
    }
    of_folder = {"JUDGE_GYM_DATA_DIR": str(up.command.data)}
    found = CommandLine(up.command.folder, environment | of_folder)("database", "status", "--json")
    told = json.loads(found.fine().output)
    assert {one["name"]: one["state"] for one in told["parts"]}["Prefect's server"] == "up"
    assert lost in {one["run"] for one in told["failed_runs"]}
    assert told["workers"]
