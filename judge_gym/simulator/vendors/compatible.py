"""The APIs that resemble OpenAI's: what each has other than OpenAI's own.

xAI, DeepSeek, OpenRouter, Groq, Azure, and the servers of local models, Ollama and vLLM.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.answering import ModelRequest
from judge_gym.simulator.chat import DECLINED, FINGERPRINT, Chat, Completion
from judge_gym.simulator.http import Refusal, Stats, read_model
from judge_gym.simulator.vendors import (
    PLANTED_CONTEXT,
    ApiRequest,
    Notice,
    bearer,
    exists,
    is_planted,
    thinking_tokens,
    version_in,
)
from judge_gym.simulator.vendors.openai import Body, OpenAI

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[.-](\d{1,2})(?!\d))?")


class _Compatible(OpenAI):
    """What these share: text of thinking, and no refusal beside the text."""

    thinking_field: ClassVar[str] = "reasoning_content"

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        return body.reasoning_effort not in (None, "none")

    def shows_thinking(self, body: Body, data: Mapping[str, Any]) -> bool:
        return True

    def context(self, body: Body) -> int:
        return 131_072

    def message(self, done: Completion) -> dict[str, Any]:
        text = DECLINED if done.finish == "refusal" else "" if done.declined else done.text
        return {"content": text} | ({self.thinking_field: done.thought} if done.thought else {})


class XAI(_Compatible):
    """xAI: refusals name the parameter, and thinking is counted beside the answer."""

    name: ClassVar[str] = "xai"
    prefixes: ClassVar[tuple[str, ...]] = ("/xai/",)
    paths: ClassVar[tuple[str, ...]] = ("/xai/v1/chat/completions",)
    most_logprobs: ClassVar[int] = 8
    _FORBIDDEN: ClassVar[str] = (
        "The caller does not have permission to execute the specified operation"
    )
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "Too many requests. Your team has reached its rate limit.",
                             "Some resource has been exhausted"),
        "quota": Notice(403, "Your newly created team doesn't have any credits yet. You can "
                        "purchase credits in the console.", _FORBIDDEN),
        "spend_limit": Notice(429, "Your team has either used all available credits or reached its "
                              "monthly spending limit.", "Some resource has been exhausted"),
        "server_error": Notice(500, "Internal error", "internal-error"),
        "overloaded": Notice(503, "The service is currently unavailable", "unavailable"),
        "unauthorized": Notice(400, "Incorrect API key provided: {key}. You can obtain an API key "
                               "from the console.", "Client specified an invalid argument"),
        "no_access": Notice(403, "Your team does not have access to this model.", _FORBIDDEN),
        "retired": Notice(404, "The model {model} has been deprecated.",
                          "Some requested entity was not found"),
        "not_found": Notice(404, "The model {model} does not exist or your team does not have "
                            "access to it.", "Some requested entity was not found"),
        "context_too_long": Notice(400, "This model's maximum prompt length is {context} but the "
                                   "request contains {tokens} tokens.",
                                   "Client specified an invalid argument"),
        "content_policy": Notice(403, "Content violates usage guidelines.", _FORBIDDEN),
    }  # fmt: skip

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        if not body.model.startswith("grok-4"):
            return super().check(body, data)
        refused = ["stop", "presence_penalty", "frequency_penalty"]
        if re.fullmatch(r"grok-4(-0709|-latest)?", body.model):
            refused.append("reasoning_effort")
        for name in refused:
            if data.get(name) is not None:
                message = f"Model {body.model} does not support parameter {name}."
                raise Refusal(message, code="invalid-argument")
        return body.reasoning_effort != "none" and "non-reasoning" not in body.model

    def shows_thinking(self, body: Body, data: Mapping[str, Any]) -> bool:
        return not body.model.startswith("grok-4")

    def usage(self, done: Completion) -> dict[str, Any]:
        counts = super().usage(done)
        return counts | {"completion_tokens": done.text_tokens}

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        code = refusal.code or "Client specified an invalid argument"
        return {"code": code, "error": str(refusal)}


class DeepSeek(_Compatible):
    """DeepSeek: models think unless they are told not to, and then ignore sampling parameters."""

    name: ClassVar[str] = "deepseek"
    prefixes: ClassVar[tuple[str, ...]] = ("/deepseek/",)
    paths: ClassVar[tuple[str, ...]] = (
        "/deepseek/chat/completions",
        "/deepseek/v1/chat/completions",
    )
    _INVALID: ClassVar[str] = "invalid_request_error"
    words: ClassVar[dict[str, Notice]] = OpenAI.words | {
        "rate_limit": Notice(429, "Rate limit reached. Please pace your requests.", None,
                             "rate_limit_error"),
        "quota": Notice(402, "Insufficient Balance", _INVALID, "unknown_error"),
        "spend_limit": Notice(402, "Insufficient Balance", _INVALID, "unknown_error"),
        "overloaded": Notice(503, "Service is too busy. Please retry later.", None,
                             "service_unavailable_error"),
        "unauthorized": Notice(401, "Authentication Fails, Your api key: {key} is invalid",
                               _INVALID, "authentication_error"),
        "retired": Notice(400, "Model Not Exist", _INVALID),
        "not_found": Notice(400, "Model Not Exist", _INVALID),
        "content_policy": Notice(400, "Content Exists Risk", _INVALID),
    }  # fmt: skip

    def check_model(self, model: str) -> None:
        if not exists(model) or model in ("deepseek-chat", "deepseek-reasoner"):
            raise self.words["not_found"].refusal()

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        if (body.response_format or {}).get("type") == "json_schema":
            raise Refusal("This response_format type is unavailable now", code=self._INVALID)
        return self._thinks(body, data)

    def _thinks(self, body: Body, data: Mapping[str, Any]) -> bool:
        chosen = (data.get("thinking") or {}).get("type")
        if is_planted(body.model):
            return chosen == "enabled" or body.reasoning_effort not in (None, "none")
        return chosen != "disabled" and body.reasoning_effort != "none"

    def body(self, data: Any, asked: ApiRequest) -> Body:
        body = super().body(data, asked)
        if not self._thinks(body, data):
            return body
        return body.model_copy(update={"temperature": None, "top_p": None})

    def usage(self, done: Completion) -> dict[str, Any]:
        hit, missed = done.cached, done.prompt_tokens - done.cached
        counts = {"prompt_cache_hit_tokens": hit, "prompt_cache_miss_tokens": missed}
        return super().usage(done) | counts


class OpenRouter(_Compatible):
    """OpenRouter: what a model does not take is dropped, and failures may come with status 200."""

    name: ClassVar[str] = "openrouter"
    prefixes: ClassVar[tuple[str, ...]] = ("/openrouter/",)
    paths: ClassVar[tuple[str, ...]] = ("/openrouter/api/v1/chat/completions",)
    thinking_field: ClassVar[str] = "reasoning"
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "Provider returned error", details={
            "raw": "rate-limited upstream", "provider_name": "Simulated"}),
        "quota": Notice(402, "Insufficient credits. Add more credits in your settings."),
        "spend_limit": Notice(402, "This request would exceed your key's total limit."),
        "server_error": Notice(500, "Internal Server Error"),
        "overloaded": Notice(503, "No instances available",
                             details={"provider_name": "Simulated"}),
        "upstream": Notice(502, "Provider returned error",
                           details={"raw": "Upstream error", "provider_name": "Simulated"}),
        "unauthorized": Notice(401, "User not found."),
        "no_access": Notice(404, "No allowed providers are available for the selected model."),
        "retired": Notice(404, "No endpoints found for {model}."),
        "not_found": Notice(404, "No endpoints found for {model}."),
        "context_too_long": Notice(400, "This endpoint's maximum context length is {context} "
                                   "tokens. However, you requested about {tokens} tokens. Please "
                                   "reduce the length of either one."),
        "content_policy": Notice(403, "The model requires moderation on OpenRouter. Your input was "
                                 "flagged. No credits were charged.",
                                 details={"reasons": ["violence"], "flagged_input": "Hello?",
                                         "provider_name": "Simulated", "model_slug": "a/model"}),
    }  # fmt: skip

    def body(self, data: Any, asked: ApiRequest) -> Body:
        body = super().body(data, asked)
        reasoning, only = data.get("reasoning") or {}, data.get("provider") or {}
        effort = body.reasoning_effort or reasoning.get("effort")
        dropped = [name for name in _dropped(body.model) if getattr(body, name) is not None]
        if dropped and only.get("require_parameters"):
            message = "No endpoints found that can handle the requested parameters."
            raise Refusal(message, status=404)
        return body.model_copy(update=dict.fromkeys(dropped) | {"reasoning_effort": effort})

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        reasoning = data.get("reasoning") or {}
        if reasoning.get("enabled") is False or body.reasoning_effort == "none":
            return False
        by_default = re.match(
            r"openai/(gpt-[5-9]|o[134])|x-ai/grok-4|google/gemini-[23]", body.model
        )
        asked = body.reasoning_effort or reasoning.get("enabled") or reasoning.get("max_tokens")
        return bool(by_default or asked)

    def shows_thinking(self, body: Body, data: Mapping[str, Any]) -> bool:
        hidden = (data.get("reasoning") or {}).get("exclude") or body.model.startswith("openai/")
        return not hidden

    def response_id(self, done: Completion) -> str:
        return f"gen-{digest(done.identity)[:24]}"

    def marks(self, done: Completion) -> dict[str, Any]:
        return {"provider": "Simulated"}

    def message(self, done: Completion) -> dict[str, Any]:
        message = super().message(done) | {"refusal": None}
        if done.thought:
            details = {"type": "reasoning.text", "text": done.thought, "index": 0}
            message["reasoning_details"] = [details]
        return message

    def finish(self, done: Completion) -> str:
        return super().finish(replace(done, native_finish=""))

    def written(self, done: Completion) -> dict[str, Any]:
        body = super().written(done)
        (choice,) = body["choices"]
        native = done.native_finish or done.reason or choice["finish_reason"]
        choice["native_finish_reason"] = native
        return body

    def usage(self, done: Completion) -> dict[str, Any]:
        counts = super().usage(done)
        cost = (done.prompt_tokens + 4 * counts["completion_tokens"]) / 1e6
        return counts | {"cost": round(cost, 9), "is_byok": False}

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        error = {"code": refusal.status, "message": str(refusal)}
        return {"error": error | ({"metadata": refusal.details} if refusal.details else {})}

    def error_in_200(self, where: str) -> dict[str, Any]:
        error = self.refused(self.words["upstream"].refusal())
        if where == "body":
            return error
        message = {"role": "assistant", "content": ""}
        choice = {"index": 0, "message": message, "logprobs": None, **error,
                  "finish_reason": "error", "native_finish_reason": "error"}  # fmt: skip
        return {
            "id": "gen-failed", "object": "chat.completion", "created": 0, "model": "a/model",
            "provider": "Simulated", "choices": [choice],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }  # fmt: skip

    def headers(self, stats: Stats) -> dict[str, str]:
        return {}


def _dropped(model: str) -> tuple[str, ...]:
    """Return the parameters that no endpoint of a model takes."""
    if re.match(r"openai/(gpt-[5-9]|o[134])", model):
        return ("temperature", "top_p", "stop")
    if model.startswith("anthropic/"):
        sampling = ("temperature", "top_p") if version_in(model, _CLAUDE) >= (4, 7) else ()
        return ("seed", "logprobs", *sampling)
    return ()


class Groq(_Compatible):
    """Groq: OpenAI's errors in its own words."""

    name: ClassVar[str] = "groq"
    prefixes: ClassVar[tuple[str, ...]] = ("/groq/",)
    paths: ClassVar[tuple[str, ...]] = ("/groq/openai/v1/chat/completions",)
    thinking_field: ClassVar[str] = "reasoning"
    words: ClassVar[dict[str, Notice]] = OpenAI.words | {
        "rate_limit": Notice(429, "Rate limit reached for model `{model}` on requests per minute "
                             "(RPM): Limit 30, Used 30, Requested 1. Please try again in 2s.",
                             "rate_limit_exceeded", "requests"),
        "overloaded": Notice(503, "The model is currently over capacity. Please try again later.",
                             None, "internal_server_error"),
        "spend_limit": Notice(400, "Your organization has reached its spend limit.",
                              "blocked_api_access"),
        "unauthorized": Notice(401, "Invalid API Key", "invalid_api_key"),
        "retired": Notice(400, "The model `{model}` has been decommissioned and is no longer "
                          "supported.", "model_decommissioned"),
        "not_found": Notice(404, "The model `{model}` does not exist or you do not have access to "
                            "it.", "model_not_found"),
        "no_access": Notice(403, "The model `{model}` is blocked at the organization level.",
                            "model_permission_blocked_org", "permissions_error"),
        "context_too_long": Notice(400, "Please reduce the length of the messages or completion.",
                                   "context_length_exceeded", parameter="messages"),
    }  # fmt: skip

    def check(self, body: Body, data: Mapping[str, Any]) -> bool:
        for name in ("logprobs", "top_logprobs"):
            if data.get(name):
                raise Refusal(f"`{name}` is not supported with this model", name)
        return super().check(body, data)

    def marks(self, done: Completion) -> dict[str, Any]:
        groq = {"id": f"req_{digest(done.identity)[:24]}"}
        return super().marks(done) | {"x_groq": groq, "service_tier": "on_demand"}


