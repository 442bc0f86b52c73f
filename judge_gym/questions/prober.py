"""The prober: asks a judge what share of experts would choose its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge_gym.answers.probability import parse_probability
from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.probing import Probing
from judge_gym.prompts import Message, Prompt, continued, render
from judge_gym.questions.material import chosen_stages, material
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.shown import Presentation, ShownDocument

ProbeStatus = Literal["answered", "unparseable", "refused", "failed"]


@dataclass(frozen=True)
class Confidence:
    """The outcome of one probe, as its row stores it."""

    status: ProbeStatus
    probability: float | None = None
    failure: str | None = None


@dataclass(frozen=True)
class ScoredSample:
    """A scored judgement: what was shown, chosen and answered."""

    rubric: Rubric
    documents: Sequence[ShownDocument]
    presentation: Presentation
    stages: int
    messages: tuple[Message, ...]
    answer: str
    span: tuple[int, int] | None = None
    """Offsets of the verdict in the answer."""


def probe_prompt(experiment: Experiment, sample: ScoredSample, call_key: str) -> Prompt:
    """Render the probe: a new conversation, or the next turn of the judgement's conversation.

    A new conversation shows the rubric and the evidence exactly as the judge saw them.
    """
    strategies, bound = resolve(experiment), experiment.expertise.bound
    rubric, presentation = sample.rubric, sample.presentation
    verdict = chosen_stages(experiment, rubric, presentation, sample.stages)
    probing = strategies.of(Probing)
    if probing.continues_conversation:
        probe = render(probing.template, bound, verdict=verdict)
        return continued(sample.messages, sample.answer, probe)
    return render(
        probing.template,
        bound,
        **material(experiment, rubric, sample.documents, presentation, call_key),
        verdict=verdict,
    )


def read_confidence(outcome: Answer | Failure) -> Confidence:
    """Return the probability of an outcome, or why there is none; never a default."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return Confidence(answer.status, failure=answer.failure)
    number = parse_probability(answer.text)
    if isinstance(number, ParseFailure):
        return Confidence("unparseable", failure=unreadable(answer, number.reason, number.detail))
    return Confidence("answered", probability=number.value)
