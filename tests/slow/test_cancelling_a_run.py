"""`judge-gym cancel` of a run that a worker has taken: it ends, and what it has learnt stays."""

import psutil

from support.installation import Installation
from support.waiting import until


def process_of(up: Installation, run: str) -> list[psutil.Process]:
    """The processes in which a flow run runs."""
    return [one for one in up.processes() if one.environ().get("PREFECT__FLOW_RUN_ID") == run]


def test_a_run_of_a_worker_ends_and_what_it_learnt_stays(up: Installation) -> None:
    run = up.run("sweep/demo")
    until(lambda: up.judgements() > 20, "the demo's judgements", 180)
    assert process_of(up, run)
    server = {"PREFECT_API_URL": up.api}
    ended = up.command("cancel", "demo", "--yes", **server).fine()
    assert "Cancelled 1 flow runs" in ended.output
    up.reaches(run, "CANCELLED")
    until(lambda: not process_of(up, run), "the end of its process", 60)
    kept = up.judgements()
    assert kept > 20
    again = up.command("cancel", "demo", "--yes", **server).fine()
    assert "There is nothing to cancel." in again.output
    assert up.judgements() == kept
