"""Files a sweep names: plain data with lines, corpora known by their contents."""

import hashlib
from pathlib import Path

import pytest

from judge_gym.design.config import corpus_digest, corpus_files, read_tree
from judge_gym.design.rubric import load_rubric
from judge_gym.errors import ConfigError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_digest_of_a_file_is_that_of_its_contents(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"text": "x"}\n')

    digest = hashlib.sha256(file.read_bytes()).hexdigest()

    assert corpus_digest(file) == digest
    assert corpus_digest(file.rename(tmp_path / "b.jsonl")) == digest


def test_the_digest_of_a_folder_is_that_of_its_corpus_files(tmp_path: Path) -> None:
    folder = tmp_path / "corpora"
    write(folder / "b.csv", "text\ny\n")
    write(folder / "a.jsonl", '{"text": "x"}\n')
    before = corpus_digest(folder)
    write(folder / "notes.txt", "not evidence")
    write(folder / ".hidden" / "c.csv", "text\nz\n")

    assert corpus_digest(folder) == before
    assert [file.name for file in corpus_files(folder)] == ["a.jsonl", "b.csv"]
    # The documents of a folder are read in the order of its names, so the order counts too.
    (folder / "a.jsonl").rename(folder / "c.jsonl")
    assert corpus_digest(folder) != before
    write(folder / "deeper" / "d.csv", "text\nw\n")
    assert [file.name for file in corpus_files(folder)] == ["b.csv", "c.jsonl", "d.csv"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corpora/none.csv", "none.csv does not exist"),
        ("corpora/notes.txt", "notes.txt is not a corpus file"),
        ("empty", "empty holds no corpus file"),
    ],
)
def test_what_is_no_corpus_is_told(tmp_path: Path, name: str, message: str) -> None:
    write(tmp_path / "corpora" / "notes.txt", "")
    (tmp_path / "empty").mkdir()

    with pytest.raises(ConfigError, match=message):
        corpus_digest(tmp_path / name)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("4", 4),
        ("0x1f", 31),
        ("010", 10),
        ("-0.5", -0.5),
        ("1e-1", 0.1),
        ("true", True),
        ("yes", "yes"),
        ("~", None),
        ("2026-01-05", "2026-01-05"),
        ('"4"', "4"),
        ("[a, {b: [1]}]", ["a", {"b": [1]}]),
        (">-\n  one\n  two\n\n  three", "one two\nthree"),
        ("|-\n  one\n  two", "one\ntwo"),
        (r'"a bell\a"', "a bell\a"),
    ],
)
def test_values_are_read_as_yaml_1_2(tmp_path: Path, written: str, value: object) -> None:
    found = read_tree(write(tmp_path / "f.yaml", f"key: {written}\n")).plain()["key"]

    assert found == value
    assert type(found) is type(value)


def test_every_value_knows_its_line_and_key(tmp_path: Path) -> None:
    tree = read_tree(write(tmp_path / "f.yaml", "a:\n  b:\n    - x\n    - c: 1\n      d: 2\n"))
    entry = tree.items["a"].items["b"].entries[1]

    assert (entry.place.line, entry.place.key) == (4, "a.b[1]")
    assert (entry.items["d"].place.line, entry.items["d"].place.key) == (5, "a.b[1].d")


def test_json_rubrics_are_read_like_yaml_ones(tmp_path: Path) -> None:
    stages = (
        '[{"label": "No", "criteria": ["a", "b", "c"]},\n'
        '\t{"label": "Yes", "criteria": ["d", "e", "f"]}]'
    )
    json_file = write(tmp_path / "r.json", f'{{\n\t"stages": {stages}\n}}')
    yaml_file = write(
        tmp_path / "r.yaml",
        "stages:\n- {label: No, criteria: [a, b, c]}\n- {label: Yes, criteria: [d, e, f]}\n",
    )

    assert load_rubric(json_file) == load_rubric(yaml_file)


def test_a_rubric_file_with_a_wrong_key_is_told_with_its_line(tmp_path: Path) -> None:
    file = write(
        tmp_path / "r.yaml",
        "stages:\n- label: No\n  criteria: [a, b, c]\n- label: Yes\n  critera: [d, e, f]\n",
    )

    with pytest.raises(ConfigError) as caught:
        load_rubric(file)
    assert str(caught.value) == (
        f"{file}, line 5: stages[1].critera is not a known key. Did you mean criteria? "
        "Use label, criteria."
    )
