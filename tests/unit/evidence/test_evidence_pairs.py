"""Pairs of answers from files: columns, winners, and what is no pair."""

import csv
import json
from pathlib import Path

import pytest

from judge_gym.design.window import PairsSource, Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence.pairs import Pair, PairFiles, pair_from
from judge_gym.evidence.sources import read_files
from support.references import SHARED

ROW = {"prompt": "Add 1 and 1.", "first": "It is 2.", "second": "<!-- no --> It\n\n\nis 3."}


def written(folder: Path, *rows: dict) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path, **fields: str) -> list:
    return list(PairFiles(path, fields).items())


@pytest.mark.parametrize(
    ("winner", "truth"),
    [
        ("first", "first"),
        (1, "first"),
        ("A>B", "first"),
        ("Response_B", "second"),
        (2.0, "second"),
        (" b ", "second"),
        ("tie", "tie"),
        ("A=B", "tie"),
        ("", None),
        (None, None),
    ],
)
def test_winners_in_every_notation(tmp_path: Path, winner, truth) -> None:
    (document,) = read(written(tmp_path, ROW | {"winner": winner}))
    assert document.truth == truth


def test_a_pair_keeps_its_texts_as_they_were_written(tmp_path: Path) -> None:
    source = PairsSource(path=written(tmp_path, ROW), digest="d")
    collected = read_files(Window(country="any", source=source))
    (document,) = collected.documents
    assert pair_from(document.text) == Pair(**ROW)
    assert document.title == ROW["prompt"]


def test_a_pair_that_is_too_long_is_dropped_and_never_cut(tmp_path: Path) -> None:
    long = ROW | {"first": "word " * 400}
    window = Window(country="any", source=PairsSource(path=written(tmp_path, ROW, long)))
    collected = read_files(window, max_characters=1000)
    assert [one.reason for one in collected.dropped] == ["too_large"]
    assert len(collected.documents) == 1


def test_other_columns_and_csv(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "response_A", "response_B", "better"])
        writer.writerow(["Add.", "2", "3", "response_a"])
    (document,) = read(path, prompt="task", winner="better")
    assert (pair_from(document.text).first, document.truth) == ("2", "first")


@pytest.mark.parametrize(
    ("row", "fields", "says"),
    [
        (ROW | {"winner": "0"}, {}, "winner '0' is not known"),
        (ROW | {"first": ""}, {}, "no text for first"),
        ({"prompt": "x", "first": "y"}, {}, "no text for second"),
        (ROW, {"winner": "better"}, "no column 'better'"),
    ],
)
def test_what_is_no_pair_is_an_error_with_its_line(tmp_path: Path, row, fields, says) -> None:
    with pytest.raises(EvidenceError, match=says):
        read(written(tmp_path, row), **fields)


@pytest.mark.parametrize(
    ("file", "fields", "pairs"),
    [
        ("judgebench_sample.jsonl", {"category": "source"}, None),
        ("llmbar/items.jsonl", {}, 419),
    ],
)
def test_published_sets_are_read_as_they_are(file: str, fields, pairs) -> None:
    path = SHARED / "data" / file
    if not path.exists():
        pytest.skip("needs ../shared/data")
    documents = read(path, **fields)
    assert {one.truth for one in documents} == {"first", "second"}
    assert all(one.category for one in documents)
    assert pairs is None or len(documents) == pairs
