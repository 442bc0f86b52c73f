"""Conversations in OTLP JSON: GenAI messages, OpenInference's, and spans that are none."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes.gen_ai_attributes import (
    GEN_AI_EVALUATION_EXPLANATION,
    GEN_AI_EVALUATION_NAME,
    GEN_AI_EVALUATION_SCORE_VALUE,
)

from judge_gym.errors import JudgeGymError
from judge_gym.judges import CallableJudge, Scale
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.otlp import EVENT, evaluation_events
from judge_gym.judges.sessions import exported_said, score_rows, session_rows
from judge_gym.records.conversations import conversation_in
from judge_gym.records.judgements import JudgeResult
from judge_gym.report.files import csv_of
from support.judge_results import a_result

HELP = CallableJudge(name="help", function="mine:grade", scale=Scale(lowest=1, highest=5))


def attributes(**given: Any) -> list[dict[str, Any]]:
    def value(one: Any) -> dict[str, Any]:
        return {"intValue": str(one)} if isinstance(one, int) else {"stringValue": one}

    return [{"key": key, "value": value(one)} for key, one in given.items()]


def span(number: int, **given: Any) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": f"s{number}",
        "name": "chat",
        "attributes": attributes(**given),
    }


def exported(folder: Path, *spans: dict[str, Any]) -> Path:
    file = folder / "traces.jsonl"
    file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}))
    return file


GEN_AI = {
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(
        [
            {"role": "user", "parts": [{"type": "text", "content": "How long?"}]},
            {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "c", "name": "search", "arguments": {"q": "eggs"}}]},
            {"role": "tool", "parts": [
                {"type": "tool_call_response", "id": "c", "response": "Ten."}]},
        ]
    ),
    "gen_ai.output.messages": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "Ten minutes."}],
          "finish_reason": "stop"}]
    ),
    "gen_ai.usage.input_tokens": 7,
}  # fmt: skip
SAID = [
    ("system", "Be brief."),
    ("user", "How long?"),
    ('assistant calls "search"', '{"q": "eggs"}'),
    ('tool result of "search"', "Ten."),
    ("assistant", "Ten minutes."),
]
PREFIX = "llm.input_messages"
OPEN_INFERENCE = {
    f"{PREFIX}.0.message.role": "system",
    f"{PREFIX}.0.message.content": "Be brief.",
    f"{PREFIX}.1.message.role": "user",
    f"{PREFIX}.1.message.contents.0.message_content.type": "text",
    f"{PREFIX}.1.message.contents.0.message_content.text": "How long?",
    f"{PREFIX}.2.message.role": "assistant",
    f"{PREFIX}.2.message.tool_calls.0.tool_call.id": "c",
    f"{PREFIX}.2.message.tool_calls.0.tool_call.function.name": "search",
    f"{PREFIX}.2.message.tool_calls.0.tool_call.function.arguments": '{"q": "eggs"}',
    f"{PREFIX}.3.message.role": "tool",
    f"{PREFIX}.3.message.tool_call_id": "c",
    f"{PREFIX}.3.message.content": "Ten.",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "Ten minutes.",
}


@pytest.mark.parametrize("given", [GEN_AI, OPEN_INFERENCE])
def test_a_span_with_messages_is_an_item_named_after_trace_and_span(tmp_path, given):
    file = exported(tmp_path, span(1, **{"http.method": "GET"}), span(2, **given))
    (item,) = read_item_file(file).items
    assert item.id == "t1:s2"
    parts = conversation_in(item.text)
    assert [(who.split(", ", 1)[1], said) for who, said in parts] == SAID
    turns = read_item_file(file, {"unit": "turn"})
    assert [one.id for one in turns.items] == ["t1:s2#5"]
    assert turns.conversations.sessions["t1:s2#5"] == "t1:s2"


def test_scores_are_written_by_trace_and_span(tmp_path):
    read = read_item_file(exported(tmp_path, span(2, **GEN_AI)), {"unit": "turn"})
    (item,) = read.items
    own = score_rows(HELP, [result(item.id, 4), result(item.id, None)], read.conversations)
    rows = list(csv.DictReader(csv_of(own).splitlines()))
    assert [(row["trace_id"], row["span_id"], row["message"], row["score"]) for row in rows] == [
        ("t1", "s2", "5", "4.0"), ("t1", "s2", "5", ""),
    ]  # fmt: skip
    assert (rows[0]["annotator_kind"], rows[0]["explanation"]) == ("CODE", "'=1+1")


CHAT = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}] * 2


@pytest.mark.parametrize("columns", [("trace_id", "span_id"), ("trace.id", "span")])
@pytest.mark.parametrize("unit", ["session", "turn"])
def test_columns_of_a_file_name_trace_and_span(tmp_path, columns, unit):
    """Ids stay as they are where numbers that look like a telephone's are redacted."""
    ids = (
        {"trace_id": "4155552671", "span_id": 7}
        if columns[0] == "trace_id"
        else {"trace": {"id": "4155552671"}, "span": 7}
    )
    file = tmp_path / "chats.jsonl"
    rows = [{"id": "a", "messages": CHAT, **ids}, {"id": "b", "messages": CHAT}]
    file.write_text("\n".join(map(json.dumps, rows)))
    named = dict(zip(("trace_id", "span_id"), columns, strict=True))
    named = {name: column for name, column in named.items() if name != column}
    read = read_item_file(file, {"unit": unit, "redact": "phone", **named})
    own = score_rows(HELP, [result(item.id, 4) for item in read.items], read.conversations)
    places = {(row["item"].partition("#")[0], row["trace_id"], row["span_id"]) for row in own}
    assert places == {("a", "4155552671", "7"), ("b", "", "")}
    count = {"session": 1, "turn": 2}[unit]
    assert exported_said(own, []).endswith(
        f" {2 * count} judgements. {count} row{'s' if count > 1 else ''} without a trace id."
    )


