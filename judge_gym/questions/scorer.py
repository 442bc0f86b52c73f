"""The scorer: shows a judge a rubric and an item, and reads the verdict out of its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.prompts import Prompt, render
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.shown import Presentation, ShownDocument, fence_mark

SampleStatus = Literal["scored", "abstained", "unparseable", "refused", "failed"]


@dataclass(frozen=True)
class Judgement:
    """The outcome of one judgement; exactly what a sample's row says of it."""

    status: SampleStatus
    stages: int | None = None
    """Bit set of the stages chosen, when scored."""
    verdict_text: str | None = None
    span_start: int | None = None
    span_end: int | None = None
    failure: str | None = None


def scoring_prompt(
    experiment: Experiment,
    rubric: Rubric,
    documents: Sequence[ShownDocument],
    presentation: Presentation,
    call_key: str,
) -> Prompt:
    """Render what the judge reads. Task type and ground truth are not among the variables."""
    return render(
        "score",
        **resolve(experiment),
        concept=experiment.concept,
        country=experiment.country,
        stages=presentation.listed(rubric),
        documents=documents,
        mark=fence_mark(call_key, documents),
    )


def read_judgement(
    experiment: Experiment,
    presentation: Presentation,
    outcome: Answer | Failure,
    documents: Sequence[ShownDocument] = (),
) -> Judgement:
    """Turn an outcome into a judgement; what cannot be read is never a score.

    A verdict that the answer repeats of `documents` is not the judge's.
    """
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return Judgement(answer.status, failure=answer.failure)
    verdict = (
        resolve(experiment)
        .of(Scoring)
        .read(answer.text, [part for one in documents for part in (one.title, one.text)])
    )
    start, end = verdict.span or (None, None)
    if isinstance(verdict, ParseFailure):
        failure = unreadable(answer, verdict.reason, verdict.detail)
        return Judgement("unparseable", span_start=start, span_end=end, failure=failure)
    return Judgement(
        status="abstained" if verdict.abstained else "scored",
        stages=None if verdict.abstained else presentation.stage_set(verdict.letters),
        verdict_text=verdict.text[:500],
        span_start=start,
        span_end=end,
    )
