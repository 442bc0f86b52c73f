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
    clean, attacked = read_attempts(
        pairs(tmp_path, "a!,a,order", "b!,b,ORDER ", "c!,c, Order", "d!,d,praise")
    )
    assert [one.category for one in attacked] == ["order", "order", "order", "praise"]
    assert [(one.text, other.text) for one, other in zip(clean, attacked, strict=True)] == [
        (name, f"{name}!") for name in "abcd"
    ]
