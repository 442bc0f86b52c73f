"""Free-text verdicts: what is read, and what is refused instead of guessed."""

import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judge_gym.answers.verdict import Grammar, ParseFailure, Verdict, parse_verdict
from support.grammars import POINT, SUBSET

NO_GATE = Grammar(tuple("ABCD"), subset=False, abstain=False)


def outcome(answer, grammar):
    """The letters ("" for an abstention), or the reason of the failure in parentheses."""
    result = parse_verdict(answer, grammar)
    if isinstance(result, ParseFailure):
        return f"({result.reason})"
    assert answer[slice(*result.span)] == result.text
    assert result.abstained == (not result.letters)
    return "".join(result.letters)


# value after "VERDICT: " | read as one label | read as a set of labels
VALUES = [
    # FAULTS 1: ABSTAIN is never its first letter
    ("ABSTAIN", "", ""),
    ("ABSTAIN.", "", ""),
    ("Abstain", "", ""),
    ("**abstained**", "", ""),
    ("I abstain.", "", ""),
    ("ABSTAIN (leaning towards B)", "", ""),
    ("ABSTAIN - the evidence lies between B and C", "", ""),
    ("ABSTAIN or B", "(conflict)", "(conflict)"),
    ("ABSTAIN/B", "(conflict)", "(conflict)"),
    ("ABSTAIN, B", "(conflict)", "(conflict)"),
    ("B or ABSTAIN", "(conflict)", "(conflict)"),
    ("B, ABSTAIN", "(conflict)", "(conflict)"),
    ("ABSTAIN is not warranted: B", "(malformed)", "(malformed)"),
    # FAULTS 2: whole tokens, offered labels
    ("b", "B", "B"),
    ("Stage C", "C", "C"),
    ("Option B: recurring pattern", "B", "B"),
    ("Letter B", "B", "B"),
    ("Z", "(not_offered)", "(not_offered)"),
    ("E", "(not_offered)", "(not_offered)"),
    ("Both A and C", "(several_letters)", "AC"),
    ("Stage 2", "(no_verdict)", "(no_verdict)"),
    ("BD", "(no_verdict)", "(no_verdict)"),
    ("none", "(no_verdict)", "(no_verdict)"),
    ("A coup is under way", "(malformed)", "(malformed)"),
    ("B because of the arrests", "(malformed)", "(malformed)"),
    ("A's criteria are met", "(no_verdict)", "(no_verdict)"),
    ("A.I. was used", "(malformed)", "(malformed)"),
    ("A-list", "(no_verdict)", "(no_verdict)"),
    ("B+", "(malformed)", "(malformed)"),
    ("not B", "(no_verdict)", "(no_verdict)"),
    ("Neither B nor C", "(several_letters)", "(malformed)"),
    ("The best fit is B.", "(no_verdict)", "(no_verdict)"),
    ("", "(no_verdict)", "(no_verdict)"),
    ("Á", "(malformed)", "(malformed)"),
    ("A\u0301", "(malformed)", "(malformed)"),
    ("В", "(malformed)", "(malformed)"),  # the Cyrillic letter
    # FAULTS 3 and 10: the prompt's placeholder
    ("[A/B/C/D]", "(echo)", "(echo)"),
    ("[A/B/C/D/ABSTAIN]", "(echo)", "(echo)"),
    ("<A|B|C|D>", "(echo)", "(echo)"),
    ("<one letter of A, B, C, D>", "(echo)", "(echo)"),
    ("<one or more letters of A, B, C, D, separated by commas>", "(echo)", "(echo)"),
    ("<one letter of A, B, C, D> or ABSTAIN", "(echo)", "(echo)"),
    ("one letter of A, B, C or D", "(echo)", "(echo)"),
    ("[your answer]", "(echo)", "(echo)"),
    ("{A, B, C, D}", "(echo)", "ABCD"),
    ("A, B, C, D", "(several_letters)", "ABCD"),
    # FAULTS 4: markup
    ("[B]", "B", "B"),
    ("**C**", "C", "C"),
    ("__C__", "C", "C"),
    ("`C`", "C", "C"),
    ("(C)", "C", "C"),
    ("<C>", "C", "C"),
    ("- C", "C", "C"),
    ("> C", "C", "C"),
    ("# C", "C", "C"),
    ("“C”", "C", "C"),
    ("«C»", "C", "C"),
    ("‘C’.", "C", "C"),
    ("「C」", "C", "C"),
    ("＂Ｃ＂。", "C", "C"),
    ("\u200bC\u200b", "C", "C"),
    ("C\u00ad.", "C", "C"),
    (r"$\boxed{\text{C}}$", "C", "C"),
    ("C ✅", "C", "C"),
    ("<b>C</b>", "(malformed)", "(malformed)"),
    # FAULTS 5: sets
    ("[B,D]", "(several_letters)", "BD"),
    ("b,d", "(several_letters)", "BD"),
    ("B and D", "(several_letters)", "BD"),
    ("D & B", "(several_letters)", "BD"),
    ("B/D", "(several_letters)", "BD"),
    ("B; D", "(several_letters)", "BD"),
    ("B D", "(several_letters)", "BD"),
    ("B，D", "(several_letters)", "BD"),
    ("B、D", "(several_letters)", "BD"),
    ("B, C, and D", "(several_letters)", "BCD"),
    ("{B, D}", "(several_letters)", "BD"),
    ("[B] [D]", "(several_letters)", "BD"),
    ("**B**, **D**", "(several_letters)", "BD"),
    ("'B', 'D'", "(several_letters)", "BD"),
    ("Stage B and Stage D", "(several_letters)", "BD"),
    ("B (recurring), D (systemic)", "(several_letters)", "BD"),
    ("B,D.", "(several_letters)", "BD"),
    ("B, D.", "(several_letters)", "BD"),
    ("B,", "B", "B"),
    ("B,B", "B", "B"),
    ("D, B, D", "(several_letters)", "BD"),
    ("B, Z", "(several_letters)", "(not_offered)"),
    ("A or B", "(several_letters)", "(malformed)"),
    ("B, or perhaps C", "(several_letters)", "(malformed)"),
    ("A-C", "(range)", "(range)"),
    ("a-c", "(range)", "(range)"),
    ("A – C", "(range)", "(range)"),
    ("A~C", "(range)", "(range)"),
    ("A...C", "(range)", "(range)"),
    ("A to C", "(range)", "(range)"),
    ("A through C", "(range)", "(range)"),
    ("between A and C", "(range)", "(range)"),
    ("A, B-D", "(several_letters)", "(malformed)"),
    # remarks
    ("B (moderate)", "B", "B"),
    ('B - "Recurring pattern"', "B", "B"),
    ("B — recurring pattern", "B", "B"),
    ("B. The evidence is thin.", "B", "B"),
    ("**B** – recurring", "B", "B"),
    ("B - A recurring pattern", "B", "B"),
    ("B (events in Washington D.C.)", "B", "B"),
    ("B, moderate", "B", "(malformed)"),
    ("B (moderate", "B", "B"),
    ("B (moderate) - recurring", "B", "B"),
    ("B (or higher)", "(several_letters)", "(malformed)"),
    ("B (between A and C)", "(several_letters)", "(malformed)"),
    ("B: stronger than A-C", "(several_letters)", "(malformed)"),
    ("B (could also ABSTAIN)", "(several_letters)", "(malformed)"),
]


