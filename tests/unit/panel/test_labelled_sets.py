"""Labelled sets in files: what is read, and what is refused and why."""

import json
from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.judges.scale import Scale
from judge_gym.panel import load_panel
from judge_gym.panel.evaluating.labelled import read_labelled

SAMPLES = Path(__file__).parents[3] / "deployments" / "panels"
SCALE = Scale(lowest=1, highest=5)
ITEM = {"id": "one", "text": "Go.", "truth": 2}
ROW = {"id": "d", "title": "t", "truth": 4, "items": [ITEM, {"id": "two", "text": "Stay."}]}


def written(folder: Path, *rows: object, name: str = "set.jsonl") -> Path:
    file = folder / name
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_raters_see_a_document_without_its_true_scores(tmp_path: Path) -> None:
    (one,) = read_labelled(written(tmp_path, ROW), SCALE)
    assert (one.truth, [item.truth for item in one.items], one.simulated) == (4, [2, None], False)
    assert "truth" not in one.document.model_dump_json()
    assert [item.id for item in one.document.items] == ["one", "two"]


def test_the_sample_is_marked_and_has_the_scores_it_says() -> None:
    panel = load_panel(SAMPLES / "two-families.yaml")
    found = read_labelled(SAMPLES / "labelled.jsonl", panel.rubric.scale)
    assert len(found) == 40
    for document in found:
        assert document.simulated
        assert document.title.startswith("Sample, invented: ")
        assert sum(item.truth or 0 for item in document.items) == 3 * document.truth
    assert {document.truth for document in found} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": None}, r"line 2: truth is missing\. Give the true score, a whole number"),
        ({"truth": 6}, r"line 2: truth is 6\. Use a whole number from 1 to 5, the panel's scale"),
        ({"truth": 0}, r"line 2: truth is 0\. Use a whole number from 1 to 5"),
        ({"truth": "4"}, r"line 2: truth is '4'\. Use the true score"),
        ({"truth": 3.5}, r"line 2: truth is 3\.5\. Use the true score"),
        ({"items": [ITEM | {"truth": 9}]}, r"line 2: items\[0\]\.truth is 9\. Use a whole"),
        ({"items": [ITEM, ITEM]}, r"items need different ids; repeated: one"),
        ({"items": []}, r"items does not fit: a document has 1 to 50 items"),
        ({"items": "none"}, r"line 2: items"),
        ({"score": 3}, r"line 2: score is not a known key.* Use id, title, items, truth"),
        ({"id": "d"}, r"line 2: id is 'd', as on line 1"),
    ],
)
def test_a_document_that_cannot_be_used_is_named(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    second = ROW | {"id": "e"} | change
    file = written(tmp_path, ROW, {key: one for key, one in second.items() if one is not None})
    with pytest.raises(ConfigError, match=message) as refused:
        read_labelled(file, SCALE)
    assert str(refused.value).startswith(str(file))


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 1: the file cannot be read: not JSON"):
        read_labelled(written(tmp_path, "{"), SCALE)
    with pytest.raises(ConfigError, match="has no document"):
        read_labelled(written(tmp_path), SCALE)
    with pytest.raises(ConfigError, match=r"set\.txt is not a corpus file"):
        read_labelled(written(tmp_path, name="set.txt"), SCALE)
    with pytest.raises(ConfigError, match="does not exist"):
        read_labelled(tmp_path / "gone.jsonl", SCALE)
    with pytest.raises(ConfigError, match="fields are given"):
        read_labelled(written(tmp_path, ROW), SCALE, {"truth": "mark"})


def test_a_file_of_items_is_a_document_a_row(tmp_path: Path) -> None:
    rows = ("name,body,mark", "lamps,Dig.,4", "beds,Go.,2.0")
    file = written(tmp_path, *rows, name="set.csv")
    fields = {"id": "name", "text": "body", "truth": "mark"}
    found = read_labelled(file, SCALE, fields)
    assert [(one.id, one.truth, one.items[0].text) for one in found] == [
        ("lamps", 4, "Dig."), ("beds", 2, "Go."),
    ]  # fmt: skip
    objects = [
        {"name": "lamps", "body": "Dig.", "mark": 4},
        {"name": "beds", "body": "Go.", "mark": 2},
    ]
    array = written(tmp_path, json.dumps(objects), name="set.json")
    assert read_labelled(array, SCALE, fields) == found
    nested = written(tmp_path, json.dumps([ROW]), name="nested.json")
    assert read_labelled(nested, SCALE) == read_labelled(written(tmp_path, ROW), SCALE)
    wrong = written(tmp_path, "id,text,truth", "a b,Go.,3", name="wrong.csv")
    with pytest.raises(ConfigError, match=r"line 2: id does not fit"):
        read_labelled(wrong, SCALE)


@pytest.mark.parametrize("truth", ["", "6", "3.5", "good"])
def test_a_text_without_a_score_of_the_scale_is_named(tmp_path: Path, truth: str) -> None:
    file = written(tmp_path, "id,text,truth", "a,Go.,3", f"b,Stay.,{truth}", name="set.csv")
    with pytest.raises(ConfigError, match=r"line 3: truth is .*Use a whole number from 1 to 5"):
        read_labelled(file, SCALE)
