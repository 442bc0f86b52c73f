"""People's labels in a file beside judgements: long, wide, qrels, of systems, and mistakes."""

import json
from pathlib import Path

import pytest

from judge_gym.analysis.recorded import Audited, audited
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.lab.recorded_answers import Repeats
from judge_gym.recorded.content import Left, LeftRecord
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.judged import RecordedWindow, Recordings
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.recorded.reading import read_recorded
from judge_gym.report.file_cautions import file_cautions

BASIS = {
    "name": "made-up", "concept": "quality", "source": "made up", "judge_column": "judge",
    "item": {"key": "id"}, "verdicts": ["score"], "scale": {"lowest": 1, "highest": 5},
}  # fmt: skip
JUDGED = "id,judge,score\nq1,j,4\nq1,k,2\nq2,j,3\nq2,k,5\nq3,j,1\nq3,k,1\n"


def mapping(folder: Path, labels: dict[str, object], judged: str, **more: object) -> Recorded:
    (folder / "judged.csv").write_text(judged, "utf-8")
    return Recorded.model_validate({**BASIS, "labels": labels, **more})


def read(
    folder: Path, labels: dict[str, object], judged: str = JUDGED, **more: object
) -> Recordings:
    recorded = mapping(folder, labels, judged, **more)
    files = recorded_files([folder / "judged.csv"], recorded)
    return read_recorded(files, recorded, stages_rubric(recorded).scale_size)


def window(found: Recordings) -> RecordedWindow:
    return found.windows["made-up"]


def cautions(found: Recordings) -> list[str]:
    return list(file_cautions(Repeats(), found.unread, mapped=True))


LONG = {"file": "labels.csv", "person": "who", "label": "label"}


def test_several_rows_an_item_are_labels_of_several_people(tmp_path):
    (tmp_path / "labels.csv").write_text(
        "id,who,label\nq1,ann,4\nq1,bo,5\nq2,ann,3\nq2,bo,\nq9,ann,1\n"
    )
    found = read(tmp_path, LONG)
    assert window(found).labels == {"q1": {"ann": [4], "bo": [5]}, "q2": {"ann": [3]}}
    assert found.unread.left == {Left.NO_PARTNER: [LeftRecord("q9", "labels.csv")]}
    assert found.unread.unlabelled == []
    # With two people there is no known answer, and distances are from their mean.
    assert [item.truth for item in window(found).items.values()] == [None] * 3
    assert [item.number for item in window(found).items.values()] == [4.5, 3, None]


def test_a_file_of_labels_of_other_items_is_a_mistake(tmp_path):
    (tmp_path / "labels.csv").write_text("id,who,label\nQ-1,ann,4\nQ-2,bo,5\n")
    with pytest.raises(JudgeGymError, match=r"none of 2 rows .* 'Q-1' in the first.* 'q1'"):
        read(tmp_path, LONG)


def test_names_of_people_that_differ_only_in_case_are_told_and_can_be_one(tmp_path):
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,Ann,4\nq2,ann,5\nq1,bo,3\nq3,ANN,3\n")
    found = read(tmp_path, LONG)
    assert found.unread.people == {"Ann": 1, "ann": 1, "ANN": 1, "bo": 1}
    assert any("different people" in one for one in cautions(found))
    found = read(tmp_path, LONG, names={"ann": "Ann", "ANN": "Ann"})
    assert window(found).labels == {"q1": {"Ann": [4], "bo": [3]}, "q2": {"Ann": [5]},
                                    "q3": {"Ann": [3]}}  # fmt: skip
    assert not any("different people" in one for one in cautions(found))


@pytest.mark.parametrize(("status", "told"), [("rejected", True), ("approved", False)])
def test_a_status_that_says_which_labels_count_is_told_where_nobody_reads_it(
    tmp_path, status, told
):
    (tmp_path / "labels.csv").write_text(f"id,who,label,status\nq1,ann,4,ok\nq2,bo,5,{status}\n")
    found = read(tmp_path, LONG)
    assert found.unread.not_given == ({"status": {status: 1}} if told else {})
    said = [one for one in cautions(found) if "status of the labels" in one]
    assert len(said) == told
    found = read(tmp_path, {**LONG, "only": {"status": "ok"}})
    assert window(found).labels == {"q1": {"ann": [4]}}
    assert not found.unread.not_given


