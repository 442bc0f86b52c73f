"""The rubricer: asks a judge for its rubric and validates it."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from judge_gym.answers.json_object import read_json_object
from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.experiment import POLITICAL, Expertise
from judge_gym.design.rubric import MIDPOINT_LABEL, Rubric, rubric_faults
from judge_gym.design.strategies.scale import StageScale, scale_of
from judge_gym.prompts import Message, Prompt, continued, render
from judge_gym.questions.outcome import UNPRINTED, NoAnswer, readable
from judge_gym.records.calls import Answer, Failure

ASKED_AGAIN = 2
"""Maximum number of retries for a rubric with faults."""


@dataclass(frozen=True)
class RubricRequest:
    """The requested rubric: its owner, its subject, and its variant."""

    owner_model: str
    owner_family: str
    concept: str
    country: str
    scale_size: int
    variant: int
    """0 is the owner's first rubric; others are further draws of the same prompt: a sham
    (`store.rubrics.SHAM`) or those of `rubric_draw` (`store.rubrics.variant_of`)."""
    temperature: float
    expertise: Expertise = POLITICAL
    """As whom the prompt addresses the owner; its recipe has it."""
    recipe: str = ""
    """What tells it from rubrics that earlier templates or critics made; empty for the first."""

    @property
    def scale(self) -> StageScale:
        return scale_of(self.scale_size)


@dataclass(frozen=True)
class Faults:
    """The reason why an answer is not a usable rubric; `final` if a retry would not help."""

    reasons: tuple[str, ...]
    final: bool = False


def rubric_prompt(request: RubricRequest) -> Prompt:
    """Render the request for a rubric."""
    return render(
        "rubric",
        request.expertise.bound,
        scale=request.scale,
        concept=request.concept,
        country=request.country,
        midpoint_label=MIDPOINT_LABEL,
    )


def rubric_again_prompt(before: tuple[Message, ...], answer: str, faults: Faults) -> Prompt:
    """Render the request to fix the faults, as the next turn of the conversation."""
    return continued(before, answer, render("rubric_again", faults=faults.reasons))


def read_rubric(request: RubricRequest, outcome: Answer | Failure) -> Rubric | Faults:
    """Return the rubric of an outcome if it fits the request, or its faults in words."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return Faults((answer.failure,), final=True)
    found = read_json_object(answer.text)
    if isinstance(found, ParseFailure):
        return Faults((f"the answer is not a JSON object ({found.detail})",))
    try:
        rubric = Rubric.model_validate({"stages": found.get("stages", []), **_reasoning(found)})
    except ValidationError as error:
        return Faults(tuple(_in_words(fault) for fault in error.errors()[:8]))
    faults = [*rubric_faults(rubric, request.scale_size), *_line_faults(rubric)]
    # Faults quote labels.
    return Faults(tuple(UNPRINTED.sub(" ", fault) for fault in faults)) if faults else rubric


def _line_faults(rubric: Rubric) -> list[str]:
    """Labels and criteria take one line each in prompts; more could look like instructions."""
    return [
        f"stage {number}: labels and criteria are single lines without control characters"
        for number, stage in enumerate(rubric.stages, 1)
        if any(UNPRINTED.search(text) for text in (stage.label, *stage.criteria))
    ]


def _reasoning(found: dict[str, Any]) -> dict[str, str]:
    return {"reasoning": UNPRINTED.sub(" ", str(found.get("reasoning", "")))[:10_000]}


def _in_words(fault: Any) -> str:
    place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in fault["loc"])
    return UNPRINTED.sub(" ", f"{place}: {fault['msg']}")[:300]
