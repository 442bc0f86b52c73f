"""An answer with verdicts that differ is read only where the last one is its conclusion."""

import random
import re

import pytest

from judge_gym.answers.forms import FoundForm, read_form
from judge_gym.answers.probability import Probability, parse_probability
from judge_gym.answers.text import ParseFailure
from judge_gym.answers.verdict import Verdict, parse_structured_verdict, parse_verdict
from support.grammars import POINT

TEN = {f"[[{score}]]": score for score in range(1, 11)}
RATINGS = {f"Rating: {stage}": stage for stage in range(1, 6)}
SIDES = {"[[A>>B]]": 1, "[[A>B]]": 1, "[[A=B]]": 2, "[[B>A]]": 3, "[[B>>A]]": 3}

MENTIONS = [
    "It narrowly missed {}.",
    "A {} would need sources.",
    "\n\nNote that {} is reserved for flawless replies.",
    "To reach {}, it would need sources.",
    "This is better than the usual {} reply.",
    "With better sources it could have been {}.",
    "Someone could argue for {}.",
    "The final paragraph alone earns {}.",
    "So {} was not possible.",
    "\n{} loses because it invents a source.",
    "\n\nA perfect reply would get:\n{}",
    "\n\n**Explanation**\n\nA {} needs sources.",
    "\n\n| better reply | {} |",
]


@pytest.mark.parametrize("mention", MENTIONS)
@pytest.mark.parametrize("given", ["Rating: {}.", "{}\n", "My final verdict is {}.", "**{}**\n\n"])
def test_a_verdict_before_its_explanation_is_never_the_one_mentioned_there(given, mention):
    found = read_form(f"{given.format('[[7]]')} {mention.format('[[9]]')}", TEN)
    assert not isinstance(found, FoundForm) or found.form == "[[7]]"
    read = parse_verdict(f"{given.format('VERDICT: B')} {mention.format('VERDICT: C')}", POINT)
    assert not isinstance(read, Verdict) or read.letters == ("B",)
    first, second = '{"verdict": "B"}', '{"verdict": "C"}'
    read = parse_structured_verdict(f"{given.format(first)} {mention.format(second)}", POINT)
    assert not isinstance(read, Verdict) or read.letters == ("B",)
    number = parse_probability(f"PROBABILITY: 0.2. {mention.format('PROBABILITY: 0.4')}")
    assert not isinstance(number, Probability) or number.value == 0.2


