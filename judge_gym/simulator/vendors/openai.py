"""OpenAI's chat completions and embeddings: bodies in, bodies and refusals out."""

import base64
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.planted.families import served_models
from judge_gym.seeds import canonical_json
from judge_gym.simulator.answering import ModelRequest
from judge_gym.simulator.chat import DECLINED, FINGERPRINT, Chat, ChatToken, Completion
from judge_gym.simulator.http import Refusal, Stats, read_model
from judge_gym.simulator.vendors import (
    EFFORTS,
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

_REASONING = re.compile(r"(.*/)?(gpt-[5-9](?!-chat)|o[134](-|$))")
_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_UNSUPPORTED = (
    "top_p",
    "logprobs",
    "top_logprobs",
    "presence_penalty",
    "frequency_penalty",
    "stop",
)
_SAMPLING = ("temperature", "top_p", "logprobs", "top_logprobs")
SMALLEST_LIMIT = 16
"""Below this OpenAI refuses instead of cutting."""
_MOST_LOGPROBS = 20
LONGEST_EMBEDDED = 8192
"""Tokens of the longest text that OpenAI's models embed."""


class _ContentPart(BaseModel):
    type: str
    text: str = ""


class _ChatMessage(BaseModel):
    role: str
    content: str | list[_ContentPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class Body(BaseModel):
    """The fields that are read; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(min_length=1, max_length=200)
    messages: list[_ChatMessage] = Field(min_length=1, max_length=200)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None
    stop: str | list[str] | None = None
    n: int | None = Field(default=None, ge=1, le=1)
    stream: bool | None = None
    reasoning_effort: str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0)

    def request(self, **fields: Any) -> ModelRequest:
        """Return the request; `fields` take the place of its own."""
        given: dict[str, Any] = {
            "model": self.model,
            "messages": tuple((_role(message.role), message.text) for message in self.messages),
            "temperature": 1.0 if self.temperature is None else self.temperature,
            "top_p": 1.0 if self.top_p is None else self.top_p,
            "max_tokens": self.max_completion_tokens or self.max_tokens,
            "seed": self.seed,
            "response_format": canonical_json(self.response_format) if self.response_format else "",
            "effort": self.reasoning_effort,
        }
        return ModelRequest(**given | fields)

    @property
    def stops(self) -> tuple[str, ...]:
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(stop for stop in stops if stop)

    @property
    def alternatives(self) -> int | None:
        """How many alternatives to each token are asked for; None: no probabilities."""
        return (self.top_logprobs or 0) if self.logprobs else None


def _role(role: str) -> str:
    """Return a role by its older name: reasoning models have a developer in place of a system."""
    return "system" if role == "developer" else role


_QUOTA = "You exceeded your current quota, please check your plan and billing details."


class OpenAI(Vendor):
    """OpenAI itself, and what the APIs that resemble it share."""

    name: ClassVar[str] = "openai"
    prefixes: ClassVar[tuple[str, ...]] = ("/v1/",)
    paths: ClassVar[tuple[str, ...]] = ("/v1/chat/completions",)
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "Rate limit reached for requests.", "rate_limit_exceeded",
                             "requests"),
        "insufficient_quota": Notice(429, _QUOTA, "insufficient_quota", "insufficient_quota"),
        "quota": Notice(429, _QUOTA, "credit_balance_exhausted", "insufficient_quota"),
        "spend_limit": Notice(429, "Your organization has reached its spend limit.",
                              "organization_spend_limit_exceeded", "insufficient_quota"),
        "server_error": Notice(500, "The server had an error while processing your request "
                               "(status {status}).", None, "server_error"),
        "overloaded": Notice(503, "The server is currently overloaded. Please try again later.",
                             "server_is_overloaded", "server_error"),
        "unauthorized": Notice(401, "Incorrect API key provided: {key}. You can find your API key "
                               "in the dashboard.", "invalid_api_key"),
        "no_access": Notice(403, "Project `proj_simulated` does not have access to this model.",
                            "model_not_found"),
        "retired": Notice(404, "The model has been deprecated and is no longer available.",
                          "model_not_found"),
        "not_found": Notice(404, "The model {model!r} does not exist. The simulator serves: "
                            "{served}.", "model_not_found", parameter="model"),
        "context_too_long": Notice(400, "This model's maximum context length is {context} tokens. "
                                   "However, your messages resulted in {tokens} tokens. Please "
                                   "reduce the length of the messages.", "context_length_exceeded",
                                   parameter="messages"),
        "content_policy": Notice(400, "Invalid prompt: your prompt was flagged as potentially "
                                 "violating our usage policy. Please try again with a different "
                                 "prompt.", "invalid_prompt"),
    }  # fmt: skip
    most_logprobs: ClassVar[int] = _MOST_LOGPROBS

    def key(self, asked: ApiRequest) -> str:
        return bearer(asked)

    def read(self, data: Any, asked: ApiRequest) -> Chat:
        self.check_key(asked)
        body = self.body(data, asked)
        self.check_model(body.model)
        thinks = self.check(body, data)
        request = self.request(body)
        chat = Chat(
            request=request,
            stop=body.stops,
            thinking=thinking_tokens(request, effort=body.reasoning_effort) if thinks else 0,
            shows_thinking=self.shows_thinking(body, data),
            logprobs=body.alternatives,
        )
        self.check_context(chat, PLANTED_CONTEXT if is_planted(body.model) else self.context(body))
        return chat

    def body(self, data: Any, asked: ApiRequest) -> Body:
        """Return the body; raises `Refusal` naming the field and the fault."""
        body = read_model(Body, data)
        if body.stream:
            raise Refusal("stream: the simulator does not stream; leave it out", "stream")
        if (body.top_logprobs or 0) > self.most_logprobs:
            message = f"top_logprobs: must be at most {self.most_logprobs}"
            raise Refusal(message, "top_logprobs")
        return body

    def check_model(self, model: str) -> None:
        """Raise `Refusal` for a model that nobody answers for."""
        if not exists(model):
            served = ", ".join(served_models())
            raise self.words["not_found"].refusal(model=model, served=served)

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        """Raise `Refusal` for what the model refuses; returns whether it thinks."""
        effort = body.reasoning_effort
        if is_planted(body.model):
            return effort not in (None, "none")
        if _REASONING.match(body.model) is None:
            if effort is not None:
                raise Refusal("Unrecognized request argument supplied: reasoning_effort")
            return False
        _check_effort(body)
        _check_reasoning(data, sampled=effort == "none")
        return (effort or _default_effort(body.model)) != "none"

    def request(self, body: Body) -> ModelRequest:
        """Return what the model is asked."""
        return body.request()

    def shows_thinking(self, body: Body, data: Mapping[str, Any]) -> bool:
        """Whether the text of thinking is returned."""
        return False

    def context(self, body: Body) -> int:
        """Return the context of a model, in tokens."""
        return 400_000 if _REASONING.match(body.model) else 128_000

    def written(self, done: Completion) -> dict[str, Any]:
        body: dict[str, Any] = {
            "id": self.response_id(done),
            "object": "chat.completion",
            # Equal requests have equal responses, byte for byte.
            "created": 0,
            "model": done.model,
            **self.marks(done),
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **self.message(done)},
                    "logprobs": self.logprobs(done),
                    "finish_reason": self.finish(done),
                }
            ],
        }
        return body | ({"usage": self.usage(done)} if done.counted else {})

    def response_id(self, done: Completion) -> str:
        return f"chatcmpl-{done.identity}"

    def marks(self, done: Completion) -> dict[str, Any]:
        """Return fields of the body beside those that all have."""
        return {"system_fingerprint": FINGERPRINT}

    def message(self, done: Completion) -> dict[str, Any]:
        if done.declined:
            return {"content": None, "refusal": DECLINED}
        return {"content": done.text, "refusal": None}

    def finish(self, done: Completion) -> str:
        if done.native_finish:
            return done.native_finish
        if done.finish == "content_filter":
            return "content_filter"
        return "length" if done.finish in ("length", "context") else "stop"

    def logprobs(self, done: Completion) -> dict[str, Any] | None:
        count = done.chat.logprobs
        if count is None:
            return None
        content = [self.token(token, count) for token in done.tokens]
        return {"content": content, "refusal": None}

    def token(self, token: ChatToken, count: int) -> dict[str, Any]:
        others = [_weighed(text, logprob) for text, logprob in token.top(count)]
        return _weighed(token.text, token.logprob) | {"top_logprobs": others}

    def usage(self, done: Completion) -> dict[str, Any]:
        counted = done.thinking + done.text_tokens
        return {
            "prompt_tokens": done.prompt_tokens,
            "completion_tokens": counted,
            "total_tokens": done.prompt_tokens + counted,
            "prompt_tokens_details": {"cached_tokens": done.cached},
            "completion_tokens_details": {"reasoning_tokens": done.thinking},
        }

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        return {
            "error": {
                "message": str(refusal),
                "type": refusal.kind,
                "param": refusal.parameter,
                "code": refusal.code,
            }
        }

    def headers(self, stats: Stats) -> dict[str, str]:
        return {
            "x-ratelimit-limit-requests": f"{REQUESTS_A_MINUTE}",
            "x-ratelimit-limit-tokens": f"{TOKENS_A_MINUTE}",
            "x-ratelimit-remaining-requests": f"{max(0, REQUESTS_A_MINUTE - stats.in_flight)}",
            "x-ratelimit-remaining-tokens": f"{TOKENS_A_MINUTE}",
            "x-ratelimit-reset-requests": "6ms",
            "x-ratelimit-reset-tokens": "0s",
        }

    def reset_headers(self, seconds: float) -> dict[str, str]:
        return {
            "x-ratelimit-limit-requests": f"{REQUESTS_A_MINUTE}",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": span(seconds),
        }


class _ToEmbed(BaseModel):
    """The fields that are read of a request for embeddings; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(min_length=1, max_length=200)
    input: str | Annotated[list[str], Field(max_length=2048)] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] = "float"


class OpenAIEmbeddings(OpenAI):
    """OpenAI's embeddings: texts in, a vector for each out."""

    prefixes: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)
    paths: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)

    def read(self, data: Any, asked: ApiRequest) -> Chat:
        self.check_key(asked)
        body = read_model(_ToEmbed, data)
        self.check_model(body.model)
        texts = [body.input] if isinstance(body.input, str) else body.input
        request = ModelRequest(
            body.model,
            tuple(("user", text) for text in texts),
            response_format=body.encoding_format,
            embeds=True,
        )
        longest = PLANTED_CONTEXT if is_planted(body.model) else LONGEST_EMBEDDED
        for message in request.messages:
            self.check_context(Chat(replace(request, messages=(message,))), longest)
        return Chat(request)

    def written(self, done: Completion) -> dict[str, Any]:
        body = {
            "object": "list",
            "data": [
                {"object": "embedding", "index": number, "embedding": self._encoded(done, vector)}
                for number, vector in enumerate(_vectors(done.text))
            ],
            "model": done.model,
            **self.marks(done),
        }
        counted = {"prompt_tokens": done.prompt_tokens, "total_tokens": done.prompt_tokens}
        return body | ({"usage": counted} if done.counted else {})

    def _encoded(self, done: Completion, vector: list[float]) -> list[float] | str:
        if done.chat.request.response_format == "float":
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _vectors(text: str) -> list[list[float]]:
    """Return the vectors of an answer; none where a fault took it or a part of it."""
    try:
        vectors: list[list[float]] = json.loads(text)
    except ValueError:
        return []
    return vectors