class Azure(OpenAI):
    """Azure OpenAI: the deployment stands in the path, and content filters have their say."""

    name: ClassVar[str] = "azure"
    prefixes: ClassVar[tuple[str, ...]] = ("/azure/",)
    paths: ClassVar[tuple[str, ...]] = (
        "/azure/openai/deployments/{deployment}/chat/completions",
        "/azure/openai/v1/chat/completions",
    )
    _CHECKED: ClassVar[Mapping[str, Any]] = {"violence": {"filtered": False, "severity": "safe"}}
    _FOUND: ClassVar[Mapping[str, Any]] = {"violence": {"filtered": True, "severity": "high"}}
    words: ClassVar[dict[str, Notice]] = OpenAI.words | {
        "rate_limit": Notice(429, "Requests to the ChatCompletions_Create Operation have exceeded "
                             "the call rate limit of your current pricing tier.", "429"),
        "unauthorized": Notice(401, "Access denied due to invalid subscription key or wrong API "
                               "endpoint. Make sure to provide a valid key for an active "
                               "subscription and use a correct regional API endpoint for your "
                               "resource.", "401"),
        "no_access": Notice(403, "Access denied due to Virtual Network/Firewall rules.", "403"),
        "retired": Notice(410, "The model deployed here has been retired. Deploy another.",
                          "ModelDeprecated"),
        "not_found": Notice(404, "The API deployment for this resource does not exist. If you "
                            "created the deployment within the last 5 minutes, please wait a "
                            "moment and try again.", "DeploymentNotFound"),
        "content_policy": Notice(400, "The response was filtered due to the prompt triggering "
                                 "Azure OpenAI's content management policy. Please modify your "
                                 "prompt and retry.", "content_filter", parameter="prompt",
                                 details={"code": "ResponsibleAIPolicyViolation",
                                         "content_filter_result": _FOUND}),
    }  # fmt: skip

    def key(self, asked: ApiRequest) -> str:
        return asked.headers.get("api-key") or bearer(asked)

    def body(self, data: Any, asked: ApiRequest) -> Body:
        deployment = asked.path.get("deployment")
        if deployment and not asked.query.get("api-version"):
            raise Refusal("Resource not found", status=404, code="404")
        return super().body({**data, "model": deployment} if deployment else data, asked)

    def message(self, done: Completion) -> dict[str, Any]:
        if done.declined and done.finish == "refusal":
            return super().message(done)
        return {"content": None if done.declined else done.text, "refusal": None}

    def finish(self, done: Completion) -> str:
        return "content_filter" if done.declined else super().finish(done)

    def written(self, done: Completion) -> dict[str, Any]:
        body = super().written(done)
        filtered = self._FOUND if done.declined else self._CHECKED
        body["choices"][0]["content_filter_results"] = filtered
        checked = {"prompt_index": 0, "content_filter_results": self._CHECKED}
        return body | {"prompt_filter_results": [checked]}

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        body = super().refused(refusal)
        if refusal.details:
            body["error"] |= {"status": refusal.status, "innererror": refusal.details}
        return body


