"""Rows that share a line of their file are told apart, counted and named."""

import json
from pathlib import Path

import pytest

from judge_gym.evidence.rows import read_rows
from support.command_line import CommandLine

MAPPING = """\
name: made-up
concept: right answer
source: our log
stages: ['0', '1']
judge_column: judge
verdicts: [score]
"""


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


def places(file: Path) -> list[str]:
    return [row.where for row in read_rows(file)]


def test_entries_of_one_line_are_numbered(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    rows = [{"item": n} for n in range(3)]
    file.write_text(json.dumps(rows))
    assert places(file) == ["line 1", "entry 2", "entry 3"]
    file.write_text(json.dumps(rows, indent=1))
    assert places(file) == ["line 2", "line 5", "line 8"]
    file.write_text('[{"item": 1},\n{"item": 2}, {"item": 3}]')
    assert places(file) == ["line 1", "line 2", "entry 3"]


def test_a_copy_is_refused_on_one_line_as_on_several(command: CommandLine) -> None:
    (command.folder / "mapping.yaml").write_text(MAPPING + "item: {key: item}\n")
    row = {"item": "a", "judge": "x", "score": "1"}
    rows = [row, {**row, "item": "b"}, row]
    for indent, place in ((None, "entry 3"), (1, "line 12")):
        (command.folder / "rows.json").write_text(json.dumps(rows, indent=indent))
        refused = command("audit", "rows.json", "--mapping", "mapping.yaml")
        assert refused.code == 2
        assert place in refused.errors
        assert "the row is a copy of line" in " ".join(refused.errors.split())


def test_a_label_that_no_stage_has_is_left_out_where_verdicts_are(command: CommandLine) -> None:
    lines = ["item,judge,score,ann,bea"]
    lines += [f"i{n},x,{n % 2},{n % 2},{'?' if n == 4 else n % 2}" for n in range(20)]
    (command.folder / "rows.csv").write_text("\n".join(lines))
    mapping = MAPPING + "item: {key: item, people: [ann, bea]}\n"
    (command.folder / "mapping.yaml").write_text(mapping)
    refused = command("audit", "rows.csv", "--mapping", "mapping.yaml")
    assert refused.code == 2
    assert "line 6: bea is '?'" in " ".join(refused.errors.split())
    (command.folder / "mapping.yaml").write_text(mapping + "unlisted: unreadable\n")
    shown = " ".join(
        command("audit", "rows.csv", "--mapping", "mapping.yaml").fine().output.split()
    )
    assert "1 label of people left out, whose value is '?': i4 (bea)" in shown
    # A known answer decides on accuracy, so that it is never left out unasked.
    known = MAPPING + "item: {key: item, truth: bea}\nunlisted: unreadable\n"
    (command.folder / "mapping.yaml").write_text(known)
    assert command("audit", "rows.csv", "--mapping", "mapping.yaml").code == 2


def test_what_keeps_a_table_from_being_proposed_is_named(command: CommandLine) -> None:
    lines = ["ticket,gpt-4o,claude,ann"]
    lines += [f"q{n},{n % 2},{n // 2 % 2},{n % 2}" for n in range(20)]
    (command.folder / "wide.csv").write_text("\n".join([*lines, *lines[3:5]]))
    refused = " ".join(command("audit", "wide.csv").errors.split())
    assert "2 rows repeat another, such as that of 'q2' (line 4 and line 22)" in refused
    lines = ["id,gpt-4o,claude,ann"]
    lines += [f"q{n},{n % 2},{n // 2 % 2},{n % 2}" for n in range(20)]
    again = ["q2,1,0,1", "q3,0,0,0"]
    (command.folder / "wide.csv").write_text("\n".join([*lines, *again]))
    refused = " ".join(command("audit", "wide.csv").errors.split())
    assert (
        "id has 'q2' in 2 rows (line 4 and line 22), 'q3' in 2 rows (line 5 and line 23)."
        in refused
    )
    assert "Take the repeated rows out of the file" in refused
    assert "Formats read" not in refused


def test_a_column_that_may_be_a_persons_is_pointed_at(command: CommandLine) -> None:
    lines = ["item,judge,score,human"]
    lines += [f"i{n},x,{n % 2},{n % 3 % 2}" for n in range(20)]
    (command.folder / "long.csv").write_text("\n".join(lines))
    shown = " ".join(command("audit", "long.csv").fine().output.split())
    assert "give them with --truth human" in shown
    told = " ".join(command("audit", "long.csv", "--truth", "human").fine().output.split())
    assert "accuracy" in told
    assert "--truth human" not in told
