"""What agents are given: an experiment, a rubric, documents, and answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric, Stage
from judge_gym.records.calls import Answer

LABELS = ("No signs", "Few signs", "Many signs", "All signs")


def make_experiment(**changes: Any) -> Experiment:
    """An experiment of four stages that hides its truth from nobody but the judge."""
    given: dict[str, Any] = {
        "concept": "democratic backsliding",
        "window": {"country": "Valmora", "source": {"kind": "corpus", "path": "c.jsonl"}},
        "model": "sim/calm-1",
        "evidence_view": "raw",
    }
    return Experiment(**(given | changes))


def make_rubric(*labels: str) -> Rubric:
    """A rubric whose criteria name their stage."""
    return Rubric(
        stages=tuple(
            Stage(label=label, criteria=tuple(f"{label}: sign {n}" for n in (1, 2, 3)))
            for label in labels or LABELS
        )
    )


def make_answer(text: str, finish_reason: str = "stop") -> Answer:
    """An answer as the gateway gives it."""
    return Answer(text, finish_reason, 10, 5, None, 1.0, simulated=False)


@dataclass(frozen=True)
class Given:
    """The functions above, since test modules cannot import one another."""

    experiment: Callable[..., Experiment] = make_experiment
    rubric: Callable[..., Rubric] = make_rubric
    answer: Callable[..., Answer] = make_answer


@pytest.fixture(scope="session")
def given() -> Given:
    return Given()
