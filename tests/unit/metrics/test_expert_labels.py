"""Agreement with labels, errors that correlate, and scores corrected by labels."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from judge_gym.metrics.error_correlation import error_correlation
from judge_gym.metrics.expert_labels import (
    Labelled,
    Screened,
    isotonic_calibration,
    labels_difference,
    labels_mean,
    prediction_powered_difference,
    prediction_powered_mean,
    rogan_gladen,
    rogan_gladen_difference,
)
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.metrics.stratified_labels import (
    in_many_rows,
    next_labels,
    stratified_difference,
    stratified_mean,
)

RNG_SEED = 3


def test_agreement_is_kappa_of_verdicts_and_its_quadratic_form_of_steps(rng):
    for steps in (2, 5):
        labels = rng.integers(0, steps, 40).astype(float)
        judged = np.where(rng.random(40) < 0.7, labels, rng.integers(0, steps, 40))
        found = label_agreement(labels, judged)
        # Cohen 1968: 1 less the mean squared distance over that of all pairs of both sides
        by_chance = np.subtract.outer(labels, judged) ** 2
        kappa = 1 - ((labels - judged) ** 2).mean() / by_chance.mean()
        assert found.estimate == pytest.approx(kappa)
        assert found.lower <= found.estimate <= found.upper


def test_a_judge_that_never_moves_agrees_by_chance(rng):
    labels = np.repeat([0.0, 100], 20)
    found = label_agreement(labels, np.full(40, 100.0))
    assert found.estimate == 0
    assert found.lower < 0 < found.upper < 0.4
    assert "all labels are the same" in label_agreement(np.ones(9), np.ones(9)).reason


def test_no_miss_among_few_labels_leaves_room():
    labels = np.tile([0.0, 100], 15)
    found = label_agreement(labels, labels)
    # Wilson's upper end of 0 of 30 is 0.1135; half the pairs differ by chance
    assert (found.estimate, found.upper) == (1, 1)
    assert found.lower == pytest.approx(1 - 0.1135 / 0.5, abs=1e-3)


@pytest.mark.parametrize(("prevalence", "noise"), [(0.5, 0.05), (0.2, 0.05), (0.5, 0.2)])
def test_the_interval_of_agreement_is_not_above_the_truth(prevalence, noise):
    # κ of a judge that errs with this chance whatever the label
    says = prevalence * (1 - noise) + (1 - prevalence) * noise
    chance = prevalence * says + (1 - prevalence) * (1 - says)
    kappa = (1 - noise - chance) / (1 - chance)
    rng = np.random.default_rng(RNG_SEED)
    above = 0
    for _ in range(80):
        labels = (rng.random(30) < prevalence) * 100.0
        judged = np.where(rng.random(30) < noise, 100 - labels, labels)
        found = label_agreement(labels, judged)
        above += found.lower is not None and found.lower > kappa
    # 2.5% of 80 sets; the interval of concordance alone lies above in 4 to 15%
    assert above <= 5


@pytest.mark.parametrize("shape", ["compressed", "cut at the top"])
def test_judges_that_use_a_part_of_the_scale_do_not_err_alike_by_that(shape):
    rng = np.random.default_rng(RNG_SEED)
    held = 0
    for _ in range(40):
        truth = rng.choice(5, 30) * 25.0
        used = 60 + 0.2 * truth if shape == "compressed" else np.minimum(1.3 * truth + 20, 100)
        one, other = used + rng.normal(0, 3, (2, 30))
        assert np.corrcoef(one - truth, other - truth)[0, 1] > 0.8
        found = error_correlation(one, other, truth, rng)
        held += found.lower <= 0 <= found.upper
    assert held >= 35


def test_errors_that_are_shared_at_the_same_truth_are_seen(rng):
    truth, shared = rng.choice(5, 60) * 25.0, rng.normal(0, 5, 60)
    one, other = truth + shared + rng.normal(0, 1, (2, 60))
    assert error_correlation(one, other, truth, rng).lower > 0.8


def five_steps(rng, count):
    truth = rng.choice(5, count, p=[0.1, 0.15, 0.25, 0.3, 0.2]) * 25.0
    return truth, np.clip(truth + rng.choice([-25, 0, 25], count, p=[0.15, 0.6, 0.25]), 0, 100)


def test_a_mean_corrected_by_labels_holds_the_truth_wherever_it_is_shown():
    rng = np.random.default_rng(RNG_SEED)
    shown, held = 0, 0
    for _ in range(300):
        labels, judged = five_steps(rng, 20)
        found = prediction_powered_mean(labels, judged, five_steps(rng, 100)[1], bounds=(0, 100))
        if found.lower is not None:
            shown += 1
            held += found.lower <= 58.75 <= found.upper
    assert shown > 200
    assert held / shown >= 0.93


def test_a_mean_is_not_shown_of_few_labels_or_of_labels_that_crowd():
    rng = np.random.default_rng(RNG_SEED)
    labels, judged = five_steps(rng, 19)
    few = prediction_powered_mean(labels, judged, judged)
    assert "needs 20 labelled items and 2 others, and there are 19 and 19: 1 labelled more" in (
        few.reason
    )
    crowded = np.array([100.0] * 28 + [0, 25])
    found = prediction_powered_mean(crowded, crowded, np.full(50, 100.0))
    assert "30 labels crowd at one end" in found.reason
    # Cochran's rule: more than 25 * skewness², here of 28 at 5.83, -94.17 and -69.17 from the mean
    needed = math.floor(25 * stats.skew(crowded) ** 2) + 1
    assert needed > 30
    assert f"{needed - 30} more like them would do; there are 50 others" in found.reason


def test_a_share_by_hand_is_that_of_four_more_labels():
    """A judge that says the same of all: the interval is Agresti and Coull's with t for z."""
    labels = np.r_[np.zeros(2), np.ones(38)]
    found = prediction_powered_mean(labels, np.ones(40), np.ones(60), bounds=(0, 1))
    share = 40 / 44
    half = stats.t.ppf(0.975, 42) * (share * (1 - share) / 42) ** 0.5
    assert found.estimate == pytest.approx(0.95)
    assert (found.lower, found.upper) == pytest.approx((share - half, share + half))
    of_points = prediction_powered_mean(
        labels * 100, np.full(40, 100.0), np.full(60, 100.0), bounds=(0, 100)
    )
    assert of_points.lower == pytest.approx(found.lower * 100)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
