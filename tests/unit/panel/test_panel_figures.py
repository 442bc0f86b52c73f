"""What is said of a panel on known scores: errors, what goes together, families, escalation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr

from judge_gym.metrics.error_correlation import error_correlation
from judge_gym.panel.evaluating.escalating import (
    ALL,
    AS_FILED,
    GAIN,
    ONE,
    TWO,
    dearer,
    policies,
)
from judge_gym.panel.evaluating.figures import (
    ARBITER,
    DEMPSTER_SHAFER,
    MEAN,
    WEIGHTED,
    Scored,
    pairs,
    pooled_scores,
    second_family,
    votes,
    ways,
)
from judge_gym.panel.panel import Escalation


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def scored(errors, truth=3, families=None, document=None, arbiter=None):
    """Scores from 1 to 5 that are this far from the truth, units x raters."""
    table = np.array(errors, dtype=np.float64)
    known = np.broadcast_to(np.asarray(truth, dtype=np.float64), len(table)).copy()
    names = [f"rater_{letter}" for letter in "abcdefg"[: table.shape[1]]]
    return Scored(
        raters=names,
        families=families or names,
        scores=table + known[:, None],
        truth=known,
        document=np.arange(len(table)) if document is None else np.array(document),
        scale=np.arange(1.0, 6.0),
        arbiter=None if arbiter is None else np.array(arbiter, dtype=np.float64),
    )


def test_figures_by_hand(rng):
    given = scored([[1, -1], [1, 0], [0, 0], [1, -2]], truth=[2, 3, 4, 3], arbiter=[2, 3, 4, 2])
    by_name = {way.name: way for way in ways(given, rng)}
    first, mean = by_name["rater_a"], by_name[MEAN]
    assert (first.error.estimate, first.bias.estimate, first.accuracy.estimate) == (
        0.75,
        0.75,
        0.25,
    )
    # off by 0, 1/2, 0 and -1/2: halves round up, so the second is wrong and the fourth right
    assert (mean.error.estimate, mean.bias.estimate, mean.accuracy.estimate) == (0.25, 0, 0.75)
    assert mean.gained.estimate == 0.5  # than rater_a, who errs by as much as rater_b
    # κ of (2, 3, 4, 2) against (2, 3, 4, 3): observed 1/4; by chance the squares of
    # {2: 2, 3: 1, 4: 1} against {2: 1, 3: 2, 4: 1} are (4 + 8 + 1 + 1 + 4 + 2)/16
    assert by_name[ARBITER].kappa.estimate == pytest.approx(1 - (1 / 4) / (20 / 16))


def test_units_of_a_document_count_together(rng):
    # documents of one and of three units: means by document are 1 and 0, not 1/4 of a point
    given = scored([[1], [0], [0], [0]], document=[0, 1, 1, 1])
    (one, *_) = ways(given, rng)
    assert one.error.estimate == 0.5
    assert (one.error.n, one.error.n_items, one.accuracy.n_items) == (4, 2, 2)
    # twice the same unit in each document tells no more than once
    errors = np.array([[1, 1], [0, 1], [-1, 0], [2, 1], [0, -1], [1, 2]])
    once, twice = (
        scored(errors),
        scored(np.repeat(errors, 2, axis=0), document=np.repeat(range(6), 2)),
    )
    seeded = (np.random.default_rng(1), np.random.default_rng(1))
    (a,), (b,) = (pairs(side, rng) for side, rng in zip((once, twice), seeded, strict=True))
    assert a.correlation.estimate == pytest.approx(pearsonr(*errors.T).statistic)
    for name in ("estimate", "lower", "upper", "n_items"):
        assert getattr(a.correlation, name) == pytest.approx(getattr(b.correlation, name))
    same = error_correlation(*errors.T.astype(float), np.zeros(6), np.random.default_rng(1))
    for name in ("estimate", "lower", "upper"):
        assert getattr(same, name) == pytest.approx(getattr(a.correlation, name))


def test_votes_are_of_all_pairs():
    errors = np.array([[1, 1, 0], [0, 1, 0], [-1, 0, 1], [2, 1, 0], [0, -1, -1], [1, 2, 1]])
    given = scored(errors)
    mean, worth = votes(given)
    assert mean.estimate == pytest.approx(
        np.mean([pair.correlation.estimate for pair in pairs(given, np.random.default_rng(1))])
    )
    assert worth.estimate == pytest.approx(3 / (1 + 2 * mean.estimate))


def test_what_is_fitted_is_not_fitted_to_the_truth_it_is_judged_on():
    generator = np.random.default_rng(4)
    given = scored(generator.integers(-1, 2, size=(9, 3)))
    other = given.truth.copy()
    other[0] = 5
    before, after = pooled_scores(given), pooled_scores(replace(given, truth=other))
    for name in (DEMPSTER_SHAFER, WEIGHTED):
        assert before[name][0] == after[name][0]
    assert not np.array_equal(before[WEIGHTED], after[WEIGHTED])


def test_too_few_documents_are_a_reason(rng):
    by_name = {way.name: way for way in ways(scored([[1, 0], [0, 0], [1, 1]]), rng)}
    for name in (DEMPSTER_SHAFER, WEIGHTED):
        assert by_name[name].error.estimate is None
        assert "needs 4, and there are 3" in by_name[name].error.reason
    assert by_name[MEAN].error.estimate is not None


def test_a_second_family_by_hand():
    # two that err alike and one that errs the other way: own family 1, another family 0
    rows = [[1, 1, -1], [-1, -1, 1]] * 3
    as_given, unbiased = second_family(scored(rows, families=["x", "x", "y"]))
    assert (as_given.persona.estimate, as_given.family.estimate) == (1, 0)
    assert as_given.gained.estimate == 1
    # less the mean of the other five, 1/5 the other way, all errors are 6/5
    assert unbiased.persona.estimate == pytest.approx(1.2)
    assert unbiased.family.estimate == pytest.approx(0)
    # opposite biases cancel as they are, and add nothing once they are off
    as_given, unbiased = second_family(scored([[1, 1, -1]] * 6, families=["x", "x", "y"]))
    assert as_given.gained.estimate == 1
    assert unbiased.gained.estimate == 0


@pytest.mark.parametrize(
    ("families", "reason"),
    [("xyz", "no two raters are of one family"), ("xxx", "all raters are of one family, x")],
)
def test_without_such_a_pair_there_is_a_reason(families, reason):
    for one in second_family(scored([[1, 0, 0]] * 5, families=list(families))):
        assert one.gained.estimate is None
        assert one.gained.reason == f"not estimable, because {reason}"


def by_name(given, prices, error_price):
    table = np.broadcast_to(np.array(prices, dtype=np.float64), given.scores.shape)
    return {one.name: one for one in policies(given, table, error_price)}


def test_escalation_of_two_by_hand():
    # a errs by 1 and costs 1 cent, b never errs and costs 5; a point of error costs 10
    given = scored([[1, 0], [-1, 0]] * 4)
    found = by_name(given, (0.01, 0.05), 0.1)
    assert list(found) == [ONE, GAIN, ALL]
    for name in (ONE, GAIN):  # b alone: 5 < 1 + 10, and a takes no error away
        assert found[name].error.estimate == 0
        assert found[name].saved_reviews.estimate == 0.5
        assert found[name].saved_cost.estimate == pytest.approx(1 / 6)
        assert found[name].total.estimate == pytest.approx(0.05)
        assert found[name].loss.estimate == pytest.approx(-4 / 55)
    # without the own document a's bias is 1/7 and its variance (7 - 1/7)/6 + 1/12 = 103/84; its
    # weight beside b's 12 is 84/1320, and 8/7 of that 4/55
    assert found[ALL].error.estimate == pytest.approx(4 / 55)
    assert found[ALL].saved_cost.estimate == 0
    free = by_name(given, (0.01, 0.05), 0)
    assert free[GAIN].error.estimate == pytest.approx(8 / 7)  # errors cost nothing: the cheapest
    assert free[GAIN].saved_cost.estimate == pytest.approx(5 / 6)


def test_one_more_is_asked_only_where_they_disagree():
    # a and b err by themselves on 12 of 60, and then lie 2 apart; c never errs, and is dear.
    # On all documents c would take away less than a fifth of a point; on those 12 two thirds.
    hard = [[1, -1, 0], [-1, 1, 0]] * 2 + [[2, 0, 0], [-2, 0, 0], [0, 2, 0], [0, -2, 0]] * 2
    given = scored([*hard, *[[0, 0, 0]] * 48])
    found = by_name(given, (0.001, 0.001, 0.04), 0.1)
    assert found[ONE].saved_reviews.estimate == pytest.approx(2 / 3)
    for name in (TWO, GAIN):
        assert found[name].reviews.estimate == pytest.approx((48 * 2 + 12 * 3) / 60)
        assert found[name].saved_reviews.estimate == pytest.approx(1 - 132 / 180)
        assert found[name].loss.estimate == pytest.approx(0, abs=0.01)
    assert found[GAIN].saved_cost.estimate == pytest.approx(48 * 0.04 / (60 * 0.042))
    # dearer than what they could take away even there
    dear = by_name(given, (0.001, 0.001, 0.07), 0.1)
    assert dear[GAIN].reviews.estimate == 2
    # and worth it everywhere, were errors dear
    assert by_name(given, (0.001, 0.001, 0.04), 10)[GAIN].error.estimate < 0.05


def test_what_a_panel_file_says_is_beside_them():
    # a, b and c err by turns; a and b give the same score on four of eight
    given = scored([[1, 0, 0], [0, 0, 1], [0, 0, -1], [-1, 0, 0]] * 2)
    prices = np.full(given.scores.shape, 0.01)
    for within, reviews in ((0, 2.5), (1, 2)):
        found = policies(given, prices, 0.1, Escalation(first=2, within=within))
        (filed,) = (one for one in found if one.name == AS_FILED)
        assert filed.reviews.estimate == reviews
        assert filed.saved_cost.estimate == pytest.approx(1 - reviews / 3)


def test_what_a_policy_costs_more_than_the_least_is_paired_by_document():
    # b never errs: alone it costs 5 cents a document, and all cost 6 and 10 a point of error.
    given = scored([[1, 0], [-1, 0]] * 4)
    found = by_name(given, (0.01, 0.05), 0.1)
    more = dearer(found[ALL], found[ONE])
    assert more.estimate == pytest.approx(0.01 + 0.1 * 4 / 55)
    assert dearer(found[GAIN], found[ONE]).estimate == 0
    # Of documents one of which is dearer by 10 and seven cheaper by 1, that is not shown.
    one, other = (replace(found[ONE], totals=np.array(of)) for of in ([0.0] * 8, [10.0, *[-1] * 7]))
    assert dearer(other, one).estimate == pytest.approx(3 / 8)
    assert dearer(other, one).lower < 0 < dearer(other, one).upper


def test_a_price_that_is_not_known_is_a_reason():
    found = by_name(scored([[1, 0], [-1, 0]] * 4), (np.nan, 0.05), 0.1)
    assert "what reviews by rater_a cost is not known" in found[GAIN].saved_cost.reason
    free = by_name(scored([[1, 0], [-1, 0]] * 4), (0, 0), 0.1)
    assert free[ALL].error.estimate is not None
    assert free[ALL].saved_cost.reason == "not estimable, because the reviews cost nothing"
