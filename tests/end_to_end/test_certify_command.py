"""`judge certify`, `judge certificate` and `judge gate --certificate`: exit codes and files."""

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.command_line import REPOSITORY, CommandLine
from support.documents import snippets
from support.simulation import Simulator

NOTES = REPOSITORY / "deployments" / "calibrations" / "notes.jsonl"
JUDGE = """
kind: callable
name: support
function: own:grade
scale: {lowest: 0, highest: 1, anchors: [fail, pass]}
gate: {items: items.csv, labels: people.csv, sensitivity: 0.7, specificity: 0.7, agreement: null}
certify: {sensitivity: 0.8, specificity: 0.8, by: topic, items: items.csv, labels: people.csv}
"""


def write(path: Path, rows: Sequence[dict[str, object]]) -> None:
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def own(command: CommandLine) -> Path:
    """A judge that is wrong on every 23rd of 160 texts of two topics, and people's labels."""
    folder = command.folder
    rows: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []
    for n in range(160):
        right, topic = ("fail", "pass")[n // 2 % 2], ("bills", "refunds")[n % 2]
        said = ("pass" if right == "fail" else "fail") if n % 23 == 0 else right
        rows.append({"id": f"t{n}", "text": f"{said} {n}", "topic": topic})
        labels += [{"item": f"t{n}", "annotator": who, "label": right} for who in ("ann", "bob")]
    write(folder / "items.csv", rows)
    write(folder / "people.csv", labels)
    (folder / "own.py").write_text("def grade(item):\n    return item['text'].split()[0]\n")
    file = folder / "support.yaml"
    file.write_text(JUDGE)
    return file


@pytest.fixture
def wrong(simulator: Simulator) -> Iterator[Simulator]:
    """The simulator; any fault of a test ends with it."""
    yield simulator
    simulator.use_faults()


def refused(command: CommandLine, *words: object, **settings: str) -> str:
    """The one line with which the gate refuses a judge."""
    ended = command("judge", "gate", *words, **settings)
    assert ended.code == 1, ended.output + ended.errors
    lines = [line for line in ended.errors.splitlines() if "is refused" in line]
    assert len(lines) == 1, ended.errors
    return lines[0]


def test_a_judge_is_certified_verified_elsewhere_and_gated(
    command: CommandLine, own: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = command("judge", "certify", own).fine().output
    assert "may be used in a gate" in said
    certificate, data = (own.with_name(f"support.certificate{end}") for end in (".json", "-data"))
    content = json.loads(certificate.read_text())
    assert content["labels"]["by"] == {"ann": 160, "bob": 160}
    assert [one["state"] for one in content["findings"]["slices"]] == ["reached", "reached"]
    # Somewhere else: only the files, and no database that answers.
    clean = tmp_path_factory.mktemp("outside")
    shutil.copy(certificate, clean / "c.json")
    shutil.copytree(data, clean / "data")
    nothing = {"JUDGE_GYM_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    verify = ("judge", "certificate", "verify", clean / "c.json", "--data", clean / "data")
    holds = command(*verify, **nothing).fine().output
    assert "The certificate holds." in holds
    assert "It says of support: may be used in a gate." in holds
    command(*verify, "--judge", own, **nothing).fine()
    content["findings"]["overall"]["specificity"]["lower"] = 0.99
    (clean / "c.json").write_text(json.dumps(content))
    ended = command(*verify, "--json", **nothing)
    assert ended.code == 1
    faults = {one["check"]: one["fault"] for one in json.loads(ended.output)["checks"]}
    assert "overall.specificity.lower is 0.99" in faults["its figures are those of the data"]
    report = own.with_name("gate.md")
    asked = ("judge", "gate", own, "--certificate", certificate, "--markdown", report)
    assert "is not signed: anyone can write a certificate" in command(*asked).fine().output
    assert "Caution: " in report.read_text()
    [gate] = json.loads(command(*asked, "--json").fine().output)
    assert "signed_by" in gate["caution"]

    assert "no certificate" in refused(command, own, "--certificate", own.with_name("none.json"))
    assert "changed after" in refused(command, own, "--certificate", clean / "c.json")
    other = own.with_name("other.yaml")
    other.write_text(JUDGE.replace("name: support", "name: other\nversion: '2'"))
    junit = own.with_name("gate.xml")
    line = refused(command, other, "--certificate", certificate, "--junit", junit)
    assert "of another judge" in line
    assert "version changed" in line
    [failure] = ElementTree.parse(junit).getroot().iter("failure")
    assert "of another judge" in str(failure.text)
    rows = list(csv.DictReader(own.with_name("items.csv").open()))
    write(own.with_name("items.csv"), [*rows, {**rows[0], "id": "new", "topic": "visas",
                                               "text": "pass new"}])  # fmt: skip
    assert "not for topic 'visas'" in refused(command, own, "--certificate", certificate)
    for row in rows:
        row["theme"] = row.pop("topic")
    write(own.with_name("items.csv"), rows)
    assert "no slice is named" in refused(command, own, "--certificate", certificate)


def test_the_page_of_certificates_runs_in_order(command: CommandLine) -> None:
    """Its files are written, its Python runs, and so do its commands, those of openssl too."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    for snippet in snippets("docs/how-to/certify.md", "yaml", "python", "sh"):
        if snippet.title:
            (command.folder / snippet.title).write_text(snippet.body)
        if snippet.language == "python" and snippet.title != "rules.py":
            done = subprocess.run(
                [sys.executable, "-c", snippet.body], cwd=command.folder, env=command.variables()
            )
            assert done.returncode == 0
        for line in snippet.body.splitlines() if snippet.language == "sh" else ():
            program, *words = shlex.split(line, comments=True)
            if program == "judge-gym":
                command(*words).fine()
            else:
                subprocess.run([program, *words], cwd=command.folder, check=True)


def test_a_sealed_set_that_is_used_again_is_written_into_the_certificate(
    command: CommandLine, own: Path
) -> None:
    def uses(file: Path) -> list[str]:
        found = json.loads(command("judge", "certify", file, "--json").output)
        return [one["by"] for one in found["earlier_uses"]]

    assert uses(own) == []
    assert uses(own) == []  # the same judge on the same labels: the same use
    # A requirement that is lowered after a look is another decision; the first one stays the first.
    lower = own.with_name("lower.yaml")
    lower.write_text(own.read_text().replace("sensitivity: 0.8", "sensitivity: 0.5"))
    for file, earlier in ((own, 0), (lower, 1), (lower, 1), (own, 0)):
        found = json.loads(command("judge", "certify", file, "--json").output)
        assert found["earlier_uses"] == []
        assert len(found["earlier_requirements"]) == earlier
        if earlier:
            assert "sensitivity 0.8, specificity 0.8" in found["earlier_requirements"][0]["by"]
    certificate = lower.with_name("lower.certificate.json")
    assert (
        "after 1 other requirement" in command("judge", "certificate", "show", certificate).output
    )
    data = lower.with_name("lower.certificate-data")
    command("judge", "certificate", "verify", certificate, "--data", data).fine()
    second = own.with_name("second.yaml")
    second.write_text(JUDGE.replace("name: support", "name: second\nversion: '2'"))
    [first] = uses(second)
    assert first.startswith("certificate of support, ")
    shown = command("judge", "certificate", "show", own.with_name("second.certificate.json"))
    assert "This is use 2 of these texts" in shown.fine().output


def test_too_few_labels_certify_nothing_and_a_judge_that_misses_fails(
    command: CommandLine, own: Path
) -> None:
    labels = list(csv.DictReader(own.with_name("people.csv").open()))
    few = own.with_name("few.csv")
    write(few, labels[:60])
    ended = command("judge", "certify", own, "--labels", few, "--json")
    assert ended.code == 3
    found = json.loads(ended.output)
    assert (found["result"], found["findings"]["use"]) == ("cannot tell", "none")
    assert found["findings"]["slices"][0]["sensitivity"]["more"] > 0
    shown = command("judge", "certify", own, "--labels", few)
    assert shown.code == 3
    assert "too few labels; label" in shown.output
    inverted = own.with_name("inverted.csv")
    for row in labels:
        row["label"] = "pass" if row["label"] == "fail" else "fail"
    write(inverted, labels)
    missed = command("judge", "certify", own, "--labels", inverted)
    assert missed.code == 1
    assert "shown to miss what is required" in missed.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--labels", "none.csv"), "none.csv"),
        (("--label-fields", "annotator=rater", "--labels", "people.csv"), "rater"),
        (("--items", "people.csv", "--labels", "people.csv"), "there is no 'text'"),
        (("--label-fields", "annotator=who"), "'annotator=who', and there is no --labels"),
        (("--fields", "truth=human"), "--fields is 'truth=human', and there is no --items"),
        (("--sign", "own.py"), "is no private Ed25519 key"),
        (("--out", "items.csv"), "is no certificate"),
        (("--out", "none/c.json"), "none is no folder"),
        (("--data", "own.py"), "own.py, and that is a file"),
    ],
)
def test_files_with_mistakes_are_refused_before_anything_is_judged(
    command: CommandLine, own: Path, words: tuple[str, ...], said: str
) -> None:
    ended = command("judge", "certify", own, *words)
    assert ended.code == 2, ended.errors
    assert said in ended.errors
    assert "topic" in own.with_name("items.csv").read_text().splitlines()[0]


def test_another_served_model_ends_the_certificate(command: CommandLine, wrong: Simulator) -> None:
    folder = command.folder
    notes = [json.loads(line) for line in NOTES.read_text().splitlines()]
    labelled = sorted(
        (note for note in notes if note.get("truth") is not None),
        key=lambda note: float(note["truth"]),
    )
    half = len(labelled) // 2
    rows: list[dict[str, object]] = [
        {"id": note["id"], "text": note["text"], "truth": "keep" if place >= half else "drop"}
        for place, note in enumerate(labelled)
    ]
    write(folder / "notes.csv", rows)
    file = folder / "keep.yaml"
    file.write_text(
        "kind: binary\nname: keep\nmodel: sim/good-1\n"
        "task: Decide whether a research note is good enough to be kept.\n"
        "verdicts: [{name: keep, description: It has evidence.},\n"
        "           {name: drop, description: It has none.}]\n"
        "gate: {items: notes.csv, agreement: null, readable: 0.1}\n"
        "certify: {sensitivity: 0.02, specificity: 0.02, readable: 0.1}\n"
    )
    certified = command("judge", "certify", file)
    assert certified.code == 0, certified.output
    certificate = file.with_name("keep.certificate.json")
    assert json.loads(certificate.read_text())["judge"]["served"] == ["good-1"]
    command("judge", "gate", file, "--certificate", certificate).fine()
    wrong.use_faults({"kind": "wrong_model", "model": "good-1"})
    line = refused(command, file, "--certificate", certificate, "--recheck")
    assert "is of good-1, and another-model answered" in line