@pytest.mark.parametrize(("sensitivity", "specificity"), [(0.9, 0.8), (0.98, 0.5), (0.99, 0.95)])
def test_a_share_near_one_has_an_interval_that_holds_it(share, sensitivity, specificity):
    rng = np.random.default_rng(RNG_SEED)

    def drawn(at: float) -> Labelled:
        label = (rng.random(230) < at).astype(float)
        passed = np.where(label == 1, sensitivity, 1 - specificity)
        judge = (rng.random(230) < passed).astype(float)
        return Labelled(label[:30], judge[:30], judge[30:])

    sets = [drawn(share) for _ in range(400)]
    means = [
        prediction_powered_mean(of.expert, of.judge, of.judge_alone, bounds=(0, 1)) for of in sets
    ]
    shown, held = coverage(means, share)
    assert shown == 400
    assert held >= 0.93
    apart = [prediction_powered_difference(of, drawn(0.8), scale=(0, 1)) for of in sets]
    shown, held = coverage(apart, 0.8 - share)
    assert shown == 400
    assert held >= 0.93


def test_labels_alone_have_the_interval_of_a_judge_that_says_nothing():
    labels = np.r_[np.zeros(2), np.ones(38)] * 100
    alone = labels_mean(labels, bounds=(0, 100))
    without = prediction_powered_mean(labels, np.zeros(40), np.zeros(60), bounds=(0, 100))
    assert (alone.estimate, alone.lower, alone.upper) == pytest.approx(
        (without.estimate, without.lower, without.upper)
    )
    of_all = labels_mean(np.full(40, 100.0), bounds=(0, 100))
    assert (of_all.estimate, of_all.upper) == (100, 100)
    assert 85 < of_all.lower < 95  # 3/n is 7.5
    graded = np.arange(12.0)
    found = labels_mean(graded, bounds=(0, 100))
    half = stats.sem(graded) * stats.t.ppf(0.975, 11)
    assert found.upper - found.estimate == pytest.approx(half)


