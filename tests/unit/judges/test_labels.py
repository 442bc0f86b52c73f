"""Labels in files of items: read where they are unambiguous, else an error, never dropped."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from judge_gym.errors import EvidenceError, JudgeGymError
from judge_gym.evidence.choosing import NamedBy
from judge_gym.judges import (
    BinaryJudge,
    CallableJudge,
    Judge,
    PairwiseJudge,
    Scale,
    VerdictName,
    load_judge,
    read_item_file,
)
from judge_gym.judges.item_files import ItemFile, read_labelled

GRADES = CallableJudge(name="grades", function="mine:grade", scale=Scale(lowest=1, highest=5))
NAMED = CallableJudge(
    name="named", function="mine:grade",
    scale=Scale(lowest=1, highest=3, anchors=("poor", "fair", "good")),
)  # fmt: skip
BINARY = BinaryJudge(
    name="gate", model="sim/good-1", task="Pass or fail?",
    verdicts=(VerdictName(name="Pass", description="Fine."),
              VerdictName(name="Fail", description="Not fine.")),
)  # fmt: skip
PAIRS = PairwiseJudge(name="pairs", model="sim/good-1", task="Which is better?")


def labels(file: Path, judge: Judge, **fields: str) -> list[float | None]:
    read = read_item_file(file, fields)
    read.check([judge])
    return [judge.label(item) for item in read.items]


def written(folder: Path, content: str | bytes, name: str = "items.csv") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize(
    ("content", "name", "judge", "known"),
    [
        ("text,truth\na,5\nb, 4.5 \nc,\n", "items.csv", GRADES, [5, 4.5, None]),
        ('{"text": "a", "truth": "5"}\n{"text": "b", "truth": 1}\n{"text": "c", "truth": null}',
         "items.jsonl", GRADES, [5, 1, None]),
        ("text,truth\na,Good\nb,poor\nc,2\n", "items.csv", NAMED, [3, 1, 2]),
        ("text,truth\na,Pass\nb,fail\nc,FAIL\nd,1\ne,0\n", "items.csv", BINARY, [1, 0, 0, 1, 0]),
        ("text,second,truth\na,b,first\nc,d,Second\n", "items.csv", PAIRS, [1, 0]),
    ],
)  # fmt: skip
def test_what_is_unambiguous_is_a_label(
    tmp_path: Path, content: str, name: str, judge: Judge, known: list[float | None]
) -> None:
    assert labels(written(tmp_path, content, name), judge) == known


@pytest.mark.parametrize(
    ("content", "judge", "said"),
    [
        (
            "text,truth\na,5\nb,6\n",
            GRADES,
            "line 3, item '2': truth is 6.0. Judge 'grades' has scores from 1",
        ),
        ("text,truth\na,4,5\n", GRADES, "line 2: 3 values under 2 column names"),
        (
            'text,truth\na,"4,5"\n',
            GRADES,
            "line 2, item '1': truth is '4,5'. Judge 'grades' has scores",
        ),
        ("text,truth\na,n/a\n", GRADES, "truth is 'n/a'"),
        ("text,truth\na,great\n", NAMED, "or one of poor, fair, good, or leave it empty"),
        ("text,truth\na,maybe\n", BINARY, "Use Pass (or 1), Fail (or 0), or leave it empty"),
        (
            "text,truth\na,5\n",
            BINARY,
            "line 2, item '1': truth is 5.0. Judge 'gate' has the verdicts",
        ),
        ("text,second,truth\na,b,tie\n", PAIRS, "Use first (or 1), second (or 0), or leave it"),
        ("text,note,truth,truth\na,x,5,4\n", GRADES, "column 'truth' is there twice"),
        ("text,Truth,TRUTH\na,5,4\n", GRADES, "columns 'Truth' and 'TRUTH' are both truth"),
    ],
)
def test_what_is_no_label_is_an_error_with_file_line_value_and_what_is_allowed(
    tmp_path: Path, content: str, judge: Judge, said: str
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(EvidenceError) as refused:
        labels(file, judge)
    assert str(file) in refused.value.message
    assert said in str(refused.value)


@pytest.mark.parametrize("value", ["true", "[5]", "NaN", "Infinity"])
def test_what_json_alone_can_say_is_no_label(tmp_path: Path, value: str) -> None:
    file = written(tmp_path, f'{{"text": "a", "truth": {value}}}', "items.jsonl")
    with pytest.raises(EvidenceError, match=r"line 1.*: truth is "):
        labels(file, GRADES)


@pytest.mark.parametrize("named", ["output.txt", "Output.text", "outptu.text", "text"])
def test_a_name_inside_an_object_is_offered_as_its_path(tmp_path: Path, named: str) -> None:
    rows = [json.dumps({"id": str(n), "output": {"text": f"t{n}", "tokens": n}}) for n in range(2)]
    file = written(tmp_path, "\n".join(rows), "items.jsonl")
    with pytest.raises(EvidenceError, match=r"Did you mean output\.text\?"):
        labels(file, GRADES, text=named)


def test_a_column_is_mapped_and_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "Body,human_score\na,5\nb,4\n")
    assert labels(file, GRADES, text="Body", truth="human_score") == [5, 4]
    read = read_item_file(file, {"text": "Body", "truth": "human_score"})
    assert "Labels: 2 of 2 items, from column 'human_score'." in read.said(GRADES)
    with pytest.raises(
        EvidenceError, match=r"'human_scor', and no row has.*Did you mean human_sco"
    ):
        read_item_file(file, {"text": "Body", "truth": "human_scor"})
    with pytest.raises(EvidenceError, match=r"there is no 'text'. The columns are 'Body', 'human_"):
        read_item_file(file)


def in_file(read: ItemFile) -> ItemFile:
    return replace(read, named_by=NamedBy("my.yaml"))


def test_what_is_said_counts_labels_and_names_columns_that_may_hold_some(tmp_path: Path) -> None:
    unread = read_item_file(written(tmp_path, "id,text,human_score,note\n7,a,5,x\n"))
    assert unread.said(GRADES) == (
        "Labels: none. No column 'truth'. Column 'human_score' may hold labels: to use it, add "
        "`--fields truth=human_score`."
    )
    assert "add `fields: {truth: human_score}` to my.yaml" in in_file(unread).said(GRADES)
    (tmp_path / "items.labels.jsonl").write_text("{}")
    assert "--labels" in unread.said(GRADES)
    assert "name it as `labels` in my.yaml" in in_file(unread).said(GRADES)
    verdicts = read_item_file(written(tmp_path, "text,truth\na,pass\nb,fail\nc,fail\nd,\nd,\n"))
    assert verdicts.said(BINARY).startswith(
        "Labels: 3 of 5 items, from column 'truth' (2 Fail, 1 Pass). 1 row repeats the texts of "
        "another; each text is judged once, and where judge and people are compared it counts as "
        "often as it was labelled."
    )


@pytest.mark.parametrize(
    "column",
    ["sys", "sys_name", "System ID", "systemId", "sytem", "generator", "model_name", "provider"],
)
def test_a_column_that_may_name_systems_is_said_not_to_be_read_as_one(
    tmp_path: Path, column: str
) -> None:
    rows = "".join(f"t{n},text {n},{'new' if n % 2 else 'old'}\n" for n in range(4))
    file = written(tmp_path, f"id,text,{column}\n{rows}")
    read = read_item_file(file)
    assert not any(item.system for item in read.items)
    option = shlex.quote(f"system={column}")
    assert f"is not read as one: to use it, add `--fields {option}`." in read.said(GRADES)
    assert f"add `fields: {{system: {column}}}` to" in in_file(read).said(GRADES)
    mapped = read_item_file(file, {"system": column})
    assert {item.system for item in mapped.items} == {"old", "new"}
    assert "may name systems" not in mapped.said(GRADES)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("system_prompt", "abab"),
        ("modeling", "abab"),
        ("model", "aaaa"),
        ("sys", ("You answer politely, and in at most three sentences in all. " * 2, "") * 2),
    ],
    ids=["another name", "another word", "one value", "texts"],
)
def test_other_columns_are_not_said_to_name_systems(
    tmp_path: Path, column: str, values: Sequence[str]
) -> None:
    rows = "".join(f'text {n},"{value}"\n' for n, value in enumerate(values))
    read = read_item_file(written(tmp_path, f"text,{column}\n{rows}"))
    assert "may name systems" not in read.said(GRADES)


@pytest.mark.parametrize(
    ("content", "name"),
    [('{"text": "a", "thruth": 5}', "items.jsonl"), ("text,thruth\na,5\n", "items.csv")],
)
def test_a_misspelt_label_column_is_refused(tmp_path: Path, content: str, name: str) -> None:
    file = written(tmp_path, content, name)
    with pytest.raises(EvidenceError, match="Did you mean column 'thruth'") as refused:
        read_item_file(file)
    assert str(file) in refused.value.message
    assert labels(file, GRADES, truth="thruth") == [5]
    # similar, but a word of its own
    assert labels(written(tmp_path, "text,youth,truthful\na,5,x\n"), GRADES) == [None]


@pytest.mark.parametrize(
    ("content", "name", "remedy"),
    [
        ("text,truth\na,5\n", "items.jsonl", "rename it to end in .csv"),
        ('{"text": "a", "id": 1}\n', "items.csv", "Rename the file to end in .jsonl"),
    ],
)
def test_a_file_under_the_suffix_of_another_format_says_so(
    tmp_path: Path, content: str, name: str, remedy: str
) -> None:
    with pytest.raises(EvidenceError) as refused:
        read_item_file(written(tmp_path, content, name))
    assert "line 1: not " in refused.value.message
    assert remedy in refused.value.remedy


def test_a_label_stands_for_its_text_in_every_row(tmp_path: Path) -> None:
    read = read_item_file(written(tmp_path, "text,truth\na,\nb,2\na,5\n"))
    assert [item.truth for item in read.items] == [5, 2, 5]
    assert [item.id for item in read.texts] == ["1", "2"]


@pytest.mark.parametrize(
    "content",
    [
        "\ufefftext,truth\r\na,5\r\nb,4\r\n",
        "text;truth\na;5\nb;4\n",
        "sep=;\ntext;truth\na;5\nb;4\n",
        "text\ttruth\na\t5\nb\t4\n",
        " Text , TRUTH \na,5\nb,4\n",
        "text,truth\n\na,5\n,\nb,4\n , \n",
        '"text","truth"\n"a","5"\n"b","4"\n',
    ],
)
def test_files_as_spreadsheets_write_them_are_read(tmp_path: Path, content: str) -> None:
    file = written(tmp_path, content)
    read = read_item_file(file)
    assert [item.text for item in read.items] == ["a", "b"]
    assert labels(file, GRADES) == [5, 4]


def test_quotes_and_lines_within_a_cell_stay(tmp_path: Path) -> None:
    file = written(tmp_path, 'text;truth\n"He said ""no"";\nand left";5\n')
    [item] = read_item_file(file).items
    assert (item.text, item.truth) == ('He said "no";\nand left', 5)


def test_a_file_that_is_neither_utf8_nor_marked_as_utf16_says_so(tmp_path: Path) -> None:
    with pytest.raises(JudgeGymError, match=r"not UTF-8.*Save it as UTF-8"):
        read_item_file(written(tmp_path, "text,truth\ncafé,5\n".encode("cp1252")))
    [item] = read_item_file(written(tmp_path, "text,truth\ncafé,5\n".encode("utf-16"))).items
    assert (item.text, item.truth) == ("café", 5)


@pytest.mark.parametrize(
    ("content", "judge", "known", "said"),
    [
        # Numbers are averaged, names counted; case is no difference.
        ("text,truth\na,5\nb,3\na,4\n", GRADES, [4.5, 3, 4.5], "5.0 (2) and 4.0 (4)"),
        ("text,truth\na,FAIL\na,fail\n", BINARY, [0, 0], ""),
        ("text,truth\na,Pass\na,fail\na,pass\n", BINARY, [1, 1, 1], "(4)"),
        ("text,truth\na,Pass\na,fail\n", BINARY, [None, None], "'Pass' (2) and 'fail' (3)"),
        ("text,truth\na,0\na,1\na,1\n", BINARY, [1, 1, 1], "0.0 (2)"),
    ],
)
def test_rows_of_one_text_may_have_labels_that_differ(
    tmp_path: Path, content: str, judge: Judge, known: list[float | None], said: str
) -> None:
    file = written(tmp_path, content)
    assert labels(file, judge) == known
    sentence = read_item_file(file).said(judge)
    assert ("labels that differ" in sentence) == bool(said)
    assert said in sentence


def test_each_label_of_a_text_is_checked(tmp_path: Path) -> None:
    file = written(tmp_path, "text,truth\na,Pass\na,pss\n")
    with pytest.raises(EvidenceError, match="line 3, item '2': truth is 'pss'"):
        labels(file, BINARY)


def test_numbers_are_read_as_spreadsheets_write_them(tmp_path: Path) -> None:
    content = "text;truth\n3,5;4,5\nb;'3\nc;2\n"
    file = written(tmp_path, content)
    assert labels(file, GRADES) == [4.5, 3, 2]
    # A text is not a number, whatever it looks like.
    assert read_item_file(file).items[0].text == "3,5"
    with pytest.raises(EvidenceError, match=r"decimal comma \(line 2\) and with a point \(line 3"):
        labels(written(tmp_path, "text;truth\na;4,5\nb;4.5\n"), GRADES)


def test_a_column_that_is_nearly_there_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "Agent reply,truth\na,5\n")
    with pytest.raises(EvidenceError, match=r"Did you mean Agent reply\?"):
        labels(file, GRADES, text="Agent Reply")


def test_the_line_of_a_header_may_be_written_as_a_number_in_a_judge_file(tmp_path: Path) -> None:
    """As an export with a title has it; both `fields` and `label_fields` take it."""
    (tmp_path / "answers.csv").write_text("Export of November;;\n\nNo;Answer;By\na;Fine.;x\n")
    (tmp_path / "labels.csv").write_text("Labels\nNo,Rater,Label\na,ann,yes\n")
    (tmp_path / "judge.yaml").write_text(
        """
