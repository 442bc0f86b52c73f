"""The chat completions format of OpenAI: request bodies in, response bodies out.

Checks what a real provider would refuse and counts tokens; knows nothing of HTTP or of judges.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.planted.families import family_named, served_models
from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.answering import Answer, Request
from judge_gym.simulator.http import Refusal, read_model
from judge_gym.simulator.vendors import thinking_tokens

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
    """Whether a name is that of one of OpenAI's reasoning models, which think by default."""
    return _REASONING.match(model) is not None


def check(body: Mapping[str, Any]) -> None:
    """Raise `Refusal`, in OpenAI's words, for parameters that a reasoning model refuses."""
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


FINGERPRINT = "judge-gym-simulator"
"""Marks every response as simulated."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


class _Part(BaseModel):
    type: str
    text: str = ""


class _Message(BaseModel):
    role: str
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class _Body(BaseModel):
    """The fields that are read; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(min_length=1, max_length=200)
    messages: list[_Message] = Field(min_length=1, max_length=200)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None
    stop: str | list[str] | None = None
    n: int | None = Field(default=None, ge=1, le=1)
    stream: bool | None = None


class Chat(BaseModel):
    """A request with the limits of its answer."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    request: Request
    stop: tuple[str, ...] = ()
    thinking: int = 0
    """Tokens of thinking before the answer, which count toward the limit."""


def read_body(data: Any) -> Chat:
    """Read a request body; raises `Refusal` naming the field and the fault."""
    body = read_model(_Body, data)
    if thinks := is_reasoning(body.model):
        check(data)
    if body.stream:
        raise Refusal("stream: the simulator does not stream; leave it out", "stream")
    if family_named(body.model) is None:
        served = ", ".join(served_models())
        unknown = f"The model {body.model!r} does not exist. The simulator serves: {served}."
        raise Refusal(unknown, "model", status=404, code="model_not_found")
    request = Request(
        model=body.model,
        messages=tuple((message.role, message.text) for message in body.messages),
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        max_tokens=body.max_completion_tokens or body.max_tokens,
        seed=body.seed,
        response_format=canonical_json(body.response_format) if body.response_format else "",
    )
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return Chat(
        request=request,
        stop=tuple(stop for stop in stops if stop),
        thinking=thinking_tokens(request) if thinks else 0,
    )


def completion(chat: Chat, answer: Answer) -> dict[str, Any]:
    """Return the response body: the answer, cut where asked, with its usage.

    A token is a run of letters and digits or one other sign; only the contents of messages
    count, and thinking. `created` is 0, so that equal requests have equal responses, byte for byte.
    """
    request = chat.request
    limit = request.max_tokens
    thinking = chat.thinking if limit is None else min(chat.thinking, limit)
    text, reason = _cut(answer.text, chat.stop, None if limit is None else limit - thinking)
    prompt_tokens = sum(count_tokens(content) for _, content in request.messages)
    completion_tokens = thinking + count_tokens(text)
    details = {"completion_tokens_details": {"reasoning_tokens": thinking}} if thinking else {}
    return {
        "id": f"chatcmpl-{digest(*request.identity, text)}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "system_fingerprint": FINGERPRINT,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": reason,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            **details,
        },
    }


def count_tokens(text: str) -> int:
    """Count runs of letters and digits, and every other sign that is not a space."""
    return len(_TOKEN.findall(text))


def _cut(text: str, stops: tuple[str, ...], limit: int | None) -> tuple[str, str]:
    for stop in stops:
        text = text.partition(stop)[0]
    if limit is None:
        return text, "stop"
    beyond = next(islice(_TOKEN.finditer(text), limit, None), None)
    return (text, "stop") if beyond is None else (text[: beyond.start()].rstrip(), "length")
