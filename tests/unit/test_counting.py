"""Counts in messages agree with their nouns."""

import pytest

from judge_gym.counting import counted, in_batches, there_are


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "experiment", "0 experiments"),
        (1, "experiment", "1 experiment"),
        (2, "open batch", "2 open batches"),
        (2, "family", "2 families"),
        (1200, "day", "1,200 days"),
        (3, "cell of these columns", "3 cells of these columns"),
        (1, "cell of these columns", "1 cell of these columns"),
        (2, "entry of a list", "2 entries of a list"),
        (2, "text changed by sim/good-1", "2 texts changed by sim/good-1"),
        (2, "raw view (window 3)", "2 raw views (window 3)"),
    ],
)
def test_a_noun_agrees_with_its_number(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_a_verb_agrees_with_its_number() -> None:
    assert [there_are(n) for n in (0, 1, 2, 1200)] == [
        "there are 0",
        "there is 1",
        "there are 2",
        "there are 1,200",
    ]


def test_what_waits_in_batches_agrees_with_its_number() -> None:
    assert in_batches(1, "case by judge") == "1 case by judge waits in batches"
    assert in_batches(2, "document of panel p") == "2 documents of panel p wait in batches"
