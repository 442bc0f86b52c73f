"""Several people label at the address of `judge-gym up`, with its one password."""

import json
import signal
from base64 import b64encode
from collections import Counter
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from support.chromium import chromium
from support.installation import Installation
from support.waiting import until

pytestmark = pytest.mark.slow
JUDGE = """
kind: binary
name: keep
model: sim/good-1
task: Decide whether a note is to be kept.
verdicts: [{name: keep, description: It has figures.}, {name: drop, description: It has none.}]
"""
PEOPLE = ("ann", "bo", "cy")


@pytest.fixture
def labelling(up: Installation) -> Any:
    """`judge label` beside `up`, of three notes that two people label each; its process."""
    folder = up.command.folder
    (folder / "keep.yaml").write_text(JUDGE)
    lines = (json.dumps({"id": f"n{n}", "text": f"Note {n}."}) for n in range(3))
    (folder / "to label.jsonl").write_text("\n".join(lines))
    process = up.command.start(
        "judge", "label", "keep.yaml", "--items", "to label.jsonl", "--port", "0", "--overlap", "2"
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Under `judge-gym up`"):
            break
    yield process
    process.kill()
    process.communicate()


def authorization(up: Installation) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(up.password.encode()).decode()}"}


def test_three_people_label_at_once_behind_one_password(
    up: Installation, labelling: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with ExitStack() as stack:
        pages = {}
        for name in PEOPLE:
            page = stack.enter_context(chromium(tmp_path_factory.mktemp(name)))
            page.ask("Network.setExtraHTTPHeaders", headers=authorization(up))
            page.open(f"{up.address}/reports/", "Items to label now", "keep: to label.jsonl")
            page.open(page.leads_to("keep: to label.jsonl"), "Your name")
            page.type(name)
            page.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
            page.shows(f"Annotator: {name}")
            pages[name] = page
        ended = "!document.getElementById('finish').hidden"
        turns = 0
        while left := [page for page in pages.values() if not page.value(ended)]:
            for page in left:
                count = page.value("document.getElementById('count').textContent")
                page.value("document.querySelector('#choices button').click()")
                until(
                    lambda page=page, count=count: (
                        page.value("document.getElementById('count').textContent") != count
                        or page.value(ended)
                    ),
                    "the next item",
                    every=0.1,
                )
            turns += 1
            assert turns <= 3
    file = up.command.folder / "to label.labels.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert {row["annotator"] for row in rows} == set(PEOPLE)
    assert len({(row["annotator"], row["item"]) for row in rows}) == 6
    assert set(Counter(row["item"] for row in rows).values()) == {2}
    file.unlink()


def test_labels_need_the_password_and_a_page_of_this_server(
    up: Installation, labelling: Any
) -> None:
    page = f"{up.address}/labels/to-label/"
    assert httpx.get(page).status_code == 401
    with httpx.Client(headers=authorization(up)) as person:
        shown = person.get(page)
        assert shown.status_code == 200
        assert "default-src 'none'" in shown.headers["content-security-policy"]
        asked = {"annotator": "ann"}
        ours, others = {"Origin": up.address}, {"Origin": "https://evil.example"}
        assert person.post(f"{page}next", json=asked, headers=ours).json()["items"] == 3
        for headers in (others, {}):
            refused = person.post(f"{page}next", json=asked, headers=headers)
            assert refused.status_code == 403
        assert person.get(f"{up.address}/labels/another/").status_code == 404
        assert person.get(f"{page}../../etc/passwd").status_code in (401, 404)
        # One that was killed says so; one that was stopped is not listed any more.
        labelling.send_signal(signal.SIGKILL)
        labelling.wait()
        assert person.get(page).status_code == 502
        assert "Start it again" in person.get(page).text


def test_a_labelling_that_ends_is_not_listed_and_its_address_is_nobody_elses(
    up: Installation, labelling: Any
) -> None:
    [known] = (up.command.data / "labellings").glob("*.json")
    assert known.stat().st_mode & 0o077 == 0
    labelling.send_signal(signal.SIGINT)
    labelling.communicate(timeout=60)
    assert not known.exists()
    index = httpx.get(f"{up.address}/reports/", headers=authorization(up)).text
    assert "Items to label now" not in index
