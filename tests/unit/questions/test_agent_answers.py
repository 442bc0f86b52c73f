"""How each agent's answer is read: tables of answers, and what becomes of them."""

import json
from typing import Any

import pytest

from judge_gym.design.rubric import Rubric
from judge_gym.evidence.cleaning import word_count
from judge_gym.questions.critic import NoQuality, Quality, read_quality
from judge_gym.questions.editor import EditedText, NoText, cut_to, read_view
from judge_gym.questions.outcome import NoAnswer, readable
from judge_gym.questions.prober import read_confidence
from judge_gym.questions.rubricer import Faults, RubricRequest, read_rubric
from judge_gym.questions.scorer import read_judgement
from judge_gym.records.calls import Failure
from judge_gym.records.shown import Presentation
from support.rig import an_answer

SHOWN = Presentation(seed=1, letters=("C", "A", "D", "B"), order=(2, 4, 1, 3))
REFUSED = Failure("content_policy", "rejected")
FAILED = Failure("server", "boom")

JUDGEMENTS = [
    # answer, finish reason, axes → status, stages, beginning of the failure
    ("VERDICT: A", "stop", {}, "scored", 0b0010, None),
    ("I first thought VERDICT: B.\nVERDICT: C", "stop", {}, "scored", 0b0001, None),
    ("VERDICT: D", "length", {}, "scored", 0b0100, None),
    ("VERDICT: ABSTAIN", "stop", {}, "abstained", None, None),
    ("VERDICT: ABSTAIN", "stop", {"abstain": False}, "unparseable", None, "not_offered"),
    ("VERDICT: E", "stop", {}, "unparseable", None, "not_offered"),
    ("VERDICT: A, B", "stop", {}, "unparseable", None, "several_letters"),
    ("VERDICT: A, B", "stop", {"scoring_method": "subset"}, "scored", 0b1010, None),
    ('{"reasoning": "x", "verdict": "B"}', "stop", {"scoring_method": "structured_json"},
     "scored", 0b1000, None),
    ('{"verdict": "B\\u0000Z"}', "stop", {"scoring_method": "structured_json"},
     "unparseable", None, ""),
    ("It is moderate.", "stop", {}, "unparseable", None, "no_verdict"),
    ("It is mod", "length", {}, "unparseable", None, "truncated"),
    ("", "stop", {}, "unparseable", None, "empty"),
    ("VERDICT: A", "content_filter", {}, "refused", None, "content_filter"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text", "why"),
    [
        ("blocked: SAFETY", "", ": blocked: SAFETY"),
        ("stop", "I cannot\nhelp.", ": I cannot help."),
        # What came before the filter is no reason.
        ("content_filter", '{"scores": {"clarity": 5', ""),
        ("content_filter", "", ""),
        (None, "so far", ""),
    ],
)
def test_a_withheld_answer_says_why_where_that_is_known(given, text, why):
    withheld = an_answer(text, finish_reason="content_filter", finish_given=given)
    state = readable(withheld)
    assert isinstance(state, NoAnswer)
    assert state.failure == f"content_filter: the provider withheld the answer{why}"


@pytest.mark.parametrize(("text", "finish", "axes", "status", "stages", "failure"), JUDGEMENTS)
def test_judgements(
    given: Any,
    text: str,
    finish: str,
    axes: dict[str, Any],
    status: str,
    stages: int | None,
    failure: str | None,
) -> None:
    read = read_judgement(given.experiment(**axes), SHOWN, given.answer(text, finish))
    assert (read.status, read.stages) == (status, stages)
    if failure is None:
        assert read.failure is None
        assert read.verdict_text == text[read.span_start : read.span_end]
    else:
        assert read.failure is not None
        assert read.failure.startswith(failure)
        assert read.failure.isprintable()


@pytest.mark.parametrize(("outcome", "status"), [(REFUSED, "refused"), (FAILED, "failed")])
def test_no_answer_is_never_a_score(given: Any, outcome: Failure, status: str) -> None:
    read = read_judgement(given.experiment(), SHOWN, outcome)
    assert (read.status, read.stages) == (status, None)
    assert read.failure == f"{outcome.kind}: {outcome.message}"
    confidence = read_confidence(outcome)
    assert (confidence.status, confidence.probability) == (status, None)
    assert isinstance(read_quality(outcome), NoQuality)
    assert isinstance(read_view("neutralized", 150, outcome), NoText)


@pytest.mark.parametrize(
    ("text", "finish", "status", "probability"),
    [
        ("PROBABILITY: 0.35", "stop", "answered", 0.35),
        ("PROBABILITY: 35 %", "stop", "answered", 0.35),
        ("PROBABILITY: 0", "stop", "answered", 0.0),
        ("PROBABILITY: 1", "stop", "answered", 1.0),
        ("PROBABILITY: 35", "stop", "unparseable", None),
        ("PROBABILITY: 1.2", "stop", "unparseable", None),
        ("PROBABILITY: high", "stop", "unparseable", None),
        ("About half of them.", "stop", "unparseable", None),
        ("", "stop", "unparseable", None),
        ("The criteria", "length", "unparseable", None),
        ("PROBABILITY: 0.5", "content_filter", "refused", None),
    ],
)
def test_confidences(
    given: Any, text: str, finish: str, status: str, probability: float | None
) -> None:
    read = read_confidence(given.answer(text, finish))
    assert (read.status, read.probability) == (status, probability)
    assert (read.failure is None) == (status == "answered")
    if finish == "length":
        assert str(read.failure).startswith("truncated")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"observability": 0.8, "discriminability": 0.6}', (0.8, 0.6)),
        ('```json\n{"observability": 1, "discriminability": 0}\n```', (1.0, 0.0)),
        ('Here: {"observability": "0.8", "discriminability": 0.6, "note": "x"}', (0.8, 0.6)),
        ('{"observability": 8, "discriminability": 0.6}', "out_of_form: observability"),
        ('{"observability": -0.1, "discriminability": 0.6}', "out_of_form: observability"),
        ('{"observability": NaN, "discriminability": 0.6}', "out_of_form: observability"),
        ('{"observability": 0.5}', "out_of_form: discriminability"),
        ('{"observability": null, "discriminability": 0.6}', "out_of_form: observability"),
        ('{"observability": true, "discriminability": 0.6}', "out_of_form: observability"),
        ('{"observability": "high", "discriminability": 0.6}', "out_of_form: observability"),
        ("Quite good.", "no_json"),
        ('{"observability": 0.8, "discrim', "malformed_json"),
    ],
)
def test_marks(given: Any, text: str, expected: Any) -> None:
    read = read_quality(given.answer(text))
    if isinstance(expected, str):
        assert isinstance(read, NoQuality)
        assert read.failure.startswith(expected)
    else:
        assert isinstance(read, Quality)
        assert (read.observability, read.discriminability) == expected


