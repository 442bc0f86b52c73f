"""Real benchmark files judged by simulated judges: what is planted in them is found again."""

import json
from pathlib import Path
from statistics import fmean, stdev

import pytest

from judge_gym.calibration.verdict import CalibrationVerdict
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.judges import Criterion, PairwiseJudge, RubricJudge
from judge_gym.judges.benchmark_checks import benchmark_checks, decide_benchmark
from judge_gym.judges.benchmarking import (
    benchmark_figures,
    check_judge,
    load_judges,
    load_set,
)
from judge_gym.planted.families import grader_of
from judge_gym.records.calls import Answer
from judge_gym.simulator.answering import ModelRequest, answer
from judge_gym.simulator.text_features import identity
from support.judge_results import a_result

REPOSITORY = Path(__file__).parents[3]
MAPPINGS = REPOSITORY / "deployments" / "benchmarks"
SHARED = REPOSITORY.parent / "shared" / "data"
FILES = {"llmbar": "llmbar_natural_manual.jsonl", "judgebench": "judgebench_sample.jsonl"}
FIRST = "firstpick-1"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")


def pairwise(model):
    return PairwiseJudge(name=model, model=f"sim/{model}", task="Which answer is better?")


def result_of(judge, item, status, score, subscores):
    said = {"status": status, "failure": None, "subscores": subscores, "simulated": True}
    return a_result(item, score, judge=judge.key, model=judge.answered_by, **said)


def judged(judge, chosen, draw=0):
    """What a grader that knows the right answers says of each pair, in both orders."""
    known = {
        identity(text): float((one.better == "first") == is_first)
        for one in chosen.known
        for text, is_first in ((one.first, True), (one.second, False))
    }
    found = []
    for number, item in enumerate(chosen.items):
        readings = []
        for order, prompt in enumerate(judge.prompts(item, "key")):
            messages = tuple((one["role"], one["content"]) for one in prompt.messages)
            request = ModelRequest(
                judge.model.removeprefix("sim/"), messages, temperature=1.0,
                seed=10_000 * draw + 2 * number + order,
            )  # fmt: skip
            told = answer(request, known).text
            readings.append(judge.read(Answer(told, "stop", 1, 1, 0, 1.0, simulated=True)))
        both = judge.combined(tuple(readings))
        found.append(result_of(judge, item, both.status, both.score, dict(both.subscores)))
    return found


@needs_shared
@pytest.mark.parametrize("name", FILES)
def test_planted_accuracy_and_position_bias_are_recovered(name):
    chosen = load_set(SHARED / FILES[name], MAPPINGS / f"{name}.yaml")
    judges = [pairwise("good-1"), pairwise("firstpick-1")]
    figures = benchmark_figures(judges, [judged(one, chosen) for one in judges], chosen)
    assert set(figures.by_judge[0]) > {""}
    for place, model in enumerate(("good-1", "firstpick-1")):
        grader = grader_of(model)
        bias, right = grader.first_bias, grader.accuracy
        # shown first, the better one is chosen with b + (1 - b)·a, else with (1 - b)·a; a pair
        # without ties is right when both orders are, and consistent when both are or neither is
        ahead, behind = bias + (1 - bias) * right, (1 - bias) * right
        accuracy, inconsistent, _, _ = figures.by_judge[place][""]
        assert accuracy.lower <= ahead * behind <= accuracy.upper
        apart = ahead * (1 - behind) + behind * (1 - ahead)
        assert inconsistent.lower <= apart <= inconsistent.upper
    difference = figures.apart[0, 1]
    assert difference.upper < 0
    assert difference.p < 0.001
    assert bool(figures.published) == (name == "judgebench")


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", FILES)
def test_intervals_hold_what_is_planted_as_often_as_they_say(name):
    chosen, judge = load_set(SHARED / FILES[name], MAPPINGS / f"{name}.yaml", 20), pairwise(FIRST)
    grader = grader_of(FIRST)
    bias, behind = grader.first_bias, (1 - grader.first_bias) * grader.accuracy
    ahead = bias + behind
    planted = (ahead * behind, ahead * (1 - behind) + behind * (1 - ahead), bias)
    draws = [
        benchmark_figures([judge], [judged(judge, chosen, draw)], chosen).by_judge[0][""][:3]
        for draw in range(20)
    ]
    for of_figure, truth in zip(zip(*draws, strict=True), planted, strict=True):
        # of 20 intervals of 95%, fewer than 17 hold the truth in 1.6% of cases
        assert sum(one.lower <= truth <= one.upper for one in of_figure) >= 17
        mean = fmean(one.estimate for one in of_figure)
        assert abs(mean - truth) < 3 * stdev(one.estimate for one in of_figure) / 20**0.5


