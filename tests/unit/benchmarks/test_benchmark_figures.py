"""What a judge gets right of a benchmark, by hand and on recorded decisions of real judges."""

import csv
from pathlib import Path

import numpy as np
import pytest

from judge_gym.benchmarks.figures import (
    FIRST,
    SECOND,
    TIE,
    PairDecisions,
    PublishedAccuracy,
    above_published,
    judges_apart,
    pair_figures,
    published_accuracies,
    score_figures,
)
from judge_gym.metrics.estimate import Estimate, wilson

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "judgebench_judge_decisions.csv"
CHOICES = {"A>B": FIRST, "A=B": TIE, "B>A": SECOND}


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


def decisions(both_orders):
    """Decisions from (as given, swapped) per pair, in the file's order; 0 is no verdict."""
    pairs = len(both_orders)
    return PairDecisions(
        np.repeat(np.arange(pairs), 2), np.array(both_orders, dtype=np.int64).ravel(),
        np.tile([False, True], pairs),
    )  # fmt: skip


def test_pairs_by_hand(rng):
    # right twice; first whatever the order; right and a tie; wrong twice; right and no verdict
    given = decisions([(FIRST, FIRST), (FIRST, SECOND), (SECOND, TIE), (FIRST, FIRST), (SECOND, 0)])
    better = np.array([FIRST, FIRST, SECOND, SECOND, SECOND])
    figures = pair_figures(given, better, ["a", "a", "b", "b", "b"], rng)
    accuracy, inconsistent, bias, kappa = figures[""]
    assert accuracy.estimate == 3 / 5
    assert (accuracy.lower, accuracy.upper) == pytest.approx(wilson(3, 5))
    # of the four pairs judged twice, the second and the third
    assert (inconsistent.estimate, inconsistent.n_items) == (2 / 4, 4)
    # shown first, less shown second, halved: 0, 1, (second, first as shown: tie) -1/2, 0
    assert (bias.estimate, bias.n_items) == ((0 + 1 - 1 / 2 + 0) / 4, 4)
    # on balance FIRST TIE SECOND FIRST SECOND: agreed 3/5, by chance (2·2 + 2·3)/25
    assert kappa.estimate == pytest.approx((3 / 5 - 10 / 25) / (1 - 10 / 25))
    assert [figures[part][0].estimate for part in "ab"] == [1 / 2, 2 / 3]
    assert list(pair_figures(given, better, ["a"] * 5, rng)) == [""]


def test_judges_on_the_same_pairs(rng):
    better = np.full(6, FIRST)
    good = decisions([(FIRST, FIRST)] * 6)
    poor = decisions([(FIRST, FIRST)] * 2 + [(SECOND, SECOND)] * 4)
    apart = judges_apart({"poor": poor, "good": good, "twin": good}, better, rng)
    # four discordant pairs, all one way: exact McNemar 2·(1/2)^4, times 3 by Holm
    assert apart["poor", "good"].estimate == 4 / 6
    assert apart["poor", "good"].p == pytest.approx(3 * 2 / 2**4)
    assert apart["good", "twin"].p == 1
    assert judges_apart({}, better, rng) == {}


def test_mcnemar_is_exact_with_many_pairs(rng):
    # of 30 discordant pairs, 2 one way: 2·(1 + 30 + 435)/2^30
    one = decisions([(FIRST, FIRST)] * 2 + [(SECOND, SECOND)] * 28)
    other = decisions([(SECOND, SECOND)] * 2 + [(FIRST, FIRST)] * 28)
    apart = judges_apart({"one": one, "other": other}, np.full(30, FIRST), rng)
    assert apart["one", "other"].p == pytest.approx(2 * 466 / 2**30)
    assert "p by exact McNemar" in apart["one", "other"].method


def test_a_position_bias_is_told_from_errors(rng):
    # planted: decides rightly with 0.8 where order does not decide, which it does in 30% of pairs
    pairs = 400
    better = rng.choice([FIRST, SECOND], pairs)
    right = rng.random(pairs) < 0.8
    chosen = np.where(right, better, FIRST + SECOND - better)
    biased = rng.random(pairs) < 0.3
    swapped = np.where(biased, SECOND, chosen)
    given = decisions(np.stack([np.where(biased, FIRST, chosen), swapped], axis=1))
    accuracy, inconsistent, bias, _ = pair_figures(given, better, [""] * pairs, rng)[""]
    assert accuracy.lower <= 0.8 * 0.7 <= accuracy.upper
    assert inconsistent.lower <= 0.3 <= inconsistent.upper
    assert bias.lower <= 0.3 <= bias.upper


def test_scores_against_known_ones(rng):
    truth = np.array([10.0, 40, 60, 90, 50])
    error, bias, agreement, ranks = score_figures(truth + 5, truth, [""] * 5, rng)[""]
    assert (error.estimate, bias.estimate, ranks.estimate) == (5, 5, 1)
    # variance 692 on both sides (divisor 5), means 5 apart
    variance = np.var(truth)
    assert agreement.estimate == pytest.approx(2 * variance / (2 * variance + 25))


def test_a_difference_to_a_published_figure():
    # Newcombe 1998, table II (a): 56/70 less 48/80 is 0.2, interval 0.0524 to 0.3339
    low, high = wilson(56, 70)
    own = Estimate("accuracy", 0.8, low, high, 70, 70)
    published = PublishedAccuracy(benchmark="b", judge="j", correct=48, pairs=80)
    found = above_published(own, published)
    assert found.estimate == pytest.approx(0.2)
    assert (found.lower, found.upper) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@pytest.mark.skipif(not RECORDED.exists(), reason="the shared data is not here")
def test_published_figures_are_those_of_their_source(rng):
    recorded = {}
    with RECORDED.open(newline="") as file:
        for row in csv.DictReader(file):
            recorded.setdefault((row["response_model"], row["judge_model"]), []).append(row)
    assert set(recorded) == {(one.part, one.judge) for one in published_accuracies()}
    for one in published_accuracies():
        rows = recorded[one.part, one.judge]
        given = [
            (number, CHOICES.get(row[column], 0), turned)
            for number, row in enumerate(rows)
            for column, turned in (("decision_AB", False), ("decision_BA_as_shown", True))
        ]
        item, shown, turned = (np.array(column) for column in zip(*given, strict=True))
        chosen = np.where(turned & (shown > 0), 4 - shown, shown)
        better = np.array([CHOICES[row["label"]] for row in rows])
        categories = [row["source"].split("-")[0] for row in rows]
        figures = pair_figures(PairDecisions(item, chosen, turned), better, categories, rng)
        assert figures[""][0].estimate == one.correct / one.pairs
        assert len(rows) == one.pairs
        assert len(figures) == 1 + len(set(categories))
        difference = above_published(figures[""][0], one)
        assert difference.lower < difference.estimate == 0 < difference.upper
