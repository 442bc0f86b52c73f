"""Labels of several people in the commands for product judges."""

import csv
import json
from pathlib import Path

import pytest

from judge_gym.judges import read_item_file
from support.command_line import REPOSITORY, CommandLine
from support.simulation import Simulator

pytestmark = pytest.mark.slow

EXAMPLES = REPOSITORY / "deployments" / "calibrations"
CALIBRATION = """
name: labelled
judges: [good.yaml]
items: items.jsonl
labels: labels.csv
label_fields: {annotator: rater}
repeats: 1
perturbations: [injection_line]
severities: [1.0]
"""


def place(folder: Path) -> tuple[Path, Path, list[str]]:
    """A judge, four items without labels of their own, and the names of these."""
    rows = [json.loads(line) for line in (EXAMPLES / "notes.jsonl").read_text().splitlines()[:4]]
    for row in rows:
        row.pop("truth", None)
    (folder / "good.yaml").write_text((EXAMPLES / "good.yaml").read_text())
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "good.yaml", folder / "items.jsonl", [row["id"] for row in rows]


def test_labels_come_in_rounds_and_buy_nothing_again(
    command: CommandLine, simulator: Simulator, tmp_path: Path
) -> None:
    judge, items, names = place(tmp_path)
    labels = tmp_path / "labels.csv"
    given = [f"{name},{who},{40 + 10 * place}" for who in ("ann", "bo")
             for place, name in enumerate(names)]  # fmt: skip
    labels.write_text("\n".join(["item,rater,label,time", *(f"{row}," for row in given[:4])]))
    asked = ("judge", "score", judge, "--items", items, "--labels", labels,
             "--label-fields", "annotator=rater", "--json")  # fmt: skip
    first = command(*asked).fine()
    assert json.loads(first.output)["labels"]["annotators"] == {"ann": 4}
    assert "not known (" in first.messages
    calls = simulator.answered()

    with labels.open("a") as file:
        file.write("\n" + "\n".join(f"{row}," for row in given[4:]))
    second = command(*asked).fine()
    assert json.loads(second.output)["labels"]["annotators"] == {"ann": 4, "bo": 4}
    assert "Krippendorff's α 1.00" in second.messages

    with labels.open("a") as file:
        file.write(f"\n{names[0]},bo,90,2025-03-31")
    told = command(*asked)
    assert told.code == 2
    assert "line 10: label is '90', and line 6 has '40' by 'bo'" in told.messages
    labels.write_text(
        labels.read_text().replace(f"{names[0]},bo,40,", f"{names[0]},bo,40,2025-03-30")
    )
    third = command(*asked).fine()
    assert "1 earlier label replaced" in third.messages
    assert simulator.answered() == calls

    shown = command(
        "judge", "agreement", judge, "--items", items, "--labels", labels,
        "--label-fields", "annotator=rater", "--json", "--export", tmp_path / "all.jsonl",
    ).fine()  # fmt: skip
    figures = json.loads(shown.output)
    assert figures["simulated"]
    hardest = figures["criteria"]["whole"]["hardest"]
    assert [(one["item"], one["labels"]) for one in hardest] == [
        (names[0], {"ann": 40.0, "bo": 90.0})
    ]
    assert sum(map(sum, figures["criteria"]["whole"]["confusion"]["judge_by_person"])) == 8
    exported = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(exported) == 9
    # Each with the key of its text, as `judge label` writes it.
    texts = {item.id: item.key for item in read_item_file(items).items}
    assert [row["item_key"] for row in exported] == [texts[row["item"]] for row in exported]
    again = tmp_path / "all.csv"
    asked = ("judge", "agreement", judge, "--items", items, "--export", again, "--labels")
    command(*asked, tmp_path / "all.jsonl").fine()
    [one] = {row["item_key"] for row in csv.DictReader(again.open()) if row["item"] == names[0]}
    assert one == texts[names[0]]
    # A text that changed since keeps the key of what was labelled, and its labels are left out.
    stale = [row if row["item"] != names[0] else row | {"item_key": "0" * 16} for row in exported]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, stale)))
    ended = command(*asked, tmp_path / "all.jsonl").fine()
    assert "of texts that have changed since" in ended.output
    assert "0" * 16 in {row["item_key"] for row in csv.DictReader(again.open())}
    assert simulator.answered() == calls


