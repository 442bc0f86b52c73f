"""Gemini's generateContent: bodies in, bodies and refusals out."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.answering import ModelRequest
from judge_gym.simulator.chat import FINGERPRINT, Chat, Completion
from judge_gym.simulator.http import Refusal
from judge_gym.simulator.vendors import (
    PLANTED_CONTEXT,
    ApiRequest,
    Notice,
    Vendor,
    exists,
    is_planted,
    thinking_tokens,
    version_in,
)

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_RPC = "type.googleapis.com/google.rpc."
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_REASONS = {
    "stop": "STOP",
    "stop_sequence": "STOP",
    "length": "MAX_TOKENS",
    "context": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "SAFETY",
}
_HARM = "HARM_CATEGORY_DANGEROUS_CONTENT"
_BUDGETS = {"pro": (128, 32_768), "flash-lite": (512, 24_576), "flash": (1, 24_576)}
"""The least and the most thinking of 2.5 models, in tokens; -1 leaves it to the model."""


def _either(snake: str, camel: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(camel, snake))


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Part(BaseModel):
    text: str = ""


class _Content(_Model):
    role: str = "user"
    parts: list[_Part]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts)


class _ThinkingConfig(_Model):
    budget: int | None = _either("thinking_budget", "thinkingBudget")
    level: str | None = _either("thinking_level", "thinkingLevel")
    include: bool | None = _either("include_thoughts", "includeThoughts")


class _Config(_Model):
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = _either("top_p", "topP")
    top_k: float | None = _either("top_k", "topK")
    seed: int | None = None
    candidates: int | None = _either("candidate_count", "candidateCount")
    max_output_tokens: int | None = _either("max_output_tokens", "maxOutputTokens")
    stop: list[str] | None = _either("stop_sequences", "stopSequences")
    mime_type: str | None = _either("response_mime_type", "responseMimeType")
    old_schema: Mapping[str, Any] | None = _either("response_schema", "responseSchema")
    json_schema: Mapping[str, Any] | None = _either("response_json_schema", "responseJsonSchema")
    presence: float | None = _either("presence_penalty", "presencePenalty")
    frequency: float | None = _either("frequency_penalty", "frequencyPenalty")
    gives_logprobs: bool | None = _either("response_logprobs", "responseLogprobs")
    logprobs: int | None = Field(default=None, ge=0, le=20)
    thinking: _ThinkingConfig | None = _either("thinking_config", "thinkingConfig")


class _GenerateBody(_Model):
    contents: list[_Content] = Field(min_length=1)
    system: _Content | None = _either("system_instruction", "systemInstruction")
    config: _Config | None = _either("generation_config", "generationConfig")
    safety: list[Any] | None = _either("safety_settings", "safetySettings")

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        first, *later = self.contents
        system, asked = self.system, first.parts
        if system is None and len(first.parts) > 1:
            # litellm puts the system's text there for models that it does not list.
            system, asked = _Content(parts=first.parts[:1]), first.parts[1:]
        given = (("system", system.text),) if system else ()
        contents = (_Content(role=first.role, parts=asked), *later)
        return given + tuple((_role(content), content.text) for content in contents)


class Gemini(Vendor):
    """The Gemini API with a key, not Vertex."""

    name: ClassVar[str] = "gemini"
    prefixes: ClassVar[tuple[str, ...]] = ("/v1beta/", "/v1/models/")
    paths: ClassVar[tuple[str, ...]] = (
        "/v1beta/models/{model}:generateContent",
        "/v1/models/{model}:generateContent",
    )
    words: ClassVar[dict[str, Notice]] = {
        "rate_limit": Notice(429, "Resource has been exhausted (e.g. check quota)."),
        "quota": Notice(402, "Your prepayment credits are depleted. Please go to AI Studio to "
                        "manage your project and billing."),
        "spend_limit": Notice(429, "Your project has exceeded its monthly spending cap. Please go "
                              "to AI Studio to manage your project spend cap."),
        "server_error": Notice(500, "An internal error has occurred. Please retry or report in "
                               "https://developers.generativeai.google/guide/troubleshooting"),
        "overloaded": Notice(503, "The model is overloaded. Please try again later."),
        "unauthorized": Notice(400, "API key not valid. Please pass a valid API key.", details=[
            {"@type": f"{_RPC}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
             "metadata": {"service": "generativelanguage.googleapis.com"}},
        ]),
        "no_access": Notice(403, "The caller does not have permission."),
        "retired": Notice(404, "This model models/{model} is no longer available. Please update "
                          "your code to use a newer model for the latest features and "
                          "improvements."),
        "not_found": Notice(404, "models/{model} is not found for API version v1beta"),
        "context_too_long": Notice(400, "The input token count ({tokens}) exceeds the maximum "
                                   "number of tokens allowed ({context})."),
        "content_policy": Notice(400, "The request was blocked by a content policy."),
    }  # fmt: skip

    def key(self, asked: ApiRequest) -> str:
        return asked.headers.get("x-goog-api-key") or asked.query.get("key", "")

    def read(self, data: Any, asked: ApiRequest) -> Chat:
        if not self.key(asked):
            raise Refusal(
                "Method doesn't allow unregistered callers (callers without established identity).",
                status=403,
            )
        self.check_key(asked)
        model = asked.path["model"]
        if not exists(model):
            raise self.words["not_found"].refusal(model=model)
        body = _read(data)
        config = body.config or _Config()
        version = version_in(model, _VERSION)
        _check(config, model, version)
        ignored = version >= (3, 6)
        given = (None, None) if ignored else (config.temperature, config.top_p)
        temperature, top_p = (1.0 if value is None else value for value in given)
        level = config.thinking.level if config.thinking else None
        request = ModelRequest(
            model=model,
            messages=body.messages,
            temperature=temperature,
            top_p=top_p,
            max_tokens=config.max_output_tokens,
            seed=config.seed,
            response_format=_as_openais(config),
            effort=level.lower() if level else None,
        )
        chat = Chat(
            request=request,
            stop=tuple(config.stop or ()),
            thinking=_thinking(request, config.thinking),
            shows_thinking=bool(config.thinking and config.thinking.include),
            logprobs=(config.logprobs or 0) if config.gives_logprobs else None,
        )
        self.check_context(chat, PLANTED_CONTEXT if is_planted(model) else 1_048_576)
        return chat

    def written(self, done: Completion) -> dict[str, Any]:
        body: dict[str, Any] = {
            "modelVersion": done.model,
            # It has no fingerprint to mark it as simulated.
            "responseId": f"{FINGERPRINT}-{digest(done.identity)[:16]}",
        }
        if done.prompt_blocked:
            blocked = {"blockReason": done.reason or "SAFETY", "safetyRatings": [_rating()]}
            body["promptFeedback"] = blocked
        else:
            body["candidates"] = [_candidate(done)]
        if done.counted:
            candidates = 0 if done.declined else done.text_tokens
            counted = {
                "promptTokenCount": done.prompt_tokens,
                "cachedContentTokenCount": done.cached,
                "candidatesTokenCount": candidates,
                "thoughtsTokenCount": done.thinking,
                "totalTokenCount": done.prompt_tokens + candidates + done.thinking,
            }
            # As everywhere in Google's JSON, a zero is left out.
            body["usageMetadata"] = {name: count for name, count in counted.items() if count}
        return body

    def refused(self, refusal: Refusal) -> dict[str, Any]:
        status = _STATUSES.get(refusal.status, "INTERNAL")
        error = {"code": refusal.status, "message": str(refusal), "status": status}
        return {"error": error | ({"details": refusal.details} if refusal.details else {})}

    def retry_info(self, seconds: float) -> Any:
        return [{"@type": f"{_RPC}RetryInfo", "retryDelay": f"{seconds:g}s"}]


def _candidate(done: Completion) -> dict[str, Any]:
    thought = [{"text": done.thought, "thought": True}] if done.thought else []
    said = [{"text": done.text}] if done.text and not done.declined else []
    parts = thought + said
    reason = (done.declined and done.reason) or _REASONS[done.finish]
    candidate: dict[str, Any] = {
        "content": {"role": "model"} | ({"parts": parts} if parts else {}),
        "finishReason": done.native_finish or reason,
        "index": 0,
    }
    if done.declined:
        candidate["safetyRatings"] = [_rating()]
    if done.chat.logprobs is not None and done.tokens:
        count = done.chat.logprobs
        candidate["avgLogprobs"] = sum(token.logprob for token in done.tokens) / len(done.tokens)
        candidate["logprobsResult"] = {
            "chosenCandidates": [_weighed(token.text, token.logprob) for token in done.tokens],
            "topCandidates": [
                {"candidates": [_weighed(*pair) for pair in token.top(count)]}
                for token in done.tokens
            ],
        }
    return candidate


def _weighed(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logProbability": logprob}


def _rating() -> dict[str, Any]:
    return {"category": _HARM, "probability": "HIGH", "blocked": True}


def _read(data: Any) -> _GenerateBody:
    try:
        return _GenerateBody.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        *place, name = fault["loc"] or ("body",)
        if fault["type"] == "extra_forbidden":
            at = f" at '{'.'.join(map(str, place))}'" if place else ""
            unknown = f'Unknown name "{name}"{at}: Cannot find field.'
            message = f"Invalid JSON payload received. {unknown}"
        else:
            message = f"* GenerateContentRequest.{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        raise Refusal(message) from None


def _check(config: _Config, model: str, version: tuple[int, int]) -> None:
    if (config.candidates or 1) != 1:
        raise Refusal("Multiple candidates is not enabled for this model")
    if config.logprobs is not None and not config.gives_logprobs:
        raise Refusal("Logprobs is only available when response_logprobs is set to true.")
    if config.gives_logprobs and version >= (2, 5):
        raise Refusal(f"Logprobs is not enabled for models/{model}")
    if version >= (3, 6) and (config.presence or config.frequency):
        raise Refusal(f"Penalty is not enabled for models/{model}")


def _thinking(request: ModelRequest, config: _ThinkingConfig | None) -> int:
    """Return tokens of thinking: 2.5 and later think by default, 2.5-flash-lite does not."""
    budget, level = (config.budget, config.level) if config else (None, None)
    if is_planted(request.model):
        thinks = budget or level
        return thinking_tokens(request, budget, level.lower() if level else None) if thinks else 0
    version = version_in(request.model, _VERSION)
    if version < (2, 5):
        if config:
            raise Refusal("Thinking is not enabled for this model.")
        return 0
    if budget is not None and level is not None:
        raise Refusal("You can only set only one of thinking budget and thinking level.")
    if version == (2, 5):
        if level is not None:
            raise Refusal("Thinking level is not supported for this model.")
        _check_budget(request.model, budget)
    if budget is None and "flash-lite" in request.model and version == (2, 5):
        return 0
    return thinking_tokens(
        request, None if budget == -1 else budget, level.lower() if level else None
    )


def _check_budget(model: str, budget: int | None) -> None:
    least, most = next((span for name, span in _BUDGETS.items() if name in model), (1, 24_576))
    if budget == 0 and "pro" in model:
        raise Refusal("Budget 0 is invalid. This model only works in thinking mode.")
    if budget not in (None, -1, 0) and not least <= budget <= most:
        raise Refusal(
            f"The thinking budget {budget} is invalid. Please choose a value between {least} and "
            f"{most}."
        )


def _as_openais(config: _Config) -> str:
    """Return the format as OpenAI's requests have it: equal requests have equal answers."""
    schema = config.json_schema or config.old_schema
    if schema:
        named = {"name": "answer", "strict": True, "schema": schema}
        return canonical_json({"type": "json_schema", "json_schema": named})
    asks_json = config.mime_type == "application/json"
    return canonical_json({"type": "json_object"}) if asks_json else ""


def _role(content: _Content) -> str:
    return "assistant" if content.role == "model" else "user"
