"""Gemini's generateContent: bodies in, bodies and refusals out."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from judge_gym.seeds import canonical_json, digest
from judge_gym.simulator.answering import Request
from judge_gym.simulator.chat import FINGERPRINT, Chat
from judge_gym.simulator.http import Refusal
from judge_gym.simulator.vendors import check_model, thinking_tokens, version_in

PATH = "/v1beta/models/{model}:generateContent"
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


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
    max_output_tokens: int | None = _either("max_output_tokens", "maxOutputTokens")
    stop: list[str] | None = _either("stop_sequences", "stopSequences")
    mime_type: str | None = _either("response_mime_type", "responseMimeType")
    old_schema: Mapping[str, Any] | None = _either("response_schema", "responseSchema")
    json_schema: Mapping[str, Any] | None = _either("response_json_schema", "responseJsonSchema")
    thinking: _ThinkingConfig | None = _either("thinking_config", "thinkingConfig")


class _Body(_Model):
    contents: list[_Content] = Field(min_length=1)
    system: _Content | None = _either("system_instruction", "systemInstruction")
    config: _Config | None = _either("generation_config", "generationConfig")
    safety: list[Any] | None = _either("safety_settings", "safetySettings")


def read(data: Any, model: str, key: str | None) -> Chat:
    """Read a request; raises `Refusal`, in Google's words, for what the model refuses."""
    if not key:
        raise Refusal(
            "Method doesn't allow unregistered callers (callers without established identity).",
            status=403,
        )
    check_model(model, f"models/{model} is not found for API version v1beta")
    body = _read(data)
    config = body.config or _Config()
    ignored = version_in(model, _VERSION) >= (3, 6)
    given = (None, None) if ignored else (config.temperature, config.top_p)
    temperature, top_p = (1.0 if value is None else value for value in given)
    system = (("system", body.system.text),) if body.system else ()
    request = Request(
        model=model,
        messages=system + tuple((_role(content), content.text) for content in body.contents),
        temperature=temperature,
        top_p=top_p,
        max_tokens=config.max_output_tokens,
        seed=config.seed,
        response_format=canonical_json(config.mime_type) if config.mime_type else "",
    )
    return Chat(
        request=request,
        stop=tuple(config.stop or ()),
        thinking=_thinking(request, config.thinking),
    )


def written(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion as generateContent has it; thoughts are counted separately."""
    (choice,) = completion["choices"]
    text = choice["message"]["content"]
    content = {"role": "model"} | ({"parts": [{"text": text}]} if text else {})
    body: dict[str, Any] = {
        "candidates": [
            {"content": content, "finishReason": _REASONS[choice["finish_reason"]], "index": 0}
        ],
        "modelVersion": completion["model"],
        # It has no fingerprint to mark it as simulated.
        "responseId": f"{FINGERPRINT}-{digest(completion['id'])[:16]}",
    }
    if usage := completion.get("usage"):
        thoughts = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
        counted = {
            "promptTokenCount": usage["prompt_tokens"],
            "candidatesTokenCount": usage["completion_tokens"] - thoughts,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": usage["total_tokens"],
        }
        # As everywhere in Google's JSON, a zero is left out.
        body["usageMetadata"] = {name: count for name, count in counted.items() if count}
    return body


def refused(refusal: Refusal) -> dict[str, Any]:
    """Return a refusal in Google's error format."""
    status = _STATUSES.get(refusal.status, "INTERNAL")
    return {"error": {"code": refusal.status, "message": str(refusal), "status": status}}


def _read(data: Any) -> _Body:
    try:
        return _Body.model_validate(data)
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


def _thinking(request: Request, config: _ThinkingConfig | None) -> int:
    """Return tokens of thinking: 2.5 and later think by default, 2.5-flash-lite does not."""
    budget = config.budget if config else None
    version = version_in(request.model, _VERSION)
    if version < (2, 5):
        return 0
    if budget == 0 and "pro" in request.model:
        raise Refusal("Budget 0 is invalid. This model only works in thinking mode.")
    if budget is None and "flash-lite" in request.model and version == (2, 5):
        return 0
    return thinking_tokens(request, None if budget == -1 else budget)


def _role(content: _Content) -> str:
    return "assistant" if content.role == "model" else "user"