def test_one_person_of_another_scale_is_named(tmp_path):
    items = range(12)
    labels = [f"q{n},{who},{label}" for n in items
              for who, label in (("Ann", 1 + n % 5), ("Bo", n % 2))]  # fmt: skip
    (tmp_path / "labels.csv").write_text("\n".join(["id,who,label", *labels]))
    judged = "id,judge,score\n" + "".join(f"q{n},j,{1 + n % 5}\n" for n in items)
    found = read(tmp_path, LONG, judged, scale={"lowest": 0, "highest": 5})
    [said] = [one for one in cautions(found) if "of two scales" in one]
    assert said.startswith("label of Bo has no value above 1")


def test_a_column_for_each_person_is_the_same(tmp_path):
    (tmp_path / "labels.csv").write_text("id,ann,bo\nq1,4,5\nq2,3,\n")
    found = read(tmp_path, {"file": "labels.csv", "people": ["ann", "bo"]})
    assert window(found).labels == {"q1": {"ann": [4], "bo": [5]}, "q2": {"ann": [3]}}


def test_labels_of_one_person_are_the_known_answers(tmp_path):
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,ann,4\nq2,ann,3.5\n")
    for labels in (LONG, {"file": "labels.csv", "label": "label"}):
        found = read(tmp_path, labels)
        items = window(found).items.values()
        assert [(item.truth, item.number) for item in items] == [(4, 4), (4, 3.5), (None, None)]
        assert found.unread.unlabelled == ["q3"]


def test_grades_in_qrels_are_joined_by_a_key_of_two_columns(tmp_path):
    (tmp_path / "qrels.txt").write_text("7 0 d1 1\n7 0 d2 4\n")
    judged = "query,doc,judge,score\n7,d1,j,1\n7,d2,j,4\n"
    labels = {
        "file": "qrels.txt", "columns": ["query", "q0", "passage", "grade"],
        "item": "{query}-{passage}", "label": "grade",
    }  # fmt: skip
    found = read(tmp_path, labels, judged, item={"key": "{query}-{doc}"})
    assert [(one.key, one.truth) for one in window(found).items.values()] == [
        ("7-d1", 1), ("7-d2", 4),
    ]  # fmt: skip


def test_labels_under_a_key_are_filtered_and_withdrawn_ones_do_not_count(tmp_path):
    rows = [
        {"id": "q1", "by": {"name": "ann"}, "name": "quality", "given": [{"value": 4}]},
        {"id": "q1", "by": {"name": "ann"}, "name": "tone", "given": [{"value": 1}]},
        {"id": "q2", "by": {"name": "ann"}, "name": "quality",
         "given": [{"value": 1, "status": "discarded"}]},
    ]  # fmt: skip
    (tmp_path / "labels.json").write_text(json.dumps({"data": rows}))
    labels = {
        "file": "labels.json", "rows": "data", "only": {"name": "quality"}, "person": "by.name",
        "label": "given[0].value",
    }  # fmt: skip
    found = read(tmp_path, labels)
    assert window(found).labels == {"q1": {"ann": [4]}}
    assert [one.why for one in found.unread.not_counted] == ["status is discarded"]


SYSTEMS = "id,model,judge,score\nq1,a,j,4\nq1,b,j,2\nq2,a,j,3\nq2,b,j,1\n"


def test_labels_are_of_the_item_of_their_system(tmp_path):
    item = {"key": "id", "system": "model"}
    (tmp_path / "labels.csv").write_text("id,model,who,label\nq1,a,ann,5\nq1,b,ann,1\n")
    found = read(tmp_path, LONG, SYSTEMS, item=item)
    assert window(found).labels == {"q1 · a": {"ann": [5]}, "q1 · b": {"ann": [1]}}
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,ann,5\n")
    with pytest.raises(JudgeGymError, match="there is no 'model'"):
        read(tmp_path, LONG, SYSTEMS, item=item)
    (tmp_path / "labels.csv").write_text("id,model,who,label\nq1,c,ann,5\n")
    with pytest.raises(JudgeGymError, match="model is 'c', and no judgement of this item"):
        read(tmp_path, LONG, SYSTEMS, item=item)


@pytest.mark.parametrize(
    ("content", "labels", "said"),
    [
        ("id,who,label\nq1,ann,4\nq1,ann,4\n", LONG, "line 2 has a label of item 'q1' by 'ann'"),
        ("id,label\nq1,4\nq1,5\n", {"file": "labels.csv", "label": "label"}, "line 2 has a label"),
        ("id,who,label\nq1,ann,7\n", LONG, "label is '7'"),
        ("id,who,label\nq1,,4\n", LONG, "who is empty"),
        ("key,who,label\nq1,ann,4\n", LONG, "there is no 'id'"),
        ("q1,ann,4\nq2,ann,4\nq3,bo,3\n", LONG, "is a row of data"),
    ],
)
def test_a_label_that_does_not_fit_is_one_error_with_its_place(tmp_path, content, labels, said):
    (tmp_path / "labels.csv").write_text(content)
    with pytest.raises(JudgeGymError, match=said):
        read(tmp_path, labels)


