"""What a gate says of answers of another model than before: none of them passes."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.calibration.checks import Result
from judge_gym.judges import CallableJudge, Item, JudgeResult, Scale
from judge_gym.judges.gate_checks import (
    at_least,
    change_checks,
    of_sentinel,
    served_check,
    threshold_checks,
)
from judge_gym.judges.gate_rule import GateRule
from judge_gym.metrics.consistency import clustered_share
from judge_gym.model_names import Answered

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
        JudgeResult(
            judge=judge.key, model="m", item=item.id, item_key=item.key, corpus="", variant=None,
            repeat=0, status="failed" if score is None else "scored",
            score=None if score is None else float(score), subscores={}, verdict=None, reason="",
            failure="x: y" if score is None else None, call_ids=(), duration_s=None,
            simulated=False,
        )
        for item, score in zip(items, scores, strict=True)
    ]  # fmt: skip


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


@pytest.mark.parametrize("sentinel", [20, COUNT])
def test_an_unchanged_judge_passes(sentinel):
    right = grades(sentinel)
    checks = checked(GRADES, right, right, rule(agreement=0.6, accuracy=0.7))
    assert {check.name: check.result for check in checks} == dict.fromkeys(
        ("readable", "agreement", "accuracy", "changed", "drift"), Result.PASSES
    )


def test_a_text_that_lost_its_score_is_changed():
    right = grades(20)
    checks = checked(GRADES, right, [None] * 8 + right[8:], rule())
    by_name = {check.name: check for check in checks}
    assert by_name["changed"].estimate.estimate == 0.4
    assert by_name["drift"].estimate.n_items == 12


def test_a_small_sentinel_set_that_cannot_tell_says_how_to_enlarge_it():
    right = grades(10)
    checks = checked(GRADES, right, right, rule(accuracy=0.9))
    for check in of_sentinel(checks, 10, 150):
        assert ("Raise `sentinel`" in check.action) == (check.result is Result.INCONCLUSIVE)
    assert any("there are 150 texts" in check.action for check in of_sentinel(checks, 10, 150))
    assert of_sentinel(checks, 10, 10) == checks


@pytest.mark.parametrize(
    ("before", "now", "result"),
    [
        (("gpt-4o-2024-05-13",), ("gpt-4o-2024-11-20",), Result.PASSES),
        (("acme-1",), ("acme-2",), Result.INCONCLUSIVE),
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
    ("readable", "result"), [(160, Result.PASSES), (157, Result.PASSES), (156, Result.INCONCLUSIVE),
                             (140, Result.FAILS)]
)  # fmt: skip
def test_readable_is_reached_by_the_share_itself(readable, result):
    successes = np.array([1] * readable + [0] * (160 - readable))
    share = clustered_share("readable_rate", successes, np.ones(160, dtype=np.int64))
    check = at_least("readable", share, 0.98, "98%", "")
    assert check.result is result
    assert math.isclose(share.estimate or 0, readable / 160)