def span(seconds: float) -> str:
    """Return a duration as OpenAI writes it: 1s, 6m0s, 20ms."""
    if 0 < seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"


def _weighed(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _efforts(model: str) -> tuple[str, ...]:
    """Return the reasoning efforts that one of OpenAI's reasoning models takes."""
    version = version_in(model, _VERSION)
    lowest = "none" if version >= (5, 1) else "minimal" if version >= (5, 0) else "low"
    return tuple(dict.fromkeys((lowest, "low", "medium", "high")))


def _default_effort(model: str) -> str:
    return "none" if (5, 1) <= version_in(model, _VERSION) < (5, 5) else "medium"


def _check_effort(body: Body) -> None:
    effort, efforts = body.reasoning_effort, _efforts(body.model)
    if effort is not None and effort not in efforts:
        *first, last = (f"'{name}'" for name in efforts)
        code = "unsupported_value" if effort in (*EFFORTS, "none") else "invalid_value"
        raise Refusal(
            f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. "
            f"Supported values are: {', '.join(first)}, and {last}.",
            "reasoning_effort",
            code=code,
        )


def _check_reasoning(data: Mapping[str, Any], *, sampled: bool) -> None:
    """Raise `Refusal` for parameters that a reasoning model refuses.

    Those of sampling are taken where it is `sampled`: where it was asked not to think.
    """
    if data.get("max_tokens") is not None:
        raise Refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            code="unsupported_parameter",
        )
    temperature = data.get("temperature")
    if temperature not in (None, 1) and not sampled:
        raise Refusal(
            f"Unsupported value: 'temperature' does not support {temperature:g} with this model. "
            "Only the default (1) value is supported.",
            "temperature",
            code="unsupported_value",
        )
    for name in _UNSUPPORTED:
        if data.get(name) is not None and not (sampled and name in _SAMPLING):
            raise Refusal(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name,
                code="unsupported_parameter",
            )
    if (data.get("max_completion_tokens") or SMALLEST_LIMIT) < SMALLEST_LIMIT:
        raise Refusal(
            "Could not finish the message because max_tokens or model output limit was reached. "
            "Please try again with higher max_tokens."
        )
