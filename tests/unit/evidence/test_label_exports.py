"""Labels of people as Label Studio, Argilla, Langfuse and Phoenix export them."""

import json
from pathlib import Path
from typing import Any

import pytest

from judge_gym.annotations import AnnotationMapping, read_annotations
from judge_gym.errors import JudgeGymError
from judge_gym.judges.label_files import LabelFile, read_labels

Labels = list[tuple[str, str, tuple[str, ...]]]


def exported(folder: Path, rows: Any, name: str = "export.json") -> Path:
    file = folder / name
    text = rows if isinstance(rows, str) else json.dumps(rows)
    file.write_text(text, "utf-8")
    return file


def labels(read: LabelFile) -> Labels:
    return [(row.item, row.annotator, row.labels) for row in read.rows]


def task(number: int, *annotations: dict[str, Any], key: str = "annotations") -> dict[str, Any]:
    return {"id": number, "data": {"id": f"t{number}", "text": "a"}, key: list(annotations)}


def annotation(who: Any, *given: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    results = [{"from_name": name, "type": "any", "value": value} for name, value in given]
    return {"completed_by": who, "result": results, "updated_at": "2026-03-01T10:00:00Z", **more}


GOOD, BAD = ("quality", {"choices": ["good"]}), ("quality", {"choices": ["bad"]})


@pytest.mark.parametrize("key", ["annotations", "completions"])
def test_annotations_of_label_studio_are_labels_of_their_people(tmp_path, key):
    file = exported(
        tmp_path,
        [
            task(1, annotation({"id": 1, "email": "ann@x.org"}, GOOD), annotation(2, BAD), key=key),
            task(2, annotation(2, BAD, was_cancelled=True), annotation(3), key=key),
            task(3, annotation(2, ("quality", {"choices": ["good", "bad"]})), key=key),
        ],
    )
    read = read_labels(file)
    assert labels(read) == [
        ("t1", "ann@x.org", ("good",)), ("t1", "2", ("bad",)), ("t3", "2", ("bad", "good")),
    ]  # fmt: skip
    assert read.left == {"was_cancelled is true": 1, "no label": 1}
    assert "1 left out: was_cancelled is true" in read.said()
    cancelled = read_labels(file, {"only.was_cancelled": "true"})
    assert labels(cancelled) == [("t2", "2", ("bad",))]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ({"rating": 4}, "4"),
        ({"number": 3.5}, "3.5"),
        ({"selected": "left"}, "left"),
        ({"taxonomy": [["food", "eggs"]]}, "food / eggs"),
    ],
)
def test_each_control_of_label_studio_has_its_value(tmp_path, value, label):
    file = exported(tmp_path, [task(1, annotation(1, ("q", value)))])
    assert labels(read_labels(file)) == [("t1", "1", (label,))]


def test_a_later_annotation_of_a_person_counts(tmp_path):
    later = annotation(1, GOOD, updated_at="2026-03-02T10:00:00Z")
    read = read_labels(exported(tmp_path, [task(1, annotation(1, BAD), later)]))
    assert labels(read) == [("t1", "1", ("good",))]
    assert len(read.earlier) == 1


def test_labels_of_two_questions_are_refused_until_one_is_chosen(tmp_path):
    file = exported(tmp_path, [task(1, annotation(1, GOOD, ("tone", {"rating": 2})))])
    with pytest.raises(JudgeGymError, match="labels of 2 questions: 'quality', 'tone'") as refused:
        read_labels(file)
    assert "only.question=quality" in refused.value.remedy
    assert labels(read_labels(file, {"only.question": "tone"})) == [("t1", "1", ("2",))]
    by_criterion = read_labels(file, {"criterion": "question"})
    assert [(row.criterion, row.labels) for row in by_criterion.rows] == [
        ("quality", ("good",)), ("tone", ("2",)),
    ]  # fmt: skip
    with pytest.raises(JudgeGymError, match="question is 'quality', 'tone'"):
        read_labels(file, {"only.question": "Tone"})


