"""The mapping file of a benchmark: the meaning of the columns of its data file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import read_tree
from judge_gym.design.frozen import Frozen
from judge_gym.design.legal import Legal

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


class Benchmark(Frozen):
    """How to read a benchmark's file. Exactly one of `pair` and `score` says what its rows are."""

    name: Annotated[str, Legal("small letters, digits and hyphens")] = Field(
        pattern=r"^[a-z0-9-]{1,80}$"
    )
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
