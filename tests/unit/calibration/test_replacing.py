"""Whether a new judge may replace an old one, and what asking a second one costs and gains."""

from dataclasses import replace

import numpy as np
import pytest

from judge_gym.calibration.checks import Margins, Result, span
from judge_gym.calibration.comparisons import compare_judges, compare_verdicts
from judge_gym.calibration.escalating import MeasuredJudge, policies, sufficient, undecided
from judge_gym.judges import CallableJudge, Item, Scale
from judge_gym.judges.calibrating.comparing import compare
from judge_gym.metrics.estimate import ALL_AGREE
from support.judge_results import a_result

MARGINS = Margins()


def test_a_correlation_near_one_is_no_licence(rng):
    old = rng.uniform(20, 70, 60)
    shifted = compare_judges(old, old + 20 + rng.normal(0, 1, 60), MARGINS, rng)
    assert shifted.result is Result.FAILS
    named = {figure.metric: figure.estimate for figure in shifted.figures}
    assert named["rank_agreement"] > 0.9
    assert named["concordance"] < 0.7
    assert "may not replace" in shifted.sentence


def test_a_judge_that_scores_alike_may_replace_it(rng):
    old = rng.uniform(20, 70, 60)
    alike = compare_judges(old, old + rng.normal(0, 4, 60), MARGINS, rng)
    assert alike.result is Result.PASSES
    assert [check.name for check in alike.checks] == ["bias", "limits"]


def test_labels_tell_whether_the_new_judge_agrees_better():
    scale = Scale(lowest=0, highest=10)
    old, new = (CallableJudge(name=n, function=f"grades:{n}", scale=scale) for n in ("old", "new"))
    labels, scored = [2, 4, 6, 8], [4, 4, 6, 6]
    items = [Item(id=str(n), text=f"Text {n}.", truth=label) for n, label in enumerate(labels)]
    results = (
        [a_result(item, float(score)) for item, score in zip(items, scored, strict=True)],
        [a_result(item, float(item.truth)) for item in items],
    )
    found = {
        one.metric: one for one in compare((old, new), items, results, MARGINS).replacement.figures
    }
    # Concordance of the old: 2 · cov / (var + var + 0²) = 2 · 2 / (5 + 1); of the new it is 1.
    assert found["agreement_gain"].estimate == pytest.approx(1 - 2 / 3)
    unlabelled = [item.model_copy(update={"truth": None}) for item in items]
    figures = compare((old, new), unlabelled, results, MARGINS).replacement.figures
    assert "agreement_gain" not in {one.metric for one in figures}


def test_a_few_items_do_not_tell(rng):
    few = compare_judges(np.array([20.0, 50, 70]), np.array([30.0, 45, 78]), MARGINS, rng)
    assert few.result is Result.CANNOT_TELL
    assert "more items" in few.checks[1].action
    assert "do not tell" in few.sentence


@pytest.mark.parametrize(
    ("items", "margin", "result"),
    [
        (72, 5.0, Result.PASSES),
        (71, 5.0, Result.CANNOT_TELL),
        # 1 - 0.025^(1/200) = 1.8%
        (200, 2.0, Result.PASSES),
        (200, 1.8, Result.CANNOT_TELL),
        (10, 30.9, Result.CANNOT_TELL),
    ],
)
def test_equal_scores_bound_what_other_texts_may_differ_by(rng, items, margin, result):
    """0.95^n < 0.025 from n = ln 0.025 / ln 0.95 = 71.9 on."""
    old = rng.choice([0.0, 25, 50, 75, 100], items)
    found = compare_judges(old, old, Margins(replacement_bias=margin), rng)
    assert found.result is result
    bias, limits = (check.estimate for check in found.checks)
    assert (1 - bias.upper / 100) ** items == pytest.approx(0.025)
    assert bias.lower == -bias.upper
    assert (limits.lower, limits.upper) == ((0, 0) if items >= 72 else (0, 100))
    if items < 72:
        assert found.checks[1].needed == 72
        assert "72" in found.checks[1].action
    for check in found.checks:
        assert "quality" not in check.action


