"""`judge review` of a judge of one's own: who moved, as printed, as JSON and as an exit code."""

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine

JUDGE = """
from pathlib import Path


def graded(asked):
    return 100 * ((int(asked["id"]) + Path("moved").exists()) % 2)
"""
REVIEW = """
name: nightly
time_zone: Asia/Tokyo
reviews:
  - {judge: mine.yaml, items: items.jsonl, decision: It was chosen.}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = f"moving_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(JUDGE)
    (tmp_path / "mine.yaml").write_text(f"kind: callable\nname: mine\nfunction: {module}:graded\n")
    (tmp_path / "review.yaml").write_text(REVIEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write_items(folder: Path, count: int) -> None:
    texts = [json.dumps({"id": str(number), "text": f"Text {number}"}) for number in range(count)]
    (folder / "items.jsonl").write_text("\n".join(texts))


def test_too_few_texts_cannot_tell_and_do_not_end_as_success(
    command: CommandLine, folder: Path
) -> None:
    write_items(folder, 12)
    asked = ("judge", "review", "review.yaml", "--exit-code", "--json")
    ended = command(*asked, "--date", "2026-02-01")
    assert ended.code == 3
    [row] = json.loads(ended.output)
    moved = row["figures"]["moved"]
    assert (moved["who"], moved["anchors_missing"]) == ("cannot tell", 8)
    check = next(one for one in row["figures"]["checks"] if one["name"] == "anchors")
    assert (check["result"], check["action"]) == ("cannot tell", "Add 8 texts.")
    # The terminal has the reasons of the exit code too: no labels, no earlier review, few texts.
    printed = command(*asked[:-1], "--date", "2026-02-01")
    assert printed.code == 3
    assert ": cannot tell whether it may be used" in printed.output
    assert "add 8 texts" in printed.output
    assert "20 are needed" in printed.output


def test_a_second_review_of_a_day_says_which_answers_it_reuses(
    command: CommandLine, folder: Path
) -> None:
    write_items(folder, 12)
    asked = ("judge", "review", "review.yaml", "--date")
    first = command(*asked, "2026-02-01")
    assert "reused" not in first.output
    write_items(folder, 15)
    second = command(*asked, "2026-02-01")
    assert "12 of 15 judgements of 2026-02-01" in second.output
    assert "--date" in second.output
    assert "reused" not in command(*asked, "2026-02-02").output


def test_a_judge_that_moved_is_named_with_its_evidence(command: CommandLine, folder: Path) -> None:
    write_items(folder, 40)
    for night in range(1, 7):
        if night == 4:
            (folder / "moved").touch()
        asked = ("judge", "review", "review.yaml", "--date", f"2026-02-0{night}", "--exit-code")
        ended = command(*asked, "--json")
    assert ended.code == 1
    [row] = json.loads(ended.output)
    moved = row["figures"]["moved"]
    [evidence] = moved["evidence"]
    assert (moved["who"], evidence["of"], evidence["anchors"]) == ("judge", "judge", 40)
    assert evidence["e_value"] >= evidence["alarm_from"] == 20
    page = (command.data / "reports" / "judge_review_2026-02-06.html").read_text()
    # As many texts went up as down.
    assert "Moved, by all reviews together: judge (+0.0 points [" in page
