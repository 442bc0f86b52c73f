"""What judges of the user's own may return, and when judging stops because nothing can be read."""

import pytest

from judge_gym.judges import CallableJudge, Scale
from judge_gym.judges.judging import FIRST_ANSWERS, FirstAnswers, UnreadableError
from judge_gym.records.judgements import MalformedAnswer, Reading

DECIDES = Scale(lowest=0, highest=1, anchors=("fail", "pass"))


@pytest.mark.parametrize(
    ("given", "mark"), [("Pass", 1), ("FAIL ", 0), (" pass\n", 1), ("pass", 1), ("1", 1), (0, 0)]
)
def test_the_name_of_a_step_counts_in_any_case(given, mark):
    assert DECIDES.mark(given, "score") == mark


def test_names_that_differ_in_their_case_alone_are_told_apart_by_it():
    scale = Scale(lowest=1, highest=3, anchors=("a", "A", "b"))
    assert [scale.mark(given, "score") for given in ("a", "A ", "B")] == [1, 2, 3]
    both = Scale(lowest=1, highest=2, anchors=("ok", "Ok"))
    with pytest.raises(MalformedAnswer, match="not one of ok, Ok"):
        both.mark("OK", "score")


@pytest.mark.parametrize(
    ("scale", "words"),
    [(DECIDES, "a whole number from 0 to 1, or fail or pass"), (Scale(), "a number from 0 to 100")],
)
def test_a_scale_says_what_may_be_given(scale, words):
    assert scale.allowed == words


def test_judging_stops_when_no_answer_of_the_first_can_be_read():
    judge = CallableJudge(name="j", function="m:f", scale=DECIDES)
    unread = Reading("unparseable", failure="out_of_form: score: 'maybe' is not a number")
    first = FirstAnswers(judge)
    for _ in range(FIRST_ANSWERS):
        first.check()
        first.add(unread)
    with pytest.raises(UnreadableError) as stopped:
        first.check()
    assert "none of the first 20 answers" in stopped.value.message
    assert "'maybe'" in stopped.value.message
    assert "fail or pass" in stopped.value.remedy

    mended = FirstAnswers(judge)
    for reading in (*[unread] * (FIRST_ANSWERS - 1), Reading("scored", 1.0), *[unread] * 40):
        mended.add(reading)
        mended.check()
