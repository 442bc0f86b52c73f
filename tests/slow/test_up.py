"""`judge-gym up`, and what people do with it: cancel, look at its page, CI, schedules, kills.

All in one installation, in this order. The page is seen in Chromium without a network; the steps of
the CI example are run as they stand there.

This is also where a server, a worker and deployments meet as they are locked: an upgrade can break
that without a line of ours changing (docs/decisions/0001-dependencies.md).
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import sqlalchemy as sa
from ruamel.yaml import YAML

from judge_gym.store import embedded
from support.chromium import Browser, chromium
from support.command_line import REPOSITORY, SWEEPS, Ended, sweep_text
from support.deployments import deployments
from support.installation import Installation
from support.waiting import until

pytestmark = pytest.mark.slow
QUICK = str(SWEEPS / "quick.yaml")
WORKFLOW = REPOSITORY / "deployments" / "ci" / "workflow.yml"


def steps() -> dict[str, str]:
    """Name → command of the CI example's steps."""
    job = YAML(typ="safe").load(WORKFLOW)["jobs"]["sweep"]
    return {one["name"]: one["run"] for one in job["steps"] if "run" in one}


def ci(up: Installation, step: str, **environment: str) -> Ended:
    """Run a step of the CI example as a CI service does: in a checkout, with its environment."""
    command = steps()[step].replace(".venv/bin/", f"{Path(sys.executable).parent}/")
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=REPOSITORY,
        env=up.environment | {"RUNNER_TEMP": str(up.command.folder)} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Ended((command,), done.returncode, done.stdout, done.stderr)


def test_the_first_start_makes_and_deploys_everything(up: Installation) -> None:
    found = up.post("/deployments/filter")
    flows = {one["id"]: one["name"] for one in up.post("/flows/filter")}
    assert {f"{flows[one['flow_id']]}/{one['name']}" for one in found} == deployments().keys()
    assert up.api in up.said


def test_prefect_keeps_its_records_in_the_same_postgresql(up: Installation) -> None:
    server = up.postgres()
    assert server is not None
    url = sa.make_url(server.url)
    beside = sa.create_engine(url.set(database=f"{url.database}_prefect"), poolclass=sa.NullPool)
    with beside.connect() as connection:
        found = connection.exec_driver_sql("SELECT count(*) FROM deployment").scalar()
    assert found == len(deployments())


def test_a_backup_of_both_databases_is_restored_into_a_new_installation(
    up: Installation, tmp_path: Path
) -> None:
    files = (tmp_path / "own.dump", "--prefect", tmp_path / "prefect.dump")
    up.command("database", "backup", *files).fine()
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("*.dump"))
    data = tmp_path / "elsewhere"
    up.command("database", "restore", *files, JUDGE_GYM_DATA_DIR=str(data)).fine()
    url = sa.make_url(embedded.start(data / "postgres").url)
    try:
        beside = sa.create_engine(
            url.set(database=f"{url.database}_prefect"), poolclass=sa.NullPool
        )
        with beside.connect() as connection:
            found = connection.exec_driver_sql("SELECT count(*) FROM deployment").scalar()
    finally:
        embedded.release(data / "postgres")
        embedded.remove(data / "postgres")
    assert found == len(deployments())


def test_the_page_calls_the_port_it_is_on(up: Installation) -> None:
    address = up.api.removesuffix("/api")
    assert httpx.get(address).status_code == 200
    assert httpx.get(f"{address}/ui-settings").json()["api_url"] == up.api


