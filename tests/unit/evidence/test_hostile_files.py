"""Files that are damaged, huge or made to exhaust a reader: one error names file and limit."""

import gzip
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from judge_gym.errors import JudgeGymError
from judge_gym.evidence import workbooks
from judge_gym.evidence.row import Layout
from judge_gym.evidence.rows import read_rows
from judge_gym.recorded import formats
from judge_gym.recorded.formats import load_files

HEADER = "item,judge,score,label\n"
ROWS = "".join(f"q{n},{judge},{1 + n % 5},{1 + n % 5}\n" for n in range(12) for judge in "ab")
SPARSE = 2_000_000_000
"""Bytes of a file that takes a few blocks of the disk."""


def refused(file: Path) -> str:
    """The error of a file whose format is told by its content; it names the file."""
    with pytest.raises(JudgeGymError) as error:
        load_files([file])
    assert str(file) in error.value.message
    return error.value.message


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.json", "", ""),
        ("a.jsonl", "", ""),
        ("a.json", '{"rows":', "}"),
        ("a.json", '[{"item": "a", "more":', "}]"),
        ("a.jsonl", '{"item": "a", "more":', "}"),
        ("a.json", '{"version": 1, "results":', "}"),
    ],
)
def test_a_hundred_thousand_levels_are_too_deep(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    file = tmp_path / name
    file.write_text(f"{before}{'[' * 100_000}{']' * 100_000}{after}\n")
    said = refused(file)
    assert "nested too deeply: at most about 1,000" in said
    assert "recursion" not in said


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("9" * 5_000, "line 4: not JSON: a number has too many digits: at most 4,300"),
        ("1e400", None),
        ("NaN", None),
        (f'"{"9" * 12_000_000}"', "line 4: longer than 10,000,000 bytes"),
    ],
)
def test_numbers_and_texts_have_a_size(tmp_path: Path, score: str, said: str | None) -> None:
    file = tmp_path / "a.jsonl"
    lines = [f'{{"item": "q{n}", "judge": "a", "score": {n % 5}}}' for n in range(6)]
    lines[3] = lines[3].replace(": 3}", f": {score}}}")
    file.write_text("\n".join(lines))
    if said:
        assert said in refused(file)
    else:  # no number, which whoever takes scores refuses
        assert len(list(read_rows(file))) == 6


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl"])
def test_a_byte_that_no_text_has_is_named_by_its_line(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(f"{HEADER}{ROWS}q9\0,a,1,1\n")
    assert "line 26: a NUL byte" in refused(file)
    if name != "a.jsonl":
        with pytest.raises(JudgeGymError, match=r"line 26: .*a NUL byte"):
            list(read_rows(file))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_that_a_mark_or_the_zeros_tell_are_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(HEADER + ROWS, encoding=encoding)
    assert [row.values["item"] for row in read_rows(file)][:3] == ["q0", "q0", "q1"]


def test_two_encodings_in_one_file_are_named_by_the_first_line_that_differs(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    lines = ("qü,a,3,3\n".encode(), "qé,a,3,3\n".encode("cp1252"), "qö,a,3,3\n".encode())
    file.write_bytes(b"".join((HEADER.encode(), *lines)))
    assert "line 3: field 'item' is not UTF-8: the byte 0xE9, which is 'é'" in refused(file)


def with_sheet(folder: Path, added: str) -> Path:
    """A workbook of these rows, with this XML at the end of its sheet."""
    book = Workbook()
    for line in (HEADER + ROWS).splitlines():
        book.active.append(line.split(","))
    plain, file = folder / "plain.xlsx", folder / "a.xlsx"
    book.save(plain)
    with (
        zipfile.ZipFile(plain) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in source.namelist():
            text = source.read(part).decode()
            target.writestr(part, text.replace("</sheetData>", f"{added}</sheetData>"))
    return file


@pytest.mark.parametrize(
    "added",
    [
        f'<row><c t="inlineStr"><is><t>{"x" * 12_000_000}</t></is></c></row>',
        "<row><c><v>1</v></c></row>" * 450_000,
    ],
)
def test_a_sheet_that_inflates_a_thousand_times_is_not_unpacked(tmp_path: Path, added: str) -> None:
    file = with_sheet(tmp_path, added)
    assert file.stat().st_size < 60_000
    assert "sheet1.xml inflates from " in refused(file)


def test_a_sheet_has_no_more_rows_than_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = with_sheet(tmp_path, "<row><c><v>1</v></c></row>")
    monkeypatch.setattr(workbooks, "MAX_LINES", 25)
    assert "sheet 'Sheet': more than 25 rows" in refused(file)


@pytest.mark.parametrize(("name", "most"), [("MAX_CELLS", 40), ("MAX_CHARACTERS", 100)])
def test_a_table_too_large_to_be_told_is_read_by_a_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(HEADER + ROWS)
    monkeypatch.setattr(formats, name, most)
    assert "more than" in refused(file)
    assert len(list(read_rows(file))) == 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.xlsx", "a.eval", "a.txt"])
def test_two_gigabytes_are_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    with file.open("wb") as handle:
        handle.write((HEADER + ROWS).encode())
        handle.truncate(SPARSE)
    refused(file)
    packed = tmp_path / "a.json.gz"
    with gzip.open(packed, "wb", 1) as handle:
        handle.write(b"[")
        for _ in range(600):
            handle.write(b" " * 1_000_000)
    assert "longer than 500,000,000 bytes" in refused(packed)


@pytest.mark.slow
def test_fifty_thousand_rows_of_sixty_columns_fit_a_gigabyte(tmp_path: Path) -> None:
    named = [*(f"gpt-{n}" for n in range(3)), "human 1", "human 2"]
    lines = [",".join(["id", "text", *named, *(f"extra {n}" for n in range(53))])]
    for n in range(50_000):
        scores = (str(1 + (n + shift) % 5) for shift in (0, 0, 1, 0, 2))
        others = (f"{n * place % 9973 / 9973:.4f}" for place in range(53))
        lines.append(",".join([f"x{n}", f"answer {n}", *scores, *others]))
    file = tmp_path / "wide.csv"
    file.write_text("\n".join(lines))
    program = Path(sys.executable).with_name("judge-gym")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    ended = subprocess.run(
        [program, "audit", file, "--yes"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "3 judges, 50,000 items" in ended.stdout


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_names_in_two_lines_are_told_with_what_to_type(tmp_path: Path, suffix: str) -> None:
    table = [["id", "text", "judges", "", "people"], ["", "", "gpt-4", "claude", "ann"]]
    table += [[f"a{n}", f"text {n}", "yes", "no", "yes"] for n in range(4)]
    file = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        file.write_text("\n".join(map(",".join, table)))
    else:
        book = Workbook()
        for line in table:
            book.active.append(line)
        book.save(file)
    with pytest.raises(JudgeGymError) as error:
        list(read_rows(file))
    assert "the names may stand in two lines" in error.value.message
    assert "--columns id,text,gpt-4,claude,ann --header 2" in error.value.remedy
    typed = Layout(columns=("id", "text", "gpt-4", "claude", "ann"), header=2)
    assert [row.values["claude"] for row in read_rows(file, typed)] == ["no"] * 4


@pytest.mark.parametrize("second", ["1,a,,4,", ",x,5,4,1"])
def test_a_row_with_gaps_is_no_second_line_of_names(tmp_path: Path, second: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f",id,gpt,claude,human\n{second}\n2,b,4,,3\n3,c,2,3,\n")
    assert len(list(read_rows(file))) == 3


def test_a_comma_after_each_object_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"item": "a", "judge": "x", "score": 1},\n' * 3)
    assert "a comma after the object: remove it" in refused(file)