def claims(tmp_path, pairs, **changes):
    """Sums of which one is right, the right one first in every other pair."""
    rows = []
    for n in range(pairs):
        right, wrong = f"Claim: {n} + 25 = {n + 25}", f"Claim: {n} + 25 = {n + 26}"
        first, second = (right, wrong) if n % 2 else (wrong, right)
        rows.append({"pair_id": n, "source": "even" if n % 4 < 2 else "odd", "question": "Which?",
                     "response_model": "m", "response_A": first, "response_B": second,
                     "label": "A>B" if n % 2 else "B>A"})  # fmt: skip
    rows[-1].update(changes)
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return load_set(file, MAPPINGS / "judgebench.yaml")


def test_a_planted_position_bias_is_told_from_mistakes(tmp_path):
    chosen, judge = claims(tmp_path, 200), pairwise("firstpick-1")
    figures = benchmark_figures([judge], [judged(judge, chosen)], chosen).by_judge[0]
    assert list(figures) == ["", "even", "odd"]
    _, _, bias, _ = figures[""]
    assert bias.lower <= grader_of("firstpick-1").first_bias <= bias.upper
    good = pairwise("good-1")
    _, _, none, _ = benchmark_figures([good], [judged(good, chosen)], chosen).by_judge[0][""]
    assert none.lower <= 0 <= none.upper


def test_published_figures_are_of_their_own_part(tmp_path):
    chosen = claims(tmp_path, 40, response_model="claude-3-5-sonnet-20240620")
    judge = pairwise("good-1")
    (((_, name), found),) = benchmark_figures(
        [judge], [judged(judge, chosen)], chosen
    ).published.items()
    assert name == "claude-3-haiku-20240307, claude-3-5-sonnet-20240620"
    assert found.n_items == 1


def test_failed_and_unreadable_orders_are_no_vote_and_no_pair_is_left_out(tmp_path):
    chosen, judge = claims(tmp_path, 5), pairwise("good-1")
    right = [float(one.better == "first") for one in chosen.known]
    said = [
        result_of(judge, chosen.items[0], "scored", right[0],
                  {"as_given": right[0], "swapped": right[0]}),
        result_of(judge, chosen.items[1], "failed", None, {"as_given": right[1]}),
        result_of(judge, chosen.items[2], "unparseable", None, {}),
        # right in the one order that could be read
        result_of(judge, chosen.items[3], "unparseable", None, {"swapped": right[3]}),
        None,
    ]  # fmt: skip
    accuracy, inconsistent, _, _ = benchmark_figures([judge], [said], chosen).by_judge[0][""]
    # The failed one was right in the order that did not fail.
    assert (accuracy.estimate, accuracy.n_items) == (3 / 4, 4)
    assert inconsistent.n_items == 1


def test_nothing_judged_is_no_figure(tmp_path):
    chosen, judge = claims(tmp_path, 4), pairwise("good-1")
    figures = benchmark_figures([judge], [[None] * 4], chosen).by_judge[0][""]
    assert {one.estimate for one in figures} == {None}