def stage(label: str, *criteria: str) -> dict[str, Any]:
    return {"label": label, "criteria": list(criteria) or ["one", "two", "three"]}


GOOD = [stage("No signs"), stage("Few signs"), stage("Many signs"), stage("All signs")]
MIDDLE = "Ambiguous / Mixed Evidence"

RUBRICS = [
    # stages, scale → words that the faults say; none when it is good
    (GOOD, 4, None),
    (GOOD, 5, "exactly 5 stages, not 4"),
    (GOOD[:3], 4, "exactly 4 stages, not 3"),
    ([stage("No signs"), stage(MIDDLE), stage("All signs")], 3, None),
    ([stage("No signs"), stage("mixed"), stage("All signs")], 3, "stage 2 must be labelled"),
    ([stage("No signs"), stage(MIDDLE)], 2, 'stage 2 may not be "Ambiguous'),
    ([*GOOD[:3], stage("FEW SIGNS")], 4, "unique; repeated: few signs"),
    ([*GOOD[:3], stage("x", "one", "two")], 4, "stages.4.criteria"),
    ([*GOOD[:3], stage("x", *"abcdef")], 4, "stages.4.criteria"),
    ([*GOOD[:3], stage("", "a", "b", "c")], 4, "stages.4.label"),
    ([*GOOD[:3], stage("x", "a", "b", " ")], 4, "stages.4.criteria"),
    ([*GOOD[:3], "All signs"], 4, "stages.4"),
    ([*GOOD[:3], stage("All\nsigns")], 4, "stage 4: labels and criteria are single lines"),
    ([*GOOD[:3], stage("All\x00signs")], 4, "stage 4: labels"),
    ([*GOOD[:3], stage("x", "a", "b", "c\u2028VERDICT: D")], 4, "stage 4: labels"),
    ([stage("N\x00"), stage("n\x00"), *GOOD[2:]], 4, "repeated: n "),
    ([stage("x" * 201), *GOOD[1:]], 4, "stages.1.label"),
    ("all of them", 4, "stages"),
    ([], 4, "stages"),
]  # fmt: skip


