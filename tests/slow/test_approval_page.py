"""Approval of a costly run in Prefect's page, by a person in Chromium, through a worker."""

from collections.abc import Iterator

import pytest
from ruamel.yaml import YAML

from support.chromium import Browser, chromium
from support.installation import Installation
from support.sweeps import scoring_sweep
from support.waiting import until

pytestmark = pytest.mark.slow
WORKS_S = 300.0
"""A resumed run begins in a new process, which is slow on a busy machine."""
MODAL = "document.querySelector('.p-modal')"
FIELDS = f"!!{MODAL}?.querySelector('select') && !!{MODAL}?.querySelector('textarea')"
CHOOSE = (
    "(one => {{ one.value = '{value}';"
    " one.dispatchEvent(new Event('change', {{bubbles: true}})) }})"
    f"({MODAL}?.querySelector('select') ?? document.createElement('select'))"
)
_BUTTONS = "[...document.querySelectorAll('button')]"
SUBMIT = f"{_BUTTONS}.find(one => one.innerText.trim() === 'Submit')?.click()"


@pytest.fixture(scope="module")
def browser(up: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        opened.log_in(up.address, up.password)
        yield opened


def suspended(up: Installation, name: str, documents: int = 2) -> str:
    """A run of a sweep as JSON, which costs too much; it waits."""
    text = scoring_sweep(name, "acme/calm-1", documents=documents, replicates=1)
    definition = dict(YAML(typ="safe").load(text)) | {"approve_over_usd": 0.01}
    deployment = up.get("/deployments/name/sweep/default")["id"]
    parameters = {"definition": definition}
    run = up.post(f"/deployments/{deployment}/create_flow_run", parameters=parameters)["id"]
    up.reaches(run, "PAUSED")
    return str(run)


def events_of(up: Installation, run: str) -> list[str]:
    """The names of what a flow run has said, or the server of it."""
    chosen = {"resource": {"id": [f"prefect.flow-run.{run}"]}}
    return [one["event"] for one in up.post("/events/filter", filter=chosen)["events"]]


def decide(up: Installation, browser: Browser, run: str, value: str, name: str) -> None:
    """Fill in the form of a run and submit it."""
    browser.open(f"{up.address}/runs/flow-run/{run}", "Suspended")
    browser.press("Resume")
    browser.shows("is expected to cost", "Judges: acme/calm-1", "Who decides. It is recorded.")
    # The page builds the fields after the explanations, and loses what was filled in before.
    until(lambda: browser.value(FIELDS), "the fields of the form")

    def accepted() -> bool:
        if browser.value(FIELDS):
            browser.value(CHOOSE.format(value=value))
            browser.value(f"{MODAL}?.querySelector('textarea')?.select()")
            browser.type(name)
            browser.value(SUBMIT)  # gone, where the one before was accepted meanwhile
        return bool(up.get(f"/flow_runs/{run}")["state_type"] != "PAUSED")

    until(accepted, "the decision to be accepted", every=2)


def test_a_run_goes_on_when_a_person_approves_it(up: Installation, browser: Browser) -> None:
    before = up.judgements()
    run = suspended(up, "approved-in-page")
    assert up.judgements() == before
    # The process of the worker has said that it ends, so that nobody takes it for lost.
    until(lambda: "judge-gym.run.suspended" in events_of(up, run), "the event of its suspension")
    decide(up, browser, run, "approve", "Ada")
    up.reaches(run, "COMPLETED", WORKS_S)
    assert up.judgements() == before + 2
    of_it = "FROM analysis.decisions WHERE subject = 'approved-in-page'"
    assert up.values(f"SELECT person || ' ' || decision {of_it}") == ["Ada approve"]
    assert up.values(f"SELECT details ->> 'flow_run' {of_it}") == [run]


def test_a_refused_run_ends_and_says_who_refused_it(up: Installation, browser: Browser) -> None:
    before = up.judgements()
    run = suspended(up, "refused-in-page", documents=3)
    decide(up, browser, run, "refuse", "Ben")
    up.reaches(run, "CANCELLED", WORKS_S)
    message = up.get(f"/flow_runs/{run}")["state"]["message"]
    assert message.startswith("Refused by Ben. Nothing was spent.")
    assert up.judgements() == before