def test_a_task_number_is_no_item(tmp_path):
    unnamed = {"id": 7, "data": {"text": "a", "ticket": "t9"}, "annotations": [annotation(1, GOOD)]}
    file = exported(tmp_path, [unnamed])
    with pytest.raises(JudgeGymError, match="there is no column 'item'"):
        read_labels(file)
    assert labels(read_labels(file, {"item": "data.ticket"})) == [("t9", "1", ("good",))]


MIN = {"id": 3, "ticket": "t1", "annotator": 2, "annotation_id": 5, "lead_time": 1.5,
       "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-01T10:00:00Z"}  # fmt: skip


@pytest.mark.parametrize(
    ("quality", "label"),
    [
        ("good", ("good",)),
        ({"choices": ["good", "kind"]}, ("good", "kind")),
        ([{"rating": 4}], ("4",)),
        (4, ("4",)),
    ],
)
def test_json_min_of_label_studio_has_its_label_in_a_named_column(tmp_path, quality, label):
    file = exported(tmp_path, [{**MIN, "quality": quality}])
    with pytest.raises(JudgeGymError, match="there is no column 'label'"):
        read_labels(file, {"item": "ticket"})
    fields = {"item": "ticket", "label": "quality"}
    assert labels(read_labels(file, fields)) == [("t1", "2", label)]


def test_the_csv_of_label_studio_is_read_as_its_json_min(tmp_path):
    rows = (
        "ticket,id,quality,annotator,annotation_id,created_at,updated_at,lead_time\n"
        't1,1,"{""choices"": [""good"", ""kind""]}",ann@x.org,1,,2026-03-01T10:00:00Z,2\n'
        "t2,2,good,ann@x.org,2,,2026-03-01T10:00:00Z,2\n"
    )
    file = exported(tmp_path, rows, "export.csv")
    assert labels(read_labels(file, {"item": "ticket", "label": "quality"})) == [
        ("t1", "ann@x.org", ("good", "kind")), ("t2", "ann@x.org", ("good",)),
    ]  # fmt: skip


RESPONSES = [
    {"value": "good", "user_id": "u1", "status": "submitted"},
    {"value": "bad", "user_id": "u2", "status": "discarded"},
    {"value": "bad", "user_id": "u3", "status": "draft"},
]
ARGILLA: dict[str, dict[str, Any]] = {
    "records of 2.x": {"id": "r1", "fields": {}, "metadata": {}, "suggestions": {},
                       "responses": {"quality": RESPONSES}},
    "datasets of 2.x": {"id": "r1", "text": "a", "quality.responses": ["good", "bad", "bad"],
                        "quality.responses.users": ["u1", "u2", "u3"],
                        "quality.responses.status": ["submitted", "discarded", "draft"]},
    "records of 1.x": {"fields": {}, "external_id": "r1", "responses": [
        {"user_id": one["user_id"], "status": one["status"],
         "values": {"quality": {"value": one["value"]}}} for one in RESPONSES]},
    "datasets of 1.x": {"external_id": "r1", "text": "a", "quality": RESPONSES},
}  # fmt: skip


@pytest.mark.parametrize("form", ARGILLA)
def test_submitted_responses_of_argilla_are_labels(tmp_path, form):
    file = exported(tmp_path, [ARGILLA[form]])
    read = read_labels(file)
    assert labels(read) == [("r1", "u1", ("good",))]
    assert read.left == {"status is discarded": 1, "status is draft": 1}
    every = read_labels(file, {"only.status": "submitted|discarded"})
    assert [row.annotator for row in every.rows] == ["u1", "u2"]


def test_responses_without_a_status_count_and_the_item_may_be_in_the_metadata(tmp_path):
    record = {"id": "9f-uuid", "fields": {}, "metadata": {"item": "t1"},
              "responses": {"quality": [{"value": 4, "user_id": "u1"}]}}  # fmt: skip
    file = exported(tmp_path, [record])
    assert labels(read_labels(file)) == [("t1", "u1", ("4",))]


