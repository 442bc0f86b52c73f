"""Anthropic's Messages API of version 2023-06-01: bodies in, bodies and refusals out."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import digest
from judge_gym.simulator.answering import Request
from judge_gym.simulator.chat import Chat
from judge_gym.simulator.http import Refusal, read_model
from judge_gym.simulator.vendors import check_model, thinking_tokens, version_in

PATH = "/v1/messages"
_WORDS = {"missing": "Field required", "extra_forbidden": "Extra inputs are not permitted"}
# 4, 5 of claude-sonnet-4-5-20250929 and 3, 7 of claude-3-7-sonnet
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2})(?!\d))?")
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class _Block(BaseModel):
    type: str
    text: str = ""


class _Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str | list[_Block]


class _Thinking(BaseModel):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = Field(default=None, ge=1024)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: str
    messages: list[_Message] = Field(min_length=1)
    max_tokens: int = Field(ge=1)
    system: str | list[_Block] = ""
    temperature: float | None = None
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = None
    stop_sequences: list[str] = []
    thinking: _Thinking | None = None
    output_config: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Mapping[str, Any] | None = None
    stream: Literal[False] = False


def read(data: Any, headers: Mapping[str, str]) -> Chat:
    """Read a request; raises `Refusal`, in Anthropic's words, for what the model refuses."""
    if not (headers.get("x-api-key") or headers.get("Authorization")):
        raise Refusal("x-api-key header is required", status=401)
    if not headers.get("anthropic-version"):
        raise Refusal("anthropic-version: header is required")
    body = read_model(_Body, data, _WORDS)
    check_model(body.model, f"model: {body.model}")
    version = version_in(body.model, _VERSION)
    _check_sampling(body, version)
    _check_thinking(body, version)
    system = (("system", _text(body.system)),) if body.system else ()
    request = Request(
        model=body.model,
        messages=system
        + tuple((message.role, _text(message.content)) for message in body.messages),
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        max_tokens=body.max_tokens,
    )
    thinks = body.thinking is not None and body.thinking.type != "disabled"
    budget = body.thinking.budget_tokens if body.thinking else None
    return Chat(
        request=request,
        stop=tuple(body.stop_sequences),
        thinking=thinking_tokens(request, budget) if thinks else 0,
    )


def written(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion as a message."""
    (choice,) = completion["choices"]
    usage = completion.get("usage") or {"prompt_tokens": 0, "completion_tokens": 0}
    text = choice["message"]["content"]
    return {
        "id": f"msg_{digest(completion['id'])[:24]}",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": _REASONS[choice["finish_reason"]],
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": usage["completion_tokens"],
        },
    }


def refused(refusal: Refusal) -> dict[str, Any]:
    """Return a refusal in Anthropic's error format."""
    kind = _KINDS.get(refusal.status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": str(refusal)},
        "request_id": f"req_{digest(str(refusal))[:24]}",
    }


def _check_sampling(body: _Body, version: tuple[int, int]) -> None:
    if body.temperature is not None and not 0 <= body.temperature <= 1:
        raise Refusal("temperature: range: 0..1")
    if version >= (4, 7):
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if getattr(body, name) not in (None, default):
                raise Refusal(f"`{name}` is deprecated for this model.")
    elif version >= (4, 1) and body.temperature is not None and body.top_p is not None:
        raise Refusal(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )


def _check_thinking(body: _Body, version: tuple[int, int]) -> None:
    if body.thinking is None or body.thinking.type != "enabled":
        return
    if version >= (4, 7):
        raise Refusal(
            '"thinking.type.enabled" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if body.thinking.budget_tokens is None:
        raise Refusal("thinking.enabled.budget_tokens: Field required")
    if body.thinking.budget_tokens >= body.max_tokens:
        raise Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.temperature not in (None, 1):
        raise Refusal("`temperature` may only be set to 1 when thinking is enabled.")


def _text(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if block.type == "text")
