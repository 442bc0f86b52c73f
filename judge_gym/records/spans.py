"""Conversations in spans of OpenTelemetry: OTLP JSON with GenAI attributes or OpenInference's.

GenAI semantic conventions 1.37 and later (`gen_ai.input.messages` and `gen_ai.output.messages`, as
JSON or as attributes, on the span or an event) and OpenInference's flattened
`llm.input_messages.0.message.content`. Spans without messages are no conversations.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_OPEN_INFERENCE = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)")
_TOOL_CALL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(id|function\.name|function\.arguments)")
_GEN_AI = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages")
SEPARATOR = ":"
"""Stands between the trace and the span in the name of an item."""


@dataclass(frozen=True)
class Span:
    """A call of a model in a trace, with what was said in it."""

    trace: str
    span: str
    name: str
    messages: tuple[Mapping[str, Any], ...]
    attributes: Mapping[str, Any]


def are_spans(values: Mapping[str, Any]) -> bool:
    """Whether a record is an export of traces, or the spans of one resource."""
    return "resourceSpans" in values or "scopeSpans" in values


def spans_in(values: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of a record of OTLP JSON that hold messages.

    Raises `ValueError` for attributes that are not as OTLP writes them, or messages that are no
    JSON.
    """
    for resource in values.get("resourceSpans", [values]):
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                attributes = _attributes(span.get("attributes"))
                for event in span.get("events") or []:
                    attributes |= _attributes(event.get("attributes"))
                if messages := [*_of_gen_ai(attributes), *open_inference(attributes)]:
                    trace, own = str(span.get("traceId", "")), str(span.get("spanId", ""))
                    name = str(span.get("name", ""))
                    yield Span(trace, own, name, tuple(messages), attributes)


def _attributes(given: Any) -> dict[str, Any]:
    if not isinstance(given or [], list):
        raise ValueError("has attributes that are no list of key and value")
    return {str(one.get("key")): _value(one.get("value")) for one in given or []}


def _value(given: Any) -> Any:
    """Return a value of OTLP JSON as plain JSON."""
    if not isinstance(given, dict):
        return given
    if "arrayValue" in given:
        return [_value(one) for one in given["arrayValue"].get("values", [])]
    if "kvlistValue" in given:
        return _attributes(given["kvlistValue"].get("values"))
    if "intValue" in given:
        return int(given["intValue"])
    return next(iter(given.values()), None)


def _of_gen_ai(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in _GEN_AI:
        given = attributes.get(key)
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{key} is no JSON: {error}") from None
        if not given:
            continue
        if key == _GEN_AI[0]:
            yield {"role": "system", "content": parts_of(given)}
            continue
        for message in given:
            if not isinstance(message, dict):
                raise ValueError(f"{key} is no list of messages")
            role = message.get("role")
            content = message.get("parts", message.get("content"))
            yield {"role": role, "content": parts_of(content)}


def parts_of(given: Any) -> Any:
    """Return the parts of a GenAI message as those of a chat message."""
    if not isinstance(given, list):
        return given
    found: list[Any] = []
    for part in given:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            found.append({"type": "text", "text": part.get("content", part.get("text"))})
        elif kind == "tool_call":
            found.append({"type": "tool_use", "id": part.get("id"), "name": part.get("name"),
                          "input": part.get("arguments")})  # fmt: skip
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result"))
            text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
            found.append({"type": "tool_result", "tool_use_id": part.get("id"), "content": text})
        else:
            found.append(part)
    return found


def open_inference(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages in the attributes of OpenInference, flattened to a key for each value."""
    messages: dict[tuple[bool, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        if found := _OPEN_INFERENCE.fullmatch(key):
            place = (found[1] == "output", int(found[2]))
            _put(messages.setdefault(place, {}), found[3], value)
    return [_message(messages[place]) for place in sorted(messages)]


def _put(message: dict[str, Any], key: str, value: Any) -> None:
    if call := _TOOL_CALL.fullmatch(key):
        calls: dict[int, dict[str, Any]] = message.setdefault("calls", {})
        calls.setdefault(int(call[1]), {})[call[2].removeprefix("function.")] = value
    elif content := re.fullmatch(r"contents\.(\d+)\.message_content\.(type|text)", key):
        parts: dict[int, dict[str, Any]] = message.setdefault("parts", {})
        parts.setdefault(int(content[1]), {})[content[2]] = value
    else:
        message[key] = value


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    parts: Mapping[int, Any] = given.get("parts", {})
    calls: Mapping[int, Any] = given.get("calls", {})
    content: Any = given.get("content") or [parts[place] for place in sorted(parts)]
    ordered: Sequence[Mapping[str, Any]] = [calls[place] for place in sorted(calls)]
    return {
        "role": given.get("role"),
        "content": content or None,
        "name": given.get("name"),
        "tool_call_id": given.get("tool_call_id"),
        "tool_calls": [{"id": one.get("id"), "function": one} for one in ordered],
    }
