"""`judge-gym analyse alt-test` and `data import-annotations`, as a person types them."""

import json

from support.command_line import CommandLine

MAPPING = "source: made up\ncolumns: {kind: kind}\n"
ROWS = "item,annotator,kind,label\n" + "".join(
    f"i{item},{who},{kind},{'yes' if item % 2 else 'no'}\n"
    for item in range(40)
    for who, kind in (("ann", "human"), ("bob", "human"), ("gpt", "model"))
)


def test_a_judge_that_agrees_with_everyone_passes(command: CommandLine) -> None:
    (command.folder / "mapping.yaml").write_text(MAPPING)
    (command.folder / "people.csv").write_text(ROWS)
    of_file = ("analyse", "alt-test", "people.csv", "--mapping", "mapping.yaml")
    shown = command(*of_file).fine()
    assert "people: judges beside 2 people" in shown.output
    assert "passes" in shown.output
    (given,) = json.loads(command(*of_file, "--json").fine().output)
    (judge,) = given["judges"]
    assert given["epsilon"] == 0.2
    figures = {figure["metric"]: figure["estimate"] for figure in judge["figures"]}
    assert (figures["alt_test_winning_rate"], figures["alt_test_advantage"]) == (1, 1)
    assert [person["person"] for person in judge["people"]] == ["ann", "bob"]
    stored = command("data", "import-annotations", "people.csv", "--mapping", "mapping.yaml").fine()
    assert "judge-gym analyse alt-test people" in stored.output
    again = command("analyse", "alt-test", "people", "--json").fine()
    assert json.loads(again.output)[0]["judges"] == [judge]


def test_a_person_with_few_labels_is_named(command: CommandLine) -> None:
    (command.folder / "mapping.yaml").write_text(MAPPING)
    (command.folder / "people.csv").write_text(f"{ROWS}i1,zed,human,yes\n")
    of_file = ("analyse", "alt-test", "people.csv", "--mapping", "mapping.yaml")
    assert "1 person with fewer than 30 items left out" in command(*of_file).fine().output
    (given,) = json.loads(command(*of_file, "--json").fine().output)
    assert [judge["people_left_out"] for judge in given["judges"]] == [["zed"]]


def test_a_mistake_is_one_line(command: CommandLine) -> None:
    (command.folder / "mapping.yaml").write_text(MAPPING)
    (command.folder / "people.csv").write_text("item,annotator,kind,label\ni1,ann,robot,yes\n")
    wrong = command("analyse", "alt-test", "people.csv", "--mapping", "mapping.yaml")
    assert wrong.code == 2
    assert "people.csv line 2: kind is 'robot'" in wrong.errors
    assert "Traceback" not in wrong.errors


def test_a_mistaken_set_can_be_deleted(command: CommandLine) -> None:
    (command.folder / "mapping.yaml").write_text(MAPPING)
    (command.folder / "people.csv").write_text(ROWS)
    command("data", "import-annotations", "people.csv", "--mapping", "mapping.yaml").fine()
    delete = ("data", "delete-annotations", "people")
    refused = command(*delete)
    assert refused.code == 2
    assert "120" in refused.output
    assert "no labels of sweep quick" in command(*delete, "--sweep", "quick", "--yes").errors
    assert "Deleted 120 rows" in command(*delete, "--yes").fine().output
    assert "no annotations 'people'" in command("analyse", "alt-test", "people").errors
