"""Verdicts in JSON: the same grammar as in free text, read by a decoder of its own (FAULTS 6)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.answers.verdict import Grammar, ParseFailure, Verdict, parse_structured_verdict
from support.grammars import POINT, SUBSET


def outcome(answer, grammar):
    result = parse_structured_verdict(answer, grammar)
    if isinstance(result, ParseFailure):
        return f"({result.reason})"
    assert answer[slice(*result.span)] == result.text
    assert result.text.startswith("{")
    assert result.text.endswith("}")
    return "".join(result.letters)


# answer | read as one label | read as a set of labels
ANSWERS = [
    ('{"verdict": "B"}', "B", "B"),
    ('{"verdict": "b"}', "B", "B"),
    ('{"verdict": "Stage B"}', "B", "B"),
    ('{"verdict": "**B**"}', "B", "B"),
    ('{"VERDICT": "B"}', "B", "B"),
    ('{"reasoning": "A fits {badly}", "verdict": "B"}', "B", "B"),
    ('{"reasoning": "two\nlines } here", "verdict": "B"}', "B", "B"),
    ('```json\n{"verdict": "B"}\n```', "B", "B"),
    ('Here it is: {"verdict": "B"} as asked.', "B", "B"),
    ('In {braces} and "quotes: {"verdict": "B"}', "B", "B"),
    ('Stray { and "\n{"verdict": "B"}', "B", "B"),
    ('{"verdict": "B",}', "B", "B"),
    ("{'verdict': 'B'}", "B", "B"),
    ("{“verdict”: “B”}", "B", "B"),
    ('{"verdict": ["B"]}', "B", "B"),
    ('{"verdict": ["D", "B", "D"]}', "(several_letters)", "BD"),
    ('{"verdict": "B, D"}', "(several_letters)", "BD"),
    ('{"verdict": "ABSTAIN"}', "", ""),
    ('{"verdict": ["abstain"]}', "", ""),
    ('{"verdict": ["ABSTAIN", "B"]}', "(conflict)", "(conflict)"),
    ('{"verdict": "Z"}', "(not_offered)", "(not_offered)"),
    ('{"verdict": ["B", "Z"]}', "(not_offered)", "(not_offered)"),
    ('{"verdict": "A-C"}', "(range)", "(range)"),
    ('{"verdict": "A or B"}', "(several_letters)", "(malformed)"),
    ('{"verdict": 2}', "(malformed)", "(malformed)"),
    ('{"verdict": null}', "(malformed)", "(malformed)"),
    ('{"verdict": {"label": "B"}}', "(malformed)", "(malformed)"),
    ('{"verdict": []}', "(no_verdict)", "(no_verdict)"),
    ('{"verdict": ""}', "(no_verdict)", "(no_verdict)"),
    ('{"answer": "B"}', "(no_verdict)", "(no_verdict)"),
    ("VERDICT: B", "(no_json)", "(no_json)"),
    ("The set {B, D} fits.", "(no_json)", "(no_json)"),
    ("", "(empty)", "(empty)"),
    # the last verdict wins; only the prompt's placeholder is passed over
    ('{"verdict": "A"} no: {"verdict": "B"}', "B", "B"),
    ('{"verdict": "B"} {"confidence": 0.8}', "B", "B"),
    ('{"verdict": "B"} {"verdict": null}', "(malformed)", "(malformed)"),
    ('{"verdict": "B"} {"verdict": "[A/B/C/D]"}', "B", "B"),
    ('{"verdict": "<one letter>"}', "(echo)", "(echo)"),
    # what is cut off or ambiguous is never completed
    ('{"verdict": "B"', "(malformed_json)", "(malformed_json)"),
    ('{"verdict": "B", "reasoning": "It sta', "(malformed_json)", "(malformed_json)"),
    ('{"verdict": ["B", ', "(malformed_json)", "(malformed_json)"),
    ('{"verdict": "B", "C"}', "(malformed_json)", "(malformed_json)"),
    ('{"verdict": "B" "C"}', "(malformed_json)", "(malformed_json)"),
    ('[{"verdict": "B"}]', "(malformed_json)", "(malformed_json)"),
]


@pytest.mark.parametrize(("answer", "point", "subset"), ANSWERS)
def test_structured_verdicts(answer, point, subset):
    assert outcome(answer, POINT) == point
    assert outcome(answer, SUBSET) == subset


def test_an_abstention_that_was_not_offered_is_a_failure():
    assert outcome('{"verdict": "ABSTAIN"}', Grammar(("A", "B"), False, False)) == "(not_offered)"


def test_the_span_is_the_object():
    answer = 'é\u200b: {"verdict": "B"}.'
    result = parse_structured_verdict(answer, POINT)
    assert isinstance(result, Verdict)
    assert result.text == '{"verdict": "B"}'


parts = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", ":", ",", '"verdict"', "verdict", '"B"', "B", "C", '"ABSTAIN"',
     "\\", "\n", " ", "null", "1e999", "NaN", "```json", "“", "//"]
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.one_of(
        st.lists(parts, max_size=40).map("".join),
        st.lists(parts, max_size=12).map(lambda found: '{"verdict": ' + "".join(found) + "}"),
        st.text(max_size=100),
    ),
    st.booleans(),
)
def test_any_text_gives_offered_letters_or_a_typed_failure(answer, subset):
    grammar = Grammar(("A", "B", "C"), subset=subset, abstain=False)
    result = parse_structured_verdict(answer, grammar)
    if isinstance(result, Verdict):
        assert result.letters
        assert set(result.letters) <= set(grammar.labels)
        assert subset or len(result.letters) == 1
