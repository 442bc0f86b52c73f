"""`judge-gym judge`: what a person sees who checks a judge and scores items with it."""

import json
from pathlib import Path

from support.command_line import REPOSITORY, CommandLine
from support.simulation import Simulator

JUDGES = REPOSITORY / "deployments" / "judges"


def test_check_shows_what_would_be_asked_and_asks_nothing(
    command: CommandLine, simulator: Simulator
) -> None:
    before = simulator.answered()
    file, items = JUDGES / "answers.yaml", JUDGES / "answers.jsonl"
    shown = command("judge", "check", file, "--items", items, "--repeats", "2").fine().output
    assert "pairwise by sim/firstpick-1" in shown
    assert "The crossing takes 35 minutes" in shown
    assert "8 judgements: 16 calls" in shown
    bare = command("judge", "check", JUDGES / "notes.yaml").fine().output
    assert "(the text)" in bare
    assert '"scores": {"evidence": <mark>, "accuracy": <mark>' in bare
    assert simulator.answered() == before


def test_score_shows_results_and_asks_nothing_twice(
    command: CommandLine, simulator: Simulator
) -> None:
    arguments = ("judge", "score", JUDGES / "notes.yaml", "--items", JUDGES / "notes.jsonl")
    before = simulator.answered()
    first = command(*arguments).fine().output
    asked = simulator.answered() - before
    assert asked == 6
    assert "6 judgements: 6 scored. 6 calls cost 0 USD." in first
    assert "SIMULATED" in first
    again = json.loads(command(*arguments, "--json").fine().output)
    assert simulator.answered() - before == asked
    assert (again["name"], again["calls"], again["cost_usd"]) == ("notes", 6, 0)
    by_item = {result["item"]: result for result in again["results"]}
    assert list(by_item) == ["ferry", "bakery", "library", "trams", "orchard", "clinic"]
    assert list(by_item["ferry"]["subscores"])[:2] == ["evidence", "accuracy"]
    assert by_item["trams"]["score"] < 50 < by_item["ferry"]["score"]


def test_a_judge_of_ones_own_is_found_where_one_stands(command: CommandLine) -> None:
    folder = command.folder
    (folder / "mine.py").write_text("def grade(item):\n    return len(item['text'].split())\n")
    judge, items = folder / "mine.yaml", folder / "items.csv"
    judge.write_text("{kind: callable, name: words, function: 'mine:grade'}\n")
    items.write_text("id,text\na,one two three\nb,[bold]\n")
    told = json.loads(command("judge", "score", judge, "--items", items, "--json").fine().output)
    assert [(one["item"], one["score"]) for one in told["results"]] == [("a", 3), ("b", 1)]


def test_what_cannot_be_used_is_one_line(command: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("kind: rubric\nname: x\nmodel: sim/good-1\ntask: t\ncriteria: []\n")
    ended = command("judge", "check", file)
    assert ended.code == 1
    assert f"{file}, line 5: criteria is an empty list." in ended.errors
    ended = command("judge", "score", JUDGES / "notes.yaml", "--items", JUDGES / "answers.jsonl")
    assert ended.code == 1
    assert "Item 'boat' has a second text" in ended.errors
    assert len(ended.errors.strip().splitlines()) == 2
