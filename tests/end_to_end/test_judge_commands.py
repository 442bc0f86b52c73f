"""`judge-gym judge`: what a person sees who checks a judge and scores items with it."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

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
    assert (
        "6 judgements: 6 scored. 6 calls cost 0 (simulated). Calls of earlier runs are included."
        in first
    )
    assert "SIMULATED" in first
    again = json.loads(command(*arguments, "--json").fine().output)
    assert simulator.answered() - before == asked
    assert (again["name"], again["calls"], again["cost_usd"]) == ("notes", 6, 0)
    by_item = {result["item"]: result for result in again["results"]}
    assert list(by_item) == ["ferry", "bakery", "library", "trams", "orchard", "clinic"]
    assert list(by_item["ferry"]["subscores"])[:2] == ["evidence", "accuracy"]
    assert by_item["trams"]["score"] < 50 < by_item["ferry"]["score"]


@pytest.mark.parametrize("name", ["score", "estimate"])
def test_a_plan_of_judging_says_what_it_takes_and_makes_no_call(
    name: str, command: CommandLine, simulator: Simulator
) -> None:
    file, items = JUDGES / "notes.yaml", JUDGES / "notes.jsonl"
    labels = ("--labels", JUDGES / "notes-labels.csv")
    arguments = ("judge", name, file, "--items", items, *labels, "--plan", "--json")
    before = simulator.answered()
    (row,) = json.loads(command(*arguments).fine().output)["tables"][0]["rows"]
    assert [row[column] for column in ("judged", "to judge", "calls")] == [0, 6, 6]
    assert row["USD"] == "0 (simulated)"
    assert simulator.answered() == before
    command("judge", "score", file, "--items", items).fine()
    (row,) = json.loads(command(*arguments).fine().output)["tables"][0]["rows"]
    assert [row[column] for column in ("judged", "to judge", "calls")] == [6, 0, 0]


def test_a_plan_of_scoring_includes_the_critic_of_reasons(command: CommandLine) -> None:
    text = (JUDGES / "notes.yaml").read_text().replace("name: notes", "name: read")
    judge = command.folder / "read.yaml"
    judge.write_text(text + "\nreason_critic: {model: sim/utility-1}\n")
    told = command("judge", "score", judge, "--items", JUDGES / "notes.jsonl", "--plan", "--json")
    rows = json.loads(told.fine().output)["tables"][0]["rows"]
    assert [(row["to judge"], row["calls"]) for row in rows] == [(6, 6), (6, 6), (12, 12)]


@pytest.mark.parametrize("name", ["score", "estimate"])
def test_a_person_at_a_terminal_is_asked_before_a_real_model(
    name: str, command: CommandLine
) -> None:
    judge = command.folder / "real.yaml"
    text = (JUDGES / "notes.yaml").read_text()
    judge.write_text(re.sub(r"(?m)^model: .*$", "model: openai/gpt-4o-mini", text))
    labels = ("--labels", JUDGES / "notes-labels.csv")
    arguments = ("judge", name, judge, "--items", JUDGES / "notes.jsonl", *labels)
    code, said = at_a_terminal(command, arguments, "n")
    assert code == 1
    assert "Make these calls?" in said
    assert "openai/gpt-4o-mini" in said
    ledger = json.loads(command("judge", name, *arguments[2:], "--plan", "--json").output)
    assert ledger["tables"][0]["rows"][0]["judged"] == 0


def at_a_terminal(
    command: CommandLine, arguments: Sequence[str | Path], answer: str
) -> tuple[int, str]:
    """Type a command at a terminal, with a line that is an answer; its code and what it shows."""
    ours, its = os.openpty()
    with subprocess.Popen(
        [command.program, *arguments],
        cwd=command.folder,
        env=command.variables() | {"OPENAI_API_KEY": "sk-none"},
        stdin=its,
        stdout=its,
        stderr=its,
    ) as process:
        os.close(its)
        os.write(ours, f"{answer}\n".encode())
        shown = b""
        with suppress(OSError):  # how Linux ends reading from a terminal that was closed
            while part := os.read(ours, 1 << 16):
                shown += part
    os.close(ours)
    return process.returncode, shown.decode()


def test_judges_made_of_judges_are_scored_and_checked(command: CommandLine) -> None:
    items = ("--items", JUDGES / "notes.jsonl")
    both = json.loads(
        command("judge", "score", JUDGES / "ensemble.yaml", *items, "--json").fine().output
    )
    assert both["calls"] == 12
    for result in both["results"]:
        assert result["score"] == pytest.approx(sum(result["subscores"].values()) / 2)
    routed = json.loads(
        command("judge", "score", JUDGES / "routed.yaml", *items, "--json").fine().output
    )
    asked = [result for result in routed["results"] if "good" in result["subscores"]]
    assert 0 < len(asked) < 6
    for result in routed["results"]:
        assert (70 <= result["subscores"]["clustering"] <= 76) == (result in asked)
        assert result["score"] == result["subscores"]["good" if result in asked else "clustering"]
    said = command("judge", "check", JUDGES / "routed.yaml", *items).fine().output
    assert "Member clustering: rubric by sim/clustering-1." in said
    assert "6 judgements: at most 12 calls, and one more for each unparseable answer" in said


def test_a_judge_of_ones_own_is_found_where_one_stands(command: CommandLine) -> None:
    folder = command.folder
    (folder / "mine.py").write_text("def grade(item):\n    return len(item['text'].split())\n")
    judge, items = folder / "mine.yaml", folder / "items.csv"
    judge.write_text("{kind: callable, name: words, function: 'mine:grade'}\n")
    items.write_text("id,text\na,one two three\nb,[bold]\n")
    told = json.loads(command("judge", "score", judge, "--items", items, "--json").fine().output)
    assert [(one["item"], one["score"]) for one in told["results"]] == [("a", 3), ("b", 1)]


def own_judge(folder: Path, body: str) -> Path:
    """A judge file of a function with this body, on a scale from 1 to 5."""
    (folder / "own.py").write_text(f"def grade(item):\n    {body}\n")
    judge = folder / "own.yaml"
    judge.write_text(
        "{kind: callable, name: own, function: 'own:grade', scale: {lowest: 1, highest: 5}}\n"
    )
    return judge


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "notes.yaml", "--fields", "text=Note"), "'text=Note', and there is no --items"),
        (("gate", "notes.yaml", "--label-fields", "annotator=who"), "there is no --labels"),
        (
            ("score", "notes.yaml", "--items", "notes.jsonl", "--label-fields", "annotator=who"),
            "--label-fields is 'annotator=who', and there is no --labels",
        ),
    ],
)
def test_columns_of_a_file_that_is_not_named_are_an_error(
    command: CommandLine, words: tuple[str, ...], said: str
) -> None:
    ended = command("judge", *(JUDGES / word if "." in word else word for word in words))
    assert ended.code == 2
    assert said in ended.errors


def test_score_says_how_it_agrees_with_labels_of_any_column(command: CommandLine) -> None:
    judge = own_judge(command.folder, "return min(5, len(item['text']))")
    items = command.folder / "items.csv"
    rows = [f"{'x' * (1 + n % 5)}{' ' * n}.;{1 + n % 5}" for n in range(20)]
    items.write_text("\n".join(["Note;human_score", *rows[:5]]))
    arguments = ("judge", "score", judge, "--items", items, "--fields", "text=Note")
    said = command(*arguments).fine().output
    assert "Labels: none. No column 'truth'. Column 'human_score' may hold labels" in said
    assert "Agreement" not in said
    mapped = (*arguments, "--fields", "truth=human_score")
    said = command(*mapped).fine().output
    assert "Labels: 5 of 5 items, from column 'human_score'." in said
    assert "too few to say more: 10 labels are the fewest" in said
    items.write_text("\n".join(["Note;human_score", *rows]))
    ended = command(*mapped, "--json").fine()
    assert "Labels: 20 of 20 items" in ended.errors
    labels = json.loads(ended.output)["labels"]
    assert (labels["column"], labels["labels"], labels["scored"]) == ("human_score", 20, 20)
    for name in ("agreement", "accuracy"):
        found = labels[name]
        assert found["lower"] < found["estimate"] < found["upper"]
        assert found["n_items"] == 20
    assert labels["sensitivity"] is None, "of two verdicts alone"


def test_what_was_found_comes_before_the_lines_of_items(command: CommandLine) -> None:
    """Of 5, 1, 3, 2 and 3 the mean is 2.8, and the squares around it sum to 8.8, so SD is √2.2."""
    judge, items = own_judge(command.folder, "return int(item['text'])"), command.folder / "i.csv"
    items.write_text("id,text\na,5\nb,1\nc,3\nd,2\ne,3.\n")
    (command.folder / "own.py").write_text("def grade(item):\n    return float(item['text'])\n")
    shown = command("judge", "score", judge, "--items", items).fine().output
    found = (
        "Mean score of 5 items: 2.8 (SD 1.483, from 1 to 5), on a scale from 1 to 5. "
        "Lowest: b (1), d (2), c (3) and 1 more with 3."
    )
    assert shown.index(found) < shown.index("status") < shown.index("5 judgements: 5 scored.")
    page = Path(shown.partition("Page: ")[2].splitlines()[0].strip()).read_text()
    assert page.index(found) < page.index("<table")


def test_an_export_says_what_was_written_and_what_has_no_trace(command: CommandLine) -> None:
    judge, items = own_judge(command.folder, "return 3"), command.folder / "chats.jsonl"
    chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    rows = [{"id": "s", "messages": chat * 2, "trace_id": "t"}, {"id": "r", "messages": chat}]
    rows.append({"id": "silent", "messages": chat[:1]})
    items.write_text("\n".join(map(json.dumps, rows)))
    arguments = ("judge", "score", judge, "--items", items, "--fields", "unit=turn")
    shown = command(*arguments, "--export", command.folder / "out.csv").fine().output
    # The turn of the second session, and its mean and lowest.
    assert (
        "Exported: 3 judgements, and mean and lowest of 2 sessions. 3 rows without a trace id. "
        "Written to"
    ) in shown
    assert "scores-own-chats-turn.html" in shown
    left = "Left out, not judged: 1 session without a message of the assistant (silent)."
    page = Path(shown.partition("Page: ")[2].splitlines()[0].strip()).read_text()
    assert left in shown
    assert left in page
    written = (command.folder / "out.csv").read_text().splitlines()
    assert len(written) == 1 + 3 + 4


def test_a_judge_that_cannot_be_read_does_not_end_as_success(command: CommandLine) -> None:
    judge = own_judge(command.folder, "return 6")
    items = command.folder / "items.csv"
    items.write_text("text,truth\na,1\nb,2\nc,3\n")
    ended = command("judge", "score", judge, "--items", items)
    assert ended.code == 1
    assert "0 of 3 answers readable (3 out_of_form: score: 6 is not from 1 to 5)" in ended.errors
    assert "3 labelled texts have no score" in ended.output


def test_what_cannot_be_used_is_one_line(command: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("kind: rubric\nname: x\nmodel: sim/good-1\ntask: t\ncriteria: []\n")
    ended = command("judge", "check", file)
    assert ended.code == 2
    assert f"{file}, line 5: criteria is an empty list." in ended.errors
    ended = command("judge", "score", JUDGES / "notes.yaml", "--items", JUDGES / "answers.jsonl")
    assert ended.code == 2
    assert "Item 'boat' has a second text" in ended.errors
    assert len(ended.errors.strip().splitlines()) == 2


def test_a_reason_that_contradicts_its_score_is_counted(command: CommandLine) -> None:
    body = "return {'score': 5, 'reason': 'I give it ' + item['text']}"
    judge, items = own_judge(command.folder, body), command.folder / "items.csv"
    items.write_text("id,text\na,5/5\nb,1/5\n")
    arguments = ("judge", "score", judge, "--items", items)
    shown = command(*arguments).fine().output
    assert "Reasons that contradict their score: 1 of 2, b (names 1, the score is 5)" in shown
    told = json.loads(command(*arguments, "--json").fine().output)
    why = "names 1, the score is 5"
    expected = {"item": "b", "repeat": 0, "why": why, "found_by": "rule"}
    assert told["contradictions"] == [expected]
    assert told["reason_critic"] is None