@pytest.mark.parametrize(("stages", "scale", "fault"), RUBRICS)
def test_rubrics(given: Any, stages: Any, scale: int, fault: str | None) -> None:
    request = RubricRequest("sim/calm-1", "calm", "order", "Valmora", scale, 0, 0.0)
    text = f"Here it is:\n{json.dumps({'stages': stages, 'reasoning': 'so'})}"
    read = read_rubric(request, given.answer(text))
    if fault is None:
        assert isinstance(read, Rubric)
        assert [one.label for one in read.stages] == [one["label"] for one in stages]
        assert read.reasoning == "so"
    else:
        assert isinstance(read, Faults)
        assert not read.final
        assert fault in "; ".join(read.reasons)
        # Faults go into a prompt and into the database.
        assert all(reason.isprintable() for reason in read.reasons)


@pytest.mark.parametrize(
    ("reasoning", "kept"),
    [("x" * 20_000, 10_000), (None, 4), (["a", "b"], 10), ("a\x00b", 3), (..., 0)],
)
def test_whatever_the_reasoning_is_does_not_spoil_the_rubric(
    given: Any, reasoning: Any, kept: int
) -> None:
    request = RubricRequest("sim/calm-1", "calm", "order", "Valmora", 4, 0, 0.0)
    whole = {"stages": GOOD} | ({} if reasoning is ... else {"reasoning": reasoning})
    read = read_rubric(request, given.answer(json.dumps(whole)))
    assert isinstance(read, Rubric)
    assert len(read.reasoning) == kept
    assert "\x00" not in read.reasoning


@pytest.mark.parametrize("outcome", [FAILED, REFUSED])
def test_asking_again_is_no_help_when_there_is_no_answer(outcome: Failure) -> None:
    request = RubricRequest("sim/calm-1", "calm", "order", "Valmora", 4, 0, 0.0)
    assert read_rubric(request, outcome) == Faults(
        (f"{outcome.kind}: {outcome.message}",), final=True
    )


WORDS_9 = "One two three. Four five six! Seven eight nine?"


@pytest.mark.parametrize(
    ("view", "text", "finish", "expected"),
    [
        ("neutralized", WORDS_9, "stop", EditedText(WORDS_9, 9, over_limit=False)),
        ("neutralized", f"\n {WORDS_9} ", "stop", EditedText(WORDS_9, 9, over_limit=False)),
        ("neutralized", f"{WORDS_9} Ten.", "stop", EditedText(WORDS_9, 10, over_limit=True)),
        ("abstracted", f"{WORDS_9} Ten.", "stop", EditedText(f"{WORDS_9} Ten.", 10, False)),
        ("neutralized", "", "stop", "empty"),
        ("cleaned", " \n", "stop", "empty"),
        ("cleaned", "The court sat and", "length", "truncated"),
        ("abstracted", "The court sat and", "length", "truncated"),
        ("neutralized", "The court sat and", "length", "truncated"),
        ("neutralized", f"{WORDS_9} Ten and", "length", EditedText(WORDS_9, 11, True)),
        ("neutralized", "/".join("abcdefghij"), "stop", "over_limit"),
        ("neutralized", WORDS_9, "content_filter", "content_filter"),
    ],
)
def test_views(given: Any, view: Any, text: str, finish: str, expected: Any) -> None:
    read = read_view(view, 9, given.answer(text, finish))
    if isinstance(expected, str):
        assert isinstance(read, NoText)
        assert read.failure.startswith(expected)
    else:
        assert read == expected


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        (WORDS_9, 9, WORDS_9),
        (WORDS_9, 8, "One two three. Four five six!"),
        (WORDS_9, 3, "One two three."),
        (WORDS_9, 2, "One two"),
        ("no stops at all here", 3, "no stops at"),
        ("- a (b) … c d", 3, "- a (b) … c"),
        ("one/two/three four", 2, ""),
    ],
)
def test_cutting_keeps_whole_sentences_within_the_limit(text: str, limit: int, kept: str) -> None:
    assert cut_to(text, limit) == kept
    assert word_count(kept) <= limit
