"""What prompts show of a sample: the rubric and its documents, or the options and a pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import FIRST, TIE, Rubric
from judge_gym.design.strategies import resolve
from judge_gym.evidence.pairs import pair_from
from judge_gym.records.shown import Presentation, ShownDocument, ShownStage, fence_mark, stages_of


@dataclass(frozen=True)
class _ShownAnswer:
    letter: str
    text: str


@dataclass(frozen=True)
class _ShownPair:
    prompt: str
    answers: tuple[_ShownAnswer, ...]
    """In the order of display."""


def material(
    experiment: Experiment,
    rubric: Rubric,
    documents: Sequence[ShownDocument],
    presentation: Presentation,
    call_key: str,
) -> dict[str, Any]:
    """Return the variables of a template. Task type and ground truth are not among them."""
    values = {
        **resolve(experiment),
        "concept": experiment.concept,
        "country": experiment.country,
        "stages": [_shown(experiment, rubric, presentation, one) for one in presentation.order],
        "documents": documents,
        "mark": fence_mark(call_key, documents),
    }
    if experiment.task_type == "pairs":
        values["pair"] = _pair(rubric, documents, presentation)
    return values


def chosen_stages(
    experiment: Experiment, rubric: Rubric, presentation: Presentation, stages: int
) -> list[ShownStage]:
    """Return the stages of a verdict's bit set as the judge saw them."""
    return [_shown(experiment, rubric, presentation, number) for number in stages_of(stages)]


def texts_shown(experiment: Experiment, documents: Sequence[ShownDocument]) -> list[str]:
    """Return the texts of others in a prompt, whose verdicts are not the judge's."""
    if experiment.task_type != "pairs":
        return [part for document in documents for part in (document.title, document.text)]
    pairs = [pair_from(document.text) for document in documents]
    return [part for pair in pairs for part in (pair.prompt, pair.first, pair.second)]


def _shown(
    experiment: Experiment, rubric: Rubric, presentation: Presentation, number: int
) -> ShownStage:
    stage = presentation.stage(rubric, number)
    if experiment.task_type != "pairs":
        return stage
    tie = stage.label == TIE
    label = "Neither answer is better" if tie else f"Answer {stage.letter} is better"
    return ShownStage(stage.letter, label, ())


def _pair(
    rubric: Rubric, documents: Sequence[ShownDocument], presentation: Presentation
) -> _ShownPair:
    (document,) = documents
    pair = pair_from(document.text)
    stages = (presentation.stage(rubric, number) for number in presentation.order)
    return _ShownPair(
        pair.prompt,
        tuple(
            _ShownAnswer(stage.letter, pair.first if stage.label == FIRST else pair.second)
            for stage in stages
            if stage.label != TIE
        ),
    )
