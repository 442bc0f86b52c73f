"""Labels of people in exports of labelling and tracing tools, as plain rows.

A row is a label, with what its tool says of it and the columns `item`, `annotator`, `label`,
`question`, `time` and `note`. Nothing is guessed: without an item that the user named, a row has
no `item`, and labels of several questions are refused until one is chosen.

Forms that are told apart: Label Studio's JSON, JSON-MIN and CSV (`completions` in its old files),
Argilla's records, and data sets with a column for each question, Langfuse's scores (of the API, of
a table, of blob storage and of a trace), Phoenix's annotations (of the API and of data frames),
the assessments of MLflow's traces, and LangSmith's feedback. An export of another form is read as a
plain table, by a mapping.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from judge_gym.errors import DataFileError
from judge_gym.evidence.choosing import Chosen, OnlyRows
from judge_gym.evidence.columns import as_text, root_of
from judge_gym.evidence.row import DataRow, are_objects
from judge_gym.evidence.rows import read_rows, whole

Values = Mapping[str, Any]
QUESTION = "question"
"""What was asked: the control, question or name of a label."""
WITHDRAWN: Mapping[str, Collection[str]] = {
    "was_cancelled": ("true",),
    "status": ("discarded", "draft", "pending"),
}
"""Key of an annotation of Label Studio or a response of Argilla → its values that say that the
person did not give this label."""
_ITEMS = ("item", "item_id", "id")
"""Keys of what a user gave a labelling tool, which may name an item."""
_MOST_SHOWN = 6
_OF_TRACE = ":"
"""Stands between a trace and its span, as items of traces are named."""


class LabelRows:
    """The rows of a file of labels; those of an export of a tool, one for each label.

    `named` are the columns that whoever reads them names. `left` says which labels
    are not read, by the reason.
    """

    def __init__(self, chosen: Chosen, named: Collection[str] = ()) -> None:
        self._chosen, self._only = chosen, OnlyRows(chosen.only)
        self._named = {root_of(name) for name in (*named, *chosen.only)}
        self._questions: dict[str, str] = {}
        self.left: dict[str, list[str]] = {}

    def rows(self, file: Path) -> Iterator[DataRow]:
        """Yield the rows; raises as `read_rows` and `OnlyRows` do, and `DataFileError` for labels
        of several questions."""
        rows = read_rows(file, self._chosen.layout)
        given = (
            whole(row, lambda values: any(is_of(values) for is_of, *_ in _TOOLS)) for row in rows
        )
        first = next(given, None)
        unfold = None if first is None else self._unfolded(first.values)
        count = 0
        for row in chain([first] if first else [], given):
            for one in (row,) if unfold is None or row.fault else unfold(row):
                if self._chosen.only and not self._only.chooses(file, one):
                    continue
                if unfold is not None and not one.fault and (why := self._withdrawn(one.values)):
                    self.left.setdefault(why, []).append(one.where)
                    continue
                count += 1
                if unfold is not None:
                    asked = next((name for name in _NAMES if name in one.values), QUESTION)
                    self._questions[str(one.values.get(QUESTION, ""))] = asked
                yield one
        self._check(file, count)

    def _unfolded(self, values: Values) -> Callable[[DataRow], Iterator[DataRow]] | None:
        """Return what makes rows of a record of a tool; None for a plain row."""
        for is_of, unfold, nested in _TOOLS:
            if is_of(values):
                return None if set(nested) & self._named else unfold
        return None

    def _withdrawn(self, values: Values) -> str:
        """Return why a label of an export is none of a person; "" where it is one."""
        for key, left in WITHDRAWN.items():
            if key not in self._named and as_text(values.get(key)).casefold() in left:
                return f"{key} is {as_text(values[key])}"
        key = next((key for key in _PEOPLE if key in values), "")
        if key and key not in self._named and values[key] not in (None, _PEOPLE[key]):
            return f"{key} is {values[key]}"
        return "no label" if values.get("label", "none named") in (None, "", []) else ""

    def _check(self, file: Path, count: int) -> None:
        if not count and self._chosen.only:
            self._only.check_any(file)
        if not count and self.left:
            why = ", ".join(f"{reason} ({len(places):,})" for reason, places in self.left.items())
            raise DataFileError(
                f"{file} has no label of a person: {why}.",
                "Say that others count, such as only.source=API, or `only: {source: API}` in a "
                "mapping.",
            )
        if len(self._questions) > 1 and not {QUESTION, *_NAMES} & self._named:
            listed = ", ".join(map(repr, list(self._questions)[:_MOST_SHOWN]))
            first, column = next(iter(self._questions.items()))
            raise DataFileError(
                f"{file} has labels of {len(self._questions)} questions: {listed}.",
                f"Choose one: only.{column}={first}, or `only: {{{column}: {first}}}` in a "
                f"mapping; or read them as criteria of a rubric: criterion={column}.",
            )


_PEOPLE: Mapping[str, str] = {"annotator_kind": "HUMAN", "source": "ANNOTATION"}
"""Column that says who gave a score, the first that there is → its value for people. Phoenix has a
source, too, which says whether a page or a program sent it."""
_NAMES = ("name", "annotation_name")


def _label_studio(row: DataRow) -> Iterator[DataRow]:
    task = row.values
    given = _object(task.get("data"))
    for number, one in enumerate(_objects(task.get("annotations") or task.get("completions"))):
        shared = {
            **_item(given),
            "annotator": _person(one.get("completed_by")),
            "time": one.get("updated_at") or one.get("created_at"),
            "was_cancelled": bool(one.get("was_cancelled")),
        }
        by_question: dict[str, list[Any]] = {}
        for result in _objects(one.get("result")):
            label = _label_studio_value(result.get("value"))
            by_question.setdefault(str(result.get("from_name", "")), []).append(label)
        for question, labels in (by_question or {"": [None]}).items():
            label = labels[0] if len(labels) == 1 else labels
            yield _row(row, number, "annotation", shared, question, label)


def _label_studio_value(value: Any) -> Any:
    """Return what a control of Label Studio gave: a name, several of them, or a number."""
    for key in ("choices", "rating", "number", "selected", "taxonomy", "text"):
        if isinstance(value, dict) and key in value:
            given = value[key]
            if key == "taxonomy" and isinstance(given, list):
                given = [" / ".join(map(str, one)) for one in given]
            return given[0] if isinstance(given, list) and len(given) == 1 else given
    return None


def _label_studio_min(row: DataRow) -> Iterator[DataRow]:
    """Return a row of JSON-MIN, whose labels stand in columns that the user names."""
    values = {name: _short(value) for name, value in row.values.items()}
    values["annotator"] = _person(row.values.get("annotator"))
    values["time"] = row.values.get("updated_at") or row.values.get("created_at")
    yield replace(row, values=values)


def _short(value: Any) -> Any:
    """Return a label of JSON-MIN without the key of its control."""
    if isinstance(value, str) and value.startswith(('{"', '[{"')):  # of the CSV export
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    found = _label_studio_value(value)
    return value if found is None else found


def _argilla(row: DataRow) -> Iterator[DataRow]:
    """Yield the responses of a record of Argilla, in any of its four forms."""
    record = row.values
    given = {**_object(record.get("metadata")), "id": record.get("id")}
    if external := record.get("external_id"):
        given["id"] = external
    for number, (question, one) in enumerate(_responses(record)):
        shared = {
            **_item(given),
            "annotator": as_text(one.get("user_id")),
            "status": one.get("status") or "submitted",
        }
        yield _row(row, number, "response", shared, question, one.get("value"))


def _responses(record: Values) -> Iterator[tuple[str, Values]]:
    """Yield the question and the response of each, with `user_id`, `value` and `status`."""
    responses = record.get("responses")
    if isinstance(responses, dict):
        for question, several in responses.items():
            yield from ((question, one) for one in _objects(several))
    elif isinstance(responses, list):
        for one in _objects(responses):
            for question, given in _object(one.get("values")).items():
                yield question, {**one, "value": _object(given).get("value")}
    for column, several in record.items():
        if column.endswith(_FLAT) and isinstance(several, list):
            users = record.get(f"{column}.users") or [None] * len(several)
            statuses = record.get(f"{column}.status") or [None] * len(several)
            for value, user, status in zip(several, users, statuses, strict=False):
                one = {"value": value, "user_id": user, "status": status}
                yield column.removesuffix(_FLAT), one
        elif _are_responses(several):
            yield from ((column, one) for one in _objects(several))


_FLAT = ".responses"


def _are_responses(value: Any) -> bool:
    return are_objects(value) and all({"user_id", "value"} <= set(one) for one in value)


def _langfuse(row: DataRow) -> Iterator[DataRow]:
    score = {_camel(name): value for name, value in row.values.items()}
    kind = as_text(score.get("dataType"))
    label = score.get("stringValue") if kind in ("CATEGORICAL", "BOOLEAN") else None
    shared = {
        "annotator": as_text(
            score.get("authorUserName") or score.get("author") or score.get("authorUserId")
        ),
        "time": score.get("updatedAt") or score.get("timestamp") or score.get("createdAt"),
        "note": score.get("comment"),
    }
    # A score of a step of a trace is none of the trace.
    places = (score.get("traceId"), score.get("observationId"))
    shared["item"] = _OF_TRACE.join(str(one) for one in places if one)
    label = score.get("value") if label in (None, "") else label
    yield _row(row, None, "", shared, as_text(score.get("name")), label)


def _langfuse_trace(row: DataRow) -> Iterator[DataRow]:
    trace = _object(row.values.get("trace")) or row.values
    for number, one in enumerate(_objects(trace.get("scores") or row.values.get("scores"))):
        place = f"{row.where}, score {number + 1}"
        yield from _langfuse(replace(row, values=one, place=place))


def _mlflow(row: DataRow) -> Iterator[DataRow]:
    info = _object(row.values.get("info"))
    trace = info.get("trace_id") or info.get("request_id")
    for number, one in enumerate(_objects(info.get("assessments"))):
        source = _object(one.get("source"))
        value = _object(one.get("feedback")) or _object(one.get("expectation"))
        shared = {
            "item": _OF_TRACE.join(str(part) for part in (trace, one.get("span_id")) if part),
            "annotator": as_text(source.get("source_id")),
            "annotator_kind": source.get("source_type"),
            "was_cancelled": one.get("valid") is False,
            "time": one.get("last_update_time") or one.get("create_time"),
            "note": one.get("rationale"),
        }
        name = as_text(one.get("assessment_name"))
        yield _row(row, number, "assessment", shared, name, value.get("value"))


def _langsmith(row: DataRow) -> Iterator[DataRow]:
    one = row.values
    source = _object(one.get("feedback_source"))
    shared = {
        "item": _OF_TRACE.join(str(one[key]) for key in ("trace_id", "run_id") if one.get(key)),
        "annotator": as_text(source.get("user_name") or source.get("user_id")),
        "annotator_kind": "HUMAN" if source.get("type") == "app" else as_text(source.get("type")),
        "time": one.get("modified_at") or one.get("created_at"),
        "note": one.get("comment"),
    }
    label = one.get("score") if one.get("value") in (None, "") else one.get("value")
    yield _row(row, None, "", shared, as_text(one.get("key")), label)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _phoenix(row: DataRow) -> Iterator[DataRow]:
    one = row.values
    result = _object(one.get("result"))
    found = {
        name: next(
            (of[key] for of, key in ((result, name), (one, name), (one, f"result.{name}"))
             if of.get(key) not in (None, "")), None,
        )
        for name in ("label", "score", "explanation")
    }  # fmt: skip
    shared = {
        "item": next(
            (one[key] for key in ("span_id", "trace_id", "session_id") if one.get(key)), None
        ),
        "annotator": as_text(one.get("user_id") or one.get("identifier")),
        "time": one.get("updated_at") or one.get("created_at"),
        "note": found["explanation"],
        "score": found["score"],
    }
    question = as_text(one.get("name") or one.get("annotation_name"))
    label = found["score"] if found["label"] is None else found["label"]
    yield _row(row, None, "", shared, question, label)


_TOOLS: tuple[
    tuple[Callable[[Values], bool], Callable[[DataRow], Iterator[DataRow]], Collection[str]], ...
] = (
    (
        lambda row: "data" in row and bool({"annotations", "completions"} & set(row)),
        _label_studio,
        ("annotations", "completions"),
    ),
    (lambda row: {"annotation_id", "annotator", "lead_time"} <= set(row), _label_studio_min, ()),
    (
        lambda row: (
            ("fields" in row and "responses" in row)
            or any(name.endswith(f"{_FLAT}.users") for name in row)
            or any(map(_are_responses, row.values()))
        ),
        _argilla,
        ("responses",),
    ),
    (
        lambda row: isinstance(row.get("info"), dict) and "spans" in _object(row.get("data")),
        _mlflow,
        ("info", "data"),
    ),
    (
        lambda row: isinstance(row.get("observations"), list),
        _langfuse_trace,
        ("scores", "trace", "observations"),
    ),
    (lambda row: {"run_id", "key", "score", "feedback_source"} <= set(row), _langsmith, ()),
    (lambda row: {"annotator_kind"} <= set(row), _phoenix, ()),
    (
        lambda row: (
            {"traceId", "trace_id"} & set(row) != set() and {"name", "value", "source"} <= set(row)
        ),
        _langfuse,
        (),
    ),
)
"""Of a first record, whether it is of a tool; what makes rows of one; and the columns that nobody
reads by rows of labels, since their paths lead into its list."""


def _row(
    row: DataRow, number: int | None, kind: str, shared: Values, question: str, label: Any
) -> DataRow:
    place = row.where if number is None else f"{row.where}, {kind} {number + 1}"
    return replace(
        row, values={**row.values, **shared, QUESTION: question, "label": label}, place=place
    )


def _item(given: Values) -> dict[str, Any]:
    """Return the item that the user's own data names; nothing without one."""
    named = next((given[key] for key in _ITEMS if given.get(key) not in (None, "")), None)
    return {} if named is None else {"item": named}


def _person(given: Any) -> str:
    """Return a person's name as a tool gives it: a number, an address, or an object with both."""
    if isinstance(given, dict):
        given = next((given[key] for key in ("email", "username", "id") if given.get(key)), None)
    return as_text(given)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
