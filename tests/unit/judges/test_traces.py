"""Calls of models in exports of Phoenix, MLflow, LangSmith and Langfuse, and labels beside them.

The files follow what the tools write: Phoenix's `GET /v1/projects/{project}/spans`, MLflow's
`Trace.to_json` (schemas 2 and 3), a `Run` of LangSmith's SDK, and a trace that Langfuse downloads.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from judge_gym.errors import JudgeGymError
from judge_gym.judges import CallableJudge, Scale
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import read_labels
from judge_gym.records.conversations import conversation_in

HELP = CallableJudge(name="help", function="mine:grade", scale=Scale(lowest=0, highest=1))
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How long?"}]
ANSWER = {"role": "assistant", "content": "Ten minutes."}
CHOICES = {"choices": [{"index": 0, "message": ANSWER}]}
PREFIX = "llm.input_messages"
TOLD = [("system", "Be brief."), ("user", "How long?"), ("assistant", "Ten minutes.")]


def phoenix(kind: str = "LLM") -> dict[str, Any]:
    attributes = {
        f"{PREFIX}.0.message.role": "system",
        f"{PREFIX}.0.message.content": "Be brief.",
        f"{PREFIX}.1.message.role": "user",
        f"{PREFIX}.1.message.content": "How long?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Ten minutes.",
    }
    return {
        "id": "U3Bhbjox",
        "name": "chat",
        "context": {"trace_id": "t1", "span_id": "s1"},
        "span_kind": kind,
        "parent_id": None,
        "attributes": attributes if kind == "LLM" else {},
        "events": [],
    }


def mlflow(*assessments: dict[str, Any], schema: int = 3) -> dict[str, Any]:
    """A trace with a span of an agent and one of a model, whose number is f0f0f0f0f0f0f0f0."""

    def span(kind: str, number: str, asked: Any, answered: Any) -> dict[str, Any]:
        place = {"trace_id": "oNmS4aE+HGYg/n3fmUFFDw==", "span_id": number}
        return {
            "name": kind.lower(),
            **(place if schema == 3 else {"context": place}),
            "attributes": {
                "mlflow.spanType": json.dumps(kind),
                "mlflow.spanInputs": json.dumps(asked),
                "mlflow.spanOutputs": json.dumps(answered),
            },
        }

    model = "8PDw8PDw8PA=" if schema == 3 else "s1"
    return {
        "info": {"trace_id" if schema == 3 else "request_id": "t1", "assessments": assessments},
        "data": {
            "spans": [
                span("AGENT", "XLKBKWgJoZc=", {"q": "How long?"}, "Ten minutes."),
                span("CHAT_MODEL", model, {"model": "m", "messages": ASKED}, CHOICES),
            ]
        },
    }


def langsmith(inputs: Any, outputs: Any, kind: str = "llm") -> dict[str, Any]:
    return {
        "id": "s1", "trace_id": "t1", "name": "ChatOpenAI", "run_type": kind, "inputs": inputs,
        "outputs": outputs, "parent_run_id": None, "dotted_order": "2026", "feedback_stats": None,
    }  # fmt: skip


def langfuse(asked: Any, answered: Any, *scores: dict[str, Any]) -> dict[str, Any]:
    def one(kind: str, number: str, asked: Any, answered: Any) -> dict[str, Any]:
        return {
            "id": number, "traceId": "t1", "type": kind, "name": "chat", "input": asked,
            "output": answered, "parentObservationId": None,
        }  # fmt: skip

    return {
        "trace": {"id": "t1", "name": "chat", "input": None, "scores": list(scores)},
        "observations": [
            one("SPAN", "s0", {"messages": ASKED}, None),
            one("GENERATION", "s1", asked, answered),
        ],
    }


def told(file: Path, fields: dict[str, str] | None = None) -> dict[str, list[tuple[str, str]]]:
    return {
        item.id: [(who.split(", ", 1)[1], text) for who, text in conversation_in(item.text)]
        for item in read_item_file(file, fields).items
    }


def constructed(kind: str, content: str) -> dict[str, Any]:
    name = ["langchain", "schema", "messages", kind]
    own = {"content": content, "type": {"HumanMessage": "human", "AIMessage": "ai"}.get(kind)}
    return {"lc": 1, "type": "constructor", "id": name, "kwargs": {**own, "type": own["type"]}}


@pytest.mark.parametrize("indented", [False, True])
@pytest.mark.parametrize(
    ("record", "name"),
    [
        (phoenix(), "t1:s1"),
        (mlflow(), "t1:f0f0f0f0f0f0f0f0"),
        (mlflow(schema=2), "t1:s1"),
        (langsmith({"messages": ASKED, "model": "m"}, CHOICES), "t1:s1"),
        (langsmith({"messages": [ASKED]}, {"generations": [[{"message": ANSWER}]]}), "t1:s1"),
        (langfuse(ASKED, ANSWER), "t1:s1"),
        (langfuse(json.dumps(json.dumps({"messages": ASKED})), "Ten minutes."), "t1:s1"),
        (langfuse(ASKED, ANSWER)["observations"][1], "t1:s1"),
    ],
)
def test_a_call_of_a_model_in_a_trace_is_a_session(tmp_path, record, name, indented):
    file = tmp_path / ("trace.json" if indented else "traces.jsonl")
    file.write_text(json.dumps(record, indent=2 if indented else None))
    assert told(file) == {name: TOLD}


def test_messages_of_langchain_and_of_the_responses_api_are_told_apart(tmp_path):
    called = {
        "type": "ai", "content": "", "additional_kwargs": {},
        "tool_calls": [{"name": "search", "args": {"q": "eggs"}, "id": "c1", "type": "tool_call"}],
    }  # fmt: skip
    found = {"type": "tool", "content": [{"url": "a.example"}], "tool_call_id": "c1"}
    human = constructed("HumanMessage", "How long?")
    chain = langsmith({"messages": [[human, called, found]]}, {"generations": [[
        {"text": "Ten.", "message": constructed("AIMessage", "Ten.")}]]})  # fmt: skip
    responses = {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "How long?"},
            {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Ten."},
        ],
    }
    said = {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Ten minutes."}]}  # fmt: skip
    rows = [chain, {**langsmith(responses, {"output": [said]}), "id": "s2"}]
    rows.append({**langsmith({"messages": ASKED}, CHOICES, "chain"), "id": "s3"})
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert told(file) == {
        "t1:s1": [
            ("user", "How long?"),
            ('assistant calls "search"', '{"q": "eggs"}'),
            ('tool result of "search"', '[{"url": "a.example"}]'),
            ("assistant", "Ten."),
        ],
        "t1:s2": [
            ("system", "Be brief."),
            ("user", "How long?"),
            ('assistant calls "search"', "{}"),
            ('tool result of "search"', "Ten."),
            ("assistant", "Ten minutes."),
        ],
    }


def test_tools_that_a_model_may_call_are_no_messages(tmp_path):
    tool = {"role": "tool", "content": {"type": "function", "function": {"name": "search"}}}
    file = tmp_path / "trace.jsonl"
    file.write_text(json.dumps(langfuse([*ASKED, tool], ANSWER)))
    assert told(file) == {"t1:s1": TOLD}


def test_spans_that_call_no_model_are_no_items(tmp_path):
    file = tmp_path / "spans.jsonl"
    file.write_text(json.dumps(phoenix("CHAIN")))
    with pytest.raises(JudgeGymError, match="has no row"):
        read_item_file(file)
    file.write_text(json.dumps({"data": [phoenix(), phoenix("CHAIN")]}))
    page = tmp_path / "page.json"
    page.write_text(file.read_text())
    assert told(page, {"rows": "data"}) == {"t1:s1": TOLD}


def assessed(kind: str, value: Any, **more: Any) -> dict[str, Any]:
    return {
        "assessment_name": "good", "trace_id": "t1", "feedback": {"value": value}, "valid": True,
        "source": {"source_type": kind, "source_id": "ann"}, "rationale": "so",
        "create_time": "2026-03-01T10:00:00Z", **more,
    }  # fmt: skip


def score(source: str, value: float, **more: Any) -> dict[str, Any]:
    return {
        "id": "x", "traceId": "t1", "observationId": None, "name": "good", "source": source,
        "authorUserId": "ann", "value": value, "stringValue": None, "dataType": "NUMERIC", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        mlflow(assessed("HUMAN", 1), assessed("LLM_JUDGE", 0)),
        mlflow(assessed("HUMAN", 1, span_id="f0f0f0f0f0f0f0f0"), assessed("HUMAN", 0, valid=False)),
        langfuse(ASKED, ANSWER, score("ANNOTATION", 1), score("EVAL", 0)),
        langfuse(ASKED, ANSWER, score("ANNOTATION", 1, observationId="s1")),
    ],
)
def test_labels_of_people_in_a_trace_are_of_its_items(tmp_path, record):
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(record, indent=1))
    labels = read_labels(file)
    assert [(row.annotator, row.labels) for row in labels.rows] == [("ann", ("1",))]
    [item] = read_item_file(file).with_labels(labels, HELP).items
    assert item.truth == 1


def test_feedback_of_people_in_langsmith_is_of_the_run(tmp_path):
    def feedback(kind: str, given: int) -> dict[str, Any]:
        source = {"type": kind, "user_id": "u1", "user_name": "ann"}
        return {
            "id": f"f{given}", "run_id": "s1", "trace_id": "t1", "key": "good", "score": given,
            "value": None, "comment": None, "feedback_source": source,
        }  # fmt: skip

    runs, given = tmp_path / "runs.jsonl", tmp_path / "feedback.jsonl"
    runs.write_text(json.dumps(langsmith({"messages": ASKED}, CHOICES)))
    given.write_text(
        "\n".join(json.dumps(one) for one in (feedback("app", 1), feedback("model", 0)))
    )
    labels = read_labels(given)
    [item] = read_item_file(runs).with_labels(labels, HELP).items
    assert (item.truth, dict(labels.left)) == (1, {"annotator_kind is model": 1})


def test_annotations_of_phoenix_name_the_span_alone(tmp_path):
    spans, given = tmp_path / "spans.jsonl", tmp_path / "annotations.jsonl"
    spans.write_text(json.dumps(phoenix()))
    given.write_text(json.dumps({
        "span_id": "s1", "name": "good", "annotator_kind": "HUMAN", "user_id": "ann",
        "result": {"score": 1}}))  # fmt: skip
    [item] = read_item_file(spans).with_labels(read_labels(given), HELP).items
    assert item.truth == 1


def test_messages_with_parts_of_the_genai_conventions_are_read(tmp_path):
    asked = [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "How long?"}]},
    ]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Ten minutes."}]}]
    file = tmp_path / "trace.jsonl"
    file.write_text(json.dumps(langfuse(asked, answer)))
    assert told(file) == {"t1:s1": TOLD}
