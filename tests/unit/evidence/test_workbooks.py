"""Excel workbooks: sheets, formulas, merged cells, and archives that are none."""

import re
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from judge_gym.errors import JudgeGymError
from judge_gym.evidence import workbooks
from judge_gym.evidence.row import Layout
from judge_gym.evidence.rows import read_rows
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import read_labels
from judge_gym.recorded.formats import format_of

LABELS = [["item", "annotator", "label"], ["t1", "ann", 4], ["t1", "bo", 3.5], ["t2", "ann", "bad"]]


def book(file: Path, **sheets: list[list[Any]]) -> Path:
    written = Workbook()
    written.remove(written.active)
    for name, rows in sheets.items():
        sheet = written.create_sheet(name)
        for row in rows:
            sheet.append(row)
    written.save(file)
    return file


def changed(file: Path, part: str, old: str, new: str) -> Path:
    """Change a part of an archive."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def test_labels_and_items_of_a_workbook_are_read(tmp_path):
    file = book(tmp_path / "labels.xlsx", Labels=LABELS, Empty=[])
    assert format_of(file) == "rows"
    read = read_labels(file)
    assert [(row.item, row.annotator, row.labels) for row in read.rows] == [
        ("t1", "ann", ("4",)), ("t1", "bo", ("3.5",)), ("t2", "ann", ("bad",)),
    ]  # fmt: skip
    items = book(
        tmp_path / "items.xlsx", A=[["id", "text", "truth"], [1, "a", 0.5], [2, "b", None]]
    )
    assert [(one.id, one.text, one.truth) for one in read_item_file(items).items] == [
        ("1", "a", 0.5), ("2", "b", None),
    ]  # fmt: skip


def test_a_sheet_is_named_where_several_have_rows(tmp_path):
    file = book(tmp_path / "a.xlsx", One=LABELS, Two=[LABELS[0], ["t9", "cy", 1]])
    with pytest.raises(JudgeGymError, match="2 sheets with rows: 'One', 'Two'"):
        read_labels(file)
    assert [row.item for row in read_labels(file, {"rows": "Two"}).rows] == ["t9"]
    with pytest.raises(JudgeGymError, match="no such sheet") as refused:
        read_labels(file, {"rows": "two"})
    assert "'Two'" in refused.value.remedy


def test_cells_are_values_as_json_has_them(tmp_path):
    rows = [
        ["a", "b", "c", "d"],
        [True, date(2026, 3, 1), None, 2.0],
        [None, None, None, None],
        [1],
    ]
    file = book(tmp_path / "a.xlsx", S=rows)
    first, second = read_rows(file)
    assert first.values == {"a": True, "b": "2026-03-01T00:00:00", "c": None, "d": 2}
    assert (second.values["a"], second.values["d"], second.where) == (1, None, "sheet 'S', row 4")


def test_a_formula_has_its_stored_value_and_is_refused_without_one(tmp_path):
    file = book(tmp_path / "a.xlsx", S=[["item", "label"], ["t1", "=1+3"]])
    with pytest.raises(JudgeGymError, match="B2 is a formula whose value is not stored"):
        list(read_rows(file))
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(file) as archive:
        formula = re.search(r"<f>1\+3</f><v ?/?>(</v>)?", archive.read(sheet).decode())
    assert formula
    changed(file, sheet, formula[0], "<f>1+3</f><v>4</v>")
    assert [row.values["label"] for row in read_rows(file)] == [4]


def test_merged_cells_are_refused(tmp_path):
    file = book(tmp_path / "a.xlsx", S=LABELS)
    written = load_workbook(file)
    written["S"].merge_cells("A2:A3")
    written.save(file)
    with pytest.raises(JudgeGymError, match="cells A2:A3 are merged"):
        list(read_rows(file))


def test_a_sheet_without_names_needs_them(tmp_path):
    file = book(tmp_path / "a.xlsx", S=LABELS[1:])
    with pytest.raises(JudgeGymError, match="no names of columns"):
        read_labels(
            book(tmp_path / "b.xlsx", S=[["t1", "ann", 4], ["t2", "ann", 4], ["t3", "bo", 1]])
        )
    names = {"columns": "item,annotator,label"}
    assert len(read_labels(file, names).rows) == 3
    assert len(read_labels(book(file, S=LABELS), names).rows) == 3
    other_case = [["Item", "Annotator ", "label"], *LABELS[1:]]
    assert len(read_labels(book(file, S=other_case), names).rows) == 3


def test_a_value_beside_the_named_columns_is_a_fault(tmp_path):
    rows = list(read_rows(book(tmp_path / "a.xlsx", S=[["Survey", "2026"], *LABELS])))
    assert rows[0].fault == "3 values under 2 column names"


def test_archives_that_are_no_workbook_or_too_large_are_refused(tmp_path, monkeypatch):
    text = tmp_path / "text.xlsx"
    text.write_text("item,label\n")
    other = tmp_path / "other.xlsx"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "a")
    for file in (text, other):
        with pytest.raises(JudgeGymError, match="not an Excel workbook"):
            list(read_rows(file))
    entities = changed(
        book(tmp_path / "e.xlsx", S=LABELS), "xl/workbook.xml", "<workbook",
        '<!DOCTYPE x [<!ENTITY a "a">]><workbook',
    )  # fmt: skip
    with pytest.raises(JudgeGymError, match="declares entities"):
        list(read_rows(entities))
    monkeypatch.setattr(workbooks, "MAX_ARRAY_BYTES", 10_000)
    bomb = book(tmp_path / "bomb.xlsx", S=[*LABELS, *([["x" * 30_000]] * 3)])
    with pytest.raises(JudgeGymError, match="unpacks to more than 10,000 bytes"):
        list(read_rows(bomb))


def test_a_sheet_that_claims_a_million_rows_is_read_to_its_last_value(tmp_path):
    file = book(tmp_path / "a.xlsx", S=LABELS)
    changed(file, "xl/worksheets/sheet1.xml", 'ref="A1:C4"', 'ref="A1:XFD1048576"')
    assert len(list(read_rows(file, Layout(rows="S")))) == 3


def test_a_title_above_the_names_is_left_out_where_their_row_is_given(tmp_path):
    file = book(tmp_path / "a.xlsx", A=[["Labels of March"], [], *LABELS])
    with pytest.raises(JudgeGymError, match=r"row 1: one cell is filled.*header: 3"):
        read_labels(file)
    assert len(read_labels(file, {"header": "3"}).rows) == 3
    with pytest.raises(JudgeGymError, match="header is 2, and it has no such line"):
        read_labels(file, {"header": "2"})
    merged = load_workbook(file)
    merged.active.merge_cells("A1:C1")
    merged.save(file)
    with pytest.raises(JudgeGymError, match=r"A1:C1 are merged.*header: 2"):
        read_labels(file)
    assert len(read_labels(file, {"header": "3"}).rows) == 3
