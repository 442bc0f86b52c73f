"""What a gate says of answers of another model than before: none of them passes."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.calibration.checks import Result
from judge_gym.errors import ConfigError
from judge_gym.judges import CallableJudge, HttpJudge, Item, Scale
from judge_gym.judges.gate_checks import (
    Again,
    at_least,
    change_checks,
    drift_caution,
    moved_texts,
    of_sentinel,
    sentinel_caution,
    served_check,
    threshold_checks,
)
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.gate_texts import LoadedGate, load_gates, read_gate
from judge_gym.judges.item_files import ItemFile
from judge_gym.metrics.consistency import clustered_share
from judge_gym.model_names import Answered
from judge_gym.shipped import DEPLOYMENTS
from support.judge_results import a_result

GRADES = CallableJudge(name="grades", function="m:f", scale=Scale(lowest=1, highest=5))
DECIDES = CallableJudge(
    name="decides", function="m:f", scale=Scale(lowest=0, highest=1, anchors=("No", "Yes"))
)
COUNT = 150
EXCHANGES = {
    "permuted": lambda right, rng: [*right[1:], right[0]],
    "shuffled": lambda right, rng: rng.permutation(right).tolist(),
    "constant": lambda right, rng: [right[0]] * len(right),
    "inverted": lambda right, rng: [max(right) + min(right) - one for one in right],
    "noise": lambda right, rng: rng.choice(sorted(set(right)), len(right)).tolist(),
}


def labelled(right):
    return [Item(id=f"t{n}", text=f"text {n}", truth=float(one)) for n, one in enumerate(right)]


def said(judge, items, scores):
    return [
        a_result(item, None if score is None else float(score), judge=judge.key)
        for item, score in zip(items, scores, strict=True)
    ]


def checked(judge, right, now, rule):
    """The checks of a sentinel set whose texts were judged as labelled before."""
    items = labelled(right)
    before, again = said(judge, items, right), said(judge, items, now)
    return [
        *threshold_checks(judge, rule, items, again),
        *change_checks(judge, rule, items, before, again),
    ]


def rule(**given):
    return GateRule(items=Path("items.csv"), **given)


def grades(count, seed=0):
    return np.random.default_rng(seed).permutation([1 + n % 5 for n in range(count)]).tolist()


@pytest.mark.parametrize("sentinel", [20, COUNT])
@pytest.mark.parametrize("judge", [GRADES, DECIDES], ids=["grades", "decides"])
@settings(max_examples=12, deadline=None)
@given(
    exchange=st.sampled_from(sorted(EXCHANGES)),
    drift=st.sampled_from([0.5, 5.0, 8.0, 40.0, 100.0]),
    seed=st.integers(0, 50),
)
def test_no_exchanged_model_passes_at_any_drift(judge, sentinel, exchange, drift, seed):
    right = grades(sentinel, seed)
    if judge is DECIDES:
        right = [n % 2 for n in right]
    now = EXCHANGES[exchange](right, np.random.default_rng(seed + 1000))
    checks = checked(judge, right, now, rule(agreement=0.6, drift=drift))
    assert not {check.result for check in checks} <= {Result.PASSES}
    by_name = {check.name: check for check in checks}
    agreement = by_name["agreement"]
    assert agreement.estimate.n_items == sentinel
    assert agreement.result is not Result.PASSES
    if exchange == "inverted":
        assert Result.FAILS in {check.result for check in checks}
    kept = sum(a == b for a, b in zip(right, now, strict=True)) / sentinel
    changed = by_name["drift" if judge is DECIDES else "changed"].estimate.estimate
    assert changed == pytest.approx(1 - kept)


@pytest.mark.parametrize("sentinel", [20, COUNT])
@pytest.mark.parametrize("drift", [0.5, 100.0])
def test_a_class_that_is_exchanged_for_its_neighbour_does_not_pass(sentinel, drift):
    right = grades(sentinel)
    now = [{2: 3, 3: 2}.get(one, one) for one in right]
    checks = {check.name: check for check in checked(GRADES, right, now, rule(drift=drift))}
    # Two fifths moved by a step; the mean, and agreement above 0.4, do not show it.
    assert checks["changed"].estimate.estimate == 0.4
    assert checks["changed"].result is not Result.PASSES
    assert checks["agreement"].result is Result.PASSES


@pytest.mark.parametrize("sentinel", [20, 72, COUNT])
def test_an_unchanged_judge_passes_from_72_texts_on(sentinel):
    """0.95^71 = 0.0262, 0.95^72 = 0.0249: of fewer, 5% that move by 100 points may not be seen."""
    right = grades(sentinel)
    checks = {one.name: one for one in checked(GRADES, right, right, rule(agreement=0.6))}
    found = {name: check.result for name, check in checks.items()}
    drift = found.pop("drift")
    assert found == dict.fromkeys(
        ("readable", "agreement", "answers kept", "changed"), Result.PASSES
    )
    assert drift is (Result.CANNOT_TELL if sentinel < 72 else Result.PASSES)
    if sentinel < 72:
        [told] = of_sentinel([checks["drift"]], part(size=sentinel), rule())
        assert "72" in told.action


def test_a_text_that_lost_its_score_is_changed():
    right = grades(20)
    checks = checked(GRADES, right, [None] * 8 + right[8:], rule())
    by_name = {check.name: check for check in checks}
    assert by_name["changed"].estimate.estimate == 0.4
    assert by_name["drift"].estimate.n_items == 12


def test_the_texts_that_moved_most_are_named():
    """By 4, 1, and 4 steps of 1 to 5; one is lost, one had no score before, and one stays."""
    items = labelled([1, 2, 1, 3, 4, 5])
    before = said(GRADES, items, [1, 2, 1, 3, None, 5])
    again = said(GRADES, items, [5, 3, 5, None, 4, 5])
    found = [(one.id, one.before, one.after) for one in moved_texts(GRADES, items, before, again)]
    assert found == [("t0", 1, 5), ("t2", 1, 5), ("t1", 2, 3), ("t3", 3, None)]
    items = labelled([0, 1])
    [verdict] = moved_texts(
        DECIDES, items, said(DECIDES, items, [0, 1]), said(DECIDES, items, [1, 1])
    )
    assert (verdict.id, verdict.before, verdict.after) == ("t0", "No", "Yes")


def test_a_function_that_moved_is_told_to_look_at_its_code():
    right = grades(40)
    now = [6 - one for one in right]
    action = {one.name: one for one in checked(GRADES, right, now, rule())}["changed"].action
    assert "its code may have changed while its `version` did not" in action
    assert "model" not in action
    asked = HttpJudge(name="asked", url="http://localhost:1/x", scale=GRADES.scale)
    action = {one.name: one for one in checked(asked, right, now, rule())}["changed"].action
    assert "another model may answer" in action


def looked(judge, right, later, gate):
    """The checks of each time that texts were judged again, beside all times before."""
    items = labelled(right)
    said_by = [said(judge, items, scores) for scores in (right, *later)]
    return [
        {one.name: one for one in change_checks(judge, gate, items, said_by[0], last, between)}
        for end, last in enumerate(said_by[1:], start=1)
        for between in [said_by[1:end]]
    ]


CLASS_SWAPPED = {"swapped": lambda right, rng: [{2: 3, 3: 2}.get(one, one) for one in right]}


@pytest.mark.parametrize("exchange", [*EXCHANGES, *CLASS_SWAPPED])
@settings(max_examples=8, deadline=None)
@given(steady=st.integers(3, 6), seed=st.integers(0, 50))
def test_an_exchange_after_steady_looks_moves_the_anchors_whatever_the_margins(
    exchange, steady, seed
):
    """Margins that let anything pass, and no label: the third look of another model shows it."""
    right = grades(40, seed)
    change, rng = (EXCHANGES | CLASS_SWAPPED)[exchange], np.random.default_rng(seed + 1000)
    now = change(right, rng)
    gate = rule(agreement=None, drift=100.0, changed=0.99)
    found = looked(GRADES, right, [right] * steady + [now] * 3, gate)
    assert all(one["anchors"].result is Result.PASSES for one in found[1:steady])
    assert found[-1]["anchors"].result is Result.FAILS
    # What moved back stays shown.
    back = looked(GRADES, right, [right] * steady + [now] * 3 + [right], gate)
    assert back[-1]["anchors"].result is Result.FAILS


def test_the_first_time_again_compares_with_the_first_answers_alone():
    right = grades(20)
    [first, second] = looked(GRADES, right, [right, right], rule())
    assert "anchors" not in first
    assert second["anchors"].estimate.n_items == 20


def test_anchors_below_their_alarm_say_no_more_than_that_no_move_is_shown():
    """Four fifths moved up by a step before the first of two looks, and stayed there."""
    right = grades(40)
    up = [min(5, one + 1) for one in right]
    last = looked(GRADES, right, [up, up], rule())[-1]
    anchors = last["anchors"]
    assert {last[name].result for name in ("changed", "drift")} == {Result.FAILS}
    assert (anchors.result, anchors.estimate.estimate < 20) == (Result.PASSES, True)
    assert anchors.question.startswith("no move of the judge since the first time is shown")
    assert "20 would show a move" in anchors.reason
    [change], drift = anchors.beside, last["drift"].estimate
    assert change.upper - change.lower > drift.upper - drift.lower
    assert "wider than one of a single time" in anchors.reason


def part(size=20, texts=150, labelled=143, decided=(), *, same=True):
    return Again(size, texts, labelled, frozenset(decided), same)


def test_a_small_sentinel_set_says_what_decides_a_threshold():
    right = [n % 2 for n in range(20)]
    gate = rule(agreement=0.5, accuracy=0.9, sentinel=20)
    checks = checked(DECIDES, right, [1 - right[0], *right[1:]], gate)
    by_name = {
        check.name: check for check in of_sentinel(checks, part(decided=["agreement"]), gate)
    }
    assert by_name["agreement"].result is by_name["accuracy"].result is Result.CANNOT_TELL
    for name, ends in (("agreement", "as many decided it before."), ("accuracy", "at random.")):
        action = by_name[name].action
        assert action.startswith("All answers are the same as before")
        assert "all 143 texts with labels" in action
        assert action.endswith(ends)
    unlike = of_sentinel(checks, part(same=False), gate)
    assert not any("the same as before" in check.action for check in unlike)
    # With every label in it the set says what any gate does.
    whole = of_sentinel(checks, part(texts=20, labelled=20), gate)
    actions = {check.name: check.action for check in checks}
    assert all(
        check.action == actions[check.name] for check in whole if check.name in gate.by_labels
    )


@settings(max_examples=60, deadline=None)
@given(
    wrong=st.integers(0, 10), size=st.integers(6, 40), labelled=st.integers(6, 60),
    more=st.integers(0, 10), decided=st.booleans(), least=st.sampled_from([0.3, 0.5, 0.75, 0.9]),
)  # fmt: skip
def test_no_advice_names_more_texts_than_there_are(wrong, size, labelled, more, decided, least):
    right = [n % 2 for n in range(size)]
    now = [1 - one if n < wrong else one for n, one in enumerate(right)]
    gate = rule(agreement=least, accuracy=least, sentinel=size)
    texts = max(size, labelled) + more
    again = part(size, texts, labelled, ["agreement", "accuracy"] if decided else [])
    for check in of_sentinel(checked(DECIDES, right, now, gate), again, gate):
        if check.name in gate.by_labels and size >= labelled:
            continue  # as of any gate: more labels decide
        if "would show" in check.action and "there are" not in check.action:
            assert max(map(int, re.findall(r"\d+", check.action))) <= texts


def test_what_a_rate_lacks_is_counted_in_items_of_its_class():
    """People failed 14 of 150 texts, and the judge finds 13 of these."""
    right = [int(n >= 14) for n in range(150)]
    now = [1, *right[1:]]
    texts = labelled(right)
    gate = rule(agreement=None, sensitivity=0.9, specificity=0.7)
    checks = {
        one.name: one for one in threshold_checks(DECIDES, gate, texts, said(DECIDES, texts, now))
    }
    assert checks["sensitivity"].result is Result.PASSES
    specificity = checks["specificity"]
    assert specificity.result is Result.CANNOT_TELL
    assert f"items that people failed: about {specificity.needed} would" in specificity.action
    assert specificity.action.endswith("you have 14.")
    again = part(20, 150, 150, [])
    [advised] = of_sentinel([specificity], again, gate)
    assert "would show" not in advised.action, "150 texts have labels, of both classes"


def gate_of(truths, **given):
    judge = DECIDES.model_copy(update={"gate": rule(**given)})
    items = [
        Item(id=f"t{n}", text=f"text {n}", truth=None if one is None else float(one))
        for n, one in enumerate(truths)
    ]
    return LoadedGate(judge, judge.gate, ItemFile(Path("items.csv"), tuple(items), (), (), "truth"))


def test_every_labelled_text_is_judged_again_unless_the_gate_says_how_many():
    truths = [n % 2 if n < 60 else None for n in range(90)]
    every = gate_of(truths)
    assert [item.truth is None for item in every.sentinel] == [False] * 60
    assert len(gate_of(truths, agreement=None).sentinel) == 20
    # 3.84·19 = 73: as many verdicts as show that fewer than 5% changed
    assert len(gate_of(truths, agreement=None, changed=0.05).sentinel) == 73
    scored = replace(every, judge=GRADES)
    assert len(scored.sentinel) == 72
    assert sum(item.truth is not None for item in scored.sentinel) == 60
    assert len(gate_of(truths, sentinel=70).sentinel) == 70
    assert sum(one.truth is None for one in gate_of(truths, sentinel=70).sentinel) == 10
    assert len(gate_of([n % 2 for n in range(8)]).sentinel) == 8
    assert len(gate_of([n % 2 if n < 8 else None for n in range(90)]).sentinel) == 20


def test_a_small_sentinel_set_is_warned_of_before_it_is_judged():
    def caution(gate):
        return sentinel_caution(gate.judge, gate.rule, gate.sentinel, gate.labelled)

    truths = [n % 2 for n in range(90)]
    assert caution(gate_of(truths)) == ""
    assert "of 90 labels" in caution(gate_of(truths, sentinel=30))
    assert "may not decide agreement" in caution(gate_of(truths, sentinel=30))
    # Wilson of 6 of 6 reaches down to 6 / (6 + 3.84) = 0.61
    few = caution(gate_of(truths, sentinel=6, agreement=None, accuracy=0.7))
    assert "cannot decide accuracy" in few
    assert caution(gate_of(truths, sentinel=30, agreement=None)) == ""


@pytest.mark.parametrize(
    ("judge", "size", "texts", "given", "said"),
    [
        (GRADES, 72, 72, {}, ()),
        # 100·(1 - 0.025^(1/71)) = 5.06
        (GRADES, 71, 71, {}, ("`drift: 5` takes 72", "Add 1 text,", "`drift` to 5.1 or more")),
        (GRADES, 22, 22, {}, ("takes 72", "Add 50 texts", "`drift` to 15.5 or more")),
        (GRADES, 20, 90, {"sentinel": 20}, ("Leave `sentinel` out", "`drift` to 16.9 or more")),
        (GRADES, 20, 20, {"drift": 16.9}, ()),
        # Wilson of none of 20 reaches to 3.84/23.84 = 0.161
        (DECIDES, 20, 20, {}, ()),
        (DECIDES, 20, 90, {"changed": 0.1}, ("`changed: 0.1` takes 35", "`changed` to 0.17 or")),
    ],
)
def test_texts_too_few_to_show_no_drift_are_told_before(judge, size, texts, given, said):
    caution = drift_caution(judge, rule(**given), size, texts)
    assert bool(caution) is bool(said)
    assert all(one in caution for one in said), caution
    # As many as are named do show it, and one text less does not.
    needed = max(rule(**given).unchanged_texts(verdicts=judge.decides).values())
    for count, shows in ((needed, True), (needed - 1, False)):
        right = [n % 2 for n in range(count)] if judge is DECIDES else grades(count)
        checks = checked(judge, right, right, rule(**given))
        found = {one.name: one.result for one in checks if one.name in ("drift", "changed")}
        assert (set(found.values()) == {Result.PASSES}) is shows


BROKEN = {
    **EXCHANGES,
    "swapped class": lambda right, rng: [max(right) if one == 2 else one for one in right],
    "one in ten crashes": lambda right, rng: [
        None if n % 10 == 0 else one for n, one in enumerate(right)
    ],
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("judge", [GRADES, DECIDES], ids=["grades", "decides"])
def test_a_recheck_of_all_labelled_texts_fails_a_judge_that_broke(judge, broken):
    right = grades(COUNT)
    if judge is DECIDES:
        right = [2 * (n % 3 == 0) for n in range(COUNT)]
    now = BROKEN[broken](right, np.random.default_rng(7))
    if judge is DECIDES:
        right, now = ([None if n is None else n / 2 for n in side] for side in (right, now))
        if broken == "swapped class":
            now = [1.0] * COUNT
    checks = checked(judge, right, now, rule(agreement=0.5, accuracy=0.75))
    assert Result.FAILS in {check.result for check in checks}


@pytest.mark.parametrize("judge", [GRADES, DECIDES], ids=["grades", "decides"])
def test_answers_that_no_longer_come_are_a_finding_of_their_own(judge):
    right = [1 + n % 2 if judge is GRADES else n % 2 for n in range(COUNT)]
    now = [None if n % 8 == 0 else one for n, one in enumerate(right)]
    by_name = {check.name: check for check in checked(judge, right, now, rule())}
    kept = by_name["answers kept"]
    assert kept.result is Result.FAILS
    # 19 of 150, by Wilson
    assert kept.estimate.estimate == pytest.approx(19 / 150)
    assert "19 of 150 answers no longer arrive or cannot be read (19 x: y)" in kept.reason
    changed = by_name["changed" if judge is GRADES else "drift"]
    assert changed.estimate.estimate == pytest.approx(19 / 150)
    # 1 of 20 is more than 2%, and may be chance: the set is asked again
    few = [None, *right[1:20]]
    one = {check.name: check for check in checked(judge, right[:20], few, rule())}["answers kept"]
    assert one.result is Result.CANNOT_TELL
    assert "--retry-failed" in one.action


def test_a_judge_without_a_readable_answer_is_not_told_to_label_more():
    right = [n % 2 for n in range(30)]
    items = labelled(right)
    checks = threshold_checks(DECIDES, rule(accuracy=0.7), items, said(DECIDES, items, [None] * 30))
    for check in checks[1:]:
        assert check.result is Result.CANNOT_TELL
        assert check.action.startswith("None of 30 answers can be read (30 x: y).")
    few = threshold_checks(DECIDES, rule(), items[:5], said(DECIDES, items[:5], right[:5]))
    assert few[1].action.startswith("Label more texts")


def test_false_passes_and_false_fails_have_thresholds_of_their_own():
    right = [n % 2 for n in range(COUNT)]
    # Of 75 that people failed it passes 25, of 75 that they passed it fails one.
    said_now = [1 if one == 0 and n % 3 == 0 else one for n, one in enumerate(right)]
    said_now[1] = 0
    asked = rule(agreement=None, sensitivity=0.9, specificity=0.8)
    items = labelled(right)
    found = {
        check.name: check
        for check in threshold_checks(DECIDES, asked, items, said(DECIDES, items, said_now))
    }
    assert found["sensitivity"].estimate.estimate == pytest.approx(74 / 75)
    assert found["specificity"].estimate.estimate == pytest.approx(50 / 75)
    assert found["sensitivity"].result is Result.PASSES
    assert found["specificity"].result is Result.FAILS
    one_class = labelled([1] * 30)
    [_, passes, fails] = threshold_checks(
        DECIDES, asked, one_class, said(DECIDES, one_class, [1] * 30)
    )
    assert passes.result is Result.CANNOT_TELL  # 30 of 30: the lower end is 0.88
    assert fails.result is Result.NOT_APPLICABLE
    assert "no answer of that class has a label" in fails.reason


def test_a_judge_of_scores_has_no_false_passes(tmp_path):
    (tmp_path / "items.csv").write_text("text,truth\na,1\n")
    asked = rule(specificity=0.8).model_copy(update={"items": tmp_path / "items.csv"})
    with pytest.raises(ConfigError, match=r"gate.specificity is 0.8, and the judge has no two"):
        read_gate(GRADES.model_copy(update={"gate": asked}))


@pytest.mark.parametrize(
    ("before", "now", "result"),
    [
        (("gpt-4o-2024-05-13",), ("gpt-4o-2024-11-20",), Result.PASSES),
        (("acme-1",), ("acme-2",), Result.CANNOT_TELL),
        (("acme-1",), ("acme-1",), None),
        ((), ("acme-2",), None),
        (("acme-1",), (), None),
    ],
)
def test_a_model_of_another_name_is_named_and_does_not_pass(before, now, result):
    model = "acme/gpt-4o" if "gpt" in "".join(before) else "acme/acme-1"

    class Asked(CallableJudge):
        @property
        def answerers(self):
            return (model,)

    judge = Asked(name="asked", function="m:f")
    check = served_check(judge, Answered(model, before), Answered(model, now))
    if result is None:
        assert check is None
        return
    assert check is not None
    assert check.result is result
    assert before[0] in check.reason
    assert now[0] in check.reason


@pytest.mark.parametrize(
    ("readable", "result"), [(160, Result.PASSES), (157, Result.PASSES), (156, Result.CANNOT_TELL),
                             (140, Result.FAILS)]
)  # fmt: skip
def test_readable_is_reached_by_the_share_itself(readable, result):
    successes = np.array([1] * readable + [0] * (160 - readable))
    share = clustered_share("readable_rate", successes, np.ones(160, dtype=np.int64))
    check = at_least("readable", share, 0.98, "98%", "")
    assert check.result is result
    assert math.isclose(share.estimate or 0, readable / 160)


def test_a_scale_in_doubt_is_checked_before_the_rubric():
    right = [1.0 + n % 5 for n in range(30)]
    judge = GRADES
    items = labelled(right)
    for scores, first in ((right, False), ([6 - one for one in right], True)):
        results = said(judge, items, scores)
        checks = threshold_checks(judge, rule(agreement=0.5), items, results, doubted="Check it.")
        [agreement] = [one for one in checks if one.name == "agreement"]
        assert agreement.action.startswith("Check it. Read the texts") is first
        # Whether answers can be read has nothing to do with labels.
        assert not any(one.action.startswith("Check it.") for one in checks if one is not agreement)


def test_a_gate_says_which_thresholds_of_its_file_are_replaced():
    file = DEPLOYMENTS / "calibrations" / "good.yaml"  # agreement: 0.4
    (same,) = load_gates([file], {"agreement": 0.4})
    (other,) = load_gates([file], {"agreement": 0.5, "accuracy": 0.3})
    assert (same.replaced, other.replaced) == ({}, {"agreement": 0.4, "accuracy": None})
    assert same.said() in other.said()
    assert "agreement 0.5 (was 0.4), accuracy 0.3 (was none)" in other.said()
