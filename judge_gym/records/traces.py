"""Calls of models in exports of tracing tools, as spans with chat messages.

Read by their own keys: OTLP JSON (`records.spans`), Phoenix's spans (of `GET
/v1/projects/{project}/spans`), MLflow's traces (`Trace.to_json`, schema 2 and 3), LangSmith's runs
(an object a line, as its SDK writes a `Run`), and Langfuse's traces and observations (its downloads
and API). Inputs and outputs are messages of OpenAI's chat and responses APIs, of LangChain or of
the GenAI conventions, or texts; anything else is shown as JSON. Spans that call no model, or
without inputs and outputs, are no conversations.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from judge_gym.records.spans import Span, are_spans, open_inference, parts_of, spans_in

Values = Mapping[str, Any]
_MODEL_SPANS = ("LLM", "CHAT_MODEL")
"""Types of MLflow's spans that call a model."""
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
"""Types of LangChain's messages that are not roles."""
_LISTS = ("messages", "input", "output", "prompts")


def are_traces(values: Values) -> bool:
    """Whether a record is of an export of traces."""
    return any(is_of(values) for is_of, _ in _TOOLS)


def traced(values: Values) -> Iterator[Span]:
    """Yield the calls of models in a record; raises `ValueError` as `spans_in` does."""
    read = next(read for is_of, read in _TOOLS if is_of(values))
    yield from read(values)


def _phoenix(span: Values) -> Iterator[Span]:
    context, attributes = span["context"], span["attributes"]
    if messages := open_inference(attributes):
        trace, own = str(context["trace_id"]), str(context["span_id"])
        yield Span(trace, own, str(span.get("name", "")), tuple(messages), attributes)


def _mlflow(trace: Values) -> Iterator[Span]:
    info = trace["info"]
    own = str(info.get("trace_id") or info.get("request_id") or "")
    for span in trace["data"]["spans"]:
        given = {key: decoded(value) for key, value in (span.get("attributes") or {}).items()}
        if given.get("mlflow.spanType") in _MODEL_SPANS:
            number = str((span.get("context") or span).get("span_id", ""))
            asked, answered = given.get("mlflow.spanInputs"), given.get("mlflow.spanOutputs")
            yield from _call(own, _hexadecimal(number), span, asked, answered)


def _hexadecimal(number: str) -> str:
    """Return the number of a span in hexadecimal digits, as MLflow's assessments name it; schema 3
    writes it in base64."""
    try:
        return base64.b64decode(number, validate=True).hex() if number.endswith("=") else number
    except ValueError:
        return number


def _langsmith(run: Values) -> Iterator[Span]:
    if run["run_type"] == "llm":
        yield from _call(run["trace_id"], run["id"], run, run["inputs"], run.get("outputs"))


def _langfuse(trace: Values) -> Iterator[Span]:
    observations = trace.get("observations", [trace])
    for one in observations:
        if isinstance(one, dict) and one.get("type") == "GENERATION":
            yield from _call(one["traceId"], one["id"], one, one.get("input"), one.get("output"))


def _call(trace: Any, own: Any, span: Values, asked: Any, answered: Any) -> Iterator[Span]:
    messages = [*_messages(decoded(asked), "user"), *_messages(decoded(answered), "assistant")]
    if messages:
        yield Span(str(trace), str(own), str(span.get("name") or ""), tuple(messages), span)


_TOOLS: tuple[tuple[Callable[[Values], bool], Callable[[Values], Iterator[Span]]], ...] = (
    (are_spans, spans_in),
    (lambda row: {"context", "span_kind", "attributes"} <= set(row), _phoenix),
    (
        lambda row: (
            isinstance(row.get("info"), dict)
            and isinstance(row.get("data"), dict)
            and "spans" in row["data"]
        ),
        _mlflow,
    ),
    (lambda row: {"id", "trace_id", "run_type", "inputs"} <= set(row), _langsmith),
    (
        lambda row: (
            isinstance(row.get("observations"), list)
            or {"id", "traceId", "type", "input", "output"} <= set(row)
        ),
        _langfuse,
    ),
)


def decoded(given: Any) -> Any:
    """Return what a text that is JSON holds; Langfuse encodes some twice. Other values as given."""
    for _ in range(2):
        if not isinstance(given, str) or not given.lstrip().startswith(("{", "[", '"')):
            break
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            break
    return given


def _messages(given: Any, role: str) -> Iterator[Values]:
    """Yield the messages of an input or output; what is none of any API is a text of `role`."""
    if given in (None, "", {}, []):
        return
    if isinstance(given, dict) and (found := _listed(given)) is not None:
        if given.get("instructions") and role == "user":
            yield {"role": "system", "content": given["instructions"]}
        yield from _messages(found, role)
    elif isinstance(given, list) and all(isinstance(one, list) for one in given):
        yield from _messages(given[0], role)  # a batch; runs of a chat model have one
    elif isinstance(given, list) and all(isinstance(one, dict) for one in given):
        for one in given:
            yield from _message(one, role)
    elif isinstance(given, dict):
        yield from _message(given, role)
    else:
        yield {"role": role, "content": _text(given)}


def _listed(given: Values) -> Any:
    """Return what holds the messages of an input or output; None for one that is a message."""
    for key in ("choices", "generations"):
        if isinstance(given.get(key), list):
            several = given[key]
            if several and isinstance(several[0], list):
                several = several[0]
            first = several[0] if several and isinstance(several[0], dict) else {}
            return [first["message"]] if first.get("message") else first.get("text")
    if "role" in given or "type" in given:
        return None
    if isinstance(given.get("request"), dict):
        return given["request"]
    return next((given[key] for key in _LISTS if given.get(key)), None)


def _message(given: Values, role: str) -> Iterator[Values]:
    """Yield a message as the chat API has it."""
    if given.get("lc") and isinstance(given.get("kwargs"), dict):  # as LangChain serialises one
        given = given["kwargs"]
    kind = given.get("type")
    if kind == "function_call":
        called = {"id": given.get("call_id"), "function": given}
        yield {"role": "assistant", "content": None, "tool_calls": [called]}
        return
    if kind == "function_call_output":
        said = _text(given.get("output"))
        yield {"role": "tool", "tool_call_id": given.get("call_id"), "content": said}
        return
    content = parts_of(given["parts"]) if "parts" in given else given.get("content")
    own = given.get("role") or _ROLES.get(str(kind)) or kind
    if own == "tool" and isinstance(content, dict) and not given.get("tool_call_id"):
        return  # a tool that the model may call, which is no message
    if not given.get("role") and not {"content", "tool_calls"} & set(given):
        yield {"role": role, "content": _text(given)}
        return
    calls = given.get("tool_calls") or (given.get("additional_kwargs") or {}).get("tool_calls")
    yield {**given, "role": own or role, "content": _content(content), "tool_calls": calls}


def _content(given: Any) -> Any:
    """Return the content of a message; JSON of what is neither text nor parts."""
    parts = isinstance(given, list) and all(
        isinstance(one, str) or (isinstance(one, dict) and "type" in one) for one in given
    )
    return given if given is None or isinstance(given, str) or parts else _text(given)


def _text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