@pytest.mark.parametrize(("moved", "said"), [(0.0, ALL_AGREE), (25.0, "")])
def test_kappa_without_an_interval_says_why(rng, moved, said):
    old = rng.choice([0.0, 25, 50, 75], 40)
    new = old.copy()
    new[:20] += moved
    found = compare_judges(old, new, Margins(), rng)
    (kappa,) = (one for one in found.figures if one.metric == "cohens_kappa_quadratic")
    assert kappa.because == said
    assert (kappa.lower is None) is bool(said)
    if said:
        assert kappa.estimate == 1.0
        assert said in span(kappa)


def test_items_needed_where_none_moves_would_do(rng):
    old = rng.uniform(0, 100, 8)
    bias, _ = compare_judges(old, old, Margins(replacement_bias=10), rng).checks
    # ln 0.025 / ln 0.9 = 35.01
    assert bias.needed == 36
    many = rng.uniform(0, 100, 36)
    assert compare_judges(many, many, Margins(replacement_bias=10), rng).checks[0].result is (
        Result.PASSES
    )


def test_an_old_judge_that_never_varies_is_not_called_the_truth(rng):
    found = compare_judges(np.full(40, 75.0), rng.uniform(0, 100, 40), Margins(), rng)
    (kappa,) = (one for one in found.figures if one.metric == "cohens_kappa_quadratic")
    assert kappa.estimate is None
    assert "old judge" in kappa.reason
    assert "truth" not in kappa.reason


def test_the_worse_limit_counts_and_the_furthest_come_first(rng):
    old = np.full(40, 80.0)
    new = old - rng.uniform(0, 50, 40)
    found = compare_judges(old, new, MARGINS, rng, shown=3)
    limit = found.checks[1].estimate
    assert limit.estimate == pytest.approx(-found.figures[0].estimate)
    assert limit.lower < limit.estimate < limit.upper
    gaps = np.abs(new - old)
    assert gaps[list(found.furthest)].tolist() == sorted(gaps, reverse=True)[:3]


@pytest.mark.parametrize(
    ("moved", "furthest"), [([0, 0, 0, 0], ()), ([0, 5, 0, -25], (3, 1)), ([3, 3, 3, 3], (0, 1, 2))]
)
def test_items_that_are_scored_alike_are_not_among_the_furthest(rng, moved, furthest):
    old = np.array([50.0, 60, 70, 40])
    assert compare_judges(old, old + np.array(moved), MARGINS, rng, shown=3).furthest == furthest


def verdicts(differ, of, labels=None):
    """Points of two judges of verdicts on `of` items, of which these differ; labels as the old."""
    old = np.where(np.arange(of) % 2, 100.0, 0.0)
    new = old.copy()
    new[list(differ)] = 100 - new[list(differ)]
    truth = old if labels else np.full(of, np.nan)
    return old, new, truth


def test_verdicts_are_counted_and_have_no_limits_of_agreement(rng):
    old, new, truth = verdicts((3, 10, 20), 30, labels=True)
    found = compare_verdicts(old, new, truth, MARGINS, rng)
    assert found.result is Result.CANNOT_TELL
    [check] = found.checks
    # Wilson's interval of 3 of 30.
    assert check.estimate.estimate == pytest.approx(0.1)
    assert check.estimate.lower == pytest.approx(0.0346, abs=1e-4)
    assert check.estimate.upper == pytest.approx(0.2562, abs=1e-4)
    kappa, right = found.figures
    # 27 of 30 alike, 15 and 16 of the upper verdict by either: expected 0.5.
    assert kappa.estimate == pytest.approx((0.9 - 0.5) / 0.5)
    assert right.estimate == pytest.approx(-0.1)
    assert right.p == pytest.approx(0.25)  # three changes, all one way: 2 / 2³
    assert found.furthest == (3, 10, 20)


