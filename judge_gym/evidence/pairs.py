"""Pairs of answers to a prompt from JSONL or CSV files, with the better one where it is known.

A pair is one document, whose text is the pair as canonical JSON: nothing in it is cleaned or cut.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge_gym.design.config import corpus_files
from judge_gym.design.rubric import FIRST, SECOND, TIE
from judge_gym.design.window import PAIR_FIELDS, Window
from judge_gym.errors import DataFileError
from judge_gym.evidence.documents import RawDocument, RawStream
from judge_gym.evidence.row import DataRow
from judge_gym.evidence.rows import read_rows
from judge_gym.seeds import canonical_json

_TITLE_CHARACTERS = 80
_NAMES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "instruction", "question", "input"),
    "first": ("first", "response_a", "output_1", "answer_a", "response_1"),
    "second": ("second", "response_b", "output_2", "answer_b", "response_2"),
    "winner": ("winner", "label"),
    "category": ("category", "subset"),
}
"""Our field → column names that are recognised."""
_WINNERS: Mapping[str, str] = {
    **dict.fromkeys((FIRST, "1", "1.0", "a", "a>b", "response_a", "model_a", "output_1"), FIRST),
    **dict.fromkeys((SECOND, "2", "2.0", "b", "b>a", "response_b", "model_b", "output_2"), SECOND),
    **dict.fromkeys((TIE, "a=b", "equal", "draw", "both"), TIE),
}


@dataclass(frozen=True)
class Pair:
    """Two answers to a prompt, in the order of their file."""

    prompt: str
    first: str
    second: str

    @property
    def text(self) -> str:
        """The pair as canonical JSON."""
        parts = {"prompt": self.prompt, "first": self.first, "second": self.second}
        return canonical_json(parts)


def pair_from(text: str) -> Pair:
    """Return the pair of a document's text."""
    return Pair(**json.loads(text))


@dataclass(frozen=True)
class PairFiles:
    """A file or folder of pairs as a source of documents."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our field → the column of the file, where the names differ."""

    async def collect(self, window: Window) -> RawStream:
        """Return the pairs lazily; raises `EvidenceError` as `items` does."""
        return self.items()

    def items(self) -> RawStream:
        """Yield the pairs in file and row order.

        Raises `EvidenceError` for a row without a prompt or an answer, or with an unknown winner,
        because a benchmark without some of its pairs is another benchmark.
        """
        for file in corpus_files(self.path):
            for row in read_rows(file):
                yield _document(f"{file.name} line {row.line}", row, self.fields)


def _document(origin: str, row: DataRow, fields: Mapping[str, str]) -> RawDocument:
    if row.fault:
        raise DataFileError(f"{origin}: {row.fault}.", "Mend or remove this pair.")
    given = {ours: _value(row.values, ours, fields) for ours in PAIR_FIELDS}
    for ours in ("prompt", "first", "second"):
        if not isinstance(given[ours], str) or not given[ours].strip():
            columns = ", ".join(map(repr, row.values))
            raise DataFileError(
                f"{origin}: no text for {ours}.",
                f"Name its column under `fields`: {ours}. The columns are {columns}.",
            )
    written = "" if given["winner"] is None else str(given["winner"]).strip()
    winner = _WINNERS.get(written.lower())
    if written and winner is None:
        raise DataFileError(
            f"{origin}: the winner {written[:40]!r} is not known.",
            f"Use {FIRST}, {SECOND} or {TIE}, or leave it empty where it is not known.",
        )
    pair = Pair(given["prompt"], given["first"], given["second"])
    return RawDocument(
        origin=origin,
        text=pair.text,
        title=" ".join(pair.prompt.split())[:_TITLE_CHARACTERS],
        truth=winner,
        category="" if given["category"] is None else str(given["category"]),
    )


def _value(values: Mapping[str, Any], ours: str, fields: Mapping[str, str]) -> Any:
    if ours in fields:
        if fields[ours] not in values:
            there = ", ".join(map(repr, values))
            raise DataFileError(f"fields.{ours}: no column {fields[ours]!r}.", f"Use {there}.")
        return values[fields[ours]]
    folded = {name.strip().lower(): value for name, value in values.items()}
    return next((folded[name] for name in _NAMES[ours] if folded.get(name) is not None), None)
