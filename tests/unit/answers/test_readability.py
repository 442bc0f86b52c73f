"""Whether enough of a judge's answers are readable for a run to be a success."""

import pytest

from judge_gym.answers.readability import Answers, answers_by_judge, too_few_readable


@pytest.mark.parametrize(
    ("readable", "unreadable", "too_few"),
    [(0, 30, True), (14, 16, True), (15, 15, False), (1, 0, False), (0, 1, True), (0, 0, False)],
)
def test_fewer_than_half_readable_is_too_few_and_nothing_asked_is_not(
    readable: int, unreadable: int, too_few: bool
) -> None:
    failures = {"truncated: finish reason length": unreadable} if unreadable else {}
    answers = Answers("openai/x", readable, failures)
    assert answers.too_few is too_few
    assert (too_few_readable([answers]) is not None) is too_few


def test_the_error_names_each_such_judge_how_many_and_the_commonest_cause() -> None:
    error = too_few_readable(
        answers_by_judge(
            [
                ("openai/good", None, 20),
                ("openai/good", "timeout: no answer", 3),
                ("openai/cut", "truncated: finish reason length", 28),
                ("openai/cut", "timeout: no answer", 2),
                ("openai/down", None, 1),
                ("openai/down", "server: 503 overloaded\nwith a second line", 5),
                ("openai/down", "server: 500", 2),
            ]
        )
    )
    assert error is not None
    assert "openai/cut: 0 of 30 answers readable (28 truncated: finish reason length" in str(error)
    assert "openai/down: 1 of 8 answers readable (7 server: 503 overloaded)" in str(error)
    assert "openai/good" not in error.message
    assert "\n" not in error.message
    assert "max_tokens" in error.remedy
    assert "retry_failed" in error.remedy


def test_failures_of_one_kind_count_together_whatever_each_says() -> None:
    rows = [("x/y", f"bad_request: item {number} is odd", 1) for number in range(5)]
    (answers,) = answers_by_judge([*rows, ("x/y", "timeout: late", 3)])
    assert answers.by_kind == {"bad_request": 5, "timeout": 3}
    assert "(5 bad_request: item 0 is odd; 3 timeout)" in str(answers)


def test_ten_judges_down_are_counted_and_three_of_them_named() -> None:
    error = too_few_readable(answers_by_judge((f"x/m{n}", "server: 500", 4) for n in range(10)))
    assert error is not None
    assert error.message.count("answers readable") == 3
    assert "and 7 more" in error.message


def test_of_an_own_function_the_remedy_is_to_mend_it_and_of_a_score_off_its_scale_to_ask_anew() -> (
    None
):
    failed = Answers("own", 0, {"ValueError: no field": 3}, own=True)
    off = Answers("own", 0, {"out_of_form: score: 6 is not from 1 to 5": 3}, own=True)
    error = too_few_readable([failed])
    assert error is not None
    assert "ValueError: no field" in error.message
    assert error.remedy.startswith("Mend the function")
    # What is unparseable is not forgotten by retry_failed.
    error = too_few_readable([off])
    assert error is not None
    assert "change `version`" in error.remedy
    assert "retry_failed" not in error.remedy


def test_only_an_answer_that_was_cut_is_a_matter_of_limits() -> None:
    ended = too_few_readable([Answers("x/y", 0, {"empty: the answer is empty": 3})])
    cut = too_few_readable([Answers("x/y", 0, {"truncated: the answer is empty": 3})])
    assert ended is not None
    assert cut is not None
    assert "max_tokens" not in ended.remedy
    assert "retry_failed" in ended.remedy
    assert "max_tokens" in cut.remedy


def test_causes_are_the_kinds_with_their_numbers_where_there_are_several() -> None:
    assert Answers("x/y", 3, {"empty: the answer is empty": 2}).causes == "empty"
    several = {"empty: a": 2, "malformed: b": 1, "malformed: c": 3}
    assert Answers("x/y", 3, several).causes == "4 malformed, 2 empty"