def test_a_calibration_uses_the_labels_of_several_people(
    command: CommandLine, tmp_path: Path
) -> None:
    _, _, names = place(tmp_path)
    rows = [f"{name},{who},{score}" for name in names for who, score in (("ann", 60), ("bo", 70))]
    (tmp_path / "labels.csv").write_text("\n".join(["item,rater,label", *rows]))
    file = tmp_path / "labelled.yaml"
    file.write_text(CALIBRATION)
    ended = command("judge", "calibrate", file, "--all").fine()
    said = " ".join(ended.output.split())
    assert "by 2 annotators (ann 4, bo 4)" in said
    assert "the mean of 2 people's labels on 4 of 4 texts" in said
    assert "agree with people" in said
    file.write_text(CALIBRATION.replace("labels.csv", "lables.csv"))
    missing = command("judge", "calibrate", file)
    assert missing.code == 2
    assert "labels" in missing.errors
    assert "the closest: labels.csv" in missing.errors


def test_labels_beside_the_items_are_named_when_they_are_not_read(
    command: CommandLine, tmp_path: Path
) -> None:
    judge, items, names = place(tmp_path)
    judge.write_text(judge.read_text().partition("gate:")[0])  # its texts are not here
    row = {"item": names[0], "annotator": "ann", "label": 5}
    beside = tmp_path / "items.labels.jsonl"
    beside.write_text(json.dumps(row))
    checked = ("judge", "check", judge, "--items", items)
    shown = " ".join(command(*checked).fine().output.split())
    assert f"add --labels {beside}" in shown
    assert "(ann 1)" in command(*checked, "--labels", beside).fine().output
    assert command(*checked[:3], "--labels", beside).code == 2


def test_labels_of_a_part_correct_the_mean_and_plan_the_next_ones(command: CommandLine) -> None:
    folder = command.folder
    (folder / "own.py").write_text(
        "def grade(item):\n    return min(5, 1 + len(item['text']) % 7)\n"
    )
    (folder / "own.yaml").write_text(
        "{kind: callable, name: own, function: 'own:grade', scale: {lowest: 1, highest: 5}}\n"
    )
    texts = [(f"t{place}", "x" * (place + 1), "ab"[place % 2]) for place in range(120)]
    (folder / "all.csv").write_text(
        "\n".join(["id,text,category", *(",".join(text) for text in texts)])
    )
    # People give one point less than the judge, but never less than 1.
    labels = folder / "labels.csv"
    given = [f"{key},ann,{max(1, min(5, 1 + len(text) % 7) - 1)}" for key, text, _ in texts[:60]]
    labels.write_text("\n".join(["item,annotator,label", *given]))
    asked = ("judge", "estimate", folder / "own.yaml", "--items", folder / "all.csv",
             "--labels", labels)  # fmt: skip
    told = json.loads(command(*asked, "--json").fine().output)
    assert [one["about"] for one in told["figures"]] == ["all texts", "a", "b", "b less a"]
    of_all = told["figures"][0]
    people = sum(max(1, min(5, 1 + len(text) % 7) - 1) for _, text, _ in texts) / len(texts)
    assert of_all["corrected"]["lower"] < people < of_all["corrected"]["upper"]
    assert of_all["judge"]["lower"] > people
    next_file = folder / "next.csv"
    shown = command(*asked, "--more", "10", "--next", next_file).fine().output
    # The judge errs alike at every score: labels by groups would bring nothing.
    assert "drawn at random" in shown
    rows = next_file.read_text().splitlines()
    assert len(rows) == 11
    assert all(",random," in row for row in rows[1:])
    assert command(*asked, "--next", next_file).code == 2
    filled = [f"{row.split(',')[0]},ann,3,gain" for row in rows[1:]]
    more = [*(f"{one},random" for one in given), *filled]
    labels.write_text("\n".join(["item,annotator,label,draw", *more]))
    again = json.loads(command(*asked, "--json").fine().output)
    assert again["by_gain"]
    assert again["figures"][0]["labelled"] == 70
    # All texts, by two people with a column each: bo gives what ann gives.
    every = [(key, max(1, min(5, 1 + len(text) % 7) - 1)) for key, text, _ in texts]
    labels.write_text("\n".join(["Nr,ann,bo", *(f"{key},{label},{label}" for key, label in every)]))
    refused = command(*asked)
    assert refused.code == 2
    named = ("--label-fields", "item=Nr", "--label-fields", "people=ann,bo")
    assert " ".join(named) in " ".join(refused.errors.split())
    whole = json.loads(command(*asked, *named, "--json").fine().output)["figures"]
    assert whole[0]["labels"]["estimate"] == pytest.approx(people)
    apart = [one["judge"]["estimate"] - one["labels"]["estimate"] for one in whole]
    assert [one["bias"]["estimate"] for one in whole] == pytest.approx(apart)
    none_left = folder / "none.csv"
    shown = command(*asked, *named, "--next", none_left).fine()
    assert "no correction is needed" in " ".join(shown.output.split())
    assert not none_left.exists()
