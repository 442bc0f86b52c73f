"""`judge-gym judge gate`: exit codes, files for CI, no calls without a change, drift."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

from judge_gym.report.shelf import shelf
from support.command_line import REPOSITORY, CommandLine
from support.simulation import Simulator
from support.waiting import until

CALIBRATIONS = REPOSITORY / "deployments" / "calibrations"
GATE = CALIBRATIONS / "good.yaml"
BINARY = """
kind: callable
name: own
function: own:grade
scale: {lowest: 1, highest: 5, anchors: [poor, weak, fair, good, fine]}
gate: {items: items.jsonl, readable: 0.8, agreement: 0.6, accuracy: 0.7, sentinel: 20, drift: 20}
"""

KNOWN = """
name: known
source: invented
key: [id]
score: {text: text, truth: truth, lowest: 1, highest: 5}
"""


@pytest.fixture
def own(command: CommandLine) -> Path:
    """A judge that returns each text's number plus what a file says, and 30 right labels."""
    folder = command.folder
    rows = [{"id": str(n), "text": f"{1 + n % 5} {n}", "truth": str(1 + n % 5)} for n in range(30)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "shift").write_text("0")
    (folder / "own.py").write_text(
        f"SHIFT = {str(folder / 'shift')!r}\n"
        "def grade(item):\n"
        "    number = int(item['text'].split()[0]) + int(open(SHIFT).read())\n"
        "    return max(1, min(5, number))\n"
    )
    file = folder / "own.yaml"
    file.write_text(BINARY)
    return file


@pytest.fixture
def wrong(simulator: Simulator) -> Iterator[Simulator]:
    """The simulator; any fault of a test ends with it."""
    yield simulator
    simulator.use_faults()


