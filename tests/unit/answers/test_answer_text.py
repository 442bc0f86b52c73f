"""Normalisation with places kept, and reading in linear work."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.answers.json_object import read_json_object
from judge_gym.answers.probability import parse_probability
from judge_gym.answers.text import own_turn, read_answer, thinking
from judge_gym.answers.verdict import Grammar, parse_structured_verdict, parse_verdict

GRAMMAR = Grammar(tuple("ABCD"), subset=True, abstain=True)


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("Ｂ：［Ａ］", "B:[A]"),
        ("“a” ‘b’ «c»", '"a" \'b\' "c"'),
        ("a\u200b\u00ad\ufeffb", "ab"),
        ("a\r\nb\u2028c", "a\n\nb\nc"),
        ("–0.3 −0.3", "—0.3 -0.3"),
        ("ﬁn…", "fin..."),
        ("1½ 0.3⁵", "1½ 0.3⁵"),  # not 11/2, not 0.35
    ],
)
def test_normal_form(answer, plain):
    assert read_answer(answer).text == plain


@settings(max_examples=200)
@given(st.text(max_size=60), st.integers(1, 60))
def test_each_character_knows_where_it_came_from(answer, limit):
    source = read_answer(answer, limit)
    assert len(source.offsets) == len(source.text)
    for place, character in enumerate(source.text):
        start, end = source.span(place, place + 1)
        assert max(0, len(answer) - limit) <= start < end <= len(answer)
        assert character in read_answer(answer[start:end]).text


HOSTILE = [
    "VERDICT",
    "VERDICT:",
    "VERDICT: [A/B/C/D] ",
    "VERDICT: [A/B/C/D]\n",
    "VERDICT:\n",
    "Verdict\n",
    "A-",
    "A'",
    "A, ",
    "(",
    "(x)",
    "*",
    "* ",
    "**VERDICT** ",
    "0",
    "0.",
    "0 ",
    "PROBABILITY: <a>\n",
    "{",
    "}",
    '{"a":',
    '{"":1}',
    '{"a":1},',
    '"',
    "\\",
]
PREFIXES = ["", "VERDICT: B ", "PROBABILITY: 0.3 ", "VERDICT: <"]


def work(parse, answer):
    """How many Python and C functions a reading calls: a measure that no busy machine sways.

    The inside of a regular expression is not counted; none of them nests quantifiers.
    """
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        parse(answer)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "parse",
    [
        lambda answer: parse_verdict(answer, GRAMMAR),
        lambda answer: parse_structured_verdict(answer, GRAMMAR),
        parse_probability,
        read_json_object,
    ],
    ids=["verdict", "structured", "probability", "json"],
)
@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("repeated", HOSTILE)
def test_twice_the_text_is_at_most_about_twice_the_work(parse, prefix, repeated):
    def answer(length):
        return prefix + repeated * (length // len(repeated))

    parse(answer(100))  # imports and caches
    assert work(parse, answer(1600)) <= 2.2 * work(parse, answer(800)) + 200


def test_the_parsers_load_none_of_the_heavy_libraries():
    heavy = "{'litellm', 'sqlalchemy', 'prefect', 'pandas', 'json_repair'}"
    code = (
        "import sys\n"
        "from judge_gym.answers import json_object, probability, verdict\n"
        f"sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("answer", "thought", "rest"),
    [
        ("<think>A?</think> B", "A?", " B"),
        ("\n<thinking>A?</thinking>\nB", "A?", "\nB"),
        ("<think>A, or", "A, or", ""),
        # Where the prompt opens the tag, the answer has its end alone.
        ("A?\n</think>\n\nB", "A?\n", "\n\nB"),
        ("A?\n</think>\nB, or A?\n</think>\nC", "A?\n</think>\nB, or A?\n", "\nC"),
        # What speaks of tags is no thinking.
        ("B. It closes with </think> twice.", "", "B. It closes with </think> twice."),
        ("B <think>A?</think>", "", "B <think>A?</think>"),
        ("B", "", "B"),
    ],
)
def test_thinking_stands_before_the_answer(answer, thought, rest):
    found, end = thinking(answer)
    assert (found, answer[end:]) == (thought, rest)


@pytest.mark.parametrize(
    ("answer", "own"),
    [
        ("Rating: [[4]]<|im_end|>\n<|im_start|>user\nAnd B?\nRating: [[1]]", "Rating: [[4]]"),
        ("<think>4?</think>Rating: 4 <|eot_id|><|start_header_id|>user", "Rating: 4"),
        ("Rating: 4</s>[INST] Again: [/INST] Rating: 1</s>", "Rating: 4"),
        ("Rating: 4<end_of_turn>\n", "Rating: 4"),
        # The analysis ends, and the answer follows in the same turn.
        (
            "Is it 1?<|end|><|start|>assistant<|channel|>final<|message|>Rating: 4<|return|>",
            "Is it 1?<|end|><|start|>assistant<|channel|>final<|message|>Rating: 4",
        ),
        # What speaks of such tokens goes on after them.
        ("It ends with `<|im_end|>`. Rating: 4", "It ends with `<|im_end|>`. Rating: 4"),
        ("It has <|im_end|> in it. Rating: 4", "It has <|im_end|> in it. Rating: 4"),
        ("<s>struck out</s>\nRating: 4", "<s>struck out</s>\nRating: 4"),
        ("<|im_end|>\nRating: 4", "<|im_end|>\nRating: 4"),
        ("Rating: 4", "Rating: 4"),
    ],
)
def test_a_turn_ends_with_its_token(answer, own):
    assert answer[own_turn(answer)] == own
