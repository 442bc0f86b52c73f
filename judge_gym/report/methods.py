"""The methods of a report: formulas from the tables' specs, the rest from the metrics' docstrings.

A formula stands in its spec, what a figure needs and its source in the docstring of the function
that makes it; nothing is told twice.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judge_gym.formats import plain
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS
from judge_gym.report.spec import Spec
from judge_gym.report.specs import SPECS

_SENTENCE = re.compile(r"(?<=\.)(?<! al\.)\s+(?=[A-Z0-9`])")
_NEED = re.compile(r"\b[Nn]eed(s|ed)\b|\badvised\b|not estimable")
_CITATION = re.compile(r"[A-Z]\w+ (et al\. )?(1[89]|20)\d\d\b")
_PARAGRAPH = re.compile(r"\n\s*\n")

NOTATION = (
    ("cell", "one judge, one item and one rubric; it holds the scored replicates, n of them"),
    ("S, s", "the number of stages of the rubric, and one of them from 1 to S"),
    ("A, m(A)", "the set of stages a verdict names, and the share of a cell's verdicts with it"),
    ("p(s)", "Σ m(A)/|A| over sets that hold s: a verdict of several stages counts in equal parts"),
    ("x", "(s − 1)/(S − 1), the verdict on the 0-1 scale; of a set, the mean over its stages"),
    ("c", "the probed probability: the share of experts expected to choose the verdict"),
)
GROUND_RULES = (
    "Abstentions are counted apart, and unparseable, refused and failed samples are never scores. "
    "Judges are compared on the items that all of them scored, judges of one family averaged first "
    "in polarization. Intervals are 95%; items are what is resampled or averaged, never the "
    "replicates within a cell. Verdicts under different rubrics are never compared stage by stage. "
    "Adjusted p: Holm within confirmatory families and over pairs, Benjamini-Hochberg where "
    "something is explored."
)


@dataclass(frozen=True)
class Method:
    """How the figures of a table come about; `needs` and `sources` are sentences."""

    title: str
    what: str
    formulas: tuple[str, ...]
    needs: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """What a hypothesis or check claims of which figure, and which claim it stands in for."""

    key: str
    statement: str
    claim: str
    replaces: str


def methods(specs: Sequence[Spec] = SPECS) -> list[Method]:
    """Return the method of each table, in the order of the tables."""
    return [
        Method(
            title=spec.title,
            what=spec.explanation,
            formulas=spec.formulas,
            needs=_told(spec.estimators, _NEED),
            sources=_told(spec.estimators, _CITATION),
        )
        for spec in specs
    ]


def decisions() -> list[Decision]:
    """Return what is decided of which figure, with the margin that holds without a plan."""
    return [
        Decision(
            one.key,
            one.statement,
            f"{one.estimand}, {one.direction.value} {plain(one.margin)} unless the plan says "
            "otherwise",
            one.replaces,
        )
        for one in (*HYPOTHESES, *VALIDITY_CHECKS)
    ]


def _told(estimators: Sequence[Callable[..., Any]], about: re.Pattern[str]) -> tuple[str, ...]:
    """Return the sentences of these docstrings that are about this, each once."""
    told = (
        sentence
        for estimator in estimators
        for sentence in _sentences(inspect.getdoc(estimator) or "")
        if about.search(sentence)
    )
    return tuple(dict.fromkeys(told))


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.split(text):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            if not sentence.startswith("`"):  # about a parameter, for programmers
                yield sentence.replace("`", "")