def test_everything_listens_on_loopback_only(up: Installation) -> None:
    listening = {
        connection.laddr.ip
        for process in up.processes()
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_the_forms_explain_every_parameter(up: Installation) -> None:
    for name in deployments():
        schema = up.get(f"/deployments/name/{name}")["parameter_openapi_schema"]
        for parameter, described in schema["properties"].items():
            assert described.get("description"), f"{name}: {parameter}"
    form = up.get("/deployments/name/windows/daily")["parameter_openapi_schema"]["properties"]
    assert form["cadence"]["enum"] == ["daily", "weekly"]
    assert (form["catch_up"]["minimum"], form["catch_up"]["maximum"]) == (0, 366)


def test_a_second_installation_on_the_same_data_is_refused(up: Installation) -> None:
    ended = up.command("up", "--port", "1")
    assert ended.code == 1
    assert up.api in ended.errors


# --- its page -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(up: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        opened.log_in(up.address, up.password)
        yield opened


@pytest.fixture(scope="module")
def ran(up: Installation) -> Ended:
    """The CI example's last step, with a sweep that a worker runs to its end."""
    return ci(up, "Run the sweep", SWEEP=QUICK)


@pytest.fixture(scope="module")
def run(ran: Ended) -> str:
    return asked_for(ran.fine())


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep file with a key that there is not."""
    file = tmp_path_factory.mktemp("wrong") / "wrong.yaml"
    file.write_text(sweep_text("quick.yaml", ("replicates: 2", "replicants: 2")))
    return file


@pytest.fixture(scope="module")
def failed(up: Installation, wrong: Path) -> Ended:
    """The CI example's last step, with that file."""
    return ci(up, "Run the sweep", SWEEP=str(wrong))


def asked_for(step: Ended) -> str:
    """The flow run that a step of the CI example has asked for."""
    [found] = re.findall(r"UUID: ([0-9a-f-]{36})", step.output)
    return str(found)


def page(up: Installation, path: str = "") -> str:
    return f"{up.address}/v2/{path}"


def test_lists_name_what_there_is(up: Installation, run: str, browser: Browser) -> None:
    browser.open(up.address, "Flow Runs", "Active Work Pools", "judge-gym")
    shown = browser.open(page(up, "runs"), "sweep quick.yaml", "evidence of", "analyse quick")
    assert "write second rubrics of democratic-backsliding" in shown
    browser.open(page(up, "deployments?limit=50"), "w5-probe", "windows", "demo")
    browser.open(page(up, "work-pools/work-pool/judge-gym"), "Flow runs of judge-gym, as processes")
    browser.open(page(up, "variables"), "judge_gym_settings")
    browser.open(page(up, "concurrency-limits"), "Global Concurrency Limits", "deployment:")


@pytest.mark.parametrize("name", ["sweep/default", "windows/daily", "w4-swap/default"])
def test_a_form_explains_every_parameter(up: Installation, browser: Browser, name: str) -> None:
    deployment = up.get(f"/deployments/name/{name}")
    given = deployment["parameter_openapi_schema"]["properties"].values()
    explained = [" ".join(one["description"].split()) for one in given]
    shown = browser.open(
        page(up, f"deployments/deployment/{deployment['id']}/run"), "Submit", *explained
    )
    # Nobody is asked whether what may be left out is to be "None".
    assert name == "w4-swap/default" or '"None"' not in shown


def test_a_run_has_tasks_with_names_and_progress(
    up: Installation, run: str, browser: Browser
) -> None:
    browser.open(page(up, f"runs/flow-run/{run}?tab=Artifacts"), "w3-scoring 30 of 30, w4-swap 40")
    of_this = {"parent_flow_run_id": {"any_": [run]}}
    flow = {"name": {"any_": ["w3-scoring"]}}
    [scoring] = up.post("/flow_runs/filter", flow_runs=of_this, flows=flow)
    of_scoring = page(up, f"runs/flow-run/{scoring['id']}")
    browser.open(f"{of_scoring}?tab=TaskRuns", "judgements 1-30 of 30", "provider:sim")
    browser.open(f"{of_scoring}?tab=Artifacts", "30 of 30 judgements")


def test_results_are_marked_and_lead_to_the_report(
    up: Installation, run: str, browser: Browser
) -> None:
    latest = {one["key"]: one["latest_id"] for one in up.post("/artifacts/latest/filter")}
    of_figures = page(up, f"artifacts/artifact/{latest['figures-quick']}")
    browser.open(of_figures, "SIMULATED Findings one by one", "95% interval", "sim/high-1")
    of_findings = page(up, f"artifacts/artifact/{latest['findings-quick']}")
    said = ("SIMULATED: judges of a simulator", "The report has every", "Nothing, in ")
    browser.open(of_findings, *said)
    address = browser.leads_to("The report")
    assert address == f"{up.address}/reports/report-quick.html"
    # A table off the screen is not drawn yet, and has no text here.
    address = address.replace("://", f"://{up.password}@")
    browser.open(address, "SIMULATED DATA", "Three simulated judges", "Each claim is decided by")


def test_a_run_that_failed_says_what_to_do(
    up: Installation, browser: Browser, wrong: Path, failed: Ended
) -> None:
    said = (str(wrong), "replicants", "Did you mean replicates?")
    of_it = page(up, f"runs/flow-run/{asked_for(failed)}")
    browser.open(f"{of_it}?tab=Details", "Failed", *said)
    why = "Why sweep wrong.yaml has failed, and what to do"
    browser.open(f"{of_it}?tab=Artifacts", why)
    latest = {one["key"]: one["latest_id"] for one in up.post("/artifacts/latest/filter")}
    browser.open(page(up, f"artifacts/artifact/{latest['failed-sweep-wrong-yaml']}"), why, *said)


def test_no_page_has_asked_another_host(up: Installation, browser: Browser) -> None:
    assert browser.asked == {f"127.0.0.1:{up.port}"}
    # What moves on the page would take a core from all tests that follow.
    browser.ask("Page.navigate", url="about:blank")


# --- cancelling, CI, schedules, kills ---------------------------------------------------------


def process_of(up: Installation, run: str) -> list[psutil.Process]:
    """The processes in which a flow run runs."""
    return [one for one in up.processes() if one.environ().get("PREFECT__FLOW_RUN_ID") == run]


def test_a_run_of_a_worker_ends_and_what_it_learnt_stays(up: Installation) -> None:
    before = up.judgements()
    run = up.judging("sweep/demo", 20)
    assert process_of(up, run)
    server = {"PREFECT_API_URL": up.api}
    ended = up.command("sweep", "cancel", "demo", "--yes", **server).fine()
    assert "Cancelled 1 flow run and" in ended.output
    up.reaches(run, "CANCELLED")
    until(lambda: not process_of(up, run), "the end of its process")
    kept = up.judgements()
    assert kept >= before + 20
    again = up.command("sweep", "cancel", "demo", "--yes", **server).fine()
    assert "there is nothing to cancel." in again.output
    assert up.judgements() == kept


def test_ci_deploys_without_changing_anything_and_leaves_a_schedule_on(up: Installation) -> None:
    deployed = up.get("/deployments/name/windows/weekly")
    [weekly] = deployed["schedules"]
    schedule = f"/deployments/{deployed['id']}/schedules/{weekly['id']}"
    up.ask("PATCH", schedule, active=True)
    ended = ci(up, "Deploy this commit's flows").fine()
    assert "nothing changed" in ended.output
    for name, active in (("daily", False), ("weekly", True)):
        [schedule_now] = up.get(f"/deployments/name/windows/{name}")["schedules"]
        assert schedule_now["active"] is active


def test_ci_ends_well_when_the_sweep_does(up: Installation, ran: Ended) -> None:
    assert "Completed" in ran.fine().output
    status = up.command("sweep", "status", "quick").fine()
    assert "30" in status.output
    ci(up, "Fail if calls failed", SWEEP=QUICK).fine()


def test_ci_fails_when_the_sweep_does(up: Installation, failed: Ended) -> None:
    assert failed.code == 1
    assert "finished in state 'Failed'" in failed.output
    why = ci(up, "Print the end of the run's log").fine().output
    assert "Did you mean replicates?" in " ".join(why.split())
    assert "Traceback" not in why


def test_a_scheduled_run_collects_for_the_time_it_was_meant_for(up: Installation) -> None:
    found = up.get("/deployments/name/windows/daily")["id"]
    state: dict[str, Any] = {"type": "SCHEDULED"}
    state["state_details"] = {"scheduled_time": "2026-01-10T06:00:00Z"}
    path = f"/deployments/{found}/create_flow_run"
    run = up.post(path, parameters={"catch_up": 0}, state=state)["id"]
    up.reaches(run, "COMPLETED")
    assert "2026-01-09" in up.command("evidence", "list").fine().output


def test_a_schedule_that_is_switched_on_makes_runs(up: Installation) -> None:
    """Last of those about schedules: the scheduler looks once a minute."""
    weekly = up.get("/deployments/name/windows/weekly")
    schedule = f"/deployments/{weekly['id']}/schedules/{weekly['schedules'][0]['id']}"
    up.ask("PATCH", schedule, active=True)
    wanted = {"deployments": {"id": {"any_": [weekly["id"]]}}}
    until(lambda: up.post("/flow_runs/filter", **wanted), "a run that a schedule made")
    up.ask("PATCH", schedule, active=False)


def test_a_killed_run_is_resumed_and_what_ran_in_it_does_not_stay_running(up: Installation) -> None:
    run = up.judging("sweep/demo", 20)
    within = {"parent_flow_run_id": {"any_": [run]}, "state": {"type": {"any_": ["RUNNING"]}}}
    [part] = up.post("/flow_runs/filter", flow_runs=within)
    assert {"judge-gym", "sweep"} <= set(part["tags"])
    for process in process_of(up, run):
        process.kill()

    def states(of: str) -> list[dict[str, Any]]:
        return list(up.get(f"/flow_run_states/?flow_run_id={of}"))

    def resumed() -> bool:
        return any("Resumed after a crash" in (state["message"] or "") for state in states(run))

    until(resumed, "the killed run to be resumed", 240, every=1)
    assert "CRASHED" in {state["type"] for state in states(part["id"])}
    up.reaches(run, "RUNNING")
    server = {"PREFECT_API_URL": up.api}
    up.command("sweep", "cancel", "demo", "--yes", **server).fine()
    up.reaches(run, "CANCELLED")


def test_when_postgresql_is_killed_the_rest_stops_and_says_so(up: Installation) -> None:
    server = up.postgres()
    assert server is not None
    os.kill(server.pid, signal.SIGQUIT)
    code, said = up.ended()
    assert code == 1
    assert "PostgreSQL has ended, so the others were stopped." in said
    assert "Rerun the command to resume." in said
    assert up.processes() == []
    up.start()


def test_killed_in_a_run_it_goes_on_where_it_was(up: Installation) -> None:
    run = up.judging("sweep/demo", 20)
    code, _ = up.signal(signal.SIGKILL)
    assert code == -signal.SIGKILL
    until(lambda: not up.processes(), "the end of what it had started")
    left = up.postgres()
    assert left is not None
    up.start()
    now = up.postgres()
    assert now is not None
    assert now.pid == left.pid
    assert "nothing changed" in up.said
    # A run that resumes another may have been stopped with it.
    assert re.search(r"Resuming \d+ stopped flow run", up.said), up.said
    up.reaches(run, "RUNNING")


def test_stopped_in_a_run_it_leaves_nothing_running(up: Installation) -> None:
    code, said = up.signal(signal.SIGINT)
    assert code == 0, said
    assert up.processes() == []
    assert up.postgres() is None
