"""JSON objects in answers of the rubric writer and the critic."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.answers.json_object import DEPTH_LIMIT, JSON_LIMIT, read_json_object
from judge_gym.answers.text import ParseFailure

READABLE = [
    ('{"a": 1}', {"a": 1}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('Sure! {"a": {"b": [1, 2]}} Anything else?', {"a": {"b": [1, 2]}}),
    ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
    ("{'a': 'x'}", {"a": "x"}),
    # A line break and a tab as they are, which JSON itself does not allow.
    ("{'a': 'x\n\ty'}", {"a": "x\n\ty"}),
    ('{"a": "he said "no" to it"}', {"a": 'he said "no" to it'}),
    ('{"a": "first\nsecond"}', {"a": "first\nsecond"}),
    (r'{"a": "a \"brace\" } here"}', {"a": 'a "brace" } here'}),
    ('{"draft": 1}\nBetter:\n{"a": 1}', {"a": 1}),
    ('{"a": "Ｆｕｌｌ “quotes” stay"}', {"a": "Ｆｕｌｌ “quotes” stay"}),
    ('Use {braces} so: {"a": 1}', {"a": 1}),
]
UNREADABLE = [
    ("", "no_json"),
    ("no object here", "no_json"),
    ("{}", "no_json"),
    ("the set {A, B}", "no_json"),
    ('"text"', "no_json"),
    ('{"stages": [{"label": "first"}, {"label": "sec', "malformed_json"),
    ('{"stages": [{"label": "first"}, {"label": "second"}', "malformed_json"),
    ('[{"label": "first"}, {"label": "second"}]', "malformed_json"),
    ("{" + '"a":{' * DEPTH_LIMIT + "}" * DEPTH_LIMIT + "}", "malformed_json"),
    ('{"a": ' + "[" * 20_000 + "]" * 20_000 + "}", "malformed_json"),
    ('{"a": 1}' + " " * JSON_LIMIT, "too_long"),
]


@pytest.mark.parametrize(("answer", "expected"), READABLE)
def test_readable_objects(answer, expected):
    assert read_json_object(answer) == expected


@pytest.mark.parametrize(
    ("answer", "reason"), UNREADABLE, ids=[answer[:30] for answer, _ in UNREADABLE]
)
def test_failures_are_typed(answer, reason):
    result = read_json_object(answer)
    assert isinstance(result, ParseFailure)
    assert result.reason == reason


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=200)
@given(
    st.dictionaries(st.text(max_size=8), values, min_size=1, max_size=4),
    st.sampled_from(["{}", "```json\n{}\n```", "Here you are:\n{}\nDone.", "A {{note}} first. {}"]),
    st.sampled_from([None, 2]),
)
def test_any_object_is_read_back_through_fences_and_prose(fields, frame, indent):
    rendered = json.dumps(fields, indent=indent, ensure_ascii=False)
    assert read_json_object(frame.format(rendered)) == fields


@settings(max_examples=200)
@given(st.text(alphabet="{}[]\"':,\\a1 \n", max_size=60))
def test_any_text_gives_an_object_or_a_typed_failure(answer):
    assert isinstance(read_json_object(answer), dict | ParseFailure)