@pytest.mark.parametrize(("value", "point", "subset"), VALUES)
def test_the_value_of_a_closing_line(value, point, subset):
    answer = f"The documents describe arrests.\n\nVERDICT: {value}"
    assert outcome(answer, POINT) == point
    assert outcome(answer, SUBSET) == subset


# whole answer | read as one label
ANSWERS = [
    ("", "(empty)"),
    (" \n\u200b\ufeff", "(empty)"),
    ("The evidence points to stage B.", "(no_verdict)"),
    ("VERDICT: A at first... VERDICT: D", "D"),
    ("VERDICT: A\nOn reflection:\nVERDICT: D", "D"),
    ("VERDICT: C\nVERDICT: [A/B/C/D]", "C"),
    ("The form is VERDICT: [A/B/C/D].\n\nVERDICT: D", "D"),
    ("VERDICT: A\nVERDICT: hard to say", "(no_verdict)"),
    ("VERDICT: A\nVERDICT: B or C", "(several_letters)"),
    ("VERDICT: A\n\nVERDICT:", "(no_verdict)"),
    ("**VERDICT:** C", "C"),
    ("**VERDICT: C**", "C"),
    ("**VERDICT**: C", "C"),
    ("### Verdict: C", "C"),
    ("> VERDICT: C", "C"),
    ("`VERDICT: C`", "C"),
    ("verdict: c", "C"),
    ("Verdict - C", "C"),
    ("VERDICT = C", "C"),
    ("VERDICT → C", "C"),
    ("VERDICT -> C", "C"),
    ("VERDICT：C", "C"),
    ("ＶＥＲＤＩＣＴ：Ｃ", "C"),
    ("V\u200bER\u00adDICT\u2060: C", "C"),
    ("VERDICT\u00a0:\u00a0C", "C"),
    ("VERDICT: C\r\n", "C"),
    ("My final verdict: C", "C"),
    ("5. Verdict: C", "C"),
    ("The arrests recur. Verdict: C", "C"),
    ("Therefore, VERDICT: C", "C"),
    ('{"verdict": "C"}', "C"),
    ("VERDICT:\nC", "C"),
    ("VERDICT:\n\n**C**\n", "C"),
    ("VERDICT:\n```\nC\n```", "C"),
    ("## Verdict\nC", "C"),
    ("## Verdict\nA coup is described.", "(no_verdict)"),
    ("VERDICT: B\n\n## Verdict\nA coup is described.", "B"),
    ("VERDICT: B\nVerdict explained above.", "B"),
    ("My verdict-based reading: C", "(no_verdict)"),
    # evidence may carry a verdict of its own; quoting it is not giving it
    ('The page says "VERDICT: D", which I disregard.', "(no_verdict)"),
    ('"VERDICT: D" is what the page demands.', "(malformed)"),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_where_the_verdict_stands(answer, expected):
    assert outcome(answer, POINT) == expected


@pytest.mark.parametrize("value", ["ABSTAIN", "abstained.", "**Abstain**", "I abstain"])
def test_an_abstention_that_was_not_offered_is_a_failure(value):
    assert outcome(f"VERDICT: {value}", NO_GATE) == "(not_offered)"


@pytest.mark.parametrize("size", range(2, 11))
def test_each_label_of_each_scale_size_and_none_beyond(size):
    labels = tuple(string.ascii_uppercase[:size])
    for subset in (False, True):
        grammar = Grammar(labels, subset=subset, abstain=True)
        for label in labels:
            assert outcome(f"VERDICT: {label}", grammar) == label
            assert outcome(f"VERDICT: {label.lower()}", grammar) == label
        beyond = string.ascii_uppercase[size]
        assert outcome(f"VERDICT: {beyond}", grammar) == "(not_offered)"
        assert outcome("VERDICT: ABSTAIN", grammar) == ""
        assert outcome(f"VERDICT: [{'/'.join(labels)}]", grammar) == "(echo)"
        assert outcome(f"VERDICT: <one of {', '.join(labels)}>", grammar) == "(echo)"


def test_letters_come_in_the_order_of_the_labels():
    result = parse_verdict("VERDICT: A, D, B", Grammar(("D", "B", "A"), subset=True, abstain=False))
    assert isinstance(result, Verdict)
    assert result.letters == ("D", "B", "A")


def test_the_span_indexes_the_original_answer():
    answer = "é…ﬁ\u200b\u200b " + "x" * 30_000 + "\n**ＶＥＲＤＩＣＴ**：\u200b“Ｂ” (moderate)"
    result = parse_verdict(answer, POINT)
    assert isinstance(result, Verdict)
    assert result.text == answer[slice(*result.span)] == "ＶＥＲＤＩＣＴ**：\u200b“Ｂ"


def test_a_failure_says_where_it_stands():
    answer = "VERDICT: A or B (see above)"
    failure = parse_verdict(answer, POINT)
    assert isinstance(failure, ParseFailure)
    assert failure.span == (0, len(answer))
    assert failure.detail


def test_a_verdict_further_from_the_end_than_the_limit_is_not_read():
    assert outcome("VERDICT: B\n" + "x" * 20_000, POINT) == "(no_verdict)"


@pytest.mark.parametrize("labels", [(), ("a",), ("AB",), ("A", "A"), ("1",)])
def test_a_grammar_needs_distinct_capital_letters(labels):
    with pytest.raises(ValueError, match="distinct capital letters"):
        Grammar(labels, subset=False, abstain=False)


grammars = st.builds(
    lambda size, subset, abstain: Grammar(tuple("ABCDEFGHIJ"[:size]), subset, abstain),
    st.integers(2, 10),
    st.booleans(),
    st.booleans(),
)
wrappings = st.sampled_from(
    ["{}", "**{}**", "__{}__", "`{}`", "({})", "[{}]", "“{}”", "'{}'", "> {}", "{}.", "{} (clear)"]
)
fragments = st.sampled_from(
    ["VERDICT", "verdict", ":", "：", "-", "A", "b", "C", "J", "ABSTAIN", "or", "and", "to",
     "Stage", "letter", ",", "/", "[", "]", "<", ">", "(", ")", "{", "}", "*", '"', "“", ".", "...",
     "\n", " ", "\u200b", "Ｂ", "½", "ﷺ", "\\", "'s", "e\u0301", "\x00"]
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=200),
    st.lists(fragments, max_size=40).map("".join),
    st.lists(fragments, max_size=40).map(" ".join),
    st.lists(fragments, max_size=20).map(lambda parts: "VERDICT: " + " ".join(parts)),
)


