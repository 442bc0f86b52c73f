"""Cells of CSV files that a spreadsheet would compute, and what they are when read again."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.formats import cell, text_of_cell
from judge_gym.judges import new_label, read_labels
from judge_gym.judges.label_files import write_labels
from judge_gym.report.files import csv_of

COMPUTED = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", " =1", "\r=1", "'=1", "-"]


@pytest.mark.parametrize("text", COMPUTED)
def test_text_that_would_be_computed_is_not(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-0.5", "+3", "-1e-05", "a=b", "", "'", "don't", -1, 0.5, None])
def test_numbers_and_other_texts_are_unchanged(value):
    assert cell(value) == value


@given(
    st.one_of(st.text(), st.sampled_from(COMPUTED).flatmap(lambda one: st.text().map(one.__add__)))
)
def test_a_text_is_read_as_it_was(text):
    assert text_of_cell(cell(text)) == text


def test_rows_of_a_report_are_safe():
    rows = list(csv.DictReader(csv_of([{"item": "=1+1", "score": -1.5}]).splitlines()))
    assert rows == [{"item": "'=1+1", "score": "-1.5"}]


def test_labels_are_safe_in_csv_and_read_as_they_were(tmp_path: Path):
    rows = [new_label("=t1", "@ann", "+good", note="-\tcheck"), new_label("t2", "bo", -1)]
    file = tmp_path / "labels.csv"
    write_labels(file, rows)
    written = list(csv.DictReader(file.open(newline="", encoding="utf-8")))
    assert [written[0][name] for name in ("item", "annotator", "label", "note")] == [
        "'=t1", "'@ann", "'+good", "'-\tcheck",
    ]  # fmt: skip
    read = read_labels(file).rows
    assert [(one.item, one.annotator, one.labels) for one in read] == [
        ("=t1", "@ann", ("+good",)), ("t2", "bo", ("-1",)),
    ]  # fmt: skip
