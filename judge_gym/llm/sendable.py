"""What litellm sends to a model and how it counts, by its own code; asks nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from judge_gym.design.experiment import Effort
from judge_gym.llm.providers import LimitField, Parameter
from judge_gym.llm.sdk import exceptions, get_optional_params, litellm
from judge_gym.prompts import Message


@dataclass(frozen=True)
class Sendable:
    """What litellm sends to a model."""

    refused: frozenset[Parameter]
    efforts: tuple[Effort, ...]
    limit_field: LimitField
    logprobs: int
    sampling_only_at_none: bool


@cache
def register_unlisted(prefix: str, name: str) -> bool:
    """Whether litellm's list lacks an OpenAI-compatible model; enters it, without a price.

    litellm works out the entry of a model it does not know seven times a call and keeps none.
    Other prefixes are left alone: for some of them litellm asks the provider what it serves.
    """
    if prefix != "openai":
        return False
    try:
        litellm.get_model_info(name, custom_llm_provider=prefix)
    except Exception:  # litellm has no class of its own for this
        litellm.register_model({f"{prefix}/{name}": {"litellm_provider": prefix, "mode": "chat"}})
        return True
    return False


_SOME_VALUES: Mapping[Parameter, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "seed": 1,
    "response_format": {"type": "json_object"},
}
"""A value of each parameter that is no default anywhere."""
_MOST_LOGPROBS = 20
"""The most alternatives to a token that OpenAI gives, and whoever has its interface."""


@cache
def sendable(prefix: str, name: str) -> Sendable:
    """Return what litellm sends to a model, by its own code."""
    register_unlisted(prefix, name)

    def sends(**parameters: Any) -> dict[str, Any]:
        try:
            sent: dict[str, Any] = get_optional_params(
                model=name, custom_llm_provider=prefix, **parameters
            )
        except exceptions.UnsupportedParamsError:
            return {}
        return sent or parameters

    efforts = tuple(one for one in get_args(Effort) if sends(reasoning_effort=one))
    unthinking = {"reasoning_effort": "none"} if "none" in efforts else {}
    taken = {
        parameter
        for parameter, value in _SOME_VALUES.items()
        if sends(**{parameter: value}, **unthinking)
    }
    probabilities = sends(logprobs=True, top_logprobs=_MOST_LOGPROBS, **unthinking)
    return Sendable(
        refused=frozenset(_SOME_VALUES.keys() - taken),
        efforts=efforts,
        limit_field="max_completion_tokens"
        if "max_completion_tokens" in sends(max_tokens=1)
        else "max_tokens",
        logprobs=_MOST_LOGPROBS if probabilities else 0,
        sampling_only_at_none="temperature" in taken
        and "low" in efforts
        and not sends(temperature=0.5, reasoning_effort="low"),
    )


def counted_tokens(name: str, messages: Sequence[Message]) -> int:
    """Return the prompt tokens of an OpenAI or Anthropic model; works offline for those alone."""
    counted: int = litellm.token_counter(model=name, messages=list(messages))
    return counted