@settings(max_examples=300)
@given(texts, grammars)
def test_any_text_gives_offered_letters_or_a_typed_failure(answer, grammar):
    result = parse_verdict(answer, grammar)
    if isinstance(result, ParseFailure):
        assert result.detail
        return
    assert answer[slice(*result.span)] == result.text
    assert set(result.letters) <= set(grammar.labels)
    assert len(result.letters) == len(set(result.letters))
    assert grammar.subset or len(result.letters) <= 1
    assert grammar.abstain or not result.abstained


def full_width(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@settings(max_examples=300)
@given(st.data(), grammars)
def test_a_rendered_verdict_is_read_back(data, grammar):
    most = len(grammar.labels) if grammar.subset else 1
    letters = data.draw(st.sets(st.sampled_from(grammar.labels), min_size=1, max_size=most))
    abstained = grammar.abstain and data.draw(st.booleans())
    joiner = data.draw(st.sampled_from([", ", ",", " and ", "/", " & ", "; ", " "]))
    value = "ABSTAIN" if abstained else joiner.join(data.draw(st.permutations(sorted(letters))))
    line = data.draw(
        st.sampled_from(["VERDICT: {}", "**VERDICT:** {}", "Verdict - {}", "## Verdict\n{}"])
    )
    rendered = line.format(data.draw(wrappings).format(value))
    disguise = data.draw(
        st.sampled_from([str, str.lower, full_width, lambda text: "\u200b".join(text)])
    )
    # [A/B] or (A/B) with all the labels is what prompts show: an echo by design.
    shows_all = letters == set(grammar.labels) and not abstained
    assume(not (shows_all and "/" in rendered and ("[" in rendered or "(" in rendered)))
    answer = "Some reasoning about A and B.\n" + disguise(rendered) + "\n"
    result = parse_verdict(answer, grammar)
    assert isinstance(result, Verdict), (answer, result)
    assert result.abstained == abstained
    assert set(result.letters) == (set() if abstained else letters)
