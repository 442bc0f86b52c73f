"""Several answers to one question are no independent evidence on a judge."""

from pathlib import Path

import numpy as np
import pytest

from judge_gym.calibration.checks import Margins, Result
from judge_gym.calibration.comparisons import compare_verdicts
from judge_gym.judges import CallableJudge, Item, Scale
from judge_gym.judges.calibrating.comparing import agreement, compare
from judge_gym.judges.gate_checks import threshold_checks
from judge_gym.judges.gate_rule import GateRule
from judge_gym.metrics.estimate import t_interval
from judge_gym.metrics.score_agreement import agreement_gain, bland_altman
from judge_gym.records.items import question_numbers, with_questions
from support.judge_results import a_result

DECIDES = CallableJudge(
    name="decides", function="m:f", scale=Scale(lowest=0, highest=1, anchors=("No", "Yes"))
)
QUESTIONS, ANSWERS = 30, 10


def answers(**asked: str) -> list[Item]:
    """Ten answers to each of 30 questions, labelled 0 and 1 in turn."""
    return [
        Item(
            id=f"{q}-{n}",
            text=f"answer {q} {n}",
            truth=float((q + n) % 2),
            **{name: value.format(q) for name, value in asked.items()},
        )
        for q in range(QUESTIONS)
        for n in range(ANSWERS)
    ]


def judged(items: list[Item], right: list[bool]):
    """Results of a judge that is right, or wrong, on all answers to a question."""
    return [
        a_result(item, abs(item.truth - (not right[place // ANSWERS])), judge=DECIDES.key)
        for place, item in enumerate(items)
    ]


def test_a_question_is_that_named_or_a_context_that_not_all_share() -> None:
    one, two, three = (Item(id=name, text=name) for name in "abc")
    assert question_numbers([one, two, three]) == [0, 1, 2]
    named = [one.model_copy(update={"question": "q"}), two, three]
    assert question_numbers([*named, named[0].model_copy(update={"text": "d"})]) == [0, 1, 2, 0]
    shared = [item.model_copy(update={"context": "Be kind."}) for item in (one, two, three)]
    assert question_numbers(with_questions(shared)) == [0, 1, 2]  # instructions are no question
    asked = [
        item.model_copy(update={"context": said})
        for item, said in zip((one, two, three), ("q", "q", "r"), strict=True)
    ]
    assert question_numbers(with_questions(asked)) == [0, 0, 1]
    assert question_numbers(with_questions(asked)[:2]) == [0, 0]  # whichever are chosen of a file


@pytest.mark.parametrize("asked", [{"question": "question {}"}, {"context": "question {}"}])
def test_rates_and_agreement_are_over_questions(asked: dict[str, str]) -> None:
    right = [q % 10 < 7 for q in range(QUESTIONS)]
    items = with_questions(answers(**asked))
    found = agreement(DECIDES, items, judged(items, right))
    alone = agreement(DECIDES, answers(), judged(answers(), right))
    assert found.rates is not None
    assert alone.rates is not None
    for own, each in zip(
        (*found.rates, found.met, found.concordance),
        (*alone.rates, alone.met, alone.concordance),
        strict=True,
    ):
        assert own.estimate == pytest.approx(each.estimate)
        assert own.upper - own.lower > 2 * (each.upper - each.lower)  # √5 or √10 times, nearly
    # 21 of 30 questions by Clopper and Pearson, where 105 of 150 answers are [0.620, 0.772]
    assert found.rates[0].lower < 0.506 < 0.853 < found.rates[0].upper
    assert (alone.rates[0].lower, alone.rates[0].upper) == pytest.approx((0.6199, 0.7721), abs=1e-4)
    assert found.questions == QUESTIONS
    assert alone.questions is None


def test_a_gate_cannot_tell_what_few_questions_do_not() -> None:
    right = [q % 10 < 7 for q in range(QUESTIONS)]
    asked = GateRule(items=Path("items.csv"), agreement=None, accuracy=0.62)
    for items, result in (
        (answers(), Result.PASSES),
        (answers(question="{}"), Result.CANNOT_TELL),
    ):
        found = {
            one.name: one for one in threshold_checks(DECIDES, asked, items, judged(items, right))
        }
        assert found["accuracy"].result is result
    assert f"you have {QUESTIONS}" in found["accuracy"].action  # more answers to these do not help


def test_the_accuracy_of_answers_that_go_together_is_covered() -> None:
    """Of 200 judges that are right on 70% of questions."""
    rng, items, held = np.random.default_rng(5), answers(question="{}"), 0
    for _ in range(200):
        met = agreement(DECIDES, items, judged(items, (rng.random(QUESTIONS) < 0.7).tolist())).met
        assert met is not None
        held += met.lower <= 0.7 <= met.upper
    assert held >= 182  # of 0.95 true fewer come in 1 of 10,000 such runs; by answers about 110


def test_two_judges_are_compared_over_questions() -> None:
    items = answers(question="{}")
    old, new = ([q % 10 < share for q in range(QUESTIONS)] for share in (7, 9))
    results = judged(items, old), judged(items, new)
    other = DECIDES.model_copy(update={"name": "other"})
    found = compare((DECIDES, other), items, results, Margins())
    right = found.replacement.figures[1]
    by_question = np.array(new, dtype=float) - np.array(old, dtype=float)
    assert right.metric == "right_difference"
    assert (right.lower, right.upper) == pytest.approx(t_interval(by_question))
    # six questions moved one way: p of 2/2^6, not of 60 answers
    assert right.p == pytest.approx(2 / 2**6)


def test_copies_of_a_text_under_its_question_say_no_more() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(1.0, 6.0), 6) * 20
    old, new = (labels + rng.normal(0, spread, 30) for spread in (25, 10))
    question = np.repeat(np.arange(30), 4)
    once = agreement_gain(labels, old, new)
    copied = agreement_gain(*(np.repeat(one, 4) for one in (labels, old, new)), question)
    assert copied.estimate == pytest.approx(once.estimate)
    assert (copied.lower, copied.upper) == pytest.approx((once.lower, once.upper), abs=2e-3)
    for own, each in zip(
        bland_altman(np.repeat(old, 4), np.repeat(new, 4), question),
        bland_altman(old, new),
        strict=True,
    ):
        assert own.upper - own.lower == pytest.approx(each.upper - each.lower, rel=0.03)


def test_verdicts_that_differ_are_counted_over_questions() -> None:
    old = np.where(np.arange(300) // 10 % 10 < 7, 100.0, 0.0)
    new, truth = np.full(300, 100.0), np.full(300, np.nan)
    rng = np.random.default_rng(1)
    question = np.arange(300) // 10
    found = compare_verdicts(old, new, truth, Margins(), rng, question=question)
    each = compare_verdicts(old, new, truth, Margins(), rng)
    whole, single = found.checks[0].estimate, each.checks[0].estimate
    assert whole.estimate == single.estimate == pytest.approx(0.3)
    assert whole.lower < 0.167 < single.lower  # 9 of 30 by Wilson: [0.167, 0.479]
