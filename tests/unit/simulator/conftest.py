"""Real prompts for the simulator: rendered by the library's own agents from real experiments."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from judge_gym.answers.probability import Probability, parse_probability
from judge_gym.answers.verdict import ParseFailure, Verdict
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric, Stage
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.prompts import Prompt
from judge_gym.questions.prober import ScoredSample, probe_prompt
from judge_gym.questions.scorer import read_verdict, scoring_prompt
from judge_gym.records.shown import Presentation, ShownDocument
from judge_gym.simulator.answering import ModelRequest, answer

LABELS = ("Absent signs in print", "Limited signs in print", "Frequent signs in print",
          "Entrenched signs in print")  # fmt: skip


def plain_rubric(labels: tuple[str, ...] = LABELS) -> Rubric:
    """A rubric in nobody's own words."""
    stages = (
        Stage(label=label, criteria=(f"Shown: {label.lower()}", "Set in print", "With a date"))
        for label in labels
    )
    return Rubric(stages=tuple(stages))


PLAIN = plain_rubric()


@dataclass(frozen=True)
class Ask:
    """One judgement as a flow would send it."""

    text: str
    model: str = "sim/calm-1"
    rubric: Rubric = PLAIN
    concept: str = "democratic backsliding"
    letters: str = ""
    """The letter of stage 1, 2, …; A, B, … when not given."""
    order: tuple[int, ...] = ()
    """The stages (1-based) as listed; 1, 2, … when not given."""
    axes: tuple[tuple[str, Any], ...] = ()
    temperature: float = 0.0
    more: tuple[str, ...] = ()
    """Further documents of the bundle."""

    @property
    def experiment(self) -> Experiment:
        window = {"country": "Valmora", "source": {"kind": "corpus", "path": "none.jsonl"}}
        given = {"scale_size": self.rubric.scale_size, "abstain": False} | dict(self.axes)
        return Experiment(concept=self.concept, window=window, model=self.model, **given)

    @property
    def presentation(self) -> Presentation:
        size = self.rubric.scale_size
        letters = self.letters or "ABCDEFGHIJ"[:size]
        return Presentation(0, tuple(letters), self.order or tuple(range(1, size + 1)))

    @property
    def documents(self) -> list[ShownDocument]:
        return [ShownDocument("A headline", text) for text in (self.text, *self.more)]

    @property
    def prompt(self) -> Prompt:
        return scoring_prompt(
            self.experiment, self.rubric, self.documents, self.presentation, "call"
        )


def send(model: str, prompt: Prompt, seed: int = 0, temperature: float = 0.0) -> str:
    """Return the whole answer to a rendered prompt."""
    messages = tuple((message["role"], message["content"]) for message in prompt.messages)
    return answer(ModelRequest(model, messages, temperature=temperature, seed=seed)).text


def judge(ask: Ask, seed: int = 0) -> Verdict | ParseFailure:
    """Return what the library's parser reads in the answer."""
    text = send(ask.model, ask.prompt, seed, ask.temperature)
    return read_verdict(resolve(ask.experiment).of(Scoring), text)


def stages_chosen(ask: Ask, seed: int = 0) -> tuple[int, ...]:
    """Return the stages chosen (1-based, ascending); empty for an abstention."""
    verdict = judge(ask, seed)
    assert isinstance(verdict, Verdict), verdict
    letters = ask.presentation.letters
    return tuple(sorted(letters.index(letter) + 1 for letter in verdict.letters))


def confidence(ask: Ask, stage: int, seed: int = 0) -> float:
    """Return the probability stated for one stage (1-based), through the real probe prompt."""
    sample = ScoredSample(
        ask.rubric, ask.documents, ask.presentation, 1 << (stage - 1), ask.prompt.messages, "Said."
    )
    text = send(ask.model, probe_prompt(ask.experiment, sample, "probe"), seed, ask.temperature)
    found = parse_probability(text)
    assert isinstance(found, Probability), text
    return found.value


@pytest.fixture(scope="session")
def bench() -> "Bench":
    return Bench()


@dataclass(frozen=True)
class Bench:
    """Everything above in one hand, since test modules cannot import one another."""

    ask: Callable[..., Ask] = Ask
    judge: Callable[..., Verdict | ParseFailure] = judge
    stages_chosen: Callable[..., tuple[int, ...]] = stages_chosen
    confidence: Callable[..., float] = confidence
    send: Callable[..., str] = send
    plain_rubric: Callable[..., Rubric] = plain_rubric
    but: Callable[..., Ask] = replace
