"""Anthropic's Messages API of both its versions: bodies in, bodies and refusals out."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.answering import ModelRequest
from judge_gym.simulator.chat import DECLINED, Chat, Completion
from judge_gym.simulator.http import Refusal, Stats, read_model
from judge_gym.simulator.vendors import (
    PLANTED_CONTEXT,
    REQUESTS_A_MINUTE,
    TOKENS_A_MINUTE,
    ApiRequest,
    Notice,
    Vendor,
    bearer,
    exists,
    is_planted,
    thinking_tokens,
    version_in,
)

_WORDS = {"missing": "Field required", "extra_forbidden": "Extra inputs are not permitted"}
_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
_WITHOUT_SAMPLING = _VERSIONS[-1]
"""From this version of the API on, no model takes sampling parameters."""
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
    504: "timeout_error",
    529: "overloaded_error",
}
_TOKEN_LIMITS = ("tokens", "input-tokens", "output-tokens")
_REASONS = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "refusal": "refusal",
    "content_filter": "refusal",
}


class _Block(BaseModel):
    type: str
    text: str = ""


class _Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str | list[_Block]


class _Thinking(BaseModel):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = Field(default=None, ge=1024)
    display: Literal["summarized", "omitted"] | None = None


class _Format(BaseModel):
    type: Literal["json_schema"]
    json_schema: Mapping[str, Any] = Field(alias="schema")


class _OutputConfig(BaseModel):
    model_config = ConfigDict(extra="forbid")

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: _Format | None = None


class _MessagesBody(BaseModel):
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
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    metadata: Mapping[str, Any] | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    tools: list[Any] | None = None
    tool_choice: Mapping[str, Any] | None = None
    stream: Literal[False] = False

    @property
    def effort(self) -> str | None:
        return self.output_config.effort if self.output_config else None

    @property
    def format(self) -> _Format | None:
        return (self.output_config.format if self.output_config else None) or self.output_format

    @property
    def is_thinking(self) -> bool:
        return self.thinking is not None and self.thinking.type != "disabled"


class Anthropic(Vendor):
    """The Messages API."""

    name: ClassVar[str] = "anthropic"
    prefixes: ClassVar[tuple[str, ...]] = ("/v1/messages",)
    paths: ClassVar[tuple[str, ...]] = ("/v1/messages",)
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "This request would exceed your account's rate limit. Please try "
                             "again later."),
        "quota": Notice(402, "Your credit balance is too low to access the Anthropic API. Please "
                        "go to Plans & Billing to upgrade or purchase credits."),
        "spend_limit": Notice(429, "Your organization has reached its monthly spend limit.",
                              details={"error_code": "enforced_spend_limit_reached"}),
        "own_limit": Notice(400, "You have reached your specified API usage limits. You will "
                            "regain access on 2026-12-01 at 00:00 UTC."),
        "server_error": Notice(500, "Internal server error"),
        "overloaded": Notice(529, "Overloaded"),
        "unauthorized": Notice(401, "invalid x-api-key"),
        "no_access": Notice(403, "Your organization does not have access to this model."),
        "retired": Notice(404, "model: {model}"),
        "not_found": Notice(404, "model: {model}"),
        "context_too_long": Notice(400, "prompt is too long: {tokens} tokens > {context} maximum"),
        "content_policy": Notice(400, "Output blocked by content filtering policy"),
    }  # fmt: skip

    def key(self, asked: ApiRequest) -> str:
        return asked.headers.get("x-api-key") or bearer(asked)

    def check_headers(self, asked: ApiRequest) -> None:
        """Raise `Refusal` for a missing or wrong key, and for no version or an unknown one."""
        if not self.key(asked):
            raise Refusal("x-api-key header is required", status=401)
        self.check_key(asked)
        version = asked.headers.get("anthropic-version")
        if not version:
            raise Refusal("anthropic-version: header is required")
        if version not in _VERSIONS:
            raise Refusal(f"anthropic-version: {version!r} is not a valid version")

    def read(self, data: Any, asked: ApiRequest) -> Chat:
        self.check_headers(asked)
        _check_version(data, asked.headers["anthropic-version"])
        body = read_model(_MessagesBody, data, _WORDS)
        if not exists(body.model):
            raise self.words["not_found"].refusal(model=body.model)
        version = version_in(body.model, _VERSION)
        planted = is_planted(body.model)
        _check_sampling(body, version)
        if not planted:
            _check_thinking(body, version)
            _check_output(body, version, asked)
        system = (("system", _text(body.system)),) if body.system else ()
        request = ModelRequest(
            model=body.model,
            messages=system
            + tuple((message.role, _text(message.content)) for message in body.messages),
            temperature=1.0 if body.temperature is None else body.temperature,
            top_p=1.0 if body.top_p is None else body.top_p,
            max_tokens=body.max_tokens,
            response_format=_as_openais(body.format) if body.format else "",
            effort=body.effort,
        )
        budget = body.thinking.budget_tokens if body.thinking else None
        chat = Chat(
            request=request,
            stop=tuple(body.stop_sequences),
            thinking=thinking_tokens(request, budget, body.effort) if body.is_thinking else 0,
            shows_thinking=_shows_thinking(body, version),
        )
        context = PLANTED_CONTEXT if planted or version >= (4, 6) else 200_000
        self.check_context(chat, context)
        return _with_room(chat, context, version)

    def written(self, done: Completion) -> dict[str, Any]:
        return {
            "id": f"msg_{digest(done.identity)[:24]}",
            "type": "message",
            "role": "assistant",
            "model": done.model,
            "content": self._content(done),
            "stop_reason": done.native_finish or _REASONS[done.finish],
            "stop_sequence": done.stopped_by,
            "stop_details": self._stop_details(done),
            "usage": self._usage(done),
        }

    def _content(self, done: Completion) -> list[dict[str, Any]]:
        thought = {"type": "thinking", "thinking": done.thought,
                   "signature": digest("signature", done.identity)}  # fmt: skip
        text = {"type": "text", "text": done.text}
        said = [text] if done.text and not done.declined else []
        return [thought, *said] if done.thinking else said

    def _stop_details(self, done: Completion) -> dict[str, Any] | None:
        if not done.declined:
            return None
        return {"type": "refusal", "category": done.reason or None, "explanation": DECLINED}

    def _usage(self, done: Completion) -> dict[str, Any]:
        # Its clients take the counts for granted: without counts there are zeros.
        prompt, counted = (
            (done.prompt_tokens, done.thinking + done.text_tokens) if done.counted else (0, 0)
        )
        return {
            "input_tokens": prompt - done.cached - done.cache_written,
            "cache_creation_input_tokens": done.cache_written,
            "cache_read_input_tokens": done.cached,
            "cache_creation": {
                "ephemeral_5m_input_tokens": done.cache_written,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": counted,
            "output_tokens_details": {"thinking_tokens": done.thinking if done.counted else 0},
            "service_tier": "standard",
        }

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        return {
            "type": "error",
            "error": {
                "type": _KINDS.get(refusal.status, "api_error"),
                "message": str(refusal),
                "details": refusal.details,
            },
            "request_id": f"req_{digest(str(refusal))[:24]}",
        }

    def headers(self, stats: Stats) -> dict[str, str]:
        return self._limits(max(0, REQUESTS_A_MINUTE - stats.in_flight), 0) | {
            "request-id": f"req_{digest('request', stats.most_in_flight)[:24]}"
        }

    def reset_headers(self, seconds: float) -> dict[str, str]:
        return self._limits(0, seconds)

    def _limits(self, left: int, seconds: float) -> dict[str, str]:
        reset = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        limits = dict.fromkeys(_TOKEN_LIMITS, (TOKENS_A_MINUTE, TOKENS_A_MINUTE))
        limits["requests"] = (REQUESTS_A_MINUTE, left)
        return {
            f"anthropic-ratelimit-{kind}-{name}": f"{value}"
            for kind, (limit, remaining) in limits.items()
            for name, value in (("limit", limit), ("remaining", remaining), ("reset", reset))
        }


def _check_version(data: Any, version: str) -> None:
    if version == _WITHOUT_SAMPLING and isinstance(data, dict):
        for name in ("temperature", "top_p", "top_k"):
            if name in data:
                raise Refusal(f"{name}: {_WORDS['extra_forbidden']}")


def _check_sampling(body: _MessagesBody, version: tuple[int, int]) -> None:
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


def _check_thinking(body: _MessagesBody, version: tuple[int, int]) -> None:
    if body.thinking is None or body.thinking.type == "disabled":
        return
    if body.thinking.type == "adaptive":
        if version < (4, 6):
            raise Refusal("adaptive thinking is not supported on this model")
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


def _check_output(body: _MessagesBody, version: tuple[int, int], asked: ApiRequest) -> None:
    if body.effort is not None and version < (4, 5):
        raise Refusal("This model does not support the effort parameter.")
    if body.format is not None and version < (4, 5):
        raise Refusal("This model does not support output format.")
    if body.output_format is not None and "structured-outputs" not in asked.headers.get(
        "anthropic-beta", ""
    ):
        raise Refusal(f"output_format: {_WORDS['extra_forbidden']}")


def _with_room(chat: Chat, context: int, version: tuple[int, int]) -> Chat:
    """Return the chat with what the context leaves for its answer; raises `Refusal`.

    Models before 4.5 refuse an answer that might not fit.
    """
    limit = chat.request.max_tokens or 0
    if chat.prompt_tokens + limit <= context:
        return chat
    if (0, 0) < version < (4, 5):
        raise Refusal(
            f"input length and `max_tokens` exceed context limit: {chat.prompt_tokens} + {limit} > "
            f"{context}, decrease input length or `max_tokens` and try again"
        )
    return Chat(
        chat.request, chat.stop, chat.thinking, chat.shows_thinking,
        room=context - chat.prompt_tokens,
    )  # fmt: skip


def _shows_thinking(body: _MessagesBody, version: tuple[int, int]) -> bool:
    """From 4.7 on the text of thinking is left out unless it is asked for."""
    display = body.thinking.display if body.thinking else None
    return display == "summarized" if display or version >= (4, 7) else True


def _as_openais(given: _Format) -> str:
    """Return a format as OpenAI's requests have it: equal requests have equal answers."""
    schema = {"name": "answer", "strict": True, "schema": given.json_schema}
    return canonical_json({"type": "json_schema", "json_schema": schema})


def _text(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if block.type == "text")