_OLLAMA = {
    "server_error": Notice(500, "model runner has unexpectedly stopped", None, "api_error"),
    "overloaded": Notice(503, "server busy, please try again. maximum pending requests exceeded",
                         None, "api_error"),
    "not_found": Notice(404, 'model "{model}" not found, try pulling it first', None, "api_error"),
    "retired": Notice(404, 'model "{model}" not found, try pulling it first', None, "api_error"),
}  # fmt: skip


class Ollama(_Compatible):
    """Ollama's OpenAI route: no cap by `max_completion_tokens`, and ids that repeat."""

    name: ClassVar[str] = "ollama"
    prefixes: ClassVar[tuple[str, ...]] = ("/ollama/v1/",)
    paths: ClassVar[tuple[str, ...]] = ("/ollama/v1/chat/completions",)
    thinking_field: ClassVar[str] = "reasoning"
    words: ClassVar[dict[str, Notice]] = OpenAI.words | _OLLAMA

    def body(self, data: Any, asked: ApiRequest) -> Body:
        return super().body(data, asked).model_copy(update={"max_completion_tokens": None})

    def check_model(self, model: str) -> None:
        if not exists(model):
            raise self.words["not_found"].refusal(model=model)

    def response_id(self, done: Completion) -> str:
        return f"chatcmpl-{int(done.identity[:8], 16) % 999}"

    def marks(self, done: Completion) -> dict[str, Any]:
        return {"system_fingerprint": "fp_ollama"}

    def finish(self, done: Completion) -> str:
        finish = super().finish(done)
        return "stop" if finish == "content_filter" else finish

    def message(self, done: Completion) -> dict[str, Any]:
        return super().message(replace(done, finish="refusal") if done.declined else done)

    def usage(self, done: Completion) -> dict[str, Any]:
        counts = super().usage(done)
        return {name: counts[name] for name in counts if not name.endswith("_details")}

    def headers(self, stats: Stats) -> dict[str, str]:
        return {}