def test_columns_of_a_plain_text_name_trace_and_span_too(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("text,trace_id\nhello,t9\n")
    read = read_item_file(file)
    assert read.conversations.place(read.items[0].id) == ("t9", "", "")


def test_a_column_of_ids_that_no_row_has_is_refused(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("text\nhello\n")
    with pytest.raises(JudgeGymError, match="trace_id is 'trace', and no row has"):
        read_item_file(file, {"trace_id": "trace"})


def test_the_scores_of_a_session_are_rows_beside_those_of_its_turns(tmp_path):
    """Of 4 and 2 the mean is 3 and the lowest 2; of a turn without a score there is neither."""
    file = tmp_path / "chats.jsonl"
    rows = [{"id": name, "messages": CHAT, "trace_id": f"t{name}"} for name in "ab"]
    file.write_text("\n".join(map(json.dumps, rows)))
    read = read_item_file(file, {"unit": "turn"})
    scores = dict(zip(read.items, (4, 2, None, None), strict=True))
    results = [result(item.id, score) for item, score in scores.items()]
    own = score_rows(HELP, results, read.conversations)
    of_sessions = session_rows(HELP, results, read.conversations)
    keys = ("trace_id", "item", "name", "message", "score", "status")
    assert [tuple(row[key] for key in keys) for row in of_sessions] == [
        ("ta", "a", "help/session", "", 3, "scored"),
        ("ta", "a", "help/session-lowest", "", 2, "scored"),
        ("tb", "b", "help/session", "", None, "failed"),
        ("tb", "b", "help/session-lowest", "", None, "failed"),
    ]
    assert of_sessions[0].keys() == own[0].keys()
    assert exported_said(own, of_sessions) == (
        "Exported: 4 judgements, and mean and lowest of 2 sessions."
    )


def test_the_name_of_a_report_tells_how_a_file_was_read(tmp_path):
    file = tmp_path / "chats.jsonl"
    file.write_text(json.dumps({"id": "a", "messages": CHAT}))
    ways = [{}, {"unit": "turn"}, {"unit": "turn", "window": "1"}, {"unit": "turn", "window": "2"}]
    names = [read_item_file(file, way).name for way in ways]
    assert names[:2] == ["chats", "chats-turn"]
    assert names[2].startswith("chats-turn-")
    assert len(set(names)) == 4
    assert read_item_file(file, {"unit": "session"}).name == "chats"


def result(item: str, score: float | None) -> JudgeResult:
    return a_result(item, score, item_key="k", reason="=1+1", failure=None)


def test_messages_on_an_event_of_a_span_are_read(tmp_path):
    given = {**span(1), "events": [{"name": "details", "attributes": attributes(**GEN_AI)}]}
    (item,) = read_item_file(exported(tmp_path, given)).items
    assert len(conversation_in(item.text)) == len(SAID)


def test_an_indented_export_is_read_by_its_key(tmp_path):
    content = json.loads(exported(tmp_path, span(1, **GEN_AI)).read_text())
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(content, indent=1))
    (item,) = read_item_file(file, {"rows": "resourceSpans"}).items
    assert item.id == "t1:s1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gen_ai.input.messages": "[{"}, "gen_ai.input.messages is no JSON"),
        ({"gen_ai.input.messages": '["a"]'}, "gen_ai.input.messages is no list of messages"),
        ({"gen_ai.input.messages": '[{"role": "boss", "parts": []}]'}, "has the role 'boss'"),
    ],
)
def test_messages_of_a_span_that_are_none_are_named(tmp_path, given, said):
    with pytest.raises(JudgeGymError, match=said):
        read_item_file(exported(tmp_path, span(1, **given)))