@pytest.mark.parametrize(("share", "steps"), [(0.95, 2), (0.95, 11), (0.8, 2), (0.5, 5)])
def test_a_share_of_labels_drawn_within_scores_is_held(share, steps):
    rng = np.random.default_rng(RNG_SEED)
    found = []
    for _ in range(300):
        label = (rng.random(400) < share).astype(float)
        judge = np.round(np.where(rng.random(400) < 0.8, label, rng.random(400)) * (steps - 1))
        drawn = np.zeros(400, dtype=bool)
        for step in range(steps):
            at = np.flatnonzero(judge == step)
            drawn[rng.choice(at, min(len(at), 44 // steps), replace=False)] = True
        judge /= steps - 1
        part = Labelled(label[drawn], judge[drawn], judge[~drawn])
        found.append(stratified_mean(part, bounds=(0, 1)))
    shown, held = coverage(found, share)
    assert shown == 300
    assert held >= 0.93


def test_a_corrected_mean_stays_on_the_scale():
    rng = np.random.default_rng(RNG_SEED)
    labels = rng.choice([90.0, 100], 20)
    found = prediction_powered_mean(labels, labels - 60, np.full(9, 39.0), bounds=(0, 100))
    assert 0 <= found.lower <= found.estimate <= found.upper <= 100


def test_the_curve_pools_what_falls():
    # at scores 0, 50, 100 the truth has means 1, 6, 4: the last two pool to (6 + 3 + 5)/3
    judge = np.tile([0.0, 0, 50, 100, 100], 4)
    expert = np.tile([0.0, 2, 6, 3, 5], 4)
    curve = isotonic_calibration(expert, judge)
    values = [one.estimate for one in curve.truth]
    pooled = 14 / 3
    assert curve.at.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    # a line from 1 at score 0 to the pool at 50, and flat from there
    assert values[:2] == pytest.approx([1, 1 + (pooled - 1) / 5])
    assert values[5:] == pytest.approx([pooled] * 6)


def test_the_curve_claims_no_interval():
    curve = isotonic_calibration(np.full(30, 100.0), np.linspace(0, 100, 30))
    assert {(one.estimate, one.lower, one.reason) for one in curve.truth} == {
        (
            100.0,
            None,
            "no interval, because resampling is not consistent for an isotonic curve",
        )
    }


@pytest.mark.parametrize(
    ("judge", "because"), [([1.0, 2], "there are 2"), ([1.0] * 20, "the same score")]
)
def test_what_cannot_be_calibrated(judge, because):
    (only,) = isotonic_calibration(np.arange(len(judge)), np.array(judge)).truth
    assert because in only.reason


# Shares 0.4 of 100, Se 45/50 and Sp 40/50. By hand: (0.4 + 0.8 - 1) / 0.7 = 0.2857. With
# z² = 3.8415: AP' = 41.9207/103.8415 = 0.40370, Se' = 46/52, Sp' = 41/52, so 0.19216/0.67308 =
# 0.28550; shift 2·z²·(0.28550·0.0019629 - 0.71450·0.0032060) = -0.013293; variance (0.0023182 +
# 0.00016 + 0.0016367)/0.67308² = 0.0090830; 0.28550 - 0.01329 ± 1.96·0.095305.
LANG_REICZIGEL = (0.2857, 0.0854, 0.4590)


def test_the_interval_of_lang_and_reiczigel():
    found = rogan_gladen(Screened(40, 100, 45, 50, 40, 50))
    assert (found.estimate, found.lower, found.upper) == pytest.approx(LANG_REICZIGEL, abs=2e-4)


def test_a_perfect_judge_needs_no_correction():
    found = rogan_gladen(Screened(30, 100, 50, 50, 50, 50))
    assert found.estimate == pytest.approx(0.3)
    assert found.lower < 0.3 < found.upper
    difference = rogan_gladen_difference(
        Screened(30, 100, 25, 25, 25, 25), Screened(50, 100, 25, 25, 25, 25)
    )
    assert difference.estimate == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("screened", "said"),
    [
        (Screened(3, 10, 4, 4, 9, 10), "5 labelled items of each class, and there are 4 and 10"),
        (Screened(0, 0, 9, 10, 9, 10), "every item has a label"),
        (Screened(5, 10, 5, 10, 5, 10), "no better than chance"),
    ],
)
def test_what_cannot_be_corrected_has_a_reason(screened, said):
    assert said in rogan_gladen(screened).reason
    if screened.truly != 4:  # two systems have twice the labels
        assert said in rogan_gladen_difference(screened, screened).reason


def screened(rng, truly, labels=60, others=200, se=0.85, sp=0.8):
    label = rng.random(labels) < truly
    marked = np.where(label, rng.random(labels) < se, rng.random(labels) >= sp)
    share = truly * se + (1 - truly) * (1 - sp)
    return Screened(
        float(rng.binomial(others, share)),
        others,
        float((marked & label).sum()),
        int(label.sum()),
        float((~marked & ~label).sum()),
        int((~label).sum()),
    )


def coverage(estimates, truth):
    held = [one.lower <= truth <= one.upper for one in estimates if one.lower is not None]
    return len(held), np.mean(held)


def test_corrections_by_sensitivity_and_specificity_cover():
    rng = np.random.default_rng(RNG_SEED)
    of, share = coverage([rogan_gladen(screened(rng, 0.4)) for _ in range(600)], 0.4)
    assert of == 600
    assert 0.93 <= share <= 0.985
    pairs = [(screened(rng, 0.3), screened(rng, 0.5)) for _ in range(600)]
    _, share = coverage([rogan_gladen_difference(*pair) for pair in pairs], 0.2)
    assert 0.93 <= share <= 0.975


def labelled(rng, n, others=150, shift=0.0):
    """Labels and scores of 5 steps on the 0-1 scale; the judge is too high by half a step."""
    label = np.clip(np.round(rng.normal(0.5 + shift, 0.25, n + others) * 4) / 4, 0, 1)
    judge = np.clip(np.round((label + rng.normal(0.1, 0.2, n + others)) * 4) / 4, 0, 1)
    return Labelled(label[:n], judge[:n], judge[n:])


def test_two_systems_differ_as_their_labels_do():
    rng = np.random.default_rng(RNG_SEED)
    truth = labelled(rng, 400_000, 2, 0.1).expert.mean() - labelled(rng, 400_000, 2).expert.mean()
    estimates = [
        prediction_powered_difference(labelled(rng, 30), labelled(rng, 40, 80, 0.1))
        for _ in range(600)
    ]
    assert coverage(estimates, truth)[1] == pytest.approx(0.95, abs=0.025)
    crowded = Labelled(np.r_[0.0, np.ones(40)], np.ones(41), np.ones(50))
    missing = prediction_powered_difference(labelled(rng, 30), crowded)
    assert "the second: 41 labels crowd at one end" in missing.reason
    few = [labelled(rng, n) for n in (15, 14)]
    reason = prediction_powered_difference(*few, names=("v1", "v2")).reason
    assert "v1: it needs 20 labelled items and 2 others, and there are 15 and " in reason
    assert [*re.findall(r"(\d+) labelled more", reason)] == ["5", "6"]
    # Beside graded labels of another system, too, shares have an interval of their own.
    graded = labelled(rng, 60)
    beside = prediction_powered_difference(graded, crowded, scale=(0, 1))
    alone = prediction_powered_mean(graded.expert, graded.judge, graded.judge_alone)
    share = 42 / 45  # 40 of 41, and two of four more
    errors = (
        (alone.upper - alone.estimate) / stats.t.ppf(0.975, 58),
        (share * (1 - share) / 43) ** 0.5,
    )
    half = np.hypot(*errors) * stats.t.ppf(0.975, 90)
    assert (beside.upper - beside.lower) / 2 == pytest.approx(half, rel=0.02)


def test_the_difference_is_that_of_the_two_corrected_means(rng):
    first, second = labelled(rng, 40), labelled(rng, 60, shift=0.1)
    means = [prediction_powered_mean(of.expert, of.judge, of.judge_alone) for of in (first, second)]
    found = prediction_powered_difference(first, second)
    assert found.estimate == pytest.approx(means[1].estimate - means[0].estimate)
    halves = [(mean.upper - mean.lower) / 2 for mean in means]
    assert max(halves) < (found.upper - found.lower) / 2 < sum(halves)


def test_a_stratified_mean_weighs_each_score_by_its_items():
    judge = np.repeat([0.0, 1.0], 15)
    label = np.r_[np.tile([0.0, 0.5, 1.0], 5), np.tile([1.0, 1.0, 0.5], 5)]
    others = np.repeat([0.0, 1.0], [60, 10])
    found = stratified_mean(Labelled(label, judge, others))
    # 75 items of score 0 with the mean 1/2, and 25 of score 1 with 5/6
    assert found.estimate == pytest.approx(0.75 / 2 + 0.25 * 5 / 6)
    # s² = 2.5/14 and 5/6/14 over 15 labels each; between them 3/4·(1/12)² + 1/4·(1/4)², over 100
    variance = 0.75**2 * 2.5 / 14 / 15 + 0.25**2 * (5 / 6) / 14 / 15
    variance += (0.75 / 144 + 0.25 / 16) / 100
    half = (found.upper - found.lower) / 2
    assert 1.96 < half / variance**0.5 < 2.2


def test_next_labels_go_where_labels_vary_and_items_are():
    judge = np.repeat([0.0, 0.5, 1.0], 10)
    label = np.r_[np.zeros(10), np.tile([0.0, 1.0], 5), np.ones(10)]
    plan = next_labels(Labelled(label, judge, np.repeat([0.0, 0.5, 1.0], [40, 40, 5])), 30)
    assert plan.counts.sum() == 30
    # Labels of score 0 and 1 never vary: their spread is what 2 labels of the others' give.
    assert plan.counts.tolist() == [0, 30, 0]
    assert plan.allocated < plan.at_random < plan.now
    few = next_labels(Labelled(label, judge, np.array([0.5, 0.5, 1.0])), 30)
    assert few.counts.tolist() == [0, 2, 1]
    assert next_labels(Labelled(label, judge, np.array([])), 30) is None


def test_texts_in_many_rows_are_known_and_the_others_weigh_by_their_rows():
    # One text is 100 of 200 rows, and wrong. Of the others, 60 rows have score 1 and 40 score 0.
    judge = np.r_[1.0, np.repeat([1.0, 0.0], [12, 10])]
    label = np.r_[0.0, np.repeat([1.0, 0.0], [8, 4]), np.repeat([1.0, 0.0], [5, 5])]
    others = np.repeat([1.0, 0.0], [16, 15])
    rows = np.r_[
        100.0, np.repeat([3.0, 1.0], [8, 4]), np.ones(10), np.full(16, 2.0), np.full(15, 2)
    ]
    sure = np.arange(len(rows)) == 0
    assert rows.sum() == 200
    found = stratified_mean(Labelled(label, judge, others, rows, sure))
    # Score 1: 24 of the labels' 28 rows are right; score 0: a half.
    assert found.estimate == pytest.approx(0.3 * 24 / 28 + 0.2 / 2)
    assert found.lower < found.estimate < found.upper < 0.5
    # Without the label of that text there is none.
    last = Labelled(label[1:], judge[1:], np.r_[others, 1.0], np.r_[rows[1:], 100], sure[::-1])
    assert "1 of the texts that stand in many rows" in stratified_mean(last).reason


def test_which_texts_stand_in_many_rows():
    def of(*rows):
        return in_many_rows(np.array(rows)).tolist()

    # More than 1/20 of the rows of all others that are drawn, and twice their mean.
    assert of(150, *[1] * 150) == [True] + [False] * 150
    assert of(*[3] * 15) == [False] * 15
    # 10 of 210 rows is less than 1/20; without the text of 100 rows, 10 of 190 is more.
    assert of(10, *[1] * 200) == [False] * 201
    assert of(100, 10, *[1] * 180) == [True, True] + [False] * 180


def test_a_plan_labels_texts_in_many_rows_first():
    judge = np.r_[np.tile([0.0, 1.0], 10), np.zeros(20), np.ones(20)]
    rows = np.r_[np.ones(57), 30, 90, 60]
    given = Labelled(np.repeat([0.0, 1.0], 10), judge[:20], judge[20:], rows, rows > 1)
    plan = next_labels(given, 2)
    assert dict(plan.rows) == {0.0: 0, 1.0: 2}
    # Those of 90 and 60 rows: what is left is the one of 30 of 237, and the draws of 57.
    assert plan.allocated < plan.at_random / 2 < plan.now / 2
    every = next_labels(given, 3)
    assert dict(every.rows) == {0.0: 0, 1.0: 3}
    unknown = (plan.allocated / every.allocated) ** 2 - 1
    spread = 10 / 9 / 4  # of the labels in each stratum, by their mean of 1/2
    drawn = 2 * (28.5 / 237) ** 2 * spread / 10
    assert unknown == pytest.approx((30 / 237) ** 2 * spread / drawn, rel=0.05)


def repeats(shape):
    return {
        "one is half": np.r_[150.0, np.ones(150)],
        "five are half": np.r_[np.full(5, 30.0), np.ones(150)],
        "Zipf": np.ceil(120 / np.arange(1, 151)),
        "some thrice": np.r_[np.full(40, 3.0), np.ones(100)],
    }[shape]


@pytest.mark.parametrize("shape", ["one is half", "five are half", "Zipf", "some thrice"])
def test_labels_drawn_by_gain_hold_the_mean_over_rows_where_texts_repeat(shape):
    """SIMULATED. Texts in many rows are graded lower, so that each weighs on the mean."""
    rng, rows, found, truths = np.random.default_rng(RNG_SEED), repeats(shape), [], []
    sure, n = in_many_rows(rows), len(rows)
    for _ in range(500):
        label = np.clip(np.round(rng.normal(7 - 3 * (rows >= 2 * rows.mean()), 2)), 0, 10) / 10
        judge = np.clip(np.round(label * 4 + rng.normal(0.2, 0.6, n)), 0, 4) / 4
        first = rng.permutation(np.flatnonzero(~sure))[: 20 - sure.sum()]
        known = sure | np.isin(np.arange(n), first)
        while known.sum() <= 40:
            order = np.argsort(~known, kind="stable")
            given = Labelled(label[known], judge[known], judge[~known], rows[order], sure[order])
            found.append(stratified_mean(given))
            for score, count in next_labels(given, 20).rows:
                left = np.flatnonzero(~known & (judge == score))
                known[rng.permutation(left)[:count]] = True
        # The first estimate of each is of the labels before the plan.
        del found[-2]
        truths.append(rows @ label / rows.sum())
    errors = [one.estimate - truth for one, truth in zip(found, truths, strict=True)]
    assert abs(np.mean(errors)) < 0.01
    inside = [one.lower <= at <= one.upper for one, at in zip(found, truths, strict=True)]
    assert np.mean(inside) > 0.94


def test_a_difference_of_labels_drawn_by_gain_is_held():
    """SIMULATED. The judge favours the second system; one answer is a third of its rows."""
    rng, found, truths = np.random.default_rng(RNG_SEED), [], []
    counts = np.ones(100), np.r_[50.0, np.ones(100)]

    def part(rows, shift):
        n, sure = len(rows), in_many_rows(rows)
        label = np.clip(np.round(rng.normal(6 - shift, 2, n)), 0, 10) / 10
        judge = np.clip(np.round(label * 4 + rng.normal(shift, 0.6, n)), 0, 4) / 4
        first = rng.permutation(np.flatnonzero(~sure))[:30]
        known = sure | np.isin(np.arange(n), first)
        order = np.argsort(~known, kind="stable")
        truths.append(rows @ label / rows.sum())
        return Labelled(label[known], judge[known], judge[~known], rows[order], sure[order])

    for _ in range(500):
        parts = [part(rows, shift) for shift, rows in enumerate(counts)]
        found.append(stratified_difference(*parts, scale=(0, 1)))
    apart = np.array(truths[1::2]) - np.array(truths[::2])
    assert abs(np.mean([one.estimate for one in found] - apart)) < 0.005
    assert (
        np.mean([one.lower <= at <= one.upper for one, at in zip(found, apart, strict=True)]) > 0.94
    )
    means = [stratified_mean(one, bounds=(0, 1)) for one in parts]
    assert found[-1].estimate == pytest.approx(means[1].estimate - means[0].estimate)


def test_the_half_width_of_now_is_that_of_the_mean_by_stratum():
    # The spread of labels is alike in both strata, so that shrinking it changes little.
    judge = np.repeat([0.0, 1.0], 20)
    label = np.r_[np.tile([1.0, 0, 0, 0], 5), np.tile([1.0, 1, 1, 0], 5)]
    given = Labelled(label, judge, np.repeat([0.0, 1.0], 40))
    mean = stratified_mean(given)
    plan = next_labels(given, 30)
    # By hand: W 1/2 and s² 0.197 twice, 20 labels each; means 0.25 and 0.75 of 120 items.
    expected = (2 * 0.25 * (3.75 / 19) / 20 + 0.25**2 / 120) ** 0.5
    assert (mean.upper - mean.lower) / 2 == pytest.approx(2.02 * expected, rel=0.01)
    assert plan.now == pytest.approx((mean.upper - mean.lower) / 2, rel=0.02)
    # However many labels, the items remain a sample of 120.
    every = next_labels(given, 80)
    assert every.allocated > 1.96 * (0.25**2 / 120) ** 0.5


def test_labels_drawn_as_planned_are_estimated_by_stratum():
    rng = np.random.default_rng(RNG_SEED)
    truth = labelled(rng, 400_000, 2).expert.mean()

    def planned():
        every = labelled(rng, 200, 2)
        label, judge = every.expert, every.judge
        plan = next_labels(Labelled(label[:20], judge[:20], judge[20:]), 30)
        drawn = [np.arange(20)]
        for score, count in zip(plan.strata, plan.counts, strict=True):
            of_score = 20 + np.flatnonzero(judge[20:] == score)
            drawn.append(rng.permutation(of_score)[:count])
        chosen = np.concatenate(drawn)
        return Labelled(label[chosen], judge[chosen], np.delete(judge, chosen))

    _, share = coverage([stratified_mean(planned()) for _ in range(600)], truth)
    assert share == pytest.approx(0.95, abs=0.025)


def test_labels_alone_differ_by_welch_and_shares_by_four_more_of_each():
    rng = np.random.default_rng(RNG_SEED)
    first, second = rng.normal(3, 1, 12), rng.normal(4, 2, 8)
    test = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    found = labels_difference(first, second)
    assert (found.estimate, found.lower, found.upper) == pytest.approx(
        (second.mean() - first.mean(), test.low, test.high)
    )
    # 3 of 3 and 5 of 6, with two more at each end: 5 of 7 and 7 of 10.
    shares = labels_difference(np.ones(3), np.r_[np.ones(5), 0], bounds=(0.0, 1.0))
    test = stats.ttest_ind(
        np.repeat([1, 0], [7, 3]), np.repeat([1, 0], [5, 2]), equal_var=False
    ).confidence_interval()
    assert shares.estimate == pytest.approx(-1 / 6)
    assert (shares.lower, shares.upper) == pytest.approx((test.low, test.high))
    assert labels_difference(np.ones(1), np.ones(4)).reason.endswith("two labels of each")
    assert labels_difference(np.ones(0), np.ones(4)).estimate is None