def test_a_bad_line_and_judges_that_do_not_fit_are_named(tmp_path):
    with pytest.raises(EvidenceError, match=r"set\.jsonl line 3: label is 'neither'"):
        claims(tmp_path, 3, label="neither")
    chosen = claims(tmp_path, 3)
    with pytest.raises(ConfigError, match="Use a judge of kind pairwise"):
        load_judges([REPOSITORY / "deployments/judges/notes.yaml"], chosen)
    with pytest.raises(ConfigError, match="there is 'answers' already"):
        load_judges([REPOSITORY / "deployments/judges/answers.yaml"] * 2, chosen)
    with pytest.raises(ConfigError, match="has no judge"):
        load_judges([], chosen)


def test_known_scores(tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(f'{{"id": {n}, "text": "t{n}", "score": {n}}}' for n in range(1, 6)))
    chosen = load_set(file, MAPPINGS / "scored.yaml")
    criterion = Criterion(name="worth", description="Its worth.")
    judge = RubricJudge(name="r", model="sim/good-1", task="Mark it.", criteria=(criterion,))
    # known 0, 25, 50, 75, 100 points; given 10 more each, and nothing for the last
    said = [result_of(judge, item, "scored", 25.0 * n + 10, {})
            for n, item in enumerate(chosen.items[:4])]  # fmt: skip
    said.append(result_of(judge, chosen.items[4], "unparseable", None, {}))
    error, bias, _, ranks = benchmark_figures([judge], [said], chosen).by_judge[0][""]
    assert (error.estimate, bias.estimate, ranks.estimate, error.n_items) == (10, 10, 1, 4)
    with pytest.raises(ConfigError, match="Use a judge of kind rubric"):
        check_judge(pairwise("good-1"), chosen)


def verdict_on(judge, results, chosen):
    """The verdict on a judge of all items of a benchmark."""
    [by_category] = benchmark_figures([judge], [results], chosen).by_judge
    checks = benchmark_checks(judge, results, by_category[""])
    made = sum(result is not None for result in results)
    return decide_benchmark(judge.name, checks, made, len(results)).verdict


def given(judge, chosen, right, turned=0):
    """The first `right` pairs are right in both orders, the next `turned` in one, others wrong."""
    found = []
    for place, item in enumerate(chosen.items):
        best = float(item.truth == "first")
        score = best if place < right else 1 - best
        orders = {"as_given": score, "swapped": score}
        if right <= place < right + turned:
            orders["as_given"] = 1 - score
            found.append(result_of(judge, item, "inconsistent", None, orders))
        else:
            found.append(result_of(judge, item, "scored", score, orders))
    return found


def test_the_verdict_on_a_judge_of_pairs(tmp_path):
    chosen, judge = claims(tmp_path, 40), pairwise("good-1")
    # Wilson's 95% interval of 36 of 40 is [0.77, 0.96], of 22 of 40 [0.40, 0.69], of 4 [0.04, 0.23]
    assert verdict_on(judge, given(judge, chosen, 36), chosen) is CalibrationVerdict.USE
    assert verdict_on(judge, given(judge, chosen, 22), chosen) is CalibrationVerdict.CANNOT_TELL
    assert verdict_on(judge, given(judge, chosen, 4), chosen) is CalibrationVerdict.DO_NOT_USE
    # the order decides on 10 of 40, above a fifth but not beyond doubt
    assert verdict_on(judge, given(judge, chosen, 30, 10), chosen) is CalibrationVerdict.CARE
    partly = [*given(judge, chosen, 36)[:39], None]
    assert verdict_on(judge, partly, chosen) is CalibrationVerdict.CANNOT_TELL
    assert verdict_on(judge, [None] * 40, chosen) is CalibrationVerdict.CANNOT_TELL
    unread = [result_of(judge, item, "unparseable", None, {}) for item in chosen.items]
    assert verdict_on(judge, unread, chosen) is CalibrationVerdict.DO_NOT_USE
