"""The run forms of all deployments, submitted in Chromium in Prefect's two pages.

Each form is submitted with one value changed in the new page, and those of each kind untouched in
the classic one. The work pool is paused: what a form gives is checked against the flow, and its run
is cancelled. That flows complete with such parameters is tested in tests/flow.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from prefect.utilities.importtools import import_object

from deployments.bootstrap import WORK_POOL
from support.chromium import Browser, chromium
from support.command_line import SWEEPS
from support.deployments import deployments
from support.installation import Installation
from support.waiting import until

pytestmark = pytest.mark.slow
PAGES = {"classic": "", "new": "/v2"}
CHANGED_IN = "new"
WORKERS = ("settings", '{"workers": 8}')
AGAIN = ("retry_failed", None)
CHANGES: dict[str, tuple[str, str | None]] = {
    # One without a parameter has no field to change.
    **{name: AGAIN for name, flow in deployments().items() if flow.parameters.properties},
    "sweep/demo": ("file", "deployments/sweeps/quick.yaml"),
    "w1-evidence/default": ("utility_model", "sim/low-2"),
    "w2-rubric/default": ("sham", None),
    "w3-scoring/default": WORKERS,
    "w4-swap/default": WORKERS,
    "w5-probe/default": WORKERS,
    "w6-critic/default": WORKERS,
    "analysis/default": ("sweep", "demo"),
    "estimate/default": ("more", "10"),
    "gate/default": ("recheck", None),
    "panel/default": ("file", "./deployments/panels/library.yaml"),
    "panel/demo": ("file", "./deployments/panels/library.yaml"),
    "panel-evaluation/default": ("error_price", "0.2"),
    "panel-evaluation/demo": ("error_price", "0.2"),
    "prune/default": ("older_than_days", "30"),
    "resume/default": ("at_most", "1"),
    "score/default": ("repeats", "2"),
    "study/demo": ("catch_up", "1"),
    "study/weekly": ("catch_up", "1"),
    "windows/daily": ("catch_up", "1"),
    "windows/weekly": ("catch_up", "1"),
}
"""Deployment → a parameter, and what is typed there; a box is ticked where that is None."""
UNTOUCHED = ("sweep/default", "w1-evidence/default", "w4-swap/default", "benchmark/default",
             "judge-review/nightly", "panel/default", "windows/daily", "gate/default",
             "score/default", "score/demo")  # fmt: skip
"""Deployments whose form is submitted in the classic page too: every kind of field is there."""
ITEMS = [{"id": number, "text": f"Note {number}.", "score": number} for number in (1, 3, 5)]
# The control of a parameter is the first below its name, and above the next one's: an editor that
# is still loading must not be taken for that of another parameter.
CONTROL = """
((name, names) => {
  const text = one => one.innerText.trim().replace(' (Optional)', '');
  const labels = [...document.querySelectorAll('label, span, div')].filter(one =>
    !one.children.length && names.includes(text(one)));
  for (let place = labels.find(one => text(one) === name); place; place = place.parentElement) {
    if (labels.some(one => text(one) !== name && place.contains(one))) return null;
    const found = place.querySelector(
      'textarea, input, [role=textbox], button[role=checkbox], button[role=switch]');
    if (found) return found;
  }
  return null;
})"""


@dataclass(frozen=True)
class Pages:
    """Both pages of an installation, in a browser that has its password."""

    up: Installation
    browser: Browser

    def form(self, page: str, deployment: str, **given: Any) -> set[str]:
        """Open the form of a deployment; with values, as "Copy to new run" opens it.

        Returns the flow runs that there are of it.
        """
        found = self.up.get(f"/deployments/name/{deployment}")
        filled = f"?parameters={quote(json.dumps(given))}" if given else ""
        self.browser.open("about:blank")
        path = f"{PAGES[page]}/deployments/deployment/{found['id']}/run{filled}"
        shown = found["parameter_openapi_schema"]["properties"]
        self.browser.open(f"{self.up.address}{path}", "Submit", *shown)
        return self.runs(deployment)

    def change(self, deployment: str, name: str, text: str | None) -> None:
        """Type a text into the field of a parameter, or tick its box."""
        found = self.up.get(f"/deployments/name/{deployment}")
        names = list(found["parameter_openapi_schema"]["properties"])
        control = f"{CONTROL}({json.dumps(name)}, {json.dumps(names)})"
        until(lambda: self.browser.value(f"{control} !== null"), f"the field of {name}")
        if text is None:
            self.browser.value(f"{control}.click()")
        else:
            self.browser.value(f"{control}.focus(); {control}.select && {control}.select()")
            self.browser.type(text)

    def submit(self, deployment: str, before: set[str]) -> str:
        """Press Submit; the flow run that there is then."""
        self.browser.press("Submit")
        new = until(lambda: self.runs(deployment) - before, f"a run of {deployment}")
        [run] = new
        return run

    def runs(self, deployment: str) -> set[str]:
        flow, _, name = deployment.partition("/")
        wanted = {"flows": {"name": {"any_": [flow]}}, "deployments": {"name": {"any_": [name]}}}
        return {one["id"] for one in self.up.post("/flow_runs/filter", **wanted)}


@pytest.fixture(scope="module")
def pages(up: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    pool = f"/work_pools/{WORK_POOL}"
    up.ask("PATCH", pool, is_paused=True)
    try:
        with chromium(tmp_path_factory.mktemp("chromium")) as browser:
            browser.log_in(up.address, up.password)
            yield Pages(up, browser)
    finally:
        up.ask("PATCH", pool, is_paused=False)


ONE_OF_TWO = {("estimate/default", "items")}
"""What a form can be given in another field instead: `rows`."""


@pytest.fixture(scope="module")
def needed(pages: Pages) -> dict[str, dict[str, Any]]:
    """Deployment → what its form must be given, of a sweep that is stored."""
    pages.up.command("sweep", "create", SWEEPS / "quick.yaml").fine()
    experiments = {"experiments": pages.up.values("SELECT tag FROM experiments")}
    items = pages.up.command.folder / "items.jsonl"
    items.write_text("".join(f"{json.dumps(one)}\n" for one in ITEMS))
    benchmark = {
        "judges": ["deployments/calibrations/good.yaml"],
        "items": str(items),
        "mapping": "deployments/benchmarks/scored.yaml",
    }
    w1 = {"windows": [1], "views": ["cleaned"], "utility_model": "sim/low-1"}
    notes = "deployments/calibrations"
    return {
        "w1-evidence/default": w1,
        "w2-rubric/default": {**experiments, "critic_model": "sim/low-1"},
        "w3-scoring/default": experiments,
        "w4-swap/default": {**experiments, "plan": None},
        "w5-probe/default": experiments,
        "w6-critic/default": {**experiments, "critic_model": "sim/utility-1"},
        "benchmark/default": benchmark,
        "calibration/default": {"file": f"{notes}/notes.yaml"},
        "certificate/default": {"file": f"{notes}/good.yaml"},
        "compare/default": {"old": f"{notes}/good.yaml", "new": f"{notes}/clustering.yaml"},
        "gate/default": {"files": [f"{notes}/good.yaml"]},
        "panel/default": {
            "file": "deployments/panels/library.yaml",
            "config": "deployments/panels/proposal.yaml",
        },
        "panel-evaluation/default": {
            "panel": "deployments/panels/two-families.yaml",
            "items": "deployments/panels/labelled.jsonl",
        },
        "study/weekly": {"file": "deployments/studies/weekly/study.yaml"},
        "estimate/default": {
            "judge": "deployments/judges/notes.yaml",
            "items": "deployments/judges/notes.jsonl",
        },
        "injection/default": {
            "judges": [f"{notes}/good.yaml"],
            "items": "deployments/sweeps/corpora/injection.jsonl",
        },
        "resume/default": {"flow_run": "00000000-0000-0000-0000-000000000001"},
    }


@pytest.fixture(scope="module")
def submitted(pages: Pages, needed: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Deployment → the parameters of the runs of its forms: with a value changed, untouched."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CHANGES}
    for name, change in CHANGES.items():
        for page in sorted(PAGES, key=lambda page: page != CHANGED_IN):
            if page != CHANGED_IN and name not in UNTOUCHED:
                continue
            before = pages.form(page, name, **needed.get(name, {}))
            if page == CHANGED_IN:
                pages.change(name, *change)
            run = pages.submit(name, before)
            found[name].append(pages.up.get(f"/flow_runs/{run}")["parameters"])
            cancelled = {"type": "CANCELLED", "name": "Cancelled"}
            pages.up.post(f"/flow_runs/{run}/set_state", state=cancelled, force=True)
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_form_gives_is_what_its_flow_takes(
    pages: Pages, submitted: dict[str, list[dict[str, Any]]], name: str
) -> None:
    flow = import_object(pages.up.get(f"/deployments/name/{name}")["entrypoint"])
    for parameters in submitted[name]:
        flow.validate_parameters(parameters)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_value_reaches_the_run(
    pages: Pages, submitted: dict[str, list[dict[str, Any]]], name: str
) -> None:
    parameter, text = CHANGES[name]
    found = pages.up.get(f"/deployments/name/{name}")
    default = found["parameter_openapi_schema"]["properties"][parameter].get("default")
    changed, *untouched = (parameters.get(parameter) for parameters in submitted[name])
    wanted = True if text is None else text
    assert changed in (wanted, as_json(text))
    assert changed not in (*untouched, found["parameters"].get(parameter, default))


@pytest.mark.parametrize("page", PAGES)
def test_a_form_names_what_it_must_be_given(
    pages: Pages, needed: dict[str, dict[str, Any]], page: str
) -> None:
    for deployment, given in needed.items():
        before = pages.form(page, deployment)
        pages.browser.press("Submit")
        # Both pages have chosen the first kind of `plan` already, so that it is not missing.
        missing = [
            name
            for name, value in given.items()
            if value is not None and (deployment, name) not in ONE_OF_TWO
        ]
        pages.browser.shows(*(f"'{name}' is a required property" for name in missing))
        assert pages.runs(deployment) == before


def as_json(text: str | None) -> Any:
    """The value that a text stands for, where it stands for one."""
    try:
        return json.loads(text or "null")
    except ValueError:
        return text
