"""What a trial by a product team found: which judges are recommended, and why not."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from judge_gym.answers.readability import Answers
from judge_gym.calibration.checks import Decide, Result
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.verdict import (
    CalibrationVerdict,
    agreement_check,
    decide,
    readable_check,
)
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.judges import (
    BinaryJudge,
    CallableJudge,
    Item,
    ItemFile,
    PairwiseJudge,
)
from judge_gym.judges.binary_judge import VerdictName
from judge_gym.judges.calibrating.assessing import assess, recommended
from judge_gym.judges.calibrating.comparing import agreement
from judge_gym.judges.calibrating.judging import check_labels
from judge_gym.judges.calibrating.texts import Texts, changed_texts
from judge_gym.judges.scale import Scale
from judge_gym.seeds import derive_seed
from support.judge_results import a_result

DESIGN = CalibrationDesign(
    name="trial", judges=("a.yaml",), items="items.jsonl", perturbations=("tone",),
    severities=(1.0,),
)  # fmt: skip
FIVE = Scale(lowest=1, highest=5)
VERDICTS = (
    VerdictName(name="pass", description="It may go out."),
    VerdictName(name="fail", description="It may not."),
)


def summaries(labels):
    return [
        Item(id=f"n{n}", text=f"Ticket {n}: the router dropped {n + 2} calls.", truth=label)
        for n, label in enumerate(labels)
    ]


def filed(items):
    """The same as a file would give them."""
    lines = tuple(f"items.csv line {n}" for n in range(2, len(items) + 2))
    return ItemFile(Path("items.csv"), tuple(items), lines, ("text", "truth"), "truth")


def plain(items):
    """The texts as they are, none of them changed."""
    return Texts(items, {("tone", 1.0): []}, {"tone": 0})


def five(count):
    return [1 + n % 5 for n in range(count)]


@dataclass(frozen=True)
class Answer:
    score: float | None
    failure: str | None = None

    @property
    def status(self):
        kind = (self.failure or "").partition(":")[0]
        return {"": "scored", "out_of_form": "unparseable"}.get(kind, "failed")


def function(name, scale=FIVE):
    return CallableJudge(name=name, function=f"trial:{name}", scale=scale)


def binary(name):
    return BinaryJudge(name=name, model="sim/good-1", task="May it go out?", verdicts=VERDICTS)


def assessed(judge, texts, answer, design=DESIGN):
    """The assessment of a judge that answers `answer(item, repeat)`."""
    said = {
        item.key: [_result(judge, item, repeat, answer(item, repeat)) for repeat in range(3)]
        for item in texts.items
    }
    return assess(judge, texts, said, design)


def _result(judge, item, repeat, answer):
    answer = answer if isinstance(answer, Answer) else Answer(float(answer))
    ended = {"status": answer.status, "failure": answer.failure, "duration_s": 0.1}
    named = {"judge": judge.key, "variant": item.variant, "repeat": repeat}
    return a_result(item, answer.score, **named, **ended)


def of(assessment, name):
    return next(check for check in assessment.checks if check.name == name)


def by_label(item, repeat=0):
    return float(item.truth)


def by_hash(item, repeat=0):
    return 1 + sha256(b"b" + item.text.encode()).digest()[0] % 5


UNREADABLE = {
    "off the scale": ("out_of_form: score: 6 is not from 1 to 5", "change `scale`"),
    "raising": ("RuntimeError: no key", "Mend the function"),
}


@pytest.mark.parametrize("labels", [five(30), [None] * 30], ids=["labels", "no labels"])
@pytest.mark.parametrize(("failure", "remedy"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_judge_without_readable_answers_is_not_recommended_and_the_cause_is_named(
    labels, failure, remedy
):
    texts = changed_texts(summaries(labels), DESIGN)
    one = assessed(function("broken"), texts, lambda *_: Answer(None, failure))
    place, why = recommended([one], [0.0])
    assert (place, one.decision.verdict) == (None, CalibrationVerdict.DO_NOT_USE)
    assert one.checks[0].name == "readable"
    assert one.checks[0].result is Result.FAILS
    assert "0 of" in why
    assert failure in why
    assert remedy in why


def test_a_model_without_readable_answers_is_not_recommended_over_one_that_answers():
    texts = plain(summaries([float(n % 2) for n in range(30)]))
    silent = assessed(binary("small"), texts, lambda *_: Answer(None, "out_of_form: no object"))
    speaks = assessed(binary("speaks"), texts, lambda item, _: int(item.id[1:]) % 2)
    assert "small: 0 of 90 answers readable" in silent.decision.why
    assert recommended([silent, speaks], [0.0, 9.0])[0] == 1


def test_nothing_judged_cannot_tell():
    texts = plain(summaries(five(6)))
    nothing = assess(function("new"), texts, {item.key: [] for item in texts.items}, DESIGN)
    assert nothing.decision.verdict is CalibrationVerdict.CANNOT_TELL


@pytest.mark.parametrize("status", ["inconsistent", "failed", "unparseable", "cannot_assess"])
def test_a_text_without_a_score_does_not_meet_its_label_whatever_the_reason(status):
    judge = PairwiseJudge(name="pairs", model="sim/firstpick-1", task="Which is better?")
    items = [
        item.model_copy(update={"second": f"Other {n}", "truth": float(n % 2)})
        for n, item in enumerate(summaries(five(30)))
    ]
    said = [_result(judge, item, 0, Answer(item.truth)) for item in items]
    said[12:] = [
        result.model_copy(update={"status": status, "score": None}) for result in said[12:]
    ]
    found = agreement(judge, items, said)
    assert (found.met.estimate, found.met.n_items, found.scored) == (12 / 30, 30, 12)
    assert "12 of 30 texts" in str(found)
    assert "18 labelled texts have no score" in str(found)


def test_labels_decide_before_perturbations():
    texts = changed_texts(summaries(five(30)), DESIGN)
    hashed = assessed(function("hash"), texts, by_hash)
    right = assessed(function("oracle"), texts, by_label)
    place, why = recommended([hashed, right], [0.0, 9.0])
    assert place == 1
    assert "30 of 30 scores within 10 points" in why
    assert "4 of 30 scores within 10 points" in hashed.decision.why
    assert recommended([hashed], [0.0])[0] is None


@pytest.mark.parametrize("judged", [24, 6])
def test_a_stopped_judge_is_not_recommended_and_comes_before_one_that_may_not_be_used(judged):
    texts = plain(summaries(five(100)))
    hashed = assessed(function("hashed"), texts, by_hash)
    right, items = function("right"), texts.items
    said = {
        item.key: [_result(right, item, 0, Answer(by_label(item)))] if n < judged else []
        for n, item in enumerate(items)
    }
    stopped = assess(right, texts, said, DESIGN)
    assert stopped.decision.verdict is CalibrationVerdict.CANNOT_TELL
    found, why = recommended([hashed, stopped], [0.0, 9.0])
    assert found is None
    assert f"is recommended. right: only {judged} of 300 judgements exist" in why


def test_of_judges_that_may_not_be_used_a_stopped_one_comes_last():
    texts = plain(summaries(five(100)))
    hashed = assessed(function("hashed"), texts, by_hash)
    away, items = function("away"), texts.items
    failed = Answer(None, "RuntimeError: away")
    said = {item.key: [_result(away, item, 0, failed)] if n < 5 else []
            for n, item in enumerate(items)}  # fmt: skip
    stopped = assess(away, texts, said, DESIGN)
    assert "0 of 5 answers readable (5 RuntimeError: away)" in stopped.decision.why
    found, why = recommended([stopped, hashed], [0.0, 9.0])
    assert found is None
    assert "None of these 2 judges is recommended. Do not use hashed" in why
    # 30 labels do not rule out that it agrees by 0.4, 100 do
    more = assessed(function("hash"), changed_texts(summaries(five(100)), DESIGN), by_hash)
    assert more.decision.verdict is CalibrationVerdict.DO_NOT_USE


def test_perturbations_count_after_labels():
    texts = changed_texts(summaries(five(30)), DESIGN)
    loud = assessed(
        function("loud"), texts,
        lambda item, _: 5 if item.variant else by_label(item),
    )  # fmt: skip
    assert loud.decision.verdict is CalibrationVerdict.CARE
    assert "but its scores move for tone" in loud.decision.why
    passes, fails = loud.count(Result.PASSES), loud.count(Result.FAILS)
    tested = passes + fails + loud.count(Result.CANNOT_TELL)
    assert f"of {tested} checks, {passes} pass, {fails} fail" in loud.decision.why


BLIND = DESIGN.model_copy(update={"perturbations": ("inject_errors", "vague_ify")})


@pytest.mark.parametrize(
    ("sees", "expected", "verdict", "said"),
    [
        ((), {}, CalibrationVerdict.DO_NOT_USE,
         "but its scores hardly fall for injected errors, vague wording."),
        (("vague_ify",), {}, CalibrationVerdict.CARE,
         "but its scores hardly fall for injected errors."),
        (("inject_errors",), {}, CalibrationVerdict.CARE,
         "but its scores hardly fall for vague wording."),
        # the file says that its rubric does not ask for either
        ((), {"inject_errors": "invariant", "vague_ify": "invariant"}, CalibrationVerdict.CARE,
         "checks, 9 pass, 0 fail and 1 is open"),
    ],
)  # fmt: skip
def test_a_judge_of_length_is_recommended_only_as_far_as_it_sees_errors_and_vagueness(
    sees, expected, verdict, said
):
    design = CalibrationDesign(**{**BLIND.model_dump(), "expectations": expected})
    items = [
        # so that no two texts are alike once their numbers are gone
        item.model_copy(update={"text": f"{item.text} It was {'so ' * n}slow."})
        for n, item in enumerate(summaries(five(100)))
    ]
    texts = changed_texts(items, design)
    of_text = {item.id: item.truth for item in texts.originals}

    def by_length(item, repeat):
        seen = item.variant and item.variant.perturbation in sees
        return max(1, of_text[item.id] - (3 if seen else 0))

    one = assessed(function("length"), texts, by_length, design)
    assert of(one, "agreement").result is Result.PASSES
    assert one.decision.verdict is verdict
    headline = one.decision.why
    assert said in headline
    assert "agrees with people's labels" in headline
    assert (recommended([one], [0.0])[0] is None) == (verdict is CalibrationVerdict.DO_NOT_USE)


@pytest.mark.parametrize(
    ("decided", "verdict"),
    [
        ({}, CalibrationVerdict.CARE),
        ({"perturbations": {"tone": "blocks"}}, CalibrationVerdict.DO_NOT_USE),
        ({"perturbations": {"tone": "warns"}}, CalibrationVerdict.CARE),
        # together takes two
        ({"perturbations": {"tone": "blocks together"}}, CalibrationVerdict.CARE),
        ({"agreement": 0.999}, CalibrationVerdict.CANNOT_TELL),
    ],
)
def test_the_file_says_what_decides(decided, verdict):
    design = CalibrationDesign(**{**DESIGN.model_dump(), "decide": decided})
    texts = changed_texts(summaries(five(100)), design)
    loud = assessed(
        function("loud"), texts, lambda item, _: 5 if item.variant else by_label(item), design
    )
    assert of(loud, "invariant:tone").result is Result.FAILS
    assert loud.decision.verdict is verdict


def test_a_judge_further_from_people_than_they_are_from_each_other_is_not_used():
    rng = np.random.default_rng(4)
    texts = plain(summaries(five(100)))
    people = np.array([[25 * (item.truth - 1) for item in texts.originals]] * 3)
    texts = replace(texts, people=people)
    strays = dict(zip((i.id for i in texts.originals), rng.random(100) < 0.3, strict=True))

    def stray(item, _):
        return 6 - item.truth if strays[item.id] and item.truth != 1 else item.truth

    right, wrong = (assessed(function(n), texts, f) for n, f in (("r", by_label), ("w", stray)))
    assert right.decision.recommends
    assert of(right, "beside people").result is Result.PASSES
    assert of(wrong, "agreement").result is Result.PASSES
    assert wrong.decision.verdict is CalibrationVerdict.DO_NOT_USE
    assert "agrees with a person less than people do with each other" in wrong.decision.why


def test_too_few_labels_cannot_tell_and_say_what_is_missing():
    few = plain(summaries([*five(6), *[None] * 24]))
    one = assessed(function("oracle"), few, lambda item, _: 1 + int(item.id[1:]) % 5)
    assert one.decision.verdict is CalibrationVerdict.CANNOT_TELL
    assert "10 labels are the fewest that decide, and there are 6" in one.decision.why
    alike = plain(summaries([4] * 30))
    same = assessed(function("same"), alike, by_label)
    assert same.decision.verdict is CalibrationVerdict.CANNOT_TELL
    assert "all labels are the same" in same.decision.why
    assert recommended([one, same], [0.0, 0.0])[0] is None


@pytest.mark.parametrize(
    ("count", "one_in"), [(30, 2), (200, 2), (60, 5)], ids=["30 labels", "200", "one in five"]
)
def test_a_binary_judge_that_is_right_passes(count, one_in):
    labels = [float(n % one_in == 0) for n in range(count)]
    texts = changed_texts(summaries(labels), DESIGN)
    one = assessed(binary("oracle"), texts, by_label)
    assert one.decision.recommends
    assert one.count(Result.FAILS) == 0
    assert of(one, "bins").result is Result.PASSES
    assert not {"band", "entropy", "floor"} & {check.name for check in one.checks}


def test_without_labels_no_judge_is_recommended():
    texts = changed_texts(summaries([None] * 100), DESIGN)
    one = assessed(binary("any"), texts, lambda item, _: int(item.id[1:]) % 2)
    assert one.count(Result.FAILS) == 0
    assert one.decision.verdict is CalibrationVerdict.CANNOT_TELL
    assert "no text has a label" in one.decision.why
    assert "Label 50 texts, drawn at random" in one.decision.why


def test_a_binary_judge_that_always_says_the_same_fails_without_labels():
    texts = changed_texts(summaries([None] * 100), DESIGN)
    one = assessed(binary("yes"), texts, lambda *_: 1)
    assert of(one, "bins").result is Result.FAILS
    assert of(one, "invariant:tone").result is Result.NOT_APPLICABLE
    assert not one.decision.recommends


@pytest.mark.parametrize("labels", [five(30), [None] * 30], ids=["labels", "no labels"])
def test_a_judge_that_repeats_itself_exactly_is_concluded_on(labels):
    texts = changed_texts(summaries(labels), DESIGN)
    one = assessed(function("cold"), texts, lambda item, _: 1 + int(item.id[1:]) % 5)
    for name in ("discrimination", "self-agreement"):
        check = of(one, name)
        assert (check.result, check.estimate.estimate) == (Result.PASSES, 1.0)
        assert "repeats the first exactly" in check.estimate.method
    assert not any("every item" in c.reason for c in one.checks)
    # a fifth of 30 at the lowest score may yet be a quarter of all
    still_open = [c.name for c in one.checks if c.result is Result.CANNOT_TELL]
    assert still_open == ["floor"]
    assert one.decision.recommends == (labels[0] is not None)


def test_labels_that_crowd_excuse_a_judge_that_scores_as_people_do():
    texts = plain(summaries([5] * 32 + [1, 2, 3, 4] * 2))
    one = assessed(function("oracle"), texts, by_label)
    assert of(one, "band").result is Result.NOT_APPLICABLE
    assert "spread no wider" in of(one, "band").reason
    assert one.decision.recommends


def test_labels_of_judges_of_different_scales_need_a_scale_of_their_own():
    items = summaries(five(30))
    judges = [function("rubric"), function("percent", Scale())]
    with pytest.raises(ConfigError, match="rubric 1 to 5, percent 0 to 100"):
        check_labels(judges, filed(items))
    check_labels(judges[:1], filed(items))
    check_labels(judges, filed(summaries([None] * 3)))
    with pytest.raises(EvidenceError, match=r"truth is 5.0. The label_scale is 1 to 4"):
        check_labels(judges, filed(items), (1, 4))

    check_labels(judges, filed(items), (1, 5))
    design = DESIGN.model_copy(update={"label_scale": (1.0, 5.0)})
    texts = plain(items)
    five_steps = assessed(judges[0], texts, by_label, design)
    percent = assessed(judges[1], texts, lambda item, _: 25 * (item.truth - 1), design)
    for one in (five_steps, percent):
        assert of(one, "agreement").estimate.estimate == pytest.approx(1)


SETS, LABELS = 1000, 100
RULE = Decide()
STEPS = {"binary": 2, "five steps": 5, "ten steps": 10, "points": 101}


def recommends(labels, judged):
    """Whether a judge that can be read and repeats itself is recommended by its agreement alone."""
    scored = np.full(len(labels), 3)
    checks = [
        readable_check(scored, scored, Answers("any", 3 * LABELS, {}), RULE.readable),
        agreement_check(labels, judged, RULE.agreement, 10.0),
    ]
    return decide("any", checks, RULE, 3 * LABELS, 3 * LABELS).recommends


def drawn_labels(rng, steps):
    """Labels in points, of any shape in which no label is of more than 80% of the texts."""
    shape = np.ones(1)
    while shape.max() > 0.8:
        shape = rng.dirichlet(np.full(steps, rng.choice([0.3, 1.0, 5.0])))
    return rng.choice(steps, LABELS, p=shape) * 100.0 / (steps - 1)


def drawn_scores(rng, steps):
    """Scores of a judge that does not read: any distribution, often that of one favourite."""
    shape = rng.dirichlet(np.full(steps, rng.choice([0.1, 1.0, 5.0])))
    return rng.choice(steps, LABELS, p=shape) * 100.0 / (steps - 1)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_at_100_labels_at_most_1_percent_of_judges_that_do_not_read_are_recommended(steps):
    rng = np.random.default_rng(derive_seed("chance", steps))
    found = sum(recommends(drawn_labels(rng, steps), drawn_scores(rng, steps)) for _ in range(SETS))
    assert found <= 0.01 * SETS


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_at_100_labels_95_percent_of_judges_with_5_percent_of_errors_are_recommended(steps):
    rng = np.random.default_rng(derive_seed("oracle", steps))
    found = 0
    for _ in range(SETS):
        labels = drawn_labels(rng, steps)
        wrong = rng.random(LABELS) < 0.05
        other = rng.choice(labels, LABELS) if steps > 2 else 100.0 - labels
        found += recommends(labels, np.where(wrong, other, labels))
    assert found >= 0.95 * SETS


def test_a_judge_against_the_labels_is_told_that_a_scale_may_be_reversed():
    labels = np.repeat([0.0, 25.0, 50.0, 75.0, 100.0], 8)
    actions = [
        agreement_check(labels, judged, RULE.agreement, 10.0).action
        for judged in (100 - labels, np.roll(labels, 10), np.full(40, 50.0))
    ]
    assert ["other way round" in action for action in actions] == [True, False, False]


def test_the_share_of_a_verdict_is_corrected_by_sensitivity_and_specificity():
    labels = ["pass", "fail"] * 15 + [None] * 30
    texts = plain(summaries(labels))
    number = {text.key: n for n, text in enumerate(texts.items)}

    def lenient(item, _):
        """Passes what passes, every third of what fails, and 20 of the 30 without a label."""
        n = number[item.key]
        return float(n % 2 == 0 or n % 6 == 1) if n < 30 else float(n < 50)

    one = assessed(binary("lenient"), texts, lenient)
    powered, screened = one.truth
    # Se is 1 and Sp 2/3: (2/3 + 2/3 - 1) / (1 + 2/3 - 1) = 1/2
    assert screened.estimate == pytest.approx(50)
    assert screened.lower < 50 < screened.upper
    assert powered.estimate == pytest.approx(50, abs=4)
    # Labels of texts that it fails never vary, so the next ones are of those that it passes.
    assert dict(one.next_labels.rows)[100.0] == 20
