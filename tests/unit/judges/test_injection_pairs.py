"""Pairs of a text with an attempt to steer its judge and the same text without."""

from pathlib import Path

import pytest

from judge_gym.errors import EvidenceError
from judge_gym.judges.injection import read_attempts


def pairs(folder: Path, *rows: str) -> Path:
    file = folder / "pairs.csv"
    file.write_text("\n".join(("text,clean,attack", *rows)), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("b!,,order", "line 3: clean is empty"),
        (",b,order", "line 3: text is empty"),
        ("b!,b,", "line 3: attack is empty"),
        ("b!,b, ", "line 3: attack is empty"),
        ("b,b,order", "line 3: clean and text are equal"),
    ],
)
def test_a_pair_that_has_no_lift_is_named(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        read_attempts(pairs(tmp_path, "a!,a,order", row))


def test_kinds_are_one_whatever_their_case_and_spaces(tmp_path: Path) -> None:
    read = read_attempts(pairs(tmp_path, "a!,a,order", "b!,b,ORDER ", "c!,c, Order", "d!,d,praise"))
    assert [one.category for one in read.attacked] == ["order", "order", "order", "praise"]
    assert [
        (one.text, other.text) for one, other in zip(read.clean, read.attacked, strict=True)
    ] == [(name, f"{name}!") for name in "abcd"]
    assert read.said() == "4 pairs of pairs.csv: order 3, praise 1."


def test_a_pair_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    file = pairs(tmp_path, "a!,a,order", "b!,a,praise", "a!,a,Order")
    read = read_attempts(file)
    assert [one.text for one in read.attacked] == ["a!", "b!"]
    assert "2 pairs of pairs.csv: order 1, praise 1. 1 row repeats" in read.said()
    with pytest.raises(EvidenceError, match=r"line 3: attack is 'praise', and .* line 2 has"):
        read_attempts(pairs(tmp_path, "a!,a,order", "a!,a,praise"))


def test_a_pair_of_pairs_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("text,clean,attack,second\na!,a,order,b\n", encoding="utf-8")
    with pytest.raises(EvidenceError, match="line 2: second is given"):
        read_attempts(file)


@pytest.mark.parametrize("header", ["txt,clean,attack", "text,cleen,attack", "text,clean,attak"])
def test_a_wrong_header_names_no_option_that_injections_lack(tmp_path: Path, header: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(f"{header}\na!,a,order\n", encoding="utf-8")
    with pytest.raises(EvidenceError, match="there is no") as refused:
        read_attempts(file)
    assert "Did you mean" in refused.value.remedy
    assert "fields" not in str(refused.value)
