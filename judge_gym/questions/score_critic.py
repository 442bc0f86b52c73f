"""The score critic: marks the reasoning behind a verdict against the evidence and the verdict."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from judge_gym.answers.json_object import read_json_object
from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.evidence.cleaning import word_count
from judge_gym.prompts import Prompt, nonce, render, template_hash
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.questions.prober import ScoredSample
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.judgements import ScoreCritic
from judge_gym.records.shown import stages_of

TEMPLATE = "score_critic"
FEWEST_WORDS = 5
"""An answer with fewer words beside its verdict has no reasoning to mark."""

MarkStatus = Literal["marked", "no_reasoning", "unparseable", "refused", "failed"]


class Marks(BaseModel):
    """What a critic says of one sample's reasoning."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    observable: bool
    """It cites something that the evidence says."""
    consistent: bool
    """It leads to the verdict."""
    uses_evidence: bool
    """It rests on the evidence."""


@dataclass(frozen=True)
class ScoreMarks:
    """The marks of one sample's reasoning, as their row stores them."""

    status: MarkStatus
    observable: bool | None = None
    consistent: bool | None = None
    uses_evidence: bool | None = None
    failure: str | None = None


def score_critic(model: str) -> ScoreCritic:
    """Return a critic that is asked with the template as it is now."""
    return ScoreCritic(model, template_hash(TEMPLATE))


def reasoning_of(experiment: Experiment, sample: ScoredSample) -> str:
    """Return the sample's answer without its verdict; empty if fewer than `FEWEST_WORDS` remain.

    Of a JSON answer, the texts beside the verdict, and what stands around the object.
    """
    answer = sample.answer
    start, end = sample.span or (0, 0)
    parts = [answer[:start], answer[end:]]
    if resolve(experiment).of(Scoring).structured:
        found = read_json_object(answer[start:end])
        fields = {} if isinstance(found, ParseFailure) else found
        texts = (text for key, text in fields.items() if key.strip().lower() != "verdict")
        parts.insert(1, "\n".join(text for text in texts if isinstance(text, str)))
    reasoning = "\n".join(filter(None, (part.strip() for part in parts)))
    return reasoning if word_count(reasoning) >= FEWEST_WORDS else ""


def score_critic_prompt(
    experiment: Experiment, sample: ScoredSample, reasoning: str, call_key: str
) -> Prompt:
    """Render the request for marks; evidence and reasoning are fenced, each as text of others."""
    shown = (part for one in sample.documents for part in (one.title, one.text))
    return render(
        TEMPLATE,
        **resolve(experiment),
        concept=experiment.concept,
        country=experiment.country,
        stages=sample.presentation.listed(sample.rubric),
        documents=sample.documents,
        reasoning=reasoning,
        verdict=[
            sample.presentation.stage(sample.rubric, number) for number in stages_of(sample.stages)
        ],
        mark=nonce(call_key, reasoning, *shown),
    )


def read_marks(outcome: Answer | Failure) -> ScoreMarks:
    """Return the marks of an outcome, or why there are none; never a default mark."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return ScoreMarks(answer.status, failure=answer.failure)
    if not answer.text.strip():
        return ScoreMarks("unparseable", failure=unreadable(answer, "empty", "the answer is empty"))
    found = read_json_object(answer.text)
    if isinstance(found, ParseFailure):
        failure = unreadable(answer, found.reason, found.detail)
        return ScoreMarks("unparseable", failure=failure)
    try:
        marks = Marks.model_validate(found)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        failure = unreadable(answer, "out_of_form", f"{where}: {fault['msg']}")
        return ScoreMarks("unparseable", failure=failure)
    return ScoreMarks("marked", **marks.model_dump())