kind: binary
name: own
model: sim/calm-1
task: Is it fine?
verdicts: [{name: "yes", description: It is.}, {name: "no", description: It is not.}]
gate:
  items: answers.csv
  fields: {header: 3, id: No, text: Answer}
  labels: labels.csv
  label_fields: {header: 2, item: No, annotator: Rater, label: Label}
"""
    )
    judge = load_judge(tmp_path / "judge.yaml")
    assert judge.gate is not None
    read = read_labelled(judge, judge.gate, "gate")
    assert [(item.id, item.text, judge.label(item)) for item in read.items] == [("a", "Fine.", 1)]


def test_one_id_of_two_systems_is_refused_with_what_tells_its_rows_apart(tmp_path: Path) -> None:
    items = tmp_path / "answers.csv"
    items.write_text("question,prompt,text\nq1,old,Yes.\nq1,new,No.\nq2,old,Maybe.\n")
    fields = {"id": "question", "system": "prompt"}
    with pytest.raises(EvidenceError) as refused:
        read_item_file(items, fields)
    assert "line 3" in str(refused.value)
    assert "line 2" in str(refused.value)
    assert "{prompt}-{question}" in refused.value.remedy
    read = read_item_file(items, fields | {"id": "{prompt}-{question}"})
    assert [item.id for item in read.items] == ["old-q1", "new-q1", "old-q2"]
    # Of one system twice, it is a row twice.
    items.write_text("question,prompt,text\nq1,old,Yes.\nq1,old,No.\n")
    with pytest.raises(EvidenceError, match="q1") as refused:
        read_item_file(items, fields)
    assert "system" not in refused.value.remedy
