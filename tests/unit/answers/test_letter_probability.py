"""The probability of a verdict's letter, from tokens written here by hand."""

from math import log

import pytest

from judge_gym.answers.letter_probability import letter_probability
from judge_gym.answers.verdict import (
    Grammar,
    ParseFailure,
    Verdict,
    parse_structured_verdict,
    parse_verdict,
)
from judge_gym.records.calls import TokenChance

OFFERED = ("A", "B", "C", "D")
SURE = 0.0


def tokens(*texts: str, letter: TokenChance, after: tuple[str, ...] = ()) -> list[TokenChance]:
    before = [TokenChance(text, SURE) for text in texts]
    return [*before, letter, *(TokenChance(text, SURE) for text in after)]


def chance_of(text: str, **alternatives: float) -> TokenChance:
    """A token with the probabilities of itself (`own`) and of others at its place."""
    others = tuple((name, log(chance)) for name, chance in alternatives.items() if name != "own")
    return TokenChance(text, log(alternatives["own"]), others)


def verdict_of(answer: str, *, json: bool = False, subset: bool = False) -> Verdict:
    read = parse_structured_verdict if json else parse_verdict
    verdict = read(answer, Grammar(OFFERED, subset=subset, abstain=True))
    assert not isinstance(verdict, ParseFailure)
    return verdict


def test_it_is_the_probability_of_the_letter_at_the_place_of_the_verdict() -> None:
    # The B of the reasoning is certain, that of the verdict is not.
    answer = "Sign B is weak.\nVERDICT: B"
    letter = TokenChance(" B", log(0.6), ((" B", log(0.6)), (" A", log(0.25)), (" AB", log(0.1))))
    made = tokens("Sign", " B", " is weak.", "\n", "VER", "DICT", ":", letter=letter)

    found = letter_probability(answer, verdict_of(answer), OFFERED, made)

    assert found is not None
    assert found.verdict == pytest.approx(0.6)
    # " AB" begins ABSTAIN: it names no letter, and its 0.1 is not shared out.
    assert found.by_letter == pytest.approx({"A": 0.25, "B": 0.6})


def test_tokens_of_the_same_letter_add_up_and_letters_not_offered_are_left_out() -> None:
    answer = "VERDICT: C"
    letter = TokenChance(" C", log(0.5), ((" C", log(0.5)), ("C", log(0.2)), (" E", log(0.25))))

    found = letter_probability(
        answer, verdict_of(answer), OFFERED, tokens("VERDICT", ":", letter=letter)
    )

    assert found is not None
    assert found.verdict == pytest.approx(0.7)
    assert found.by_letter == pytest.approx({"C": 0.7})


def test_a_letter_in_json_is_found_behind_its_key() -> None:
    answer = '{"verdict": "D", "reasoning": "A \\"verdict\\": of D, not A"}'
    letter = chance_of(' "D', own=0.9, **{' "A': 0.1})
    made = tokens('{"', "verdict", '":', letter=letter, after=(answer[answer.index('",') :],))

    found = letter_probability(answer, verdict_of(answer, json=True), OFFERED, made)

    assert found is not None
    assert found.by_letter == pytest.approx({"A": 0.1, "D": 0.9})


def test_tokens_of_thinking_before_the_answer_do_not_shift_the_place() -> None:
    answer = "VERDICT: A"
    made = tokens("<think>B?</think>", "\n", "VERDICT:", letter=chance_of(" A", own=0.4))
    made.append(TokenChance("\n", SURE))

    found = letter_probability(answer, verdict_of(answer), OFFERED, made)

    assert found is not None
    assert found.verdict == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        ("VERDICT: A", []),
        ("VERDICT: ABSTAIN", tokens("VERDICT:", " ABSTAIN", letter=chance_of("", own=1))),
        ("VERDICT: A", tokens("VERDICT", letter=chance_of(": A", own=0.5), after=("!",))),
        ("VERDICT: A", tokens(letter=chance_of("VERDICT: A", own=0.5))),
        ("VERDICT: A", tokens("VERDICT:", letter=chance_of(" B", own=0.5))),
    ],
    ids=["no tokens", "abstained", "another text", "one token", "another letter"],
)
def test_there_is_none_where_no_token_is_the_letter(answer: str, made: list[TokenChance]) -> None:
    assert letter_probability(answer, verdict_of(answer), OFFERED, made) is None


def test_a_set_of_letters_has_none() -> None:
    answer = "VERDICT: A, B"
    made = tokens("VERDICT:", " A", ",", letter=chance_of(" B", own=0.5))

    assert letter_probability(answer, verdict_of(answer, subset=True), OFFERED, made) is None