def test_an_export_without_a_conversation_has_no_item(tmp_path):
    with pytest.raises(JudgeGymError, match="has no row"):
        read_item_file(exported(tmp_path, span(1, **{"http.method": "GET"})))


def test_scores_go_out_as_evaluation_events_of_opentelemetry(tmp_path):
    """With the names of the conventions' own package, and the ids of OTLP."""
    trace, number = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    spans = [{**span(1, **GEN_AI), "traceId": trace, "spanId": number}, span(2, **GEN_AI)]
    read = read_item_file(exported(tmp_path, *spans))
    results = [
        a_result(item, score, judge=HELP.key, reason="" if failure else "fine", failure=failure)
        for item, score, failure in zip(read.items, (4.0, None), (None, "x: y"), strict=True)
    ]
    now = datetime(2026, 3, 1, tzinfo=UTC)
    sent = evaluation_events(score_rows(HELP, results, read.conversations), now)
    [scope] = sent["resourceLogs"][0]["scopeLogs"]
    first, second = scope["logRecords"]
    assert (first["eventName"], first["traceId"], first["spanId"]) == (EVENT, trace, number)
    assert first["timeUnixNano"] == "1772323200000000000"
    values = {one["key"]: one["value"] for one in first["attributes"]}
    assert values[GEN_AI_EVALUATION_NAME] == {"stringValue": "help"}
    assert values[GEN_AI_EVALUATION_SCORE_VALUE] == {"doubleValue": 4.0}
    assert values[GEN_AI_EVALUATION_EXPLANATION] == {"stringValue": "fine"}
    assert values["judge_gym.repeat"] == {"intValue": "0"}
    assert values["judge_gym.simulated"] == {"boolValue": False}
    assert "error.type" not in values
    # t1 and s2 are no ids of OpenTelemetry: the item names them.
    assert not {"traceId", "spanId"} & set(second)
    failed = {one["key"]: one["value"] for one in second["attributes"]}
    assert failed["judge_gym.item"] == {"stringValue": "t1:s2"}
    assert failed["error.type"] == {"stringValue": "failed"}
    assert GEN_AI_EVALUATION_SCORE_VALUE not in failed
    assert json.loads(json.dumps(sent)) == sent
