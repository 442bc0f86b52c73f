"""A key that a provider repeats in what it says, in every form that was seen."""

import base64
from urllib.parse import quote

import pytest

from judge_gym.llm.keys import answer_without_key, without_key
from judge_gym.records.calls import TokenChance
from support.rig import a_full_answer, an_answer

KEY = "sk-planted/answer+0123456789=?abc"
FORMS = {
    "whole": KEY,
    "a beginning": KEY[:13],
    "all but its end": KEY[:-4],
    "in an address": f"https://host/?key={quote(KEY, safe='')}&page=2",
    **{
        f"in base64 after {len(user)} characters": base64.b64encode(
            f"{user}{KEY} and more".encode()
        ).decode()
        for user in ("", "u", "us")
    },
    "in base64 of addresses": base64.urlsafe_b64encode(KEY.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_key_is_left_and_the_rest_is(form: str) -> None:
    said = without_key(f"The key is {FORMS[form]} today.\nVERDICT: B", KEY)
    assert said.startswith("The key is ")
    assert said.endswith(" today.\nVERDICT: B")
    assert "[key]" in said
    for length in range(8, len(KEY)):
        assert KEY[:length] not in said
    assert base64.b64encode(KEY.encode()).decode()[4:20] not in said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("x", "the next key [key] is expired: '[key]'"),
        ("next", "the [key] key x is expired: 'x'"),
    ],
)
def test_a_key_of_a_letter_is_masked_as_a_word_alone(key: str, said: str) -> None:
    assert without_key("the next key x is expired: 'x'", key) == said


def test_long_texts_without_spaces_are_searched_in_linear_time() -> None:
    """A square of their length would be hours."""
    text = "a" * 3_000_000
    coded = base64.b64encode(KEY.encode()).decode()
    assert without_key(text, KEY) == text
    assert without_key(f"{text}{coded}{text}", KEY) == "[key]"


def test_an_answer_is_masked_in_all_that_was_said_of_it() -> None:
    given = a_full_answer(f"{KEY} VERDICT: B", reasoning=f"I saw {KEY}.", fingerprint=KEY)
    masked = answer_without_key(given, KEY)
    assert masked.text == "[key] VERDICT: B"
    assert masked.reasoning == "I saw [key]."
    assert masked.fingerprint == "[key]"
    assert masked.chances == ()
    assert (masked.prompt_tokens, masked.cost_usd) == (given.prompt_tokens, given.cost_usd)


@pytest.mark.parametrize("key", [KEY, "VERDICT", None])
def test_an_answer_without_the_key_is_as_it_was(key: str | None) -> None:
    """A short key, such as a local server's, may be a word of an answer."""
    given = an_answer("VERDICT: B", chances=(TokenChance("B", -0.25, (("B", -0.25),)),))
    assert answer_without_key(given, key) == given
