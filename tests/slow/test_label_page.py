"""The page for labels as a person with a keyboard uses it in Chromium."""

import json
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Browser, chromium
from support.command_line import CommandLine
from support.waiting import until

pytestmark = pytest.mark.slow
MARKUP = "<img src=x onerror=document.title='run'>"
JUDGE = """
kind: rubric
name: notes
model: sim/good-1
task: Grade a note.
criteria:
  - {name: evidence, description: Claims have figures.}
  - {name: clarity, description: One reading is enough.}
scale: {lowest: 1, highest: 5}
"""
AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = """axe.run({resultTypes: ["violations"], preload: false}).then((found) =>
    JSON.stringify(found.violations.filter(({impact}) => ["serious", "critical"].includes(impact))
        .map(({id, nodes}) => [id, nodes.map((node) => node.html.slice(0, 200))])))"""
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, "")}


@contextmanager
def labelling(folder: Path, database: str, *options: str) -> Iterator[tuple[str, Any]]:
    """`judge-gym judge label`, started; yields its address and its process."""
    environment = {"JUDGE_GYM_DATABASE_URL": database}
    process = CommandLine(folder, environment).start(
        "judge", "label", "judge.yaml", "--items", "items.jsonl", "--port", "0", *options
    )
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("Label at "):
                break
        else:
            assert process.stderr is not None
            raise AssertionError(said + process.stderr.read())
        yield line.removeprefix("Label at ").strip(), process
    finally:
        process.kill()
        process.communicate()


def press(browser: Browser, key: str) -> None:
    code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key))
    given: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "text": text}
    browser.ask("Input.dispatchKeyEvent", type="keyDown", **given)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", **given)


def item(browser: Browser) -> str:
    return str(browser.value("document.getElementById('item').textContent")).removeprefix("Item ")


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.labels.jsonl").read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "judge.yaml").write_text(JUDGE)
    (tmp_path / "items.jsonl").write_text(
        "".join(json.dumps({"id": f"n{n}", "text": f"Note {n}. {MARKUP}"}) + "\n" for n in range(4))
    )
    return tmp_path


def test_a_person_labels_by_keyboard_alone_and_resumes(
    folder: Path, database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        chromium(tmp_path_factory.mktemp("profile")) as browser,
        labelling(folder, database) as (url, process),
    ):
        browser.open(url, "Your name")
        browser.type("ann")
        press(browser, "Enter")
        shown = browser.shows("0 of 4 labelled", "Annotator: ann")
        assert MARKUP in shown  # as text
        first = item(browser)
        press(browser, "n")
        browser.type("short, 2")
        press(browser, "Escape")
        press(browser, "4")
        browser.shows("1 of 4 labelled")
        second = item(browser)
        press(browser, "u")
        browser.shows("0 of 4 labelled")
        assert item(browser) == first
        assert rows(folder) == []
        press(browser, "5")
        browser.shows("1 of 4 labelled")
        press(browser, "s")
        until(lambda: item(browser) not in (first, second), "the third item", every=0.1)
        press(browser, "a")
        browser.shows("2 of 4 labelled, 1 abstained")
        assert browser.value("document.images.length") == 0
        assert browser.value("document.title") == "Label for notes"
        assert browser.asked == {url.split("/")[2]}
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        assert "by 1 annotator (ann 1); 1 abstention" in output
        stored = rows(folder)
        assert [(row["annotator"], row["label"]) for row in stored] == [
            ("ann", "5"),
            ("ann", "abstain"),
        ]
        assert [row["probability"] for row in stored] == [1 / 4, 1 / 2]

    with (
        chromium(tmp_path_factory.mktemp("profile")) as browser,
        labelling(folder, database, "--annotator", "ann") as (url, _),
    ):
        browser.open(url, "2 of 4 labelled, 1 abstained")
        assert item(browser) == second
        press(browser, "1")
        browser.shows("3 of 4 labelled")
        press(browser, "2")
        browser.shows("All items are labelled.")
        assert browser.value("document.activeElement.id") == "finished"
        press(browser, "u")
        browser.shows("3 of 4 labelled")


