"""Reading bodies as vendors' APIs do; each words what is wrong in its own way."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from judge_gym.planted.families import family_named
from judge_gym.simulator.refusals import Refusal

M = TypeVar("M", bound=BaseModel)
_WORDS = {"missing": "Field required", "extra_forbidden": "Extra inputs are not permitted"}


def first_fault(model: type[M], data: Any) -> M:
    """Read a body; raises `Refusal` with place and fault in Anthropic's words."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"]) or "body"
        raise Refusal(f"{place}: {_WORDS.get(fault['type'], fault['msg'])}", place) from None


def check_model(model: str, unknown: str) -> None:
    """Raise `Refusal` when no family answers for a model."""
    if family_named(model) is None:
        raise Refusal(unknown, "model", status=404)