def score(number: int, source: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"s{number}", "traceId": f"tr{number}", "name": "correctness", "value": value,
            "source": source, "dataType": "NUMERIC", "authorUserId": "ann",
            "timestamp": "2026-03-01T10:00:00.000Z", "comment": None, **more}  # fmt: skip


def test_annotation_scores_of_langfuse_are_labels_and_those_of_judges_are_not(tmp_path):
    rows = [
        score(1, "ANNOTATION", 1),
        score(2, "ANNOTATION", 0, dataType="CATEGORICAL", stringValue="poor"),
        score(3, "EVAL", 1),
        score(4, "API", 1),
    ]
    file = exported(tmp_path, {"data": rows, "meta": {"page": 1}})
    read = read_labels(file, {"rows": "data"})
    assert labels(read) == [("tr1", "ann", ("1",)), ("tr2", "ann", ("poor",))]
    assert read.left == {"source is EVAL": 1, "source is API": 1}
    asked = read_labels(file, {"rows": "data", "only.source": "API"})
    assert labels(asked) == [("tr4", "ann", ("1",))]


def test_scores_of_langfuse_from_blob_storage_have_other_names(tmp_path):
    row = {"id": "s", "trace_id": "tr1", "name": "q", "value": 3, "source": "ANNOTATION",
           "data_type": "NUMERIC", "author_user_id": "ann",
           "timestamp": "2026-03-01 10:00:00.000000"}  # fmt: skip
    file = exported(tmp_path, json.dumps(row), "scores.jsonl")
    assert labels(read_labels(file)) == [("tr1", "ann", ("3",))]


def test_a_score_of_a_step_is_of_the_step_and_not_of_its_trace(tmp_path):
    given = score(1, "ANNOTATION", 1, observationId="o1")
    file = exported(tmp_path, [given])
    assert labels(read_labels(file)) == [(f"{given['traceId']}:o1", "ann", ("1",))]
    assert labels(read_labels(file, {"item": "observationId"})) == [("o1", "ann", ("1",))]


def test_only_scores_of_models_are_no_labels(tmp_path):
    file = exported(tmp_path, [score(1, "EVAL", 1)])
    with pytest.raises(JudgeGymError, match=r"no label of a person: source is EVAL \(1\)"):
        read_labels(file)


PHOENIX = {"id": "a", "span_id": "sp1", "name": "quality", "annotator_kind": "HUMAN",
           "source": "APP", "user_id": "ann",
           "updated_at": "2026-03-01T10:00:00+00:00"}  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"result": {"label": "good", "score": None, "explanation": "why"}},
        {"label": "good", "score": None, "explanation": "why"},
        {"result.label": "good", "result.score": "", "result.explanation": "why"},
    ],
)
def test_human_annotations_of_phoenix_are_labels(tmp_path, given):
    llm = {**PHOENIX, "annotator_kind": "LLM", "source": "API", "label": "bad"}
    by_program = {**PHOENIX, "span_id": "sp2", "source": "API"}
    rows = [{**one, **given} for one in (PHOENIX, llm, by_program)]
    read = read_labels(exported(tmp_path, rows))
    assert labels(read) == [("sp1", "ann", ("good",)), ("sp2", "ann", ("good",))]
    assert read.rows[0].note == "why"
    assert read.left == {"annotator_kind is LLM": 1}


def test_an_annotation_with_a_number_only_is_that_number(tmp_path):
    file = exported(tmp_path, [{**PHOENIX, "result": {"label": None, "score": 0.5}}])
    assert labels(read_labels(file)) == [("sp1", "ann", ("0.5",))]


def test_annotations_for_a_sweep_are_read_from_the_same_exports(tmp_path):
    cancelled = annotation(3, BAD, was_cancelled=True)
    file = exported(tmp_path, [task(1, annotation(1, GOOD), annotation(2, BAD), cancelled)])
    (read,) = read_annotations(file, AnnotationMapping(source="made up"))
    assert [(row.annotator, row.labels) for row in read.rows] == [("1", ("good",)), ("2", ("bad",))]
