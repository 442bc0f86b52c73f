"""Several files of one table: joined by a key, of JSON rows and of TREC's qrels."""

import json
import re
from pathlib import Path

import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.errors import DataFileError, JudgeGymError
from judge_gym.evidence.columns import ColumnError, ColumnSource, text_at
from judge_gym.recorded.content import Left, LeftRecord
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.joining import common_key, joined
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.recorded.proposing import propose


def tables(folder: Path, **rows: list[dict[str, object]]) -> RecordedFiles:
    paths = []
    for name, given in rows.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(given))
    return load_files(paths)[1]


def qrels(folder: Path, **lines: str) -> RecordedFiles:
    for name, text in lines.items():
        (folder / f"{name}.txt").write_text(text)
    kind, files = load_files([folder / f"{name}.txt" for name in lines])
    assert kind == "qrels"
    return files


def test_rows_of_an_item_are_one_and_rows_without_a_partner_are_named(tmp_path: Path) -> None:
    files = tables(
        tmp_path,
        people=[{"id": 1, "label": "a"}, {"id": 2, "label": "b"}, {"id": 3, "label": "b"}],
        judge=[{"id": 3, "score": "b"}, {"id": 1, "score": "b"}, {"id": 9, "score": "a"}],
    )
    assert common_key(files) == "id"
    [content] = joined(files, "id").contents.values()
    assert [row.values for row in content.rows] == [
        {"id": 1, "label": "a", "score": "b"},
        {"id": 3, "label": "b", "score": "b"},
    ]
    assert content.left == {
        Left.NO_PARTNER: [LeftRecord("2", "people.json"), LeftRecord("9", "judge.json")]
    }


def test_files_without_a_common_key_are_not_said_to_be_empty(tmp_path: Path) -> None:
    files = tables(tmp_path, gpt=[{"id": "A1", "score": 3}], claude=[{"id": "a1", "score": 3}])
    with pytest.raises(DataFileError) as error:
        joined(files, "id")
    assert "No id is in all of the files: 'A1' in gpt.json and 'a1' in claude.json" in str(
        error.value
    )


def test_names_with_dots_are_parts_of_a_path() -> None:
    scores = {"gpt-4": {"1": "x"}, "gpt-4.1": [{"v": 3}], "gpt-4.1 mini": 5, "a.b": {"c.d": 7}}
    row = {"scores": scores}
    for path, value in (
        ("scores.gpt-4.1[0].v", "3"),
        ("scores.gpt-4.1 mini", "5"),
        ("scores.a.b.c.d", "7"),
    ):
        assert text_at(path, ColumnSource(row, {})) == value
    assert text_at("scores.gpt-4.1", ColumnSource({"scores": {"gpt-4": {"1": "x"}}}, {})) == "x"
    for path in ("scores.gpt-4.1 mini.", "Clarity [1-5]", "Clarity [1"):  # names of no column here
        with pytest.raises(ColumnError, match=re.escape(f"there is no {path!r}")):
            text_at(path, ColumnSource({"Clarity ": 1, **row}, {}))
    with pytest.raises(ColumnError) as error:
        text_at("scores.gpt-4.2", ColumnSource({"scores": {"gpt-4.1": 1}}, {}))
    assert "there is no 'gpt-4'" in str(error.value)


def test_a_column_that_differs_is_named_after_its_file(tmp_path: Path) -> None:
    both = {"id": 1, "question": "Why?"}
    files = tables(tmp_path, first=[{**both, "score": 1}], second=[{**both, "score": 2}])
    [content] = joined(files, "id").contents.values()
    assert content.rows[0].values == {**both, "first score": 1, "second score": 2}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"id": 1}, {"id": 1}], "'1' is in line 1, too"),
        ([{"id": 1}, {"id": ""}], "it is empty"),
        ([{"id": 1}, {"key": 2}], "there is no 'id'"),
    ],
)
def test_a_row_that_the_key_does_not_tell_apart(
    tmp_path: Path, rows: list[dict[str, object]], told: str
) -> None:
    files = tables(tmp_path, bad=rows, good=[{"id": 1}])
    with pytest.raises(JudgeGymError) as error:
        joined(files, "id")
    assert told in error.value.message
    assert "bad.json" in error.value.message


def test_a_key_that_stands_twice_in_one_file_is_named(tmp_path: Path) -> None:
    once = [{"id": n, "one": "yes"} for n in range(8)]
    files = tables(tmp_path, first=once, second=[*once[:7], {"id": 3, "one": "no"}])
    with pytest.raises(JudgeGymError, match=r"in second\.json id has '3' in 2 rows"):
        propose(files)


@pytest.mark.parametrize("line", ["topic iteration document relevance", "# made by hand"])
def test_a_line_that_is_no_grade_is_named_in_qrels(tmp_path: Path, line: str) -> None:
    grades = "q1 0 p1 2\nq1 0 p2 1\n"
    if line.startswith("#"):
        [content] = qrels(tmp_path, run=f"{line}\n{grades}").contents.values()
        assert [row.line for row in content.rows] == [1, 2]
    else:
        with pytest.raises(JudgeGymError, match=r"run\.txt line 1: 'relevance' is no grade"):
            qrels(tmp_path, run=f"{line}\n{grades}")


def test_qrels_are_judges_in_columns_named_by_their_files(tmp_path: Path) -> None:
    lines = [(f"q{n % 3}", f"p{n}", n % 4) for n in range(48)]
    text = "".join(f"{q} 0 {p} {grade}\n" for q, p, grade in lines)
    off = text.replace("q1 0 p1 1", "q1 0 p1 5")
    found = propose(qrels(tmp_path, runA=text, runB=off, human=text), "qrels")
    recorded = Recorded.model_validate(found.mapping)
    assert {one.column for one in recorded.verdicts} == {"runA", "runB"}
    assert (recorded.item.people, recorded.item.question) == (("human",), "query")
    assert (recorded.format, recorded.join) == ("qrels", "{query}-{passage}")
    assert any(one.column == "runB" and "'5' (1)" in one.why for one in found.taken)


def test_a_line_of_qrels_that_is_cut(tmp_path: Path) -> None:
    with pytest.raises(JudgeGymError, match=r"cut\.txt line 2: 3 fields"):
        qrels(tmp_path, cut="q1 0 p1 2\nq1 0 p2\n")


def test_other_verdicts_in_any_of_the_files_are_other_judgements(tmp_path: Path) -> None:
    """What is imported of the first file is not taken for that of files with another second one."""
    mapping = {
        "name": "joined", "concept": "x", "source": "x", "judge": "{column}", "join": "id",
        "item": {"key": "id"}, "verdicts": ["one", "two"], "scale": {"lowest": 1, "highest": 3},
    }  # fmt: skip
    recorded = Recorded.model_validate(mapping)

    def key(first: int, second: int) -> str:
        one = [{"id": number, "one": 1 + number % first} for number in range(6)]
        two = [{"id": number, "two": 1 + number % second} for number in range(6)]
        files = joined(tables(tmp_path, first=one, second=two), "id")
        found = audited(files, recorded, stages_rubric(recorded))
        [window] = {experiment.window.key for experiment in found.experiments.values()}
        return window

    assert key(2, 2) == key(2, 2)
    assert len({key(2, 2), key(2, 3), key(3, 2)}) == 3
