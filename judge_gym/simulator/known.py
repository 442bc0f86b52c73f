"""What graders know and no text shows: which answers of a known-answer set are right.

A file says it, text by text, as a model has learnt it before it is asked: a line of JSON each,
`{"text": "...", "worth": 1}`, with a worth in [0, 1]. How often a grader makes use of what it knows
is planted as its accuracy.
"""

from collections.abc import Mapping
from pathlib import Path

from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus_files import Row, read_rows
from judge_gym.seeds import digest

Known = Mapping[str, float]
"""`identity` of a text → its worth."""
NOTHING: Known = {}


def identity(text: str) -> str:
    """Return what tells a text from others, however it is spaced and wrapped."""
    return digest("known", text.split())


def read_known(path: Path | None) -> Known:
    """Read such a file, nothing for None; raises `EvidenceError` naming the line that is wrong."""
    rows = read_rows(path) if path else ()
    return dict(_entry(path, row) for row in rows)


def _entry(path: Path | None, row: Row) -> tuple[str, float]:
    text, worth = row.values.get("text"), row.values.get("worth")
    # JSON's true is Python's 1, and its NaN is in no range.
    sound = isinstance(worth, int | float) and not isinstance(worth, bool) and 0 <= worth <= 1
    if row.fault or not isinstance(text, str) or not sound:
        what = row.fault or 'not {"text": "...", "worth": a number from 0 to 1}'
        raise EvidenceError(f"{path} line {row.line}: {what}.")
    return identity(text), float(worth)  # type: ignore[arg-type]
