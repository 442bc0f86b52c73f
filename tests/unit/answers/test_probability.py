"""The number grammar of the probe: exact, or missing (FAULTS 18 and 19)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.answers.probability import ParseFailure, Probability, parse_probability

# a number standing alone, or after "PROBABILITY: " -> value or reason
NUMBERS = [
    ("0.35", 0.35),
    (".35", 0.35),
    (".5", 0.5),
    ("35%", 0.35),
    ("35 %", 0.35),
    ("75%", 0.75),
    ("10%", 0.1),
    ("12,5%", 0.125),
    ("1/3", 1 / 3),
    ("1 / 3", 1 / 3),
    ("1⁄4", 0.25),
    ("0,35", 0.35),
    ("0,75", 0.75),
    ("0", 0.0),
    ("-0.0", 0.0),
    ("1", 1.0),
    ("1.0", 1.0),
    ("100%", 1.0),
    ("0.35.", 0.35),
    ("**0.35**", 0.35),
    ("`0.35`", 0.35),
    ("[0.35]", 0.35),
    ("“0.35”", 0.35),
    ("０．３５", 0.35),
    ("３５％", 0.35),
    ("0.\u200b35", 0.35),
    ("80", "out_of_range"),
    ("-0.3", "out_of_range"),
    ("−0.3", "out_of_range"),
    ("1.01", "out_of_range"),
    ("7/3", "out_of_range"),
    ("120%", "out_of_range"),
    ("1/0", "malformed"),
    ("1,000", "malformed"),
]
# neither reading gives a number, for different reasons
NOT_NUMBERS = [
    "1 in 3",
    "about 0.3",
    "~0.3",
    "0.3 to 0.5",
    "0.3-0.5",
    "0.3 or 0.5",
    "1e-3",
    "0.3.5",
    "1/2/3",
    "0.5/1",
    "½",
    "1½",
    "0.3⁵",
    "In 2020, p=0.9",
    "1. Clear match",
    "35 percent",
    "unknown",
    "NaN",
    "0.35 (35%)",
]


@pytest.mark.parametrize(
    "template", ["{}", "PROBABILITY: {}", "Reasoning, 2 of 3.\nprobability: {}\n"]
)
@pytest.mark.parametrize(("number", "expected"), NUMBERS)
def test_numbers(template, number, expected):
    answer = template.format(number)
    result = parse_probability(answer)
    if isinstance(expected, str):
        assert isinstance(result, ParseFailure)
        assert result.reason == expected
    else:
        assert isinstance(result, Probability)
        assert result.value == pytest.approx(expected, abs=1e-15)
        assert answer[slice(*result.span)] == result.text
        assert result.text in number


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_is_not_a_number_is_missing(text):
    alone = parse_probability(text)
    assert isinstance(alone, ParseFailure)
    assert alone.reason == "no_number"
    on_line = parse_probability(f"PROBABILITY: {text}")
    assert isinstance(on_line, ParseFailure)
    assert on_line.reason == "malformed"


LINES = [
    ("1. Clear match. Probability: 0.35", 0.35),
    ("PROBABILITY: 0.2\nOn reflection, more.\nPROBABILITY: 0.4", 0.4),
    ("PROBABILITY: 0.2\nThe second source agrees.\nPROBABILITY: 0.4", 0.4),
    ("Draft: PROBABILITY: 0.2. Final PROBABILITY: 0.4", 0.4),
    ("PROBABILITY: 0.4\nPROBABILITY: 40%", 0.4),
    ("PROBABILITY: 0.2\nPROBABILITY: 0.4", "contradicted"),
    ("PROBABILITY: 0.2. A careful reader might say PROBABILITY: 0.4", "contradicted"),
    ("## North\nPROBABILITY: 0.2\n\n## South\nPROBABILITY: 0.4", "contradicted"),
    ("PROBABILITY: ٠.٤", 0.4),
    ("PROBABILITY: ٠٫٤", 0.4),
    ("PROBABILITY: ४०%", 0.4),
    ("PROBABILITY: 0.2\nPROBABILITY: high", "malformed"),
    ("PROBABILITY: 0.2\nPROBABILITY: <number between 0 and 1>", 0.2),
    ("PROBABILITY: <number between 0 and 1>", "no_number"),
    ("PROBABILITY:", "no_number"),
    ("**PROBABILITY:** 0.4", 0.4),
    ("**PROBABILITY: 0.4**", 0.4),
    ("ＰＲＯＢＡＢＩＬＩＴＹ：０．４", 0.4),
    ("PROBABILITY = 0.4", 0.4),
    ("PROBABILITY - 0.4", 0.4),
    ("PROBABILITY -0.4", "no_number"),
    ("PROBABILITY:\n0.4", 0.4),
    ("PROBABILITY:\n1. Clear match", "malformed"),
    ("## Probability\n40%", 0.4),
    ("PROBABILITY: 0.4 (a rough guess)", 0.4),
    ("PROBABILITY: 0.4, given the evidence", 0.4),
    ("PROBABILITY: 0.4 - rough", 0.4),
    ('{"probability": 0.4}', 0.4),
    ("", "empty"),
    ("\u200b\n", "empty"),
]


@pytest.mark.parametrize(("answer", "expected"), LINES)
def test_the_closing_line(answer, expected):
    result = parse_probability(answer)
    if isinstance(expected, str):
        assert isinstance(result, ParseFailure)
        assert result.reason == expected
    else:
        assert isinstance(result, Probability)
        assert result.value == pytest.approx(expected, abs=1e-15)


@settings(max_examples=200)
@given(
    st.integers(0, 999),
    st.sampled_from(["{:.3f}", "{:.1%}", "{:.3f}.", "**{:.3f}**", "“{:.3f}”"]),
    st.sampled_from([".", ","]),
)
def test_a_rendered_probability_is_read_back(thousandths, form, decimal_sign):
    written = form.format(thousandths / 1000).replace(".", decimal_sign, 1)
    result = parse_probability(f"Some thoughts.\nPROBABILITY: {written}")
    assert isinstance(result, Probability)
    assert result.value == pytest.approx(thousandths / 1000, abs=1e-12)


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet="0123456789.,/%- *[<\n", max_size=30),
        st.text(alphabet="0123456789.,/%- *[<\n", max_size=30).map(lambda t: "PROBABILITY: " + t),
    )
)
def test_any_text_gives_a_probability_or_a_typed_failure(answer):
    result = parse_probability(answer)
    if isinstance(result, Probability):
        assert 0 <= result.value <= 1
        assert any(character.isdigit() for character in result.text)
        assert answer[slice(*result.span)] == result.text