def test_several_labels_of_a_named_person_are_a_set(tmp_path):
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,ann,4\nq1,ann,5\n")
    found = read(tmp_path, LONG)
    assert window(found).labels == {"q1": {"ann": [4, 5]}}
    assert window(found).items["q1"].truth is None


@pytest.mark.parametrize(
    "labels",
    [{"file": "l.csv"}, {"file": "l.csv", "label": "a", "people": ["b"]},
     {"file": "l.csv", "people": ["b"], "person": "who"}],
)  # fmt: skip
def test_a_file_of_labels_is_long_or_wide(tmp_path, labels):
    with pytest.raises(ValueError, match=r"label and people|person comes with label"):
        mapping(tmp_path, labels, JUDGED)


def test_a_missing_file_of_labels_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"labels\.csv does not exist"):
        read(tmp_path, LONG)


def test_the_file_of_labels_in_a_folder_is_no_file_of_judgements(tmp_path):
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,ann,4\n")
    recorded = mapping(tmp_path, LONG, JUDGED)
    assert [file.name for file in recorded_files([tmp_path], recorded).paths] == ["judged.csv"]


def figures(found: Audited) -> dict[tuple[str, str], float | None]:
    return {
        (row.metric, str(row.scope.get("judge", ""))): row.estimate
        for row in found.rows
        if "system" not in row.scope
    }


def test_an_audit_by_a_file_of_labels_equals_one_by_a_column(tmp_path):
    judged = [(f"q{number}", judge, 1 + (number * step) % 5)
              for number in range(40) for judge, step in (("j", 1), ("k", 3))]  # fmt: skip
    label = {f"q{number}": 1 + (number * 7) % 5 for number in range(40)}
    (tmp_path / "labels.csv").write_text(
        "id,who,label\n" + "".join(f"{key},ann,{value}\n" for key, value in label.items())
    )
    beside = "id,judge,score\n" + "".join(f"{k},{j},{s}\n" for k, j, s in judged)
    within = "id,judge,score,ann\n" + "".join(f"{k},{j},{s},{label[k]}\n" for k, j, s in judged)
    found = []
    for content, recorded in (
        (beside, mapping(tmp_path, LONG, beside)),
        (within, Recorded.model_validate({**BASIS, "item": {"key": "id", "people": ["ann"]}})),
    ):
        (tmp_path / "judged.csv").write_text(content)
        files = recorded_files([tmp_path / "judged.csv"], recorded)
        found.append(figures(audited(files, recorded, stages_rubric(recorded))))
    assert found[0] == pytest.approx(found[1], nan_ok=True)
    assert any(metric == "accuracy" for metric, _ in found[0])


def test_a_file_of_labels_among_those_of_judgements_says_where_it_belongs(tmp_path):
    (tmp_path / "judged.csv").write_text(JUDGED)
    (tmp_path / "labels.csv").write_text("id,who,label\nq1,ann,4\nq1,bo,5\n")
    kind, files = load_files([tmp_path / "judged.csv", tmp_path / "labels.csv"])
    with pytest.raises(ConfigError, match=r"labels\.csv has no 'score'") as refused:
        derived(files, kind, Options())
    assert "`labels: {file: ..., person: ..., label: ...}`" in refused.value.remedy


def test_scores_and_labels_above_the_scale_ask_first_where_it_ends(tmp_path):
    """Two columns of one row and another have a 5, on a scale of 1 to 4: one remedy of each."""
    judged = "id,judge,score,ann\nq1,j,5,5\nq2,j,5,1\nq3,j,2,5\n"
    (tmp_path / "judged.csv").write_text(judged)
    scale, item = {"lowest": 1, "highest": 4}, {"key": "id", "people": ["ann"]}
    recorded = Recorded.model_validate({**BASIS, "scale": scale, "item": item})
    files = recorded_files([tmp_path / "judged.csv"], recorded)
    with pytest.raises(JudgeGymError) as refused:
        read_recorded(files, recorded, stages_rubric(recorded).scale_size)
    first, second, *others = refused.value.remedies
    assert first == "If the scale ends at 5, write `highest: 5`."
    assert second == "The scale is 1 to 4."
    assert len(others) == len(set(others)) == 2
