"""Tables without a line of names, and with other separators than commas."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from judge_gym.annotations import AnnotationMapping, read_annotations
from judge_gym.benchmarks.files import Benchmark, read_benchmark
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.evidence.row import Layout
from judge_gym.evidence.rows import read_rows
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import read_labels

NAMES = ("item", "judge", "score")
ROWS = [["q1", "alpha", "4"], ["q1", "beta", "2"], ["q2", "alpha", "4"]]


def written(folder: Path, name: str, separator: str, *lines: list[str]) -> Path:
    file = folder / name
    file.write_text("".join(f"{separator.join(line)}\n" for line in lines), "utf-8")
    return file


def values(file: Path, layout: Layout) -> list[list[object]]:
    return [[row.values[name] for name in layout.columns] for row in read_rows(file, layout)]


@pytest.mark.parametrize(
    ("name", "separator"),
    [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("a.txt", "  "),
     ("a.txt", "|"), ("run", "   ")],
)  # fmt: skip
@pytest.mark.parametrize("header", [[], [["Item ", "judge", "Score"]]])
def test_named_columns_are_read_with_and_without_the_line_of_names(
    tmp_path, name, separator, header
):
    if separator.isspace() and header:
        header = [["Item", "judge", "Score"]]
    file = written(tmp_path, name, separator, *header, *ROWS)
    assert values(file, Layout(columns=NAMES)) == ROWS


def test_a_list_of_json_for_each_row_is_read_by_the_names(tmp_path):
    lines, array = tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_text("\n".join(map(json.dumps, ROWS)))
    array.write_text(json.dumps(ROWS))
    for file in (lines, array):
        assert values(file, Layout(columns=NAMES)) == ROWS
        assert "no `columns` name" in next(read_rows(file)).fault


def test_a_row_of_another_length_is_a_fault(tmp_path):
    file = written(tmp_path, "a.csv", ",", *ROWS, ["q3", "beta"])
    assert [row.fault for row in read_rows(file, Layout(columns=NAMES))][3] == (
        "2 values under 3 column names"
    )


def test_decimal_commas_are_read_below_names_that_are_given(tmp_path):
    file = written(tmp_path, "a.csv", ";", ["q1", "alpha", "4,5"], ["q2", "alpha", "3"])
    first, _ = read_rows(file, Layout(columns=NAMES))
    assert first.number(file, "score", first.values["score"]) == "4.5"


@pytest.mark.parametrize(
    "lines",
    [
        ROWS,
        [["17", "good"], ["18", "bad"], ["19", "good"]],  # a number that counts on
        [["17", "0.25"], ["3", "0.5"], ["9", "1"]],
        [["q17", "A"], ["q19", "B"], ["q2", "A"]],  # ids made alike
        [["x", "alpha", "good"], ["y", "alpha", "good"], ["z", "beta", "bad"]],
    ],
)
def test_a_first_line_of_data_is_an_error_that_says_how_to_name_columns(tmp_path, lines):
    file = written(tmp_path, "a.csv", ",", *lines)
    with pytest.raises(JudgeGymError) as refused:
        list(read_rows(file))
    assert "line 1" in refused.value.message
    assert "`columns: [item, judge, score]`" in refused.value.remedy


def test_names_that_are_there_again_are_named_with_their_line(tmp_path):
    """Two files that were put one after the other."""
    file = written(tmp_path, "a.csv", ",", list(NAMES), *ROWS, list(NAMES), *ROWS)
    with pytest.raises(JudgeGymError, match=r"line 5: the first line again") as refused:
        list(read_rows(file))
    assert "remove this one" in refused.value.remedy


@pytest.mark.parametrize(
    "lines",
    [
        [["item", "1", "2", "3"], ["q1", "1", "2", "3"], ["q2", "2", "2", "1"]],  # raters
        [["item", "2023", "2025"], ["q1", "4", "5"], ["q2", "3", "5"]],
        [["Other", "id"], ["Other", "x"], ["Blue", "y"]],  # a name that is also a value
        [["item", "gpt-4"], ["q1", "A"], ["q2", "B"]],
        [["item", ""], ["q1", ""], ["q2", ""]],
        [["item", "score"], ["q1", "4"]],
        [["0", "1"], ["q1", "1"], ["q2", "0"]],  # what pandas writes for columns without names
    ],
)
def test_names_that_look_like_data_are_names(tmp_path, lines):
    file = written(tmp_path, "a.csv", ",", *lines)
    assert [list(row.values) for row in read_rows(file)] == [lines[0]] * (len(lines) - 1)


def test_remarks_of_a_table_with_spaces_are_no_rows(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("item judge score\n# a remark\n\nq1 alpha 4\n")
    assert [(row.line, row.values["score"]) for row in read_rows(file)] == [(4, "4")]


LABELLED = [["t1", "ann", "4"], ["t1", "bo", "2"], ["t2", "ann", "4"]]


def test_labels_items_annotations_and_benchmarks_take_the_same_names(tmp_path):
    labels = written(tmp_path, "labels.csv", ",", *LABELLED)
    read = read_labels(labels, {"columns": "item,annotator,label"})
    assert [(row.item, row.annotator, row.labels) for row in read.rows] == [
        (item, who, (label,)) for item, who, label in LABELLED
    ]
    (given,) = read_annotations(
        labels,
        AnnotationMapping.model_validate(
            {"source": "x", "columns": ["item", "annotator", "label"]}
        ),
    )
    assert [row.labels for row in given.rows] == [("4",), ("2",), ("4",)]
    items = written(tmp_path, "items.csv", ",", ["t1", "a text"], ["t2", "another"])
    texts = read_item_file(items, {"columns": "id,text"}).items
    assert [(item.id, item.text) for item in texts] == [("t1", "a text"), ("t2", "another")]
    scores = written(tmp_path, "known.tsv", "\t", ["t1", "a text", "4"], ["t2", "another", "2"])
    benchmark = Benchmark.model_validate(
        {"name": "b", "source": "x", "key": ["id"], "columns": ["id", "text", "grade"],
         "score": {"text": "text", "truth": "grade", "lowest": 1, "highest": 5}}
    )  # fmt: skip
    assert [item.score for item in read_benchmark(scores, benchmark)] == [4, 2]


NESTED = {
    "data": [
        {"id": "t1", "by": {"name": "ann"}, "value": {"score": 4}, "kind": "quality", "text": "a"},
        {"id": "t1", "by": {"name": "ann"}, "value": {"score": 1}, "kind": "tone", "text": "b"},
        {"id": "t2", "by": {"name": "ann"}, "value": {"score": 2}, "kind": "quality", "text": "c"},
        {"about": "the export"},
    ]
}


def test_labels_items_annotations_and_benchmarks_take_the_same_paths_and_filters(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(NESTED))
    read = read_labels(
        file,
        {"rows": "data", "only.kind": "quality", "item": "id", "annotator": "by.name",
         "label": "value.score"},
    )  # fmt: skip
    assert [(row.item, row.annotator, row.labels) for row in read.rows] == [
        ("t1", "ann", ("4",)), ("t2", "ann", ("2",)),
    ]  # fmt: skip
    items = read_item_file(
        file, {"rows": "data", "only.kind": "quality|other", "truth": "value.score"}
    )
    assert [(item.id, item.truth) for item in items.items] == [("t1", 4), ("t2", 2)]
    (given,) = read_annotations(
        file,
        AnnotationMapping.model_validate(
            {"source": "x", "rows": "data", "only": {"kind": "quality"},
             "columns": {"item": "id", "annotator": "by.name", "label": "value.score"}}
        ),
    )  # fmt: skip
    assert [row.labels for row in given.rows] == [("4",), ("2",)]
    benchmark = Benchmark.model_validate(
        {"name": "b", "source": "x", "key": ["id"], "rows": "data", "only": {"kind": "quality"},
         "score": {"text": "text", "truth": "value.score", "lowest": 1, "highest": 5}}
    )  # fmt: skip
    assert [item.score for item in read_benchmark(file, benchmark)] == [4, 2]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"only.kind": "colour"}, "kind is 'quality', 'tone'"),
        ({"only.kin": "quality"}, "there is no 'kin'"),
        ({"label": "value.mark"}, "no row has such a column"),
    ],
)
def test_a_key_that_fits_no_row_says_what_is_there(tmp_path, fields, said):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(NESTED["data"][:3]))
    named = {"item": "id", "annotator": "by.name", "label": "value.score"}
    with pytest.raises(JudgeGymError, match=said):
        read_labels(file, {**named, **fields})


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.txt.gz"])
def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, name):
    """300 MB without a line end pack into 300 kB: no more than the longest row is unpacked."""
    file = tmp_path / name
    file.write_bytes(gzip.compress(b"item judge\n") + 30 * gzip.compress(b"x" * 10_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(JudgeGymError, match="a line is longer than 10,000,000 characters"):
            list(read_rows(file))
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()


def test_rows_of_a_table_in_text_are_a_mistake(tmp_path):
    file = written(tmp_path, "a.csv", ",", ["id", "text"], ["1", "a"])
    with pytest.raises(JudgeGymError, match="has no keys or sheets"):
        list(read_rows(file, Layout(rows="data")))


@pytest.mark.parametrize("columns", [["a", "a"], ["a", ""]])
def test_names_that_are_there_twice_or_empty_are_refused(columns):
    with pytest.raises(ValueError, match="has a name twice, or one that is empty"):
        AnnotationMapping.model_validate({"source": "x", "columns": columns})


@pytest.mark.parametrize("columns", ["item,annotator,item", "item,,label", "item, item ,label"])
def test_names_in_a_field_that_are_there_twice_or_empty_are_refused(tmp_path, columns):
    """Of a list of JSON, the second of two columns of one name would hide the first."""
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, LABELLED)))
    for read in (read_labels, read_item_file):
        with pytest.raises(ConfigError, match=r"columns is .*twice, or one that is empty"):
            read(file, {"columns": columns})


def test_a_field_that_does_not_exist_is_still_refused(tmp_path):
    file = written(tmp_path, "labels.csv", ",", *LABELLED)
    with pytest.raises(ConfigError, match="'col' is not a field of a label"):
        read_labels(file, {"col": "item"})


TABLE = [["id", "alpha", "text"], ["t1", "good", "a; b"], ["t2", "bad", "c"]]


@pytest.mark.parametrize(
    ("name", "separator", "above", "line"),
    [
        ("a.csv", ",", "Results of March\n", 2),
        ("a.csv", ",", "Results of March,,\n\n", 3),
        ("a.csv", "\t", '"Results, of March"\n', 2),
        ("a.tsv", "\t", "Results of March\n", 2),
        ("a.txt", "|", "Results of March\n", 2),
    ],
)
def test_a_title_is_named_and_left_out_where_the_line_of_names_is_given(
    tmp_path, name, separator, above, line
):
    file = tmp_path / name
    file.write_text(above + "".join(f"{separator.join(row)}\n" for row in TABLE))
    with pytest.raises(JudgeGymError, match="may be a title") as raised:
        list(read_rows(file))
    assert f"header: {line}" in raised.value.remedy
    rows = list(read_rows(file, Layout(header=line)))
    assert [list(row.values.values()) for row in rows] == TABLE[1:]
    assert rows[0].line == line + 1
    if name != "a.txt":  # no file of items
        [first, _] = read_item_file(file, {"header": str(line)}).items
        assert (first.id, first.text) == ("t1", "a; b")


@pytest.mark.parametrize(
    "text",
    [
        ",score\n0,5\n1,4\n",  # an index of pandas
        "text\nhello; world\nas; it; is\n",
        "text\na\nb\n",
        "x y\n0,5 0,7\n0,2 0,1\n",
    ],
)
def test_one_name_above_values_is_no_title(tmp_path, text):
    file = tmp_path / ("a.txt" if text.startswith("x y") else "a.csv")
    file.write_text(text)
    assert [row.fault for row in read_rows(file)] == ["", ""]


def test_names_that_stand_twice_can_be_given_anew(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,judge,judge,text\nt1,good,bad,a\n")
    with pytest.raises(JudgeGymError, match="'judge' is there twice") as raised:
        list(read_rows(file))
    assert "--columns 'id,judge,judge 2,text' --header 1" in raised.value.remedy
    [row] = read_rows(file, Layout(columns=("id", "judge", "judge 2", "text"), header=1))
    assert row.values == {"id": "t1", "judge": "good", "judge 2": "bad", "text": "a"}


@pytest.mark.parametrize(
    ("name", "content", "letter"),
    [
        ("a.csv", "id,text\n1,café\n", "é"),
        ("a.csv", "id,naïve\n1,a\n", "ï"),
        ("a.jsonl", '{"id": 1, "text": "“so”"}\n', "“"),
        ("a.json", '[{"id": 1, "text": "10 €"}]', "€"),
    ],
)
def test_windows_1252_is_named_with_how_to_convert_it(tmp_path, name, content, letter):
    file = tmp_path / name
    file.write_bytes(content.encode("cp1252"))
    for read in (read_item_file, read_labels):
        with pytest.raises(JudgeGymError, match=f"not UTF-8: .* {letter!r} in Windows-1252") as one:
            read(file)
        assert "iconv -f CP1252 -t UTF-8" in one.value.remedy


def test_a_header_that_is_not_there_or_no_number_is_refused(tmp_path):
    file = written(tmp_path, "a.csv", ",", *TABLE)
    with pytest.raises(JudgeGymError, match="header is 9, and it has no such line"):
        list(read_rows(file, Layout(header=9)))
    with pytest.raises(ConfigError, match="header is 'two'"):
        read_item_file(file, {"header": "two"})


def test_a_misspelt_place_or_label_field_is_answered_with_the_name_that_is_there(tmp_path):
    nested = tmp_path / "a.json"
    nested.write_text(json.dumps({"data": {"items": [{"text": "a"}]}}))
    with pytest.raises(JudgeGymError, match=r"there is no 'itmes'\. Did you mean items"):
        read_item_file(nested, {"rows": "data.itmes"})
    labels = written(
        tmp_path, "labels.csv", ",", ["item", "annotater", "label"], ["t1", "ann", "4"]
    )
    with pytest.raises(JudgeGymError, match="Did you mean annotater"):
        read_labels(labels, {"annotator": "anotater"})
