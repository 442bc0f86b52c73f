"""Grades of passages as TREC writes them: lines of query, iteration, passage and grade."""

from pathlib import Path

from judge_gym.errors import DataFileError
from judge_gym.evidence.rows import opened
from judge_gym.recorded.content import Content
from judge_gym.recorded.files import name_of
from judge_gym.recorded.mapping import as_number

_FIELDS = 4
_SHAPE = "A line of qrels is a query, 0, a passage and a grade, with space between them."


def are_qrels(line: str) -> bool:
    """Whether a line is of qrels."""
    fields = line.split()
    return len(fields) == _FIELDS and fields[1].isalnum() and as_number(fields[3]) is not None


def read_qrels(file: Path) -> Content:
    """Return the grades of a file, in a column of its name; raises `DataFileError`."""
    content = Content()
    name = name_of(file)
    with opened(file) as handle:
        for number, line in enumerate(handle.read().decode("utf-8-sig").splitlines(), start=1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != _FIELDS:
                raise DataFileError(f"{file} line {number}: {len(fields)} fields.", _SHAPE)
            query, _, passage, grade = fields
            content.add(f"line {number}", {"query": query, "passage": passage, name: grade})
    return content