@pytest.mark.parametrize(
    ("forms", "answer"),
    [
        (TEN, "Assistant A: [[8]]\nAssistant B: [[3]]"),
        (TEN, "## Turn 1\nRating: [[8]]\n\n## Turn 2\nRating: [[3]]"),
        (TEN, "1. Rating: [[8]]\n2. Rating: [[3]]"),
        (TEN, "[[8]]\n[[3]]"),
        (TEN, "| Helpfulness | [[8]] |\n| Accuracy | [[3]] |"),
        (TEN, "Final score for A: [[8]]\nFinal score for B: [[3]]"),
        (TEN, "Rating: [[6]] on a scale from [[1]] to [[10]]"),
        (RATINGS, "Turn 1\nRating: 4\nTurn 2\nRating: 2"),
        (SIDES, "A's answer: [[B>A]]\nIt errs.\n\nB's answer: [[A>>B]]\n\nSo B is much better."),
        (SIDES, "Mine is close to that of A: [[A>B]]\n\nOverall I rate B a little worse: [[B>A]]"),
        (SIDES, "[[A>B]] in style, [[B>A]] in content"),
    ],
)
def test_verdicts_of_two_things_are_unreadable(forms, answer):
    found = read_form(answer, forms)
    assert isinstance(found, ParseFailure), found
    assert found.reason == "contradicted"


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("The scale goes from [[1]] to [[10]]. The reply is thin.\n\nRating: [[6]]", 6),
        ("I considered [[8]], but sources are missing.\nRating: [[6]]", 6),
        ("Rating: [[8]]\n\nWait, the second claim is false.\n\nRating: [[6]]", 6),
        ("Rating: [[8]]. Actually, [[6]].", 6),
        ("First I thought [[8]]. On reflection: [[6]]", 6),
        ("Helpfulness: [[8]]\nAccuracy: [[3]]\nOverall: [[5]]", 5),
        ("| Helpfulness | [[8]] |\n| Accuracy | [[3]] |\n| **Overall** | [[5]] |", 5),
        ("[[8]] needs sources, which are missing. Therefore, the rating is [[7]].", 7),
        ("Ich dachte an [[8]], aber Quellen fehlen. Endbewertung: [[6]]", 6),
        ("J'ai pensé à [[8]]. Note finale : [[6]]", 6),
        ("考虑过[[8]]。最终评分：[[6]]", 6),
        ("Rating: [[7]], not [[8]]", 7),
        ("Rating: [[7]]\n\nAs said, [[7]] is right.", 7),
    ],
)
def test_who_thinks_first_and_concludes_last_is_read(answer, score):
    found = read_form(answer, TEN)
    assert isinstance(found, FoundForm), found
    assert TEN[found.form] == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Rating: 4/5", 4),
        ("**Rating:** 4 out of 5.", 4),
        ("Rating: 3 (on a scale from 1 to 5)", 3),
        ("Rating: 4/10", None),
        ("Rating: 3 and 4", None),
        ("Rating: 3, maybe 4", None),
        ("Rating: 3 (or even 4)", None),
        ("Rating: 3½", None),
        ("Rating: 9", None),
        ("Rating: 3. Sources change it. Final Rating: 3.5", None),
    ],
)
def test_a_number_counts_as_far_as_it_is_one_of_the_declared(answer, score):
    found = read_form(answer, RATINGS)
    assert (RATINGS[found.form] if isinstance(found, FoundForm) else None) == score


@pytest.mark.parametrize("written", "٨۸８८𝟖߈")
def test_digits_of_any_script_are_digits(written):
    found = read_form(f"Score: {written}", {f"Score: {score}": score for score in range(1, 11)})
    assert isinstance(found, FoundForm)
    assert found.form == "Score: 8"
    assert found.text == f"Score: {written}"


PIECES = (
    *("[[A]]", "[[B]]", "[[C]]", "[[12]]", "VERDICT: A", "VERDICT: B", "verdict: **C**"),
    *("PROBABILITY: 0.2", "PROBABILITY: ٠٫٤", '{"verdict": "A"}', '{"verdict": "B",}'),
    *("{'verdict': 'C', 'why': None}", '{"verdict": // A\n "D"}', "{", "}", "'", '"', "\\", "```"),
    *("\n", "\n\n", ". ", ": ", ", ", "| ", "# ", "> ", "1. ", "Final", "Overall", "would", "not"),
    *(
        "instead",
        "Wait,",
        "or",
        "and",
        "for A",
        "missed",
        "/",
        "-",
        "½",
        "İ",
        "\u200b",
        "٨",
        "\x00",
    ),
)


def _check_invents_nothing(answer: str) -> None:
    found = read_form(answer, {"[[A]]": 1, "[[B]]": 2, "[[C]]": 3})
    if isinstance(found, FoundForm):
        assert found.form in answer
        assert answer[slice(*found.span)] == found.text
    for parse in (parse_verdict, parse_structured_verdict):
        read = parse(answer, POINT)
        if isinstance(read, Verdict) and not read.abstained:
            assert re.search(rf"(?<![a-z]){read.letters[0]}(?![a-z])", read.text, re.IGNORECASE)
    number = parse_probability(answer)
    if isinstance(number, Probability):
        assert 0 <= number.value <= 1
        assert answer[slice(*number.span)] == number.text


def fuzzed(seed: int, times: int) -> None:
    """Read answers of random pieces: none raises, and none has a verdict that is not in it."""
    source = random.Random(seed)
    for _ in range(times):
        pieces = source.choices(PIECES, k=source.randint(1, 14))
        _check_invents_nothing(source.choice(["", " "]).join(pieces))


def test_random_answers_raise_nothing_and_invent_nothing():
    fuzzed(1, 1_000)