@pytest.mark.parametrize(
    ("differ", "result"), [((), Result.PASSES), (range(0, 200, 4), Result.FAILS)]
)
def test_a_judge_of_verdicts_may_replace_one_that_it_agrees_with(rng, differ, result):
    found = compare_verdicts(*verdicts(differ, 200), MARGINS, rng)
    assert found.result is result
    assert [figure.metric for figure in found.figures] == ["cohens_kappa"]


def asked(judge, family, right, cost, doubt=None, answer=None):
    right = np.array(right, dtype=bool)
    return MeasuredJudge(
        judge, family, np.asarray(right if answer is None else answer, dtype=float), right,
        np.full(len(right), cost), np.zeros(len(right)) if doubt is None else np.array(doubt),
    )  # fmt: skip


def test_policies_by_hand():
    # the cheap judge errs on its two items in most doubt, and a second family sees one of them
    cheap = asked("cheap", "a", [1] * 6 + [0, 0], 1.0, doubt=[0, 0, 0, 0, 0, 0, 9, 8])
    strong = asked("strong", "b", [1] * 8, 10.0)
    other = asked("other", "c", [1] * 6 + [0, 1], 2.0)
    found = {one.name: one for one in policies(cheap, strong, [other])}
    assert next(iter(found)) == "cheap alone"
    quarter = found["cheap, then strong on the 25% in most doubt"]
    assert (quarter.accuracy.estimate, quarter.cost.estimate) == (1, 1 + 2 * 10 / 8)
    assert quarter.asked_twice.estimate == 0.25
    differ = found["cheap and other, then strong where they differ"]
    assert (differ.accuracy.estimate, differ.cost.estimate) == (7 / 8, 1 + 2 + 10 / 8)
    assert found["strong alone"].loss.upper == 0
    assert found["cheap alone"].loss.estimate == 0.25


def test_a_cost_that_is_not_known_counts_as_dear():
    dear = asked("dear", "a", [1] * 8, np.nan)
    strong = asked("strong", "b", [1] * 8, 10.0)
    found = policies(strong, dear)
    costs = {one.name: one.cost.estimate for one in found}
    assert (next(iter(costs)), costs["dear alone"]) == ("strong alone", None)
    assert costs["strong, then dear on the 25% in most doubt"] is None


def test_a_judge_is_no_second_opinion_on_itself():
    cheap = asked("cheap", "a", [1, 0, 1], 1.0)
    again = asked("cheap again", "a", [0, 1, 1], 1.0)
    strong = asked("strong", "b", [1, 1, 1], 5.0)
    names = [one.name for one in policies(cheap, strong, [again])]
    assert not any("cheap and cheap again" in name for name in names)


def test_the_cheapest_policy_that_loses_little():
    rng = np.random.default_rng(2)
    right = rng.random(300) < 0.95
    cheap = asked("cheap", "a", right, 1.0, doubt=np.where(right, 0.0, 1.0))
    strong = asked("strong", "b", np.ones(300), 10.0)
    found = policies(cheap, strong)
    assert sufficient(found, 0.02).name == "cheap, then strong on the 10% in most doubt"
    assert sufficient(found, 0.2).name == "cheap alone"
    # eight items cannot show that so little is lost, though none is
    few = policies(asked("cheap", "a", [1] * 8, 1.0), asked("strong", "b", [1] * 8, 10.0))
    assert sufficient(few, 0.02).loss.upper == 0
    assert undecided(few, 0.02) is None
    strays = asked("cheap", "a", [1] * 7 + [0], 1.0, doubt=[0] * 7 + [9])
    one, decides = undecided(policies(strays, asked("strong", "b", [1] * 8, 10.0)), 0.05)
    assert one.name == "cheap, then strong on the 10% in most doubt"
    # Wilson's upper end of 0 of n is z² / (n + z²)
    assert "about 73 would show it" in decides
    assert undecided(found, 0.2) is None
    with pytest.raises(ValueError, match="different items"):
        policies(cheap, replace(strong, cost=np.ones(2)))
