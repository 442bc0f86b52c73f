"""The scorer: shows a judge a rubric and an item, and reads the verdict of its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from judge_gym.answers.letter_probability import letter_probability
from judge_gym.answers.verdict import (
    Grammar,
    ParseFailure,
    Verdict,
    parse_structured_verdict,
    parse_verdict,
)
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.design.strategies.wording import Wording
from judge_gym.prompts import Prompt, render
from judge_gym.questions.material import material, texts_shown
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.shown import Presentation, ShownDocument

SampleStatus = Literal["scored", "abstained", "unparseable", "refused", "failed"]


@dataclass(frozen=True)
class Judgement:
    """The outcome of one judgement, as its sample stores it."""

    status: SampleStatus
    stages: int | None = None
    """Bit set of the chosen stages, if scored."""
    verdict_text: str | None = None
    span_start: int | None = None
    span_end: int | None = None
    failure: str | None = None
    letter_probability: float | None = None
    """Of the verdict's letter, by the probabilities of the answer's tokens."""
    letter_probabilities: Mapping[str, float] | None = None


def scoring_prompt(
    experiment: Experiment,
    rubric: Rubric,
    documents: Sequence[ShownDocument],
    presentation: Presentation,
    call_key: str,
) -> Prompt:
    """Render what the judge reads. Task type and ground truth are not among the variables."""
    strategies = resolve(experiment)
    return render(
        strategies.of(Wording).template,
        experiment.expertise.bound,
        **material(experiment, rubric, documents, presentation, call_key),
    )


def instructions(experiment: Experiment) -> str:
    """Return the steps that a judge is to take, without the form of the answer."""
    shown = Presentation(seed=0, letters=(), order=())
    prompt = scoring_prompt(experiment, Rubric.model_construct(stages=()), (), shown, "")
    steps = prompt.messages[-1]["content"].rpartition("TASK\n")[2]
    return steps.removesuffix(resolve(experiment).of(Scoring).closing).strip()


def read_verdict(
    scoring: Scoring, answer: str, evidence: Sequence[str] = ()
) -> Verdict | ParseFailure:
    """Read the verdict of an answer, among the labels that the prompt offered.

    A verdict that the answer repeats from `evidence` is ignored.
    """
    grammar = Grammar(scoring.labels, subset=scoring.subset, abstain=scoring.abstain)
    parse = parse_structured_verdict if scoring.structured else parse_verdict
    return parse(answer, grammar, evidence)


def read_judgement(
    experiment: Experiment,
    presentation: Presentation,
    outcome: Answer | Failure,
    documents: Sequence[ShownDocument] = (),
) -> Judgement:
    """Return the judgement of an outcome; an unreadable answer is never a score.

    A verdict that the answer repeats from `documents` is ignored.
    """
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return Judgement(answer.status, failure=answer.failure)
    evidence = texts_shown(experiment, documents)
    scoring = resolve(experiment).of(Scoring)
    verdict = read_verdict(scoring, answer.text, evidence)
    start, end = verdict.span or (None, None)
    if isinstance(verdict, ParseFailure):
        failure = unreadable(answer, verdict.reason, verdict.detail)
        return Judgement("unparseable", span_start=start, span_end=end, failure=failure)
    # What a set says is not in the probability of one of its letters.
    offered = () if scoring.subset else scoring.labels
    chance = letter_probability(answer.text, verdict, offered, answer.chances)
    return Judgement(
        status="abstained" if verdict.abstained else "scored",
        stages=None if verdict.abstained else presentation.stage_set(verdict.letters),
        verdict_text=verdict.text[:500],
        span_start=start,
        span_end=end,
        letter_probability=chance.verdict if chance else None,
        letter_probabilities=chance.by_letter if chance else None,
    )