def test_criteria_are_labelled_one_after_another(
    folder: Path, database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        chromium(tmp_path_factory.mktemp("profile")) as browser,
        labelling(folder, database, "--annotator", "bo", "--by-criterion") as (url, _),
    ):
        browser.open(url, "Label: evidence", "Criterion 1 of 2. Claims have figures.")
        press(browser, "2")
        browser.shows("Label: clarity")
        press(browser, "3")
        browser.shows("1 of 4 labelled", "Label: evidence")
        assert [(row["criterion"], row["label"]) for row in rows(folder)] == [
            ("evidence", "2"),
            ("clarity", "3"),
        ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_axe_finds_nothing_serious(
    folder: Path, database: str, scheme: str, width: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        chromium(tmp_path_factory.mktemp("profile")) as browser,
        labelling(folder, database) as (url, _),
    ):
        browser.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}
        ])  # fmt: skip
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                    deviceScaleFactor=1, mobile=width < 500)  # fmt: skip
        browser.ask("Page.setBypassCSP", enabled=True)  # axe is no part of the page
        browser.open(url, "Your name")
        assert serious(browser) == []
        browser.type("ann")
        press(browser, "Enter")
        browser.shows("0 of 4 labelled")
        browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert serious(browser) == []
        assert browser.value("document.documentElement.scrollWidth") <= width
        for done in range(1, 5):
            press(browser, "3")
            browser.shows(f"{done} of 4 labelled" if done < 4 else "All items are labelled.")
        assert serious(browser) == []


def serious(browser: Browser) -> list[Any]:
    browser.value(AXE)
    found = browser.ask("Runtime.evaluate", expression=VIOLATIONS, awaitPromise=True)
    return list(json.loads(found["result"]["value"]))


def test_three_people_at_once_label_two_each_and_one_decides(
    folder: Path, database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Ann, Bo and Cy share six labels of three items; Dee decides what they differ on."""
    (folder / "judge.yaml").write_text(JUDGE)
    (folder / "items.jsonl").write_text(
        "".join(json.dumps({"id": f"n{n}", "text": f"Note {n}."}) + "\n" for n in range(3))
    )
    options = ("--overlap", "2", "--adjudicator", "Dee")
    with (
        ExitStack() as stack,
        labelling(folder, database, *options) as (url, process),
    ):
        marks = {"ann": "2", "bo": "4", "cy": "4"}
        pages = {
            name: stack.enter_context(chromium(tmp_path_factory.mktemp(name))) for name in marks
        }
        for name, page in pages.items():
            page.open(url, "Your name", "Dee decides the items on which people differ.")
            page.type(name)
            press(page, "Enter")
            page.shows(f"Annotator: {name}")
        shown = [item(page) for page in pages.values()]
        # Two of them see the first item, and the third another, before anyone has labelled.
        assert shown[0] == shown[1] != shown[2]
        ended: set[str] = set()
        while len(ended) < 3:
            for name, page in pages.items():
                if name in ended:
                    continue
                if page.value("!document.getElementById('finish').hidden"):
                    ended.add(name)
                    continue
                before = page.value("document.getElementById('count').textContent")
                press(page, marks[name])
                until(
                    lambda page=page, before=before: (
                        page.value("document.getElementById('count').textContent") != before
                        or page.value("!document.getElementById('finish').hidden")
                    ),
                    f"what {name} labels next",
                    every=0.1,
                )
        given = rows(folder)
        assert sorted(Counter(row["item"] for row in given).values()) == [2, 2, 2]
        assert len({(row["item"], row["annotator"]) for row in given}) == 6
        marked: dict[str, set[str]] = defaultdict(set)
        for row in given:
            marked[row["item"]].add(row["label"])
        differing = {name for name, of in marked.items() if len(of) > 1}
        page = pages["ann"]
        page.open(url, "Your name")
        page.type("Dee")
        press(page, "Enter")
        page.shows(f"0 of {len(differing)} labelled", "Labels so far", "ann: 2")
        for number in range(1, len(differing) + 1):
            press(page, "5")
            page.shows(f"{number} of {len(differing)} labelled")
        page.shows("Every item on which people differ is decided, so far.")
        decided = [row for row in rows(folder) if row["draw"] == "adjudication"]
        assert {row["item"] for row in decided} == differing
        assert {row["label"] for row in decided} == {"5"}
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert f"{len(differing)} by an adjudicator" in output
    said = CommandLine(folder, {"JUDGE_GYM_DATABASE_URL": database})(
        "judge", "agreement", "judge.yaml", "--items", "items.jsonl", "--labels",
        "items.labels.jsonl",
    ).fine()  # fmt: skip
    assert "decided by an adjudicator" in said.output
