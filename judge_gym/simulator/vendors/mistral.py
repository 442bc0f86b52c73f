"""Mistral's chat completions: what they have other than OpenAI's."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from judge_gym.seeds import derive_seed
from judge_gym.simulator.chat import DECLINED, ChatToken, Completion
from judge_gym.simulator.http import Refusal, Stats
from judge_gym.simulator.vendors import (
    REQUESTS_A_MINUTE,
    TOKENS_A_MINUTE,
    ApiRequest,
    Notice,
    exists,
)
from judge_gym.simulator.vendors.openai import Body, OpenAI

_VOCABULARY = 131_072
_GREEDY = "top_p must be 1 when using greedy sampling."


class _Checked(BaseModel):
    """Every field that the API has; it refuses others."""

    model_config = ConfigDict(extra="forbid")

    model: str
    messages: list[Any]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    min_tokens: int | None = None
    stream: bool | None = None
    stop: str | list[str] | None = None
    random_seed: int | None = None
    metadata: Mapping[str, Any] | None = None
    response_format: Mapping[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    top_k: int | None = None
    n: int | None = None
    prediction: Any = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    prompt_mode: str | None = None
    guardrails: list[Any] | None = None
    prompt_cache_key: str | None = None
    service_tier: str | None = None
    safe_prompt: bool | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class Mistral(OpenAI):
    """The Mistral API."""

    name: ClassVar[str] = "mistral"
    prefixes: ClassVar[tuple[str, ...]] = ("/mistral/",)
    paths: ClassVar[tuple[str, ...]] = ("/mistral/v1/chat/completions",)
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "Rate limit exceeded", "1300", "rate_limited"),
        "quota": Notice(402, "Payment required: your workspace has no credit left.", None,
                        "payment_required"),
        "spend_limit": Notice(402, "Your workspace has reached its monthly spending limit.", None,
                              "payment_required"),
        "server_error": Notice(500, "Internal server error", "1000", "internal_server_error"),
        "overloaded": Notice(503, "Service unavailable.", "1100", "unreachable_backend"),
        "unauthorized": Notice(401, "Unauthorized", kind="detail"),
        "no_access": Notice(403, "You do not have access to this model.", None, "forbidden"),
        "retired": Notice(404, "Model {model} has been retired.", "1500", "invalid_model"),
        "not_found": Notice(400, "Invalid model: {model}", "1500", "invalid_model"),
        "context_too_long": Notice(400, "Prompt contains {tokens} tokens and 0 draft tokens, too "
                                   "large for model with {context} maximum context length", None),
        "content_policy": Notice(400, "The request was blocked by a guardrail.", None,
                                 "guardrail_blocked"),
    }  # fmt: skip

    def body(self, data: Any, asked: ApiRequest) -> Body:
        try:
            checked = _Checked.model_validate(data)
        except ValidationError as error:
            raise _unprocessable(error.errors()) from None
        if (checked.temperature or 0) > 1:
            raise _unprocessable(
                [
                    {
                        "type": "less_than_equal",
                        "loc": ("temperature",),
                        "msg": "Input should be less than or equal to 1",
                        "input": checked.temperature,
                    }
                ]
            )
        if checked.temperature == 0 and checked.top_p not in (None, 1):
            raise Refusal(_GREEDY)
        return super().body({**data, "seed": data.get("random_seed")}, asked)

    def check_model(self, model: str) -> None:
        if not exists(model):
            raise self.words["not_found"].refusal(model=model)

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        return body.reasoning_effort not in (None, "none") or "magistral" in body.model

    def shows_thinking(self, body: Body, data: Mapping[str, Any]) -> bool:
        return True

    def context(self, body: Body) -> int:
        return 131_072

    def marks(self, done: Completion) -> dict[str, Any]:
        return {}

    def message(self, done: Completion) -> dict[str, Any]:
        text = DECLINED if done.declined else done.text
        if not done.thinking:
            return {"content": text, "tool_calls": None}
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": done.thought}]}
        said = [{"type": "text", "text": text}] if text else []
        return {"content": [thought, *said], "tool_calls": None}

    def token(self, token: ChatToken, count: int) -> dict[str, Any]:
        weighed = super().token(token, count)
        others = [other | _token_id(other) for other in weighed["top_logprobs"]]
        return weighed | _token_id(weighed) | {"top_logprobs": others}

    def finish(self, done: Completion) -> str:
        finish = super().finish(done)
        if done.finish == "context" and not done.native_finish:
            return "model_length"
        return "stop" if finish == "content_filter" else finish

    def usage(self, done: Completion) -> dict[str, Any]:
        counts = super().usage(done)
        del counts["completion_tokens_details"]
        return counts

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        if refusal.kind == "detail":
            return {"detail": refusal.details or str(refusal)}
        return {
            "object": "error",
            "message": str(refusal),
            "type": refusal.kind,
            "param": refusal.parameter,
            "code": refusal.code,
        }

    def headers(self, stats: Stats) -> dict[str, str]:
        return self._limits(max(0, REQUESTS_A_MINUTE - stats.in_flight))

    def reset_headers(self, seconds: float) -> dict[str, str]:
        # It does not say when a limit is reset.
        return self._limits(0)

    def _limits(self, left: int) -> dict[str, str]:
        return {
            "x-ratelimit-limit-req-minute": f"{REQUESTS_A_MINUTE}",
            "x-ratelimit-remaining-req-minute": f"{left}",
            "x-ratelimit-limit-tokens-minute": f"{TOKENS_A_MINUTE}",
            "x-ratelimit-remaining-tokens-minute": f"{TOKENS_A_MINUTE}",
        }


def _token_id(weighed: Mapping[str, Any]) -> dict[str, int]:
    return {"token_id": derive_seed("token", weighed["token"]) % _VOCABULARY}


def _unprocessable(errors: list[Any]) -> Refusal:
    """Return the refusal of a body that does not fit, as the API's framework words it."""
    details = [
        {
            "type": error["type"],
            "loc": ["body", *error["loc"]],
            "msg": error["msg"],
            "input": error.get("input"),
        }
        for error in errors
    ]
    first = details[0]
    message = f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
    return Refusal(message, status=422, kind="detail", details=details)
