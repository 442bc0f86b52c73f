"""Grades of passages as TREC writes them: lines of query, iteration, passage and grade."""

from pathlib import Path

from judge_gym.errors import DataFileError
from judge_gym.recorded.content import Content, read_whole
from judge_gym.recorded.files import name_of
from judge_gym.recorded.mapping import as_number

_FIELDS = 4
_LINES = 5
"""Lines that may be a header or remarks."""
_SHAPE = "A line of qrels is a query, 0, a passage and a grade, with space between them."


def are_qrels(text: str) -> bool:
    """Whether a text begins as qrels: one of its first lines is a line of them."""
    fields = [line.split() for line in text.splitlines()[:_LINES]]
    return any(
        len(one) == _FIELDS and one[1].lstrip("qQ").isdecimal() and as_number(one[3]) is not None
        for one in fields
    )


def read_qrels(file: Path) -> Content:
    """Return the grades of a file, in a column of its name; raises `DataFileError`."""
    content = Content()
    name = name_of(file)
    lines = read_whole(file).decode("utf-8-sig").splitlines()
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) != _FIELDS:
            raise DataFileError(f"{file} line {number}: {len(fields)} fields.", _SHAPE)
        query, _, passage, grade = fields
        if as_number(grade) is None:
            raise DataFileError(f"{file} line {number}: {grade[:40]!r} is no grade.", _SHAPE)
        content.add(f"line {number}", {"query": query, "passage": passage, name: grade})
    return content
