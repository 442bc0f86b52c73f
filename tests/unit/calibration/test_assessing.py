"""From results to what is said of judges, the page and the logbook, on judges that are planted."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pytest

from judge_gym.calibration.checks import Result, span
from judge_gym.calibration.design import CalibrationDesign, load_calibration
from judge_gym.judges import CallableJudge, Item
from judge_gym.judges.calibrating.assessing import (
    assess,
    assess_together,
    recommended,
    refused_of,
)
from judge_gym.judges.calibrating.estimating import CalibrationFindings, escalation
from judge_gym.judges.calibrating.texts import changed_texts
from judge_gym.metrics.estimate import Estimate
from judge_gym.planted.editing import Expectation
from judge_gym.report.calibration import (
    after,
    append_entry,
    asking,
    before,
    calibration_report,
    contradiction_table,
    planned_changes,
)
from support.judge_results import a_result

REPEATS = 3
DESIGN = CalibrationDesign(
    name="planted", judges=("a.yaml",), items="items.jsonl", repeats=REPEATS,
    perturbations=("vague_ify", "tone", "shuffle_labels"), severities=(0.5, 1.0),
)  # fmt: skip
# between 0 and 29 figures in a text of as many sentences: worth what share has one
ITEMS = [
    Item(
        id=f"n{k}",
        text=" ".join(f"Site {n} gave <b>{n + 11} tonnes</b>." if n < k else "It rained there."
                      for n in range(30)),
        truth=3 + 3.2 * k if k % 3 else None,
    )
    for k in range(30)
]  # fmt: skip


def judge(name):
    return CallableJudge(name=name, function=f"planted:{name}")


def result(of, item, repeat, score):
    named = {"judge": of.key, "model": of.answered_by, "variant": item.variant}
    return a_result(item, score, **named, repeat=repeat, duration_s=0.1, simulated=True)


def results(of, texts, score):
    rng = np.random.default_rng(7)
    return {
        item.key: [result(of, item, n, score(item.text, rng)) for n in range(REPEATS)]
        for item in texts.items
    }


def good(text, rng):
    """Points for each figure that is stated; blind to how it is said."""
    stated = sum(f"{n + 11} tonnes" in text for n in range(30))
    return float(np.clip(3 + 3.2 * stated + rng.normal(0, 1), 0, 100))


def clustering(text, rng):
    return 75 + good(text, rng) / 20


def one_score_unless_vague(text, rng):
    return 75.0 if any(f"{n + 11} tonnes" in text for n in range(30)) else 30.0


def loves_noise(text, rng):
    return float(np.clip(good(text, rng) / 2 + 0.5 * text.count("!"), 0, 100))


@cache
def texts():
    return changed_texts(ITEMS, DESIGN)


def assessed(name, score):
    return assess(judge(name), texts(), results(judge(name), texts(), score), DESIGN)


@pytest.fixture(scope="module")
def all_assessed():
    return [assessed("clustering", clustering), assessed("good", good)]


def of(assessment):
    return {check.name: check.result for check in assessment.checks}


def test_a_good_judge_is_told_from_one_that_clusters(all_assessed):
    clusters, sees = (of(one) for one in all_assessed)
    assert sees["drop:vague_ify"] is sees["trend:vague_ify"] is Result.PASSES
    assert sees["invariant:tone"] is sees["discrimination"] is sees["band"] is Result.PASSES
    assert sees["invariant:shuffle_labels"] is Result.NOT_APPLICABLE
    assert clusters["band"] is clusters["entropy"] is Result.FAILS
    # it moves nothing by more than a few points, which is no merit
    assert clusters["invariant:tone"] is Result.NOT_APPLICABLE


def test_only_items_whose_doses_differ_tell_that_more_moves_further():
    """A text of one figure is the same at both doses, which count as one text in a plan, too."""
    same = [Item(id=f"s{k}", text=f"A site gave {k + 11} tonnes. It rained.") for k in range(9)]
    for originals, differing in ((same, 0), ([*same, *ITEMS[20:]], 10)):
        made = changed_texts(originals, DESIGN)
        given = results(judge("good"), made, good)
        checks = {one.name: one for one in assess(judge("good"), made, given, DESIGN).checks}
        trend = checks["trend:vague_ify"]
        assert (trend.result is Result.PASSES) == (differing > 0)
        assert (trend.result is Result.NOT_APPLICABLE) == (differing == 0)
        assert trend.estimate.n_items == differing
        assert f"9 of {9 + differing} items left out" in trend.reason
        assert checks["drop:vague_ify"].estimate.n_items == len(originals)
        plan = planned_changes(DESIGN, made)
        *parts, total = [row.cells[plan.columns.index("texts to judge")] for row in plan.rows]
        assert int(total) == sum(map(int, parts)) == len(made.items)
        again = int(plan.rows[-1].cells[plan.columns.index("same as another")])
        assert int(total) + again == len(originals) + sum(map(len, made.changed.values()))


def test_a_judge_of_one_score_that_an_edit_moves_far_is_credited_with_what_moves_nothing():
    """All originals but the first, which has no figure, score 75; without figures, 30."""
    checks = {one.name: one for one in assessed("one_score", one_score_unless_vague).checks}
    assert checks["band"].result is Result.FAILS
    assert (checks["drop:vague_ify"].result, checks["drop:vague_ify"].estimate.estimate) == (
        Result.PASSES,
        45.0,
    )
    assert checks["invariant:tone"].estimate.estimate == 0
    assert checks["invariant:tone"].result is Result.PASSES


def test_a_judge_of_one_score_that_moves_where_it_should_not_fails_there():
    found = of(assessed("loud", lambda text, _: 30.0 if "!" in text else 75.0))
    assert found["band"] is found["invariant:tone"] is Result.FAILS


def test_a_judge_stopped_by_its_budget_is_told_what_is_missing_and_not_to_use_other_texts():
    """Six originals are judged, three times each, and nothing else."""
    some, complete = judge("stopped"), results(judge("stopped"), texts(), good)
    judged = {item.key for item in ITEMS[:6]}
    said = {key: of_item if key in judged else [] for key, of_item in complete.items()}
    checks = {check.name: check for check in assess(some, texts(), said, DESIGN).checks}
    vague = texts().changed["vague_ify", 1.0]
    # The first text has no figure that could become vague.
    assert [text.original for text in vague] == list(range(1, 30))
    for name, expected in (("drop:vague_ify", 29 * 2), ("trend:vague_ify", 29 * 3)):
        missing = checks[name]
        counts = f"judgements are missing: {5 * REPEATS} of {expected * REPEATS} exist"
        assert missing.result is Result.CANNOT_TELL
        assert missing.reason == counts
        assert counts in missing.estimate.reason
    assert f"judgements are missing: {6 * REPEATS} of {30 * REPEATS}" in checks["bins"].reason
    undecided = [one for one in checks.values() if one.result is Result.CANNOT_TELL]
    assert {one.action for one in undecided} == {missing.action}
    # What no judgement would change is still said of the texts.
    assert checks["invariant:shuffle_labels"].result is Result.NOT_APPLICABLE
    assert "leave it out" in checks["invariant:shuffle_labels"].action


def test_texts_whose_every_judgement_failed_are_not_blamed_for_it():
    failed = results(judge("failed"), texts(), lambda *_: None)
    check = next(
        one
        for one in assess(judge("failed"), texts(), failed, DESIGN).checks
        if one.name == "drop:vague_ify"
    )
    assert check.result is Result.NOT_APPLICABLE
    assert "of 29 changed texts none has a score" in check.reason
    assert "Use texts" not in check.action


def test_a_judge_that_loves_exclamations_is_found_out():
    found = of(assessed("loud", loves_noise))
    assert found["invariant:tone"] is Result.FAILS
    assert found["drop:vague_ify"] is Result.PASSES


def test_a_file_may_expect_a_rise(tmp_path):
    for name in ("a.yaml", "i.jsonl"):
        (tmp_path / name).touch()
    file = tmp_path / "loud.yaml"
    file.write_text(
        "name: loud\njudges: [a.yaml]\nitems: i.jsonl\nseverities: [0.5, 1.0]\n"
        "perturbations: [tone]\nexpectations: {tone: rise}\n"
    )
    design = load_calibration(file)
    louder = changed_texts(ITEMS, design)
    assert {severity for _, severity in louder.changed} == {0.5, 1.0}
    found = {
        name: assess(judge(name), louder, results(judge(name), louder, score), design)
        for name, score in (("loud", loves_noise), ("good", good))
    }
    assert of(found["loud"])["rise:tone"] is of(found["loud"])["trend:tone"] is Result.PASSES
    # what stays put does not rise, and the cases are those that fell the furthest
    unmoved = next(check for check in found["good"].checks if check.name == "rise:tone")
    assert unmoved.result is Result.FAILS
    assert "does not reward tone" in unmoved.action
    cases = found["good"].cases
    assert [case.surprise for case in cases] == sorted(c.before - c.after for c in cases)[::-1]
    whole = replace(report([found["good"]]), design=design, texts=louder, costs=[0.0])
    page = calibration_report(whole).save(tmp_path).path.read_text()
    assert "tone raises the score" in page
    assert "(expected: rise)" in page


def test_the_recommended_judge_is_not_the_one_that_moves_nothing(all_assessed):
    place, why = recommended(all_assessed, [0.0, 9.0])
    assert place == 1
    assert why.startswith("Use good")
    place, why = recommended(all_assessed[:1], [0.0])
    assert place is None
    assert "does not agree with people's labels" in why


def test_the_same_results_give_the_same_figures(all_assessed):
    again = assessed("good", good)
    assert again.checks == all_assessed[1].checks


def test_known_scores_correct_the_mean(all_assessed):
    corrected = all_assessed[1].truth[0]
    assert corrected.estimate == pytest.approx(50, abs=1)
    assert len(all_assessed[1].calibrated.truth) == len(all_assessed[1].calibrated.at)
    # ten of thirty texts have no label
    plan = all_assessed[1].next_labels
    assert plan.counts.sum() == 10
    assert plan.allocated <= plan.at_random <= plan.now


def test_judgements_without_a_score_are_left_out_and_counted():
    def sometimes(text, rng):
        return None if rng.random() < 0.3 else good(text, rng)

    found = assessed("mumbling", sometimes)
    assert found.statuses["failed"] > 30
    assert found.statuses.total() == REPEATS * len(texts().items)
    assert len(found.scores) < REPEATS * len(ITEMS)
    nothing = assessed("silent", lambda text, rng: None)
    readable, *others = nothing.checks
    assert readable.result is Result.FAILS
    assert {check.result for check in others} == {Result.NOT_APPLICABLE}
    assert nothing.cases == []


def test_judges_are_compared_on_the_originals(all_assessed):
    judges = [one.judge for one in all_assessed]
    said = [results(judges[0], texts(), clustering), results(judges[1], texts(), good)]
    checks = {check.name: check for check in assess_together(judges, texts(), said, DESIGN)}
    assert checks["rank agreement: clustering and good"].result is Result.PASSES
    assert checks["alpha"].result is Result.FAILS
    assert assess_together(judges[:1], texts(), said[:1], DESIGN) == []


def test_judges_are_not_compared_until_all_judgements_exist(all_assessed):
    judges = [one.judge for one in all_assessed]
    whole, part = (results(judge, texts(), clustering) for judge in judges)
    few = {item.key for item in texts().originals[:3]}
    for judged in (few, set()):
        some = {key: part[key] if key in judged else [] for key in part}
        found = assess_together(judges, texts(), [whole, some], DESIGN)
        assert {check.result for check in found} == {Result.CANNOT_TELL}
        assert all("judgements are missing" in check.reason for check in found)
        assert found[0].question.startswith("the scores of clustering, good can")
        costs = [{item.key: 0.0 for item in texts().items}] * 2
        assert escalation(judges, texts(), [whole, some], costs, DESIGN) == []
    kept = [replace(one, statuses=one.statuses - Counter(scored=1)) for one in all_assessed[1:] * 2]
    stopped = replace(report(all_assessed), assessments=kept, policies=[])
    assert asking(stopped) == "Ways to ask two judges are not compared: judgements are missing."


SCORES = {"clustering": clustering, "good": good}


def report(all_assessed):
    place, why = recommended(all_assessed, [0.0, 9.0])
    return CalibrationFindings(
        design=DESIGN, texts=texts(), assessments=all_assessed, together=[],
        policies=escalation(
            [one.judge for one in all_assessed], texts(),
            [results(one.judge, texts(), SCORES[one.judge.name]) for one in all_assessed],
            [{item.key: float("nan") for item in texts().items}] * 2, DESIGN,
        ) if len(all_assessed) > 1 else [],
        costs=[0.0, float("nan")],
        chosen=place, why=why, written=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip


def test_what_a_second_judge_costs_and_gains(all_assessed):
    # 20 labels between 6.2 and 95.8; the clustering judge gives 75 and a twentieth of them
    found = {one.name: one for one in report(all_assessed).policies}
    known = [3 + 3.2 * n for n in range(30) if n % 3]
    near = sum(abs(75 + label / 20 - label) <= 10 for label in known)
    assert found["clustering alone"].accuracy.estimate == near / len(known)
    assert found["good alone"].accuracy.estimate == 1
    half = found["clustering, then good on the 50% in most doubt"]
    # nobody knows what a function of one's own costs
    assert (half.asked_twice.estimate, half.cost.estimate) == (0.5, None)
    assert asking(report(all_assessed[:1])) == ""
    # of two that are right equally often neither is called the best
    tied = replace(report(all_assessed), assessments=all_assessed[1:])
    assert "cheaper than good alone is not known" in asking(tied)
    assert "the first judge of the file stands for the cheap one" in asking(tied)
    of_good = next(one for one in tied.policies if one.name == "good alone")
    twin = replace(of_good, name="twin alone", first="twin")
    said = asking(replace(tied, policies=[twin, *tied.policies]))
    assert "twin and good meet equally many labels, the most: 20 of 20" in said


def test_a_judge_that_is_refused_is_no_way_to_ask(all_assessed):
    assert refused_of(all_assessed) == ["clustering"]
    judges = [one.judge for one in all_assessed]
    said = [results(judges[0], texts(), clustering), results(judges[1], texts(), good)]
    errors = "errors: clustering and good"
    before, after = (
        {one.name: one for one in assess_together(judges, texts(), said, DESIGN, refused)}[errors]
        for refused in ([], ["clustering"])
    )
    assert before.result is not Result.NOT_APPLICABLE
    assert after.result is Result.NOT_APPLICABLE
    assert after.estimate == before.estimate
    # the one judge that is left is compared with no other, and none is where all are refused
    found = replace(report(all_assessed), policies=[])
    assert asking(found).startswith("Only good is not refused")
    refused = replace(found, assessments=all_assessed[:1] * 2)
    assert asking(refused).startswith("None of these judges is recommended")
    # beside two others it is named as left out
    three = replace(report(all_assessed), assessments=[*all_assessed, all_assessed[1]])
    assert asking(three).endswith("not to be used: clustering.")


def test_what_arithmetic_leaves_over_is_shown_as_0():
    of = Estimate("score_drop", 8.67e-17, -8.3e-17, 0.0123, 9, 9, unit="points")
    assert span(of) == "0 points, 95% interval 0 to 0.0123"


def test_cases_show_what_was_changed(all_assessed):
    case = all_assessed[1].cases[0]
    assert len(all_assessed[1].cases) == 20
    assert case.surprise == max(one.surprise for one in all_assessed[1].cases)
    old, new = before(case), after(case)
    assert "".join(piece.text for piece in old) == case.original.text
    assert "".join(piece.text for piece in new) == case.changed.item.text
    kept = ["".join(p.text for p in side if not p.changed) for side in (old, new)]
    assert kept[0] == kept[1]
    drops = [one for one in all_assessed[1].cases if one.expectation is Expectation.DROP]
    assert all(one.surprise == one.after - one.before for one in drops)


def test_the_page_shows_texts_as_text(all_assessed, tmp_path):
    page = calibration_report(report(all_assessed)).save(tmp_path).path.read_text()
    assert "<b>11 tonnes" not in page
    assert "&lt;b&gt;" in page
    assert "SIMULATED" in page
    assert "Use good" in page
    # a cell shows d_z once
    assert not any(cell.count("d_z") > 1 for cell in page.split("<td"))
    assert "labelled texts are a random sample" in page
    assert "For reading only: it has no interval" in page
    assert ">unknown<" in page
    assert page.count("<svg") == 2 * 3
    assert "://" not in page.replace("http://www.w3.org", "")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        f"calibration-planted{end}" for end in (".html", ".json", "-checks.csv", "-cases.csv")
    }
    rows = (tmp_path / "calibration-planted-checks.csv").read_text().splitlines()
    assert len(rows) == 1 + sum(len(one.checks) for one in all_assessed)


def test_reasons_that_contradict_the_score_are_counted_and_shown():
    slips = judge("slips")
    said = results(slips, texts(), good)
    first = texts().originals[-1].key
    said[first] = [
        one.model_copy(update={"reason": "I give it a score of 3."}) for one in said[first]
    ]
    found = assess(slips, texts(), said, DESIGN)
    assert {one.result.item_key for one in found.contradictions} == {first}
    assert len(found.contradictions) == REPEATS
    table = contradiction_table(found)
    assert len(table.rows) == REPEATS
    assert f"found {REPEATS} of {found.statuses.total()} judgements" in table.explanation


def test_the_logbook_is_appended_once(all_assessed, tmp_path):
    book = tmp_path / "LOGBOOK.md"
    assert append_entry(report(all_assessed), book)
    first = book.read_text()
    assert "## 2026-01-02 planted" in first
    assert "- Decided: Use good" in first
    assert "Did not hold: agreement, band, entropy" in first
    assert not append_entry(report(all_assessed), book)
    assert append_entry(report(all_assessed[:1]), book)
    assert book.read_text().startswith(first)