def test_a_plan_warns_of_a_key_and_a_price_that_a_run_needs(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = command.folder / "real.yaml"
    text = GATE.read_text().replace("sim/good-1", "openai/own-9")
    text = re.sub(r"^budget:.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("items: ", f"items: {CALIBRATIONS}/")
    file.write_text(f"{text}\nbudget: {{max_cost_usd: 1}}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    planned = command("judge", "gate", file, "--plan").fine()
    said = " ".join(f"{planned.output} {planned.errors}".split())
    assert "a run needs OPENAI_API_KEY" in said
    assert f"{file}: budget.max_cost_usd is 1" in said


def test_a_gate_that_passes_costs_nothing_twice(command: CommandLine, wrong: Simulator) -> None:
    junit, markdown = command.folder / "new" / "gate.xml", command.folder / "new" / "gate.md"
    before = wrong.answered()
    planned = command("judge", "gate", GATE, "--plan", "--recheck").fine().output
    assert wrong.answered() == before
    # Judged, to judge, calls: its 22 texts, and again for --recheck, of which 12 have labels.
    assert len(re.findall(r"good, sim/good-1\W+0\W+22\W+22\b", planned)) == 2, planned
    first = command("judge", "gate", GATE, "--junit", junit, "--markdown", markdown).fine().output
    assert "good: the gate passes." in first
    assert "SIMULATED" in first
    root = ElementTree.parse(junit).getroot()
    assert [case.get("name") for case in root.iter("testcase")] == ["readable", "agreement"]
    assert not [*root.iter("failure"), *root.iter("error")]
    assert all("SIMULATED" in str(suite.get("name")) for suite in root)
    asked = wrong.answered()
    [again] = json.loads(command("judge", "gate", GATE, "--json").fine().output)
    assert wrong.answered() == asked
    assert (again["result"], again["new_judgements"], again["texts"]) == ("passes", 0, 22)
    assert "passes" in markdown.read_text()
    assert command("judge", "gate", GATE, "--fail-under", "agreement=0.99").code == 1
    assert command("judge", "gate", GATE, "--fail-under", "agreement=0.9").code == 3
    assert command("judge", "gate", GATE, "--fail-under", "agrement=0.9").code == 2
    assert command("judge", "gate", CALIBRATIONS / "clustering.yaml").code == 2
    after = command("judge", "gate", GATE, "--plan").fine().output
    assert re.search(r"good, sim/good-1\W+22\W+0\W+0\b", after), after


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_judged(
    command: CommandLine, wrong: Simulator
) -> None:
    asked = wrong.answered()
    (command.folder / "file").touch()
    for option, place in (
        ("--junit", command.folder),
        ("--markdown", command.folder / "file" / "x"),
        ("--junit", Path("/proc/none/g.xml")),
        ("--junit", Path("/proc/g.xml")),  # its folder is there, and root may write there
    ):
        ended = command("judge", "gate", GATE, option, place)
        assert ended.code == 2, ended.errors
        assert f"{option} is {place}" in ended.errors
    assert wrong.answered() == asked


def test_judges_of_one_name_are_told_apart_by_their_files(command: CommandLine, own: Path) -> None:
    other, junit = command.folder / "next" / "own.yaml", command.folder / "both.xml"
    other.parent.mkdir()
    other.write_text(own.read_text().replace("items.jsonl", "../items.jsonl"))
    (other.parent / "own.py").write_text((command.folder / "own.py").read_text())
    command("judge", "gate", own, other, "--junit", junit)
    root = ElementTree.parse(junit).getroot()
    names = [suite.get("name") for suite in root]
    assert names == [f"judge-gym gate: own ({file})" for file in (own, other)]
    classes = {case.get("classname") for case in root.iter("testcase")}
    assert classes == {f"own ({file})" for file in (own, other)}


def test_a_plan_of_a_changed_judge_counts_each_call_once(
    command: CommandLine, wrong: Simulator
) -> None:
    command("judge", "gate", GATE).fine()
    changed = command.folder / "changed.yaml"
    text = GATE.read_text().replace("notes.jsonl", str(CALIBRATIONS / "notes.jsonl"))
    changed.write_text(text.replace("name: good", "name: good\ntemperature: 0.25"))
    planned = command("judge", "gate", changed, "--plan").fine().output
    assert len(re.findall(r"good, sim/good-1\W+0\W+22\W+22\b", planned)) == 1, planned
    assert "Again" not in planned
    before = wrong.answered()
    command("judge", "gate", changed)
    assert wrong.answered() == before + 22


def test_a_gate_says_that_its_judge_is_another_than_the_last_of_this_name(
    command: CommandLine, own: Path
) -> None:
    def other(file: Path) -> dict[str, Any] | None:
        [gate] = json.loads(command("judge", "gate", file, "--json").fine().output)
        return gate["other_judge"]

    assert other(own) is None
    changed = own.with_name("changed.yaml")
    text = own.read_text().replace("drift: 20", "drift: 30")
    changed.write_text(text)
    assert other(changed) is None, "the gate is no part of the judge"
    changed.write_text(text.replace("name: own", "name: else\nversion: '2'"))
    assert other(changed) is None, "of another name"
    changed.write_text(text.replace("name: own", "name: own\nversion: '3'").replace("fine", "best"))
    shown = command("judge", "gate", changed).output
    assert re.search(r"it differs in (version, scale|scale, version)\.", shown), shown
    assert "differs in" in next(command.folder.rglob("gate-changed.html")).read_text()
    assert other(changed) is None, "the last gate was of this judge"
    found = other(own)
    assert found is not None, "the newest judgements are of the changed judge"
    assert set(found["changed"]) == {"version", "scale"}


def test_a_judge_that_was_judged_again_since_is_the_newest_of_its_name(
    command: CommandLine, own: Path
) -> None:
    command("judge", "gate", own).fine()
    changed = own.with_name("changed.yaml")
    changed.write_text(own.read_text().replace("name: own", "name: own\nversion: '2'"))
    command("judge", "score", changed, "--items", "items.jsonl").fine()
    [first] = json.loads(command("judge", "gate", own, "--recheck", "--json").fine().output)
    assert first["other_judge"]["changed"] == ["version"], "it judged before the recheck"
    [after] = json.loads(command("judge", "gate", own, "--json").fine().output)
    assert after["other_judge"] is None


def test_what_failed_and_is_retried_counts_as_new(command: CommandLine, own: Path) -> None:
    code = command.folder / "own.py"
    works = code.read_text()
    code.write_text(works.replace("    return", "    assert item['text'][2:] != '7'\n    return"))
    own.write_text(own.read_text().replace("own:grade", "own:grade\nversion: '1'"))
    [failed] = json.loads(command("judge", "gate", own, "--json").output)
    assert failed["new_judgements"] == 30
    code.write_text(works)
    [stored] = json.loads(command("judge", "gate", own, "--json").output)
    [retried] = json.loads(command("judge", "gate", own, "--retry-failed", "--json").output)
    assert (stored["new_judgements"], retried["new_judgements"]) == (0, 1)


def test_studies_rest_on_the_newest_answers_to_all_texts(command: CommandLine, own: Path) -> None:
    text = own.read_text().replace("sentinel: 20", "sentinel: 30")
    own.write_text(f"{text}version: '1'\n")
    other = own.with_name("other.yaml")
    other.write_text(f"{text.replace('name: own', 'name: other')}version: '2'\n")
    of_all = ("--items", "items.jsonl")
    command("judge", "gate", own).fine()
    before = json.loads(command("judge", "score", own, *of_all, "--json").fine().output)
    assert {row["score"] for row in before["results"]} == {1, 2, 3, 4, 5}
    assert before["answers"] == ""
    (command.folder / "shift").write_text("4")
    assert command("judge", "gate", own, "--recheck").code == 1

    scored = json.loads(command("judge", "score", own, *of_all, "--json").fine().output)
    assert {row["score"] for row in scored["results"]} == {5}
    compared = json.loads(command("judge", "compare", other, own, *of_all, "--json").fine().output)
    assert compared["checks"][0]["estimate"] == 0, "both were judged after the change"
    agreed = json.loads(command("judge", "agreement", own, *of_all, "--json").fine().output)
    estimated = json.loads(command("judge", "estimate", own, *of_all, "--json").fine().output)
    assert estimated["figures"][0]["judge"]["estimate"] == 5
    said = {scored["answers"], compared["judges"]["new"]["answers"]}
    assert said == {agreed["answers"], estimated["answers"]}
    assert "Judged again on" in said.pop()
    assert compared["judges"]["old"]["answers"] == ""

    # Answers of two times are never mixed: with a text more, all are the first ones.
    items = command.folder / "items.jsonl"
    row = {"id": "30", "text": "1 30", "truth": "1"}
    (command.folder / "more.jsonl").write_text(f"{items.read_text()}\n{json.dumps(row)}")
    more = json.loads(command("judge", "score", own, "--items", "more.jsonl", "--json").output)
    assert {row["score"] for row in more["results"][:-1]} == {1, 2, 3, 4, 5}
    assert "30 of 31 texts were judged again" in more["answers"]
    page = command.data / "reports" / "scores-own-more.html"
    assert more["answers"] in page.read_text()

    # Nor does a recheck count of which an answer failed.
    code = command.folder / "own.py"
    code.write_text(code.read_text().replace("    return", "    assert number != 5\n    return"))
    (command.folder / "shift").write_text("0")
    assert command("judge", "gate", own, "--recheck").code == 1
    failed = json.loads(command("judge", "score", own, *of_all, "--json").fine().output)
    assert {row["score"] for row in failed["results"]} == {5}
    assert "24 of 30 texts were judged again" in failed["answers"]


def test_judges_that_take_turns_at_more_texts_are_said_once_each(
    command: CommandLine, own: Path
) -> None:
    changed = own.with_name("changed.yaml")
    changed.write_text(own.read_text().replace("name: own", "name: own\nversion: '2'"))
    items = own.with_name("items.jsonl")

    def said(file: Path, number: int) -> bool:
        """Whether a gate with one text more says so."""
        row = {"id": str(number), "text": f"3 {number}", "truth": "3"}
        items.write_text(f"{items.read_text()}\n{json.dumps(row)}")
        [gate] = json.loads(command("judge", "gate", file, "--json").fine().output)
        assert gate["new_judgements"] > 0
        return gate["other_judge"] is not None

    turns = [said(file, 40 + n) for n, file in enumerate([own, changed] * 3)]
    # The changed judge is new at its first turn, and the other one learns of it at its next.
    assert turns == [False, True, True, False, False, False]


def test_the_first_gate_of_a_changed_judge_has_it_in_json(command: CommandLine, own: Path) -> None:
    command("judge", "gate", own).fine()
    own.write_text(own.read_text().replace("name: own", "name: own\nversion: '2'"))
    [gate] = json.loads(command("judge", "gate", own, "--json").fine().output)
    assert gate["other_judge"]["changed"] == ["version"]
    assert gate["result"] == "passes"


def test_another_served_model_has_the_sentinel_set_judged_again_once(
    command: CommandLine, wrong: Simulator
) -> None:
    command("judge", "gate", GATE).fine()
    # Another judge learns that the model behind the name has changed.
    other = command.folder / "other.yaml"
    other.write_text(GATE.read_text().replace("name: good", "name: other\ntemperature: 0.5"))
    wrong.use_faults({"kind": "wrong_model", "model": "good-1"})
    items = ("--items", CALIBRATIONS / "notes.jsonl")
    command("judge", "score", other, *items).fine()
    planned = command("judge", "gate", GATE, "--plan").fine().output
    assert "Again, since another model answers" in planned
    judged = command("judge", "gate", GATE, "--json")
    assert "`drift: 5` takes 72" in judged.errors, "22 texts are judged again, and are too few"
    [again] = json.loads(judged.output)
    assert again["new_judgements"] == 22
    assert [check["name"] for check in again["checks"]][-1] == "drift"
    assert "another-model" in again["served_models"]
    stored = command("judge", "gate", GATE, "--json")
    assert "takes 72" not in stored.errors, "nothing is spent"
    [third] = json.loads(stored.output)
    assert third["new_judgements"] == 0
    assert third["checks"] == again["checks"]


def test_a_text_judged_after_a_change_of_the_served_model_does_not_hide_it(
    command: CommandLine, wrong: Simulator
) -> None:
    """21 texts by the model that answered first, then one more by another model."""
    rows = (CALIBRATIONS / "notes.jsonl").read_text().splitlines()
    notes = command.folder / "notes.jsonl"
    notes.write_text("\n".join(rows[:21]))
    judge = command.folder / "good.yaml"
    judge.write_text(GATE.read_text())
    command("judge", "gate", judge).fine()
    wrong.use_faults({"kind": "wrong_model", "model": "good-1"})
    notes.write_text("\n".join(rows))
    # By whichever command: the ledger has the judgement before the gate begins.
    command("judge", "score", judge, "--items", notes).fine()
    [again] = json.loads(command("judge", "gate", judge, "--json").output)
    assert again["new_judgements"] == 22
    assert "judged again since another model answers" in again["answers"]
    # The first model is back: the answers of the other one are not those of now.
    wrong.use_faults()
    other = command.folder / "other.yaml"
    other.write_text(GATE.read_text().replace("name: good", "name: other\ntemperature: 0.5"))
    command("judge", "score", other, "--items", notes).fine()
    [back] = json.loads(command("judge", "gate", judge, "--json").output)
    assert (back["new_judgements"], back["served_models"]) == (22, ["good-1"])
    [stored] = json.loads(command("judge", "gate", judge, "--json").output)
    assert stored["new_judgements"] == 0


def test_an_unchanged_judge_passes_again_by_all_its_labels(command: CommandLine, own: Path) -> None:
    own.write_text(own.read_text().replace(", sentinel: 20", ""))
    command("judge", "gate", own).fine()
    stored = command("judge", "gate", own).fine().output
    assert "--recheck asks again." in stored
    again = command("judge", "gate", own, "--recheck", "--json").fine()
    assert json.loads(again.output)[0]["new_judgements"] == 30
    command("judge", "gate", own).fine()


def test_too_few_texts_to_show_no_drift_are_told_before_they_are_judged(
    command: CommandLine, own: Path
) -> None:
    own.write_text(own.read_text().replace("drift: 20", "drift: 5"))
    for options in (("--plan",), ("--plan", "--recheck")):
        planned = command("judge", "gate", own, *options).fine()
        assert "`drift: 5` takes 72" in planned.errors
        assert "Add 42 texts, or set `drift` to 16.9 or more." in planned.errors
    passed = command("judge", "gate", own).fine()
    assert "takes 72" not in passed.errors, "nothing is judged again"
    again = command("judge", "gate", own, "--recheck", "--json")
    assert (again.code, "takes 72" in again.errors) == (3, True)
    [gate] = json.loads(again.output)
    [still] = [one for one in gate["checks"] if one["result"] != "passes"]
    assert (still["name"], still["result"]) == ("drift", "cannot tell")
    assert "About 72 texts would decide it, and there are 30" in still["action"]


def test_a_gate_that_is_stopped_reports_why(command: CommandLine, own: Path) -> None:
    code = (command.folder / "own.py").read_text()
    unread = own.with_name("unread.yaml")
    unread.write_text(own.read_text().replace("name: own", "name: unread\nversion: '3'"))
    (command.folder / "own.py").write_text(code.replace("return max", "return 'about', max"))
    junit, markdown = command.folder / "stop.xml", command.folder / "stop.md"
    files = ("--junit", junit, "--markdown", markdown)
    ended = command("judge", "gate", unread, "--json", *files)
    assert ended.code == 1
    [report] = json.loads(ended.output)
    assert report["result"] == "fails"
    assert "none of the first 20 answers can be read" in report["stopped"]
    assert "none of the first 20" in markdown.read_text()
    [failure] = ElementTree.parse(junit).getroot().iter("failure")
    assert "none of the first 20" in str(failure.text)
    # Typing errors and missing keys name the file, before anything is started.
    typo = own.with_name("typo.yaml")
    typo.write_text(own.read_text().replace("own:grade", "own:grad"))
    refused = command("judge", "gate", own, typo)
    assert refused.code == 2
    assert "typo.yaml" in refused.errors
    assert "Did you mean grade?" in refused.errors
    real = command.folder / "real.yaml"
    real.write_text(
        GATE.read_text()
        .replace("sim/good-1", "openai/gpt-4o")
        .replace("notes.jsonl", str(CALIBRATIONS / "notes.jsonl"))
    )
    keyless = command("judge", "gate", real, OPENAI_API_KEY="")
    assert keyless.code == 2
    for named in ("real.yaml", "Judge 'good'", "openai/gpt-4o", "OPENAI_API_KEY"):
        assert named in keyless.errors


def test_a_gate_that_is_stopped_lets_the_others_end(command: CommandLine, own: Path) -> None:
    code = command.folder / "own.py"
    code.write_text(code.read_text() + "def unread(item):\n    return 'none'\n")
    unread = own.with_name("unread.yaml")
    unread.write_text(
        own.read_text().replace("name: own", "name: unread").replace("own:grade", "own:unread")
    )
    few = own.with_name("few.yaml")
    text = GATE.read_text().replace("max_calls: 20000", "max_calls: 5")
    text = text.replace("name: good", "name: few", 1).replace(
        "sim/good-1\n", "sim/good-1\ntemperature: 0.42\n", 1
    )
    few.write_text(text.replace("items: ", f"items: {CALIBRATIONS}/", 1))
    junit = command.folder / "all.xml"

    def ends(*files: Path) -> tuple[int, list[str]]:
        ended = command("judge", "gate", *files, "--json", "--junit", junit)
        found = json.loads(ended.output)
        suites = ElementTree.parse(junit).getroot()
        assert [suite.get("name", "").split()[2] for suite in suites] == [f.stem for f in files]
        return ended.code, [f"{one['result']} {one['stopped'][:5]}".strip() for one in found]

    # A budget cannot tell, whichever place its judge has; what fails decides before it.
    assert ends(few, own) == (4, ["cannot tell Judge", "passes"])
    stopped = ["cannot tell Judge", "fails Judge", "passes"]
    assert ends(few, unread, own) == (1, stopped)
    keyless = own.with_name("keyless.yaml")
    text = (
        GATE.read_text()
        .replace("sim/good-1", "openai/gpt-4o")
        .replace("name: good", "name: keyless", 1)
    )
    keyless.write_text(text.replace("items: ", f"items: {CALIBRATIONS}/", 1))
    assert ends(keyless, own) == (2, [f"cannot tell {str(keyless)[:5]}", "passes"])
    # A judge that fails decides before one that was stopped, wherever it stands.
    (command.folder / "shift").write_text("3")
    other = own.with_name("other.yaml")
    other.write_text(own.read_text().replace("name: own", "name: other\nversion: '2'"))
    for files in ((few, other), (other, few)):
        assert command("judge", "gate", *files).code == 1
    assert "is given twice" in command("judge", "gate", own, own).errors
    shown = command("judge", "gate", few, own)
    assert "own: the gate passes." in shown.output
    assert "few: cannot tell, stopped." in shown.output


@pytest.mark.parametrize("broken", ["labels off the scale", "no items", "threshold"])
def test_bad_input_replaces_what_a_gate_that_passed_wrote(
    command: CommandLine, own: Path, broken: str
) -> None:
    junit, markdown = command.folder / "ci.xml", command.folder / "ci.md"
    files = ("--junit", junit, "--markdown", markdown)
    command("judge", "gate", own, *files).fine()
    assert not [*ElementTree.parse(junit).getroot().iter("error")]
    items, more = command.folder / "items.jsonl", ()
    if broken == "labels off the scale":
        items.write_text(items.read_text().replace('"truth": "5"', '"truth": "50"'))
    elif broken == "no items":
        items.unlink()
    else:
        more = ("--fail-under", "agrement=0.9")
    before = junit.read_text()
    assert command("judge", "gate", own, *files, *more, "--plan").code == 2
    assert junit.read_text() == before
    ended = command("judge", "gate", own, *files, *more, "--json")
    assert ended.code == 2
    told = json.loads(ended.output)["error"]
    [case] = ElementTree.parse(junit).getroot().iter("testcase")
    [error] = case.iter("error")
    page = command.data / "reports" / "gate-own.html"
    for text in (error.get("message"), error.text, markdown.read_text()):
        assert told["message"] in str(text)
    assert case.get("classname") == "own"
    assert "Gate of own: cannot tell" in page.read_text()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--agreement", "0.9"),
        ("--fail-under",),
        ("--recheck", "--recheck"),
        ("--label-fields", "annotator=rater", "--labels", "lables.csv"),
    ],
    ids=["unknown option", "no value", "given twice", "no such file"],
)
def test_a_command_that_cannot_be_read_replaces_what_a_gate_that_passed_wrote(
    command: CommandLine, own: Path, wrong: tuple[str, ...]
) -> None:
    junit, markdown = command.folder / "ci.xml", command.folder / "ci.md"
    files = (f"--junit={junit}", "--markdown", markdown)
    command("judge", "gate", own, *files).fine()
    before = junit.read_text()
    assert command("judge", "gate", own, *files, "--plan", *wrong).code == 2
    assert junit.read_text() == before, "a plan writes no reports"
    ended = command("judge", "gate", own, *files, *wrong)
    assert ended.code == 2
    [case] = ElementTree.parse(junit).getroot().iter("testcase")
    [error] = case.iter("error")
    assert case.get("classname") == "own"
    said = "lables.csv" if "lables.csv" in wrong else wrong[0]
    page = command.data / "reports" / "gate-own.html"
    for text in (error.get("message"), markdown.read_text(), page.read_text(), ended.errors):
        assert said in str(text)
    assert "Gate of own: cannot tell" in page.read_text()


def test_a_judge_file_that_is_gone_replaces_its_page(command: CommandLine, own: Path) -> None:
    junit, page = command.folder / "ci.xml", command.data / "reports" / "gate-own.html"
    command("judge", "gate", own, "--junit", junit).fine()
    own.unlink()
    assert command("judge", "gate", own, "--junit", junit).code == 2
    assert [*ElementTree.parse(junit).getroot().iter("error")]
    assert "Gate of own: cannot tell" in page.read_text()
    # A name that never had a page gets none.
    assert command("judge", "gate", own.with_name("owm.yaml"), "--junit", junit).code == 2
    assert not page.with_name("gate-owm.html").exists()
    # Without any judge file it is an error still, not a file without tests.
    assert command("judge", "gate", "--junit", junit).code == 2
    [case] = ElementTree.parse(junit).getroot().iter("testcase")
    assert "Missing argument" in str(next(case.iter("error")).get("message"))


def test_the_version_is_printed(command: CommandLine) -> None:
    assert re.fullmatch(r"judge-gym \d+\.\d+\.\d+\S*\n", command("--version").fine().output)


def test_a_judge_that_drifts_fails(command: CommandLine, own: Path) -> None:
    command("judge", "gate", own).fine()
    same = command("judge", "gate", own, "--recheck", "--json").fine()
    assert json.loads(same.output)[0]["new_judgements"] == 20
    assert json.loads(command("judge", "gate", own, "--json").output)[0]["new_judgements"] == 0

    moved = own.with_name("moved.yaml")  # another judge, so that it is judged first as it was
    moved.write_text(own.read_text().replace("name: own", "name: moved\nversion: '2'"))
    command("judge", "gate", moved).fine()
    (command.folder / "shift").write_text("1")
    report, junit = command.folder / "gate.md", command.folder / "gate.xml"
    ended = command("judge", "gate", moved, "--recheck", "--markdown", report, "--junit", junit)
    assert ended.code == 1
    assert "moved: the gate fails." in ended.output
    shown = re.findall(r"^\W*(\d+)\W+([1-5])\W+([1-5])\W*$", ended.output, re.MULTILINE)
    written = report.read_text()
    assert "fails" in written
    [gate] = json.loads(next(command.folder.rglob("gate-moved.json")).read_text())
    # Texts graded 1 to 4 went up by one, 25 points of 100, and those graded 5 stay.
    [changed] = [check for check in gate["checks"] if check["name"] == "changed"]
    assert gate["moved"] == round(20 * changed["estimate"])
    assert len(gate["moved_most"]) == 10
    most = [
        (one["id"], *(f"{one[on]:g}" for on in ("before", "after"))) for one in gate["moved_most"]
    ]
    assert shown == most
    page = next(command.folder.rglob("gate-moved.html")).read_text()
    for text in gate["moved_most"]:
        number = int(text["id"])
        assert (text["before"], text["after"]) == (1 + number % 5, 2 + number % 5)
        assert f"| {number} | {1 + number % 5} | {2 + number % 5} |" in written
        assert re.search(rf">{number}</t[dh]>", page)
    failures = [
        failure.get("message") for failure in ElementTree.parse(junit).getroot().iter("failure")
    ]
    assert any("more than 10 points apart" in str(message) for message in failures)
    assert command("judge", "gate", moved).code == 1  # until it is another judge


@pytest.mark.parametrize(
    ("body", "failing"),
    [
        ("1 + (number + 1) % 5", {"agreement", "accuracy", "changed"}),
        ("3", {"agreement", "accuracy", "changed"}),
        ("6 - number", {"agreement", "accuracy", "changed"}),
        ("1 + len(item['text']) * 7 * number % 5", {"changed"}),
    ],
    ids=["permuted", "constant", "inverted", "noise"],
)
def test_a_judge_that_became_another_is_judged_by_its_new_answers(
    command: CommandLine, own: Path, body: str, failing: set[str]
) -> None:
    own.write_text(own.read_text().replace("sentinel: 20, drift: 20", "sentinel: 30, drift: 100"))
    [before] = json.loads(command("judge", "gate", own, "--json").fine().output)
    (command.folder / "own.py").write_text(
        f"def grade(item):\n    number = int(item['text'].split()[0])\n    return {body}\n"
    )
    ended = command("judge", "gate", own, "--recheck", "--json")
    assert ended.code == 1, ended.output
    [gate] = json.loads(ended.output)
    checks = {check["name"]: check for check in gate["checks"]}
    assert failing <= {name for name, check in checks.items() if check["result"] == "fails"}
    was = {check["name"]: check["estimate"] for check in before["checks"]}
    assert checks["agreement"]["estimate"] < was["agreement"] == 1.0
    assert "Figures are of 30 texts of 30, judged again on" in gate["answers"]
    # Without --recheck the newest answers still decide, at no cost.
    [stored] = json.loads(command("judge", "gate", own, "--json").output)
    assert (stored["new_judgements"], stored["checks"]) == (0, gate["checks"])
    assert "30 answers of them stored by an earlier run" in stored["answers"]
    shown = command("judge", "gate", own)
    assert re.search(r"own: the gate fails\. Not reached: .*changed", shown.output)


def test_every_recheck_asks_again(command: CommandLine, own: Path) -> None:
    command("judge", "gate", own).fine()
    days = []
    for _ in range(3):
        [gate] = json.loads(command("judge", "gate", own, "--recheck", "--json").fine().output)
        assert gate["new_judgements"] == 20
        days.append(gate["answers"])
    assert len(set(days)) == 3
    # Each of them stays on a page of its own, and the newest links to all.
    newest = next(command.folder.rglob("gate-own.html"))
    pages = {page.name for page in newest.parent.glob("gate-own-*.html")}
    assert {name.partition("-again-")[2] for name in pages} == {"", "1.html", "2.html", "3.html"}
    assert all(f'href="{name}"' in newest.read_text() for name in pages)
    assert [page.file for page in shelf(newest.parent)["Gates"]] == ["gate-own.html"]
    planned = command("judge", "gate", own, "--recheck", "--plan").fine().output
    assert re.search(r"own, own:grade\W+0\W+20\b", planned), planned


def test_two_gates_of_one_judge_have_rechecks_of_their_own(command: CommandLine, own: Path) -> None:
    """One of all 30 texts, one of the first 20: all that is judged again of the one is also of the
    other, and of the other a part."""
    items = command.folder / "items.jsonl"
    (command.folder / "few.jsonl").write_text("\n".join(items.read_text().splitlines()[:20]))
    own.write_text(own.read_text().replace("sentinel: 20", "sentinel: 30"))
    few = own.with_name("few.yaml")
    few.write_text(own.read_text().replace("items.jsonl", "few.jsonl"))

    def again(file: Path) -> dict[str, Any]:
        [gate] = json.loads(command("judge", "gate", file, "--recheck", "--json").output)
        return gate

    def twice(gate: dict[str, Any]) -> bool:
        return "anchors" in {check["name"] for check in gate["checks"]}

    for file in (own, few):
        command("judge", "gate", file).fine()
    (command.folder / "shift").write_text("1")
    again(own)
    moved = again(own)
    assert (moved["new_judgements"], " #2;" in moved["answers"], twice(moved)) == (30, True, True)
    decide = ("judge", "decide", own, "own", "keep", "--by", "Ada")
    command(*decide).fine()
    # The other gate was not judged again yet, nor was its judge kept.
    [stored] = json.loads(command("judge", "gate", few, "--json").fine().output)
    assert (stored["new_judgements"], stored["answers"][:11]) == (0, "Answers of ")
    refused = command("judge", "decide", few, "own", "keep", "--by", "Bo")
    assert "has not judged its texts again" in refused.errors
    first = again(few)
    assert (first["new_judgements"], " #" in first["answers"], twice(first)) == (20, False, False)
    assert "Ada" not in first["answers"]
    assert first["moved"] > 0
    # What is kept of the one stays so of the first.
    command("judge", "decide", few, "own", "keep", "--by", "Bo").fine()
    [kept] = json.loads(command("judge", "gate", own, "--json").output)
    assert "that Ada kept on" in kept["answers"]


def test_a_move_within_the_margins_is_shown_by_all_times_together(
    command: CommandLine, own: Path
) -> None:
    """It judges four times alike, then gives texts another score; the margins allow any."""
    text = own.read_text().replace("drift: 20", "drift: 100, changed: 0.99")
    own.write_text(text.replace("agreement: 0.6, accuracy: 0.7", "agreement: null"))
    command("judge", "gate", own).fine()
    for _ in range(3):
        [gate] = json.loads(command("judge", "gate", own, "--recheck", "--json").fine().output)
    steady = {check["name"]: check for check in gate["checks"]}["anchors"]
    assert (steady["result"], steady["n_items"]) == ("passes", 20)
    (command.folder / "shift").write_text("1")
    for _ in range(2):
        ended = command("judge", "gate", own, "--recheck", "--json")
    assert ended.code == 1
    [gate] = json.loads(ended.output)
    failing = {check["name"] for check in gate["checks"] if check["result"] == "fails"}
    assert failing == {"anchors"}
    # It stays shown, until a person keeps the judge; then it is compared with what was kept.
    assert command("judge", "gate", own, "--recheck", "--json").code == 1
    decide = ("judge", "decide", own, "own", "keep", "--by", "Ada")
    assert "later answers are compared with these" in command(*decide).fine().output
    [kept] = json.loads(command("judge", "gate", own, "--json").fine().output)
    assert (kept["result"], kept["new_judgements"]) == ("passes", 0)
    assert "that Ada kept on" in kept["answers"]
    for _ in range(3):
        [gate] = json.loads(command("judge", "gate", own, "--recheck", "--json").fine().output)
    assert {check["name"]: check["result"] for check in gate["checks"]}["anchors"] == "passes"
    # A further move is shown anew.
    (command.folder / "shift").write_text("2")
    for _ in range(2):
        ended = command("judge", "gate", own, "--recheck", "--json")
    assert ended.code == 1


def test_a_gate_is_kept_by_its_own_judge_once_it_was_judged_again(
    command: CommandLine, own: Path
) -> None:
    decide = ("judge", "decide", own, "own", "keep", "--by", "Ada")
    refused = command(*decide)
    assert refused.code == 2
    assert "has not judged its texts again" in refused.errors
    command("judge", "gate", own, "--recheck").fine()
    assert "not 'other'" in command(*[*decide[:3], "other", *decide[4:]]).errors
    assert command(*decide, "--date", "2026-01-01").code == 2
    command(*decide).fine()


def test_a_few_texts_that_can_be_read_cannot_tell(command: CommandLine, own: Path) -> None:
    items = command.folder / "items.jsonl"
    items.write_text("\n".join(items.read_text().splitlines()[:9]))
    own.write_text(own.read_text().replace("agreement: 0.6, accuracy: 0.7,", "agreement: null,"))
    ended = command("judge", "gate", own, "--json")
    assert ended.code == 3
    [readable] = json.loads(ended.output)[0]["checks"]
    assert (readable["name"], readable["estimate"], readable["result"]) == (
        *("readable", 1.0, "cannot tell"),
    )


def test_too_few_labels_cannot_tell(command: CommandLine, own: Path) -> None:
    items = command.folder / "items.jsonl"
    items.write_text("\n".join(items.read_text().splitlines()[:8]))
    ended = command("judge", "gate", own, "--json")
    assert ended.code == 3
    [gate] = json.loads(ended.output)
    assert {check["name"]: check["result"] for check in gate["checks"]} == {
        "readable": "cannot tell",
        "agreement": "cannot tell",
        "accuracy": "cannot tell",
    }


@pytest.mark.parametrize("named_by", ["file", "option"])
def test_labels_of_several_people_decide_a_gate(
    command: CommandLine, own: Path, named_by: str
) -> None:
    items, labels = command.folder / "items.jsonl", command.folder / "people.csv"
    rows = [json.loads(line) for line in items.read_text().splitlines()]
    unlabelled = [{"id": row["id"], "text": row["text"], "human": row["truth"]} for row in rows]
    items.write_text("\n".join(map(json.dumps, unlabelled)))
    refused = command("judge", "gate", own)
    assert refused.code == 2
    assert "add `fields: {truth: human}` to the gate in the judge's file" in refused.errors
    given = [f"{row['id']},{who},{row['truth']}" for row in rows for who in ("ann", "bo")]
    labels.write_text("\n".join(["item,rater,label", *given]))
    if named_by == "file":
        file = "labels: people.csv, label_fields: {annotator: rater}, readable"
        own.write_text(own.read_text().replace("readable", file))
        options = []
    else:
        options = ["--labels", labels, "--label-fields", "annotator=rater"]
    [gate] = json.loads(command("judge", "gate", own, *options, "--json").fine().output)
    assert gate["result"] == "passes"
    assert "Reference: the mean of 2 people's labels on 30 of 30 texts." in gate["labels"]


def test_a_function_may_print_and_return_true_or_false(command: CommandLine, own: Path) -> None:
    items = command.folder / "items.jsonl"
    rows = [{"text": f"text {n}", "truth": ("no", "yes")[n % 2]} for n in range(30)]
    items.write_text("\n".join(map(json.dumps, rows)))
    (command.folder / "own.py").write_text(
        "def grade(item):\n"
        "    print('asked', item['id'])\n"
        "    return int(item['text'].split()[1]) % 2 == 1\n"
    )
    scale = "scale: {lowest: 0, highest: 1, anchors: [no, yes]}"
    own.write_text(re.sub("scale: .*", scale, own.read_text()))
    ended = command("judge", "gate", own, "--json").fine()
    [gate] = json.loads(ended.output)
    assert (gate["result"], gate["new_judgements"]) == ("passes", 30)
    assert ended.errors.count("asked") == 30
    own.write_text(own.read_text().replace("{lowest: 0", "{lowest: -1").replace("no,", "no, or,"))
    assert command("judge", "gate", own).code == 1  # nobody can tell which of three steps True is


def test_a_judge_that_cannot_be_read_fails(command: CommandLine, own: Path) -> None:
    (command.folder / "own.py").write_text("def grade(item):\n    return 6\n")
    ended = command("judge", "gate", own, "--json")
    assert ended.code == 1
    [report] = json.loads(ended.output)
    assert report["result"] == "fails"
    assert "'6'" in report["stopped"] or "6 is not from 1 to 5" in report["stopped"]
    assert "Have the function or the endpoint return a score" in report["stopped"]


CI = REPOSITORY / "deployments" / "ci"


def test_the_workflow_is_well_formed_and_its_commands_run(command: CommandLine) -> None:
    workflow = YAML(typ="safe").load(CI / "judge-gate.yml")
    (job,) = workflow["jobs"].values()
    assert {"runs-on", "steps", "timeout-minutes"} <= job.keys()
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    runs = [step["run"] for step in job["steps"] if "run" in step]
    summary = command.folder / "summary.md"
    values = {"$JUDGES": str(GATE), "$GITHUB_STEP_SUMMARY": str(summary)}
    gates = [shlex.split(line)[1:] for line in runs if line.startswith("judge-gym ")]
    assert len(gates) == 2
    for arguments in gates:
        ended = command(*(values.get(word, word) for word in arguments))
        assert ended.code == 0, ended.output
    assert summary.read_text().count("### Gate: good") == 2
    assert (command.folder / "gate.xml").exists()


@pytest.mark.slow
def test_the_example_of_pytest_passes_and_a_worse_judge_fails(
    command: CommandLine, own: Path
) -> None:
    test = command.folder / "test_own.py"
    test.write_text(
        "from judge_gym.testing import assert_gate\n"
        "pytest_plugins = ['judge_gym.testing']\n"
        "def test_right(judge_gate):\n"
        f"    assert_gate(judge_gate({str(own)!r}))\n"
        "def test_open(judge_gate):\n"
        f"    assert_gate(judge_gate({str(own)!r}, accuracy=0.95), allow_cannot_tell=True)\n"
        "def test_not_shown(judge_gate):\n"
        f"    assert_gate(judge_gate({str(own)!r}, accuracy=0.95))\n"
    )
    # As documented, a test imports the module before pytest does: that is no warning.
    strict = ("-W", "error::pytest.PytestAssertRewriteWarning")
    arguments = (
        "-m",
        "pytest",
        "-q",
        *strict,
        "-p",
        "no:cacheprovider",
        CI / "test_judges.py",
        test,
    )
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=command.folder,
        env=command.variables(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "1 failed, 4 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "test_not_shown" in ended.stdout
    assert "cannot tell" in ended.stdout


def test_checking_a_judge_reads_the_texts_of_its_gate(command: CommandLine, own: Path) -> None:
    checked = command("judge", "check", own).fine().output
    assert re.search(r"Gate on \S+items.jsonl\. Labels: 30 of 30 items", checked)
    (command.folder / "items.jsonl").unlink()
    ended = command("judge", "check", own)
    assert ended.code == 2
    assert "gate.items is" in ended.errors


def test_labels_of_a_shorter_scale_are_said_before_the_rubric(
    command: CommandLine, own: Path
) -> None:
    """A judge of 1 to 10 gives twice what people gave from 1 to 5, and is told to check that."""
    own.write_text(
        "kind: callable\nname: own\nfunction: own:grade\nscale: {lowest: 1, highest: 10}\n"
        "gate: {items: items.jsonl, agreement: 0.6}\n"
    )
    (command.folder / "own.py").write_text(
        "def grade(item):\n    return 2 * int(item['text'].split()[0])\n"
    )
    ended = command("judge", "gate", own, "--json")
    [gate] = json.loads(ended.output)
    assert "truth has no value above 5" in gate["labels"]
    [agreement] = [one for one in gate["checks"] if one["name"] == "agreement"]
    assert ended.code == 1
    assert agreement["action"].startswith("Check the scale: truth has no value above 5")
    labels = [f"{n},{who},{1 + n % 5}" for n in range(30) for who in ("ann", "bo")]
    (command.folder / "labels.csv").write_text("\n".join(["item,annotator,label", *labels]))
    typed = (own, "--items", "items.jsonl", "--labels", "labels.csv")
    for command_of in ("score", "agreement", "estimate"):
        said = command("judge", command_of, *typed).fine()
        shown = " ".join((said.output + said.errors).split())
        assert "If labels end at 5, write `highest: 5`" in shown, (command_of, shown)


def waits_for(process: "subprocess.Popen[str]") -> None:
    """Read what a command says until it waits for another run."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "waiting for it to end" in line:
            return
    raise AssertionError(f"it did not wait: {said}")


@pytest.mark.parametrize("words", [("score",), ("benchmark", "--mapping", "known.yaml")])
def test_two_commands_at_once_ask_a_function_once(
    command: CommandLine, own: Path, words: tuple[str, ...]
) -> None:
    """Also where a flow runs the second one, as `judge benchmark` does."""
    (command.folder / "known.yaml").write_text(KNOWN)
    asked, go = command.folder / "asked", command.folder / "go"
    own.with_name("own.py").write_text(
        "import pathlib, time\n"
        "def grade(item):\n"
        f"    with open({str(asked)!r}, 'a') as file:\n"
        "        file.write('x')\n"
        f"    while not pathlib.Path({str(go)!r}).exists():\n"
        "        time.sleep(0.05)\n"
        "    return int(item['text'].split()[0])\n"
    )
    first = command.start("judge", "gate", own)
    until(asked.exists, "the first command to judge", 120)
    second = command.start("judge", words[0], own, "--items", "items.jsonl", *words[1:])
    waits_for(second)
    go.touch()
    said, failed = first.communicate(timeout=300)
    assert first.returncode == 0, said + failed
    said, failed = second.communicate(timeout=300)
    assert second.returncode == 0, said + failed
    assert len(asked.read_text()) == 30


def test_two_gates_at_once_send_each_request_once(command: CommandLine, wrong: Simulator) -> None:
    text = GATE.read_text().replace("name: good\n", "name: good\ntemperature: 0.37\n", 1)
    text = text.replace("items: ", f"items: {CALIBRATIONS}/", 1)
    (command.folder / "warm.yaml").write_text(text)
    before = wrong.answered()
    wrong.use_faults({"kind": "slow_first_byte", "share": 1.0, "seconds": 0.3})
    both = [command.start("judge", "gate", "warm.yaml", "--json") for _ in range(2)]
    ended = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert sorted(json.loads(said)[0]["new_judgements"] for said, _ in ended) == [0, 22]
    assert wrong.answered() - before == 22


def test_a_gate_of_a_simulated_judge_that_is_stopped_says_that_it_is(command: CommandLine) -> None:
    text = (
        GATE.read_text()
        .replace("max_calls: 20000", "max_calls: 5")
        .replace("name: good", "name: few", 1)
    )
    text = text.replace("sim/good-1\n", "sim/good-1\ntemperature: 0.41\n", 1)
    text = text.replace("items: ", f"items: {CALIBRATIONS}/", 1)
    (command.folder / "few.yaml").write_text(text)
    junit, markdown = command.folder / "gate.xml", command.folder / "gate.md"
    ended = command("judge", "gate", "few.yaml", "--junit", junit, "--markdown", markdown)
    assert ended.code not in (0, 1), ended.output + ended.errors
    [suite] = ElementTree.parse(junit).getroot()
    assert suite.get("name") == "judge-gym gate: few (SIMULATED)"
    assert "SIMULATED" in markdown.read_text()
