"""A whole answer from a stream that was not asked for: some proxies always stream.

OpenAI's chunks and Ollama's lines are put together; other forms are not read.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_SENT_EVENTS = re.compile(r"\s*(data|event|id|retry)?:")
_DATA = re.compile(r"^data:[ ]?(.*)$", re.MULTILINE)
_JOINED = ("content", "reasoning_content", "reasoning", "refusal")
"""Fields of a chunk that continue those of the chunks before."""


def is_stream(body: Any) -> bool:
    """Whether a body is a stream of events, or of JSON objects in lines."""
    if not isinstance(body, str):
        return False
    return _SENT_EVENTS.match(body) is not None or next(_lines(body), None) is not None


def whole_answer(body: str) -> dict[str, Any] | None:
    """Return what a server that does not stream would have sent; None if that cannot be said.

    The last chunk has the finish reason: a stream without one is not whole.
    """
    lines = list(_lines(body))
    if lines:
        return _of_ollama(lines)
    chunks = [chunk for chunk in map(_object, _DATA.findall(body)) if chunk is not None]
    return _of_openai([chunk for chunk in chunks if "choices" in chunk])


def _of_openai(chunks: list[dict[str, Any]]) -> dict[str, Any] | None:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    choice: dict[str, Any] = {"index": 0, "message": message}
    tokens: list[Any] = []
    answer: dict[str, Any] = {"choices": [choice]}
    for chunk in chunks:
        answer |= {name: value for name, value in chunk.items() if name != "choices" and value}
        part = next((one for one in chunk["choices"] or () if isinstance(one, dict)), {})
        choice |= {name: part[name] for name in ("finish_reason", "error") if part.get(name)}
        delta, chances = part.get("delta") or {}, part.get("logprobs") or {}
        tokens += chances.get("content") or ()
        for name in _JOINED:
            if isinstance(delta.get(name), str):
                message[name] = message.get(name, "") + delta[name]
        if delta.get("tool_calls"):
            message["tool_calls"] = delta["tool_calls"]
    if tokens:
        choice["logprobs"] = {"content": tokens}
    return answer | {"object": "chat.completion"} if "finish_reason" in choice else None


def _of_ollama(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    messages = [line["message"] for line in lines if isinstance(line.get("message"), dict)]
    if not messages or lines[-1].get("done") is not True:
        return None
    texts = {
        name: "".join(str(message.get(name) or "") for message in messages)
        for name in ("content", "thinking")
    }
    return lines[-1] | {"message": messages[-1] | texts}


def _lines(body: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a body of at least two lines, each of them one; none otherwise."""
    lines = [line for line in body.split("\n") if line.strip()]
    objects = [_object(line) for line in lines] if len(lines) > 1 and lines[0][0] == "{" else []
    if None not in objects:
        yield from (one for one in objects if one is not None)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return dict(value) if isinstance(value, dict) else None
