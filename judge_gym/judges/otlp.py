"""Scores as evaluation events of OpenTelemetry: OTLP JSON of logs, as collectors take them.

Each judgement is an event `gen_ai.evaluation.result` of the GenAI semantic conventions (in
development), with the trace and the span that was judged.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import version
from typing import Any

EVENT = "gen_ai.evaluation.result"
_ATTRIBUTES = {
    "gen_ai.evaluation.name": "name",
    "gen_ai.evaluation.score.value": "score",
    "gen_ai.evaluation.score.label": "label",
    "gen_ai.evaluation.explanation": "explanation",
    "judge_gym.annotator": "annotator",
    "judge_gym.annotator.kind": "annotator_kind",
    "judge_gym.item": "item",
    "judge_gym.message": "message",
    "judge_gym.repeat": "repeat",
    "judge_gym.simulated": "simulated",
}
"""Attribute → the column of a score (`sessions.score_rows`)."""
_TRACE, _SPAN = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
_SCORED = "scored"
_INFO = 9
"""The severity of an event that reports no fault."""


def evaluation_events(rows: Iterable[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
    """Return the rows of `score_rows` as one request of OTLP, observed `now`.

    Ids of traces and spans that are not OpenTelemetry's, such as MLflow's, are in `judge_gym.item`
    alone. A judgement without a score has its status as `error.type`.
    """
    nanoseconds = str(int(now.timestamp() * 1_000_000) * 1_000)
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": [_attribute("service.name", "judge-gym")]},
                "scopeLogs": [
                    {
                        "scope": {"name": "judge_gym", "version": version("judge-gym")},
                        "logRecords": [_record(row, nanoseconds) for row in rows],
                    }
                ],
            }
        ]
    }


def _record(row: Mapping[str, Any], nanoseconds: str) -> dict[str, Any]:
    values = {name: row[column] for name, column in _ATTRIBUTES.items()}
    if row["status"] != _SCORED:
        values["error.type"] = row["status"]
    ids = (("traceId", _TRACE, row["trace_id"]), ("spanId", _SPAN, row["span_id"]))
    return {
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": _INFO,
        "eventName": EVENT,
        **{name: given for name, form, given in ids if form.fullmatch(given)},
        "attributes": [
            _attribute(name, value) for name, value in values.items() if value not in (None, "")
        ],
    }


def _attribute(name: str, value: Any) -> dict[str, Any]:
    """Return an attribute as OTLP JSON has it: a whole number of 64 bits is a text."""
    if isinstance(value, bool):
        return {"key": name, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": name, "value": {"intValue": str(value)}}
    kind = "doubleValue" if isinstance(value, float) else "stringValue"
    return {"key": name, "value": {kind: value}}
