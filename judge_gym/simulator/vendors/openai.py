"""What OpenAI's reasoning models refuse of a chat completion."""

import re
from collections.abc import Mapping
from typing import Any

from judge_gym.simulator.refusals import Refusal

_REASONING = re.compile(r"(.*/)?(gpt-[5-9](?!-chat)|o[134](-|$))")
_UNSUPPORTED = (
    "top_p",
    "logprobs",
    "top_logprobs",
    "presence_penalty",
    "frequency_penalty",
    "stop",
)
SMALLEST_LIMIT = 16
"""Below this OpenAI refuses instead of cutting."""


def is_reasoning(model: str) -> bool:
    """Whether a name is that of one of OpenAI's reasoning models, which think unasked."""
    return _REASONING.match(model) is not None


def check(body: Mapping[str, Any]) -> None:
    """Raise `Refusal`, in OpenAI's words, for what a reasoning model does not take."""
    if body.get("max_tokens") is not None:
        raise Refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            code="unsupported_parameter",
        )
    temperature = body.get("temperature")
    if temperature not in (None, 1):
        raise Refusal(
            f"Unsupported value: 'temperature' does not support {temperature:g} with this model. "
            "Only the default (1) value is supported.",
            "temperature",
            code="unsupported_value",
        )
    for name in _UNSUPPORTED:
        if body.get(name) is not None:
            raise Refusal(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name,
                code="unsupported_parameter",
            )
    if (body.get("max_completion_tokens") or SMALLEST_LIMIT) < SMALLEST_LIMIT:
        raise Refusal(
            "Could not finish the message because max_tokens or model output limit was reached. "
            "Please try again with higher max_tokens."
        )
