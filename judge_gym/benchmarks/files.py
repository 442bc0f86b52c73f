"""Benchmark files: the mapping of their columns, and their items with known answers.

Reading gives all items or one error.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge_gym.design.config import corpus_files, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal, Slug
from judge_gym.errors import DataFileError
from judge_gym.evidence.choosing import TableKeys
from judge_gym.evidence.normal_text import normal_line, normal_text
from judge_gym.evidence.row import DataRow

Better = Literal["first", "second"]
"""Which of two answers is known to be better."""


class PairColumns(Frozen):
    """Two answers to a question. One of `truth` and `better` says which of them is better."""

    question: str = ""
    """What was asked."""
    first: str = Field(min_length=1)
    """The first answer."""
    second: str = Field(min_length=1)
    """The second answer."""
    truth: str = ""
    """The known better one; `truths` says which each value stands for."""
    truths: Annotated[dict[str, Better], Legal("a mapping of values to first or second")] = Field(
        default_factory=dict
    )
    """Value of `truth` → first or second."""
    better: Better | None = None
    """The better one of every pair, in files with a column for it (chosen, rejected)."""

    @model_validator(mode="after")
    def _check(self) -> "PairColumns":
        if bool(self.truth) != bool(self.truths):
            raise ValueError("truth comes with truths, and truths with truth")
        if bool(self.truth) == bool(self.better):
            raise ValueError("give one of truth and better")
        return self


class ScoreColumns(Frozen):
    """A text with a known score."""

    text: str = Field(min_length=1)
    """What is scored."""
    question: str = ""
    """What the text answers."""
    truth: str = Field(min_length=1)
    """The known score, a number."""
    lowest: float
    """The lowest score of the scale."""
    highest: float
    """The highest score of the scale."""

    @model_validator(mode="after")
    def _check(self) -> "ScoreColumns":
        if not self.lowest < self.highest:
            raise ValueError("lowest is not below highest")
        return self


class Benchmark(TableKeys):
    """How to read a benchmark's file. Exactly one of `pair` and `score` says what its rows are."""

    name: Slug
    """What its results are called: small letters, digits and hyphens."""
    source: str = Field(min_length=1, max_length=200)
    """Where the known answers come from, as a paper would cite it."""
    key: tuple[str, ...] = Field(min_length=1)
    """The columns that together tell items apart."""
    category: str = ""
    """The part of the benchmark; accuracy is given for each."""
    part: str = ""
    """The column that says which part of it published figures are of; each is compared with the
    items of its own part alone."""
    pair: PairColumns | None = None
    """The columns of two answers."""
    score: ScoreColumns | None = None
    """The columns of a scored text."""

    @model_validator(mode="after")
    def _check(self) -> "Benchmark":
        if (self.pair is None) == (self.score is None):
            raise ValueError("give one of pair and score")
        return self


def load_benchmark(path: Path) -> Benchmark:
    """Read a mapping file; raises `ConfigError` naming file, line, key and value."""
    return read_model(Benchmark, read_tree(path))


MAX_ITEMS = 100_000
"""Most items of one benchmark."""
MAX_CHARACTERS = 200_000
"""Longest text of an item."""


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two answers to a question, and which one is better."""

    key: str
    category: str
    question: str
    first: str
    second: str
    better: Better
    part: str = ""


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A text and its known score, on the mapping's scale."""

    key: str
    category: str
    question: str
    text: str
    score: float


Item = PairItem | ScoredItem


def read_benchmark(file: Path, benchmark: Benchmark) -> list[Item]:
    """Read a JSONL or CSV file in its order.

    Raises `EvidenceError` naming file, line, column and value at the first row that does not fit,
    and `ConfigError` for a file that is no benchmark. No row is skipped, because a benchmark
    without some of its items is another benchmark.
    """
    corpus_files(file)
    reading = _BenchmarkReading(file, benchmark)
    items = [reading.item(row) for row in benchmark.chosen.rows(file)]
    if not items:
        raise DataFileError(f"{file} has no row.", "Check that it is the benchmark's file.")
    return items


class _BenchmarkReading:
    def __init__(self, file: Path, benchmark: Benchmark) -> None:
        self._file, self._benchmark = file, benchmark
        self._place_of: dict[str, str] = {}

    def item(self, row: DataRow) -> Item:
        if row.fault:
            raise row.error(self._file, row.fault)
        key = self._key(row)
        category = normal_line(self._text(row, self._benchmark.category), 500)
        if self._benchmark.pair is not None:
            return self._pair(row, key, category, self._benchmark.pair)
        assert self._benchmark.score is not None
        return self._scored(row, key, category, self._benchmark.score)

    def _key(self, row: DataRow) -> str:
        parts = [self._filled(row, column) for column in self._benchmark.key]
        key = normal_line(" ".join(parts), 200)
        first = self._place_of.setdefault(key, row.where)
        if first != row.where:
            raise row.error(
                self._file, f"{' and '.join(self._benchmark.key)} is {key!r}, as on {first}",
                "Name the columns that together tell items apart under `key`.",
            )  # fmt: skip
        if len(self._place_of) > MAX_ITEMS:
            raise row.error(self._file, f"more than {MAX_ITEMS} items", "Split the file.")
        return key

    def _pair(self, row: DataRow, key: str, category: str, columns: PairColumns) -> PairItem:
        first, second = self._filled(row, columns.first), self._filled(row, columns.second)
        if first == second:
            raise row.error(
                self._file, f"{columns.first} and {columns.second} are the same text",
                "A pair of equal answers has no better one: remove it.",
            )  # fmt: skip
        return PairItem(
            key, category, self._text(row, columns.question), first, second,
            columns.better or self._truth(row, columns), self._text(row, self._benchmark.part),
        )  # fmt: skip

    def _truth(self, row: DataRow, columns: PairColumns) -> Better:
        written = self._text(row, columns.truth)
        if written not in columns.truths:
            known = ", ".join(map(repr, columns.truths))
            raise row.error(self._file, f"{columns.truth} is {written!r}", f"`truths` has {known}.")
        return columns.truths[written]

    def _scored(self, row: DataRow, key: str, category: str, columns: ScoreColumns) -> ScoredItem:
        written = self._text(row, columns.truth)
        try:
            score = float(written)
        except ValueError:
            score = math.nan
        if not columns.lowest <= score <= columns.highest:
            raise row.error(
                self._file, f"{columns.truth} is {written!r}",
                f"Use a number from {columns.lowest:g} to {columns.highest:g}.",
            )  # fmt: skip
        text = self._filled(row, columns.text)
        return ScoredItem(key, category, self._text(row, columns.question), text, score)

    def _filled(self, row: DataRow, column: str) -> str:
        text = self._text(row, column)
        if not text:
            raise row.error(self._file, f"{column} is empty")
        return text

    def _text(self, row: DataRow, column: str) -> str:
        """Return a value as normal text; "" for a column that the mapping does not name."""
        if not column:
            return ""
        value = row.value(self._file, column)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise row.error(self._file, f"{column} is {type(value).__name__}, not text or a number")
        text = "" if value is None else normal_text(str(value))
        if len(text) > MAX_CHARACTERS:
            raise row.error(self._file, f"{column} is longer than {MAX_CHARACTERS} characters")
        return text
