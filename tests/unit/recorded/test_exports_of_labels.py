"""Exports of labelling tools: lists of unequal length, withdrawn labels, mixed rows, UTF-16."""

import json
from pathlib import Path

import pytest

from judge_gym.annotations import AnnotationMapping, read_annotations
from judge_gym.errors import EvidenceError
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import read_labels
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.judged import Recordings
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.reading import read_recorded

MAPPING = {
    "name": "labels",
    "concept": "quality",
    "source": "made up",
    "stages": ["bad", "good"],
    "judge": "j",
    "item": {"key": "id"},
    "verdicts": ["judge"],
}


def read(folder: Path, content: object, name: str = "rows.json", **mapping: object) -> Recordings:
    file = folder / name
    if not file.exists():
        file.write_text(json.dumps(content), "utf-8")
    recorded = Recorded.model_validate({**MAPPING, **mapping})
    return read_recorded(recorded_files([file], recorded), recorded, 2)


def people(found: Recordings) -> list[tuple[int | None, ...]]:
    return [item.people for item in found.windows["labels"].items.values()]


def task(number: int, *labels: tuple[str, bool]) -> dict[str, object]:
    annotations = [
        {"was_cancelled": cancelled, "result": [{"value": {"choices": [label]}}] if label else []}
        for label, cancelled in labels
    ]
    return {"id": number, "judge": "good", "annotations": annotations}


PEOPLE = [f"annotations[{number}].result[0].value.choices[0]" for number in range(3)]


def test_a_missing_entry_of_a_list_is_no_label_and_a_cancelled_annotation_neither(tmp_path):
    rows = [
        task(1, ("bad", False)),
        task(2, ("good", False), ("bad", False), ("good", False)),
        task(3, ("", True), ("bad", False)),
        task(4, ("good", True), ("bad", False)),
    ]
    found = read(tmp_path, rows, item={"key": "id", "people": PEOPLE})
    assert people(found) == [(1, None, None), (2, 1, 2), (None, 1, None), (None, 1, None)]
    [(left, places)] = found.unread.not_counted.items()
    assert (left.why, list(places)) == ("was_cancelled is true", [f"4 ({PEOPLE[0]})"])


def test_an_entry_that_no_row_has_is_a_mistake(tmp_path):
    rows = [task(1, ("bad", False)), task(2, ("good", False), ("bad", False))]
    with pytest.raises(EvidenceError, match=r"annotations has at most 2 entries, so no row has"):
        read(tmp_path, rows, item={"key": "id", "people": PEOPLE})


def record(number: int, *responses: tuple[str, str]) -> dict[str, object]:
    given = [{"value": value, "status": status} for value, status in responses]
    return {"id": number, "judge": "good", "responses": {"quality": given}}


RESPONSES = [f"responses.quality[{number}].value" for number in range(2)]


@pytest.mark.parametrize(
    ("only", "labels"),
    [
        ({}, [(1, None), (2, None)]),
        ({"status": "submitted"}, [(1, None), (2, None)]),
        ({"status": ["submitted", "discarded"]}, [(1, 2), (2, None)]),
        ({"status": "draft"}, [(None, None), (None, 1)]),
    ],
)
def test_the_mapping_says_which_responses_count(tmp_path, only, labels):
    rows = [
        record(1, ("bad", "submitted"), ("good", "discarded")),
        record(2, ("good", "submitted"), ("bad", "draft")),
    ]
    found = read(tmp_path, rows, item={"key": "id", "people": RESPONSES, "only": only})
    assert people(found) == labels
    assert bool(found.unread.not_counted)


def test_a_second_game_that_is_missing_is_an_unreadable_verdict(tmp_path):
    games = [["good", "bad"], ["good"], ["bad", None], []]
    rows = [
        {"id": number, "games": [{"score": score} for score in scores]}
        for number, scores in enumerate(games)
    ]
    verdicts = ["games[0].score", {"column": "games[1].score", "reversed": True}]
    found = read(tmp_path, rows, verdicts=verdicts)
    (given,) = found.windows["labels"].judgements.values()
    assert [one.choice for one in given] == [(2,), (2,), (2,), None, (1,), None, None, None]
    assert [len(places) for places in found.unread.empty.values()] == [3]


ROWS = [{"id": 1, "judge": "good"}, {"id": 2, "judge": "bad"}]


def test_rows_may_stand_under_a_key(tmp_path):
    found = read(tmp_path, {"meta": {"n": 2}, "data": {"items": ROWS}}, rows="data.items")
    assert list(found.windows["labels"].items) == ["1", "2"]


def test_rows_under_a_key_that_is_not_there_name_what_is(tmp_path):
    with pytest.raises(EvidenceError) as refused:
        read(tmp_path, {"data": {"items": ROWS}}, rows="data.rows")
    assert "there is no 'rows'" in refused.value.message
    assert "data has 'items'" in refused.value.remedy


def test_an_object_without_the_key_of_its_rows_names_it(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps({"data": {"items": ROWS}}, indent=1), "utf-8")
    with pytest.raises(EvidenceError, match=r"`rows: data\.items`"):
        read(tmp_path, None)


def test_a_fault_below_the_key_names_its_place(tmp_path):
    with pytest.raises(EvidenceError, match=r"data\[1\]: there is no 'judge'"):
        read(tmp_path, {"data": [ROWS[0], {"id": 2}]}, rows="data")


