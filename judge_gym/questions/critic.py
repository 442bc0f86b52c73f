"""The critic: rates how observable and how discriminable a rubric is."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from judge_gym.answers.json_object import read_json_object
from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.rubric import Rubric
from judge_gym.prompts import Prompt, nonce, render
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure


class Quality(BaseModel):
    """The critic's ratings, each in [0, 1]."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    observability: float = Field(ge=0, le=1)
    discriminability: float = Field(ge=0, le=1)

    @field_validator("*", mode="before")
    @classmethod
    def _no_yes_or_no(cls, given: Any) -> Any:
        if isinstance(given, bool):
            raise ValueError("a mark is a number")
        return given


@dataclass(frozen=True)
class NoQuality:
    """The reason why there are no ratings."""

    failure: str


def critic_prompt(rubric: Rubric, concept: str, country: str, call_key: str) -> Prompt:
    """Render the request for ratings; the rubric is fenced, since a model wrote it."""
    texts = [text for stage in rubric.stages for text in (stage.label, *stage.criteria)]
    return render(
        "critic", rubric=rubric, concept=concept, country=country, mark=nonce(call_key, *texts)
    )


def read_quality(outcome: Answer | Failure) -> Quality | NoQuality:
    """Return the ratings of an outcome, or why there are none; never a default rating."""
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return NoQuality(answer.failure)
    found = read_json_object(answer.text)
    if isinstance(found, ParseFailure):
        return NoQuality(unreadable(answer, found.reason, found.detail))
    try:
        return Quality.model_validate(found)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        return NoQuality(unreadable(answer, "out_of_form", f"{where}: {fault['msg']}"))