class _Options(BaseModel):
    model_config = ConfigDict(extra="ignore")

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = None
    seed: int | None = None
    num_predict: int | None = None
    stop: str | list[str] | None = None


class _OllamaBody(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[Mapping[str, Any]] = Field(min_length=1)
    stream: bool = True
    options: _Options = _Options()
    format: str | Mapping[str, Any] | None = None
    think: bool | str | None = None


class OllamaChat(Ollama):
    """Ollama's own route, `/api/chat`."""

    prefixes: ClassVar[tuple[str, ...]] = ("/ollama/api/",)
    paths: ClassVar[tuple[str, ...]] = ("/ollama/api/chat",)

    def read(self, data: Any, asked: ApiRequest) -> Chat:
        body = read_model(_OllamaBody, data)
        if body.stream:
            raise Refusal("stream: the simulator does not stream; set it to false")
        self.check_model(body.model)
        options = body.options
        cap = options.num_predict
        request = ModelRequest(
            model=body.model,
            messages=tuple((row["role"], str(row.get("content") or "")) for row in body.messages),
            temperature=1.0 if options.temperature is None else min(2.0, options.temperature),
            top_p=1.0 if options.top_p is None else options.top_p,
            max_tokens=cap if cap is not None and cap > 0 else None,
            seed=options.seed,
            response_format=_as_openais(body.format) if body.format else "",
            effort=body.think if isinstance(body.think, str) else None,
        )
        stops = [options.stop] if isinstance(options.stop, str) else options.stop or []
        chat = Chat(
            request=request,
            stop=tuple(stops),
            thinking=thinking_tokens(request, effort=request.effort) if body.think else 0,
            shows_thinking=True,
        )
        self.check_context(chat, PLANTED_CONTEXT if is_planted(body.model) else 131_072)
        return chat

    def written(self, done: Completion) -> dict[str, Any]:
        text = DECLINED if done.declined else done.text
        thought = {"thinking": done.thought} if done.thought else {}
        counts = {
            "prompt_eval_count": done.prompt_tokens,
            "eval_count": done.thinking + done.text_tokens,
        }
        return {
            "model": done.model,
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text, **thought},
            "done": True,
            "done_reason": self.finish(done),
            "total_duration": 0,
            "load_duration": 0,
            # Not Ollama's: litellm drops the header that marks other answers.
            "system_fingerprint": FINGERPRINT,
            **(counts if done.counted else {}),
        }

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        return {"error": str(refusal)}