MIXED = [
    {"spec": {"name": "x"}},
    {"type": "sampling", "id": 1, "sampled": "ok"},
    {"type": "sampling", "id": 1, "sampled": "ok"},
    {"type": "metrics", "id": 1, "judge": "good"},
    {"type": "metrics", "id": 2, "judge": "bad"},
    {"final_report": 0.5},
]


def test_rows_without_the_chosen_column_are_left(tmp_path):
    found = read(tmp_path, MIXED, only={"type": "metrics"})
    assert list(found.windows["labels"].items) == ["1", "2"]
    assert found.unread.others == 4


def test_a_chosen_column_that_no_row_has_is_a_mistake(tmp_path):
    with pytest.raises(EvidenceError, match="there is no 'typ'"):
        read(tmp_path, MIXED, only={"typ": "metrics"})


def test_an_unlisted_value_names_the_key_that_counts_it(tmp_path):
    rows = [{"id": number, "judge": judge} for number, judge in enumerate(["good", "None", "-1"])]
    with pytest.raises(EvidenceError) as refused:
        read(tmp_path, rows)
    assert "unlisted: unreadable" in refused.value.remedy
    found = read(tmp_path, rows, unlisted="unreadable")
    assert list(found.unread.unlisted) == ["None", "-1"]


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.json", "rows.jsonl"])
def test_a_file_of_a_spreadsheet_in_utf_16_is_read(tmp_path, name, encoding, mark):
    rows = [{"id": "é1", "judge": "good"}, {"id": "é2", "judge": "bad"}]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = {
        "rows.csv": "id,judge\né1,good\né2,bad\n",
        "rows.json": json.dumps(rows, ensure_ascii=False),
        "rows.jsonl": lines,
    }[name]
    (tmp_path / name).write_bytes((mark + text).encode(encoding))
    assert list(read(tmp_path, None, name).windows["labels"].items) == ["é1", "é2"]


SCORES = """\
id,trace,source,name,value,author
1,t0,ANNOTATION,correctness,0,ann
2,t0,ANNOTATION,tone,0,ann
3,t0,EVAL,correctness,1,gpt
4,t1,ANNOTATION,correctness,1,ann
"""
LANGFUSE = {
    "source": "made up",
    "columns": {"item": "trace", "annotator": "author", "kind": "source", "label": "value"},
    "people": ["ANNOTATION"],
    "judges": ["EVAL"],
}


def labels(folder: Path, **mapping: object) -> list[tuple[str, str, str, tuple[str, ...]]]:
    file = folder / "scores.csv"
    file.write_text(SCORES, "utf-8")
    chosen = AnnotationMapping.model_validate({**LANGFUSE, **mapping})
    (read_labels,) = read_annotations(file, chosen)
    return [(row.item, row.annotator, row.kind, row.labels) for row in read_labels.rows]


def test_one_of_several_scores_is_chosen_by_only(tmp_path):
    assert labels(tmp_path, only={"name": "correctness"}) == [
        ("t0", "ann", "person", ("0",)),
        ("t0", "gpt", "judge", ("1",)),
        ("t1", "ann", "person", ("1",)),
    ]


def test_a_label_that_is_there_twice_names_only(tmp_path):
    with pytest.raises(EvidenceError) as refused:
        labels(tmp_path)
    assert "`only: {name: tone}`" in refused.value.remedy


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ({"name": "Tone"}, "no row that `only` reads: name is 'correctness', 'tone'"),
        ({"nam": "tone"}, "there is no 'nam'"),
        ({"name": "tone", "source": "ANNOTATION", "trace": "t9"}, "trace is 't0', 't1'"),
    ],
)
def test_only_that_reads_no_row_says_what_is_there(tmp_path, only, said):
    with pytest.raises(EvidenceError, match=said):
        labels(tmp_path, only=only)


def test_labels_of_a_file_are_those_of_its_mapping_whatever_their_case(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("item,annotator,label\na,Bo,FAIL\nb,BO, Pass\n")
    mapping = AnnotationMapping.model_validate(
        {"source": "made up", "default": {"labels": ["fail", "pass"]}}
    )
    [found] = read_annotations(file, mapping)
    assert [row.labels for row in found.rows] == [("fail",), ("pass",)]
    assert found.names_alike == "'Bo' (1) and 'BO' (1)"


def test_all_repeated_labels_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("item,annotator,label\na,bo,x\na,bo,x\nb,bo,x\nb,bo,y\nb,bo,y\n")
    with pytest.raises(EvidenceError) as caught:
        read_annotations(file, AnnotationMapping.model_validate({"source": "made up"}))
    assert "line 3: label is 'x', which 'bo' gave item 'a'" in caught.value.message
    assert "line 6: label is 'y', which 'bo' gave item 'b'" in caught.value.message


@pytest.mark.parametrize(
    ("read_it", "key"),
    [(read_item_file, "--fields rows=data"), (read_labels, "--label-fields rows=data")],
)
def test_a_page_of_an_api_in_one_line_says_how_to_name_its_rows(tmp_path, read_it, key):
    file = tmp_path / "page.json"
    file.write_text(json.dumps({"data": [{"id": "a", "text": "b"}], "meta": {}}))
    with pytest.raises(EvidenceError, match="there is no") as caught:
        read_it(file, {})
    assert key in caught.value.remedy
