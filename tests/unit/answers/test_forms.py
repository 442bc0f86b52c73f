"""Verdicts in the forms of other projects' prompts: asserted ones are read, all others are not."""

import pytest

from judge_gym.answers.forms import FoundForm, read_form
from judge_gym.answers.text import ParseFailure

GRADES = {"[[A>>B]]": 1, "[[A>B]]": 2, "[[A=B]]": 3, "[[B>A]]": 4, "[[B>>A]]": 5}
OUTPUTS = {
    "Output (a)": 1,
    "Output (b)": 2,
    "Output (a) is better": 1,
    "Output (b) is better": 2,
}
FIFTHS = {f"{stage}/5": stage for stage in range(1, 6)}
RATINGS = {f"Rating: {stage}": stage for stage in range(1, 6)}
HUNDREDTHS = {f"Score: {score}": score for score in range(101)}
LETTERS = {"A": 1, "B": 2}


@pytest.mark.parametrize(
    ("forms", "answer", "expected"),
    [
        (GRADES, "My final verdict is tie: [[A=B]]", "[[A=B]]"),
        (GRADES, "Assistant A is much better: **[[ A >> B ]]**", "[[A>>B]]"),
        (GRADES, "First I thought [[A>B]].\nMy final verdict is: [[B>A]]", "[[B>A]]"),
        (GRADES, "I would not say [[A>B]]. My verdict: [[A=B]].", "[[A=B]]"),
        (OUTPUTS, "Output (a)", "Output (a)"),
        (OUTPUTS, "**Output (b)**.", "Output (b)"),
        (
            OUTPUTS,
            "Output (a) lists five. Therefore, Output (b) is better.",
            "Output (b) is better",
        ),
        # Mentions after the verdict are no verdicts.
        (
            OUTPUTS,
            "Output (b) is better.\n\nOutput (a), on the other hand, errs.",
            "Output (b) is better",
        ),
        (OUTPUTS, "Output (b) is better than Output (a).", "Output (b) is better"),
        (OUTPUTS, "output (A) IS better because it is short.", "Output (a) is better"),
        (RATINGS, "Good.\n**Rating:** 4", "Rating: 4"),
        (RATINGS, "Rating: 4.", "Rating: 4"),
        # The same number, written with decimals.
        (RATINGS, "Rating: 4.0", "Rating: 4"),
        (RATINGS, "**Rating: 4.00** because it is short", "Rating: 4"),
        (RATINGS, "Rating: 4,0.", "Rating: 4"),
        (RATINGS, "Rating: 4.0/5", "Rating: 4"),
        (HUNDREDTHS, "Score: 80%", "Score: 80"),
        (LETTERS, "The answer is B.", "B"),
        (LETTERS, "B", "B"),
    ],
)
def test_the_last_asserted_form_counts(forms: dict[str, int], answer: str, expected: str) -> None:
    found = read_form(answer, forms)
    assert isinstance(found, FoundForm), found
    assert found.form == expected
    start, end = found.span
    assert answer[start:end] == found.text


@pytest.mark.parametrize(
    ("forms", "answer", "reason"),
    [
        (GRADES, " ", "empty"),
        (GRADES, "They are equal.", "no_verdict"),
        (GRADES, "I refuse to say [[A>>B]].", "denied"),
        (GRADES, "The verdict is not [[A>B]]", "denied"),
        (GRADES, "The document says [[A>B]]", "quoted"),
        (GRADES, 'It ends in "[[A>B]]", which I skip', "quoted"),
        (GRADES, "[[A>B]] or [[B>A]]", "alternatives"),
        (GRADES, "Choose one: [[A>B]], [[A=B]], [[B>A]]", "alternatives"),
        (GRADES, "[[A>B]]. Scratch that.", "withdrawn"),
        (OUTPUTS, "I would not choose Output (a).", "denied"),
        (OUTPUTS, "Either Output (a) or Output (b)", "alternatives"),
        (OUTPUTS, "Output (a) is better in tone, but Output (b) is shorter", "unclear"),
        (OUTPUTS, "Output (a) does what was asked, Output (b) does not", "no_verdict"),
        (RATINGS, "Rating: 4.5", "malformed"),
        (RATINGS, "Rating: 4.05", "malformed"),
        (RATINGS, "Rating: 4.0.1", "malformed"),
        (RATINGS, "Rating: 4,000", "malformed"),
        (RATINGS, "Rating: 4.0/10", "malformed"),
        (FIFTHS, "I would say 1.4/5", "no_verdict"),
        (FIFTHS, "so I'd say 4/5, although the format deserves 2/5", "unclear"),
        (RATINGS, "Rating: 4/10", "malformed"),
        # Percent are of 100.
        (RATINGS, "Rating: 4%", "malformed"),
        (RATINGS, "**Rating:** 4 ٪", "malformed"),
        (RATINGS, "Rating: 4 or 5", "malformed"),
        (RATINGS, "Rating: 40", "malformed"),
        (LETTERS, "A good answer has sources.", "no_verdict"),
    ],
)
def test_an_answer_in_doubt_is_unreadable(forms: dict[str, int], answer: str, reason: str) -> None:
    failure = read_form(answer, forms)
    assert isinstance(failure, ParseFailure), failure
    assert failure.reason == reason


def test_forms_of_one_meaning_do_not_contradict_each_other() -> None:
    """Arena-Hard's five grades, collapsed to three."""
    collapsed = {"[[A>>B]]": 1, "[[A>B]]": 1, "[[A=B]]": 2, "[[B>A]]": 3, "[[B>>A]]": 3}
    found = read_form("[[A>B]], [[A>>B]]", collapsed)
    assert isinstance(found, FoundForm)
    assert collapsed[found.form] == 1
