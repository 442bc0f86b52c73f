"""Prefect's page of an installation, as a person sees it in Chromium without a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Browser, chromium
from support.command_line import SWEEPS, sweep_text
from support.installation import Installation

QUICK = str(SWEEPS / "quick.yaml")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(up: Installation) -> str:
    """A sweep that a worker has run."""
    run = up.run("sweep/default", file=QUICK)
    up.reaches(run, "COMPLETED", 240)
    return run


def page(up: Installation, path: str = "") -> str:
    return f"{up.address}/v2/{path}"


def test_lists_name_what_there_is(up: Installation, run: str, browser: Browser) -> None:
    browser.open(up.address, "Flow Runs", "Active Work Pools", "judge-gym")
    shown = browser.open(
        page(up, "runs"), "sweep quick.yaml", "evidence of window 1", "analyse quick"
    )
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
    browser.open(page(up, f"deployments/deployment/{deployment['id']}/run"), "Submit", *explained)


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
    browser.open(address, "judge-gym report", "Sweep quick", "SIMULATED.")


def test_a_run_that_failed_says_what_to_do(
    up: Installation, browser: Browser, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(sweep_text("quick.yaml", ("replicates: 2", "replicants: 2")))
    failed = up.run("sweep/default", file=str(wrong))
    up.reaches(failed, "FAILED")
    said = (str(wrong), "replicants", "Did you mean replicates?")
    browser.open(page(up, f"runs/flow-run/{failed}?tab=Details"), "Failed", *said)


def test_no_page_has_asked_another_host(up: Installation, browser: Browser) -> None:
    assert browser.asked == {f"127.0.0.1:{up.port}"}