def _as_openais(given: str | Mapping[str, Any]) -> str:
    """Return a format as OpenAI's requests have it: equal requests have equal answers."""
    if isinstance(given, str):
        return canonical_json({"type": "json_object"})
    schema = {"name": "answer", "strict": True, "schema": given}
    return canonical_json({"type": "json_schema", "json_schema": schema})


class VLLM(_Compatible):
    """vLLM: the server's own defaults hold for what a request leaves out."""

    name: ClassVar[str] = "vllm"
    prefixes: ClassVar[tuple[str, ...]] = ("/vllm/",)
    paths: ClassVar[tuple[str, ...]] = ("/vllm/v1/chat/completions",)
    thinking_field: ClassVar[str] = "reasoning"
    words: ClassVar[dict[str, Notice]] = OpenAI.words | {
        "server_error": Notice(500, "EngineCore encountered an issue.", 500, "InternalServerError"),
        "overloaded": Notice(503, "Service Unavailable", 503, "ServiceUnavailableError"),
        "not_found": Notice(404, "The model `{model}` does not exist.", 404, "NotFoundError"),
        "retired": Notice(404, "The model `{model}` does not exist.", 404, "NotFoundError"),
        "context_too_long": Notice(400, "This model's maximum context length is {context} tokens. "
                                   "However, your request has {tokens} input tokens. Please reduce "
                                   "the length of the input messages.", 400, "BadRequestError"),
        "unauthorized": Notice(401, "Unauthorized", 401, "unauthorized"),
    }  # fmt: skip
    _TEMPERATURE: ClassVar[float] = 0.7
    """What the served model's `generation_config` has in place of 1."""
    _LEAST: ClassVar[float] = 0.01

    def request(self, body: Body) -> ModelRequest:
        temperature = body.temperature
        if temperature is None:
            temperature = self._TEMPERATURE
        elif 0 < temperature < self._LEAST:
            temperature = self._LEAST
        return body.request(temperature=temperature)

    def check_model(self, model: str) -> None:
        if not exists(model):
            raise self.words["not_found"].refusal(model=model)

    def marks(self, done: Completion) -> dict[str, Any]:
        return {}

    def message(self, done: Completion) -> dict[str, Any]:
        return super().message(replace(done, finish="refusal") if done.declined else done)

    def finish(self, done: Completion) -> str:
        finish = super().finish(done)
        return "stop" if finish == "content_filter" else finish

    def written(self, done: Completion) -> dict[str, Any]:
        body = super().written(done)
        body["choices"][0]["stop_reason"] = done.stopped_by
        return body

    def headers(self, stats: Stats) -> dict[str, str]:
        return {}
