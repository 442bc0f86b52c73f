"""Where sentences, numbers, names and quotations stand, in the texts that split badly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.planted.mentions import names, numbers
from judge_gym.planted.sentences import quotes, sentences


def texts(spans, text):
    return [text[first:last] for first, last in spans]


def split(text):
    return [text[one.start : one.end] for one in sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "One ends here.|Two does not end at Dr. Smith.|Three!",
        "It rose by 3.5 points.|Then it fell.",
        "See Fig. 3 of vol. 2 for more, e.g. Table No. 7.|He said no.|Then he left.",
        "The U.S. Senate met at 5 p.m. EDT in J. R. Lee's house.|It voted.",
        'She said "Stop. Go back." twice.|Nobody did.',
        "“We won. They lost.”|That is all.|Done.",
        "Or did it?|Yes… it did.|It did!",
        "**It is bold.** So is *this.* This is not.|This is plain.",
        "Wait... what?|So it is.",
        "A line that is wrapped in the middle of\nits sentence.|And another.",
        "¿Qué pasa?|¡Nada!|Él se fue.",
        "Am 3. Oktober wird gefeiert.|Danach ist Ruhe.|Ära zu Ende.",
        "वह घर गया।|फिर वह सो गया।",
        "今天天气很好。|我们去公园。|你呢？",
        "Он ушёл.|Она осталась.",
    ],
)
def test_sentences_end_where_they_end(text):
    whole = text.replace("。|", "。").replace("|", " ")
    assert split(whole) == text.split("|")


def test_headings_lists_and_code_are_kept_apart():
    text = (
        "# A title without a stop\nText under it.\n\n1. First do this. Then rest.\n2) Second\n"
        "- (A) a choice\n\n```\nx = 1. If y.\n```\nShort line\nThe end."
    )
    assert split(text) == [
        "A title without a stop", "Text under it.", "First do this.", "Then rest.", "Second",
        "a choice", "Short line", "The end.",
    ]  # fmt: skip
    assert [one.heading for one in sentences(text)] == [True] + [False] * 7


@given(st.text(alphabet='ab A.!?\n"”。1-#`(', max_size=80))
def test_sentences_lie_in_order_within_the_text(text):
    at = 0
    for one in sentences(text):
        assert at <= one.start < one.end <= one.after <= one.block_end <= len(text)
        assert one.block <= one.start
        assert text[one.start : one.end].strip() == text[one.start : one.end]
        at = one.end


def test_numbers_are_whole_and_stand_alone():
    text = (
        "- 3. Of 1,200 people, 12.5% paid $3,000.50 in 2019. GPT-4 and v2.1 at 12:30 on "
        "2024-01-05, 1/2, 35kg: fourteen of two. https://a.bc/7 0,5 mm."
    )
    assert texts(numbers(text), text) == [
        "1,200", "12.5%", "$3,000.50", "2019", "fourteen", "two", "0,5",
    ]  # fmt: skip


def test_names_are_told_from_words_that_open_a_sentence():
    text = (
        "Yesterday Angela Merkel met the Ministry of the Interior in Paris. Turnout rose. "
        'However, Macron’s party lost. Merkel won on Monday. I saw NATO. "Nobody knows," he said.'
        " He says I'm right. **Visualize it** all."
    )
    assert texts(names(text), text) == [
        "Angela Merkel", "Ministry of the Interior", "Paris", "Macron", "Merkel", "NATO",
    ]  # fmt: skip


def test_german_nouns_are_no_names():
    text = "Der Senat und die Bürger sind nicht für das Gesetz, sagt Angela Merkel mit Nachdruck."
    assert texts(names(text), text) == ["Angela Merkel"]


def test_quotations_of_several_kinds():
    text = "He said \"no\", she „nein“, they «non», we “maybe” and it's James' book."
    assert texts(quotes(text), text) == ['"no"', "„nein“", "«non»", "“maybe”"]
