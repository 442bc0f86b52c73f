"""Who moved: e-values by hand, false alarms over whole streams, real judges spliced."""

import csv
import gzip

import numpy as np
import pytest
from scipy.integrate import quad

from judge_gym.metrics.anchors import (
    ALARM,
    Moved,
    Mover,
    Stream,
    _bet,
    _e_values,
    _from_others,
    _p_of_passes,
    anchor_stream,
    fresh_stream,
    who_moved,
)
from support.references import SHARED

NINE = SHARED / "data/judging_judges"
needs_nine = pytest.mark.skipif(not NINE.exists(), reason="needs ../shared/data/judging_judges")


@pytest.mark.parametrize("p", [1e-6, 0.001, 0.2, 0.7, 0.9999, 1.0])
def test_a_bet_is_the_mean_of_power_bets(p):
    by_numbers, _ = quad(lambda power: power * p ** (power - 1), 0, 1)
    assert _bet(p) == pytest.approx(by_numbers, rel=1e-4)


def test_a_bet_wins_nothing_on_average_while_nothing_moves():
    wins, _ = quad(_bet, 0, 1, limit=200, points=[1e-6, 1e-3])
    assert wins == pytest.approx(1, abs=0.08)  # a fat tail at 0
    assert wins < 1.01


def test_e_values_are_the_mean_over_beginnings_by_hand():
    first, second = _bet(0.01), _bet(0.5)
    # Begun at the first comparison with weight 1/2, at the second with 1/6, later with 1/3.
    assert _e_values([0.01, 0.5], 3) == pytest.approx(
        [1, first / 2 + 1 / 2, first * second / 2 + second / 6 + 1 / 3]
    )


def test_distances_from_other_looks_are_those_of_every_pair():
    values = np.array([[0.0, 1.0, np.nan], [0.5, 1.0, 1.0], [1.0, 0.0, np.nan]])
    expected = np.zeros((3, 3))
    for look in range(3):
        for anchor in range(3):
            for other in set(range(3)) - {look}:
                pair = values[look, anchor], values[other, anchor]
                if np.isnan(pair).any():
                    expected[look, anchor] += float(not np.isnan(pair).all()) / 2
                else:
                    expected[look, anchor] += (pair[0] - pair[1]) ** 2 / 2
    assert _from_others(values) == pytest.approx(expected)


def test_passes_of_a_look_have_fishers_p():
    from scipy.stats import fisher_exact

    rng = np.random.default_rng(0)
    ends = [_p_of_passes(18, 20, 30, 60, rng) for _ in range(200)]
    exact = fisher_exact([[18, 2], [12, 28]]).pvalue
    assert max(ends) <= exact * (1 + 1e-9)


def noisy(looks, anchors, rng, switch=None, moved=0.3):
    """0 or 1 by look and anchor, each with its own probability; some flip from `switch` on."""
    chance = rng.choice([0.02, 0.1, 0.9, 0.98], anchors)
    values = (rng.random((looks, anchors)) < chance).astype(float)
    if switch is not None:
        flips = rng.random(anchors) < moved
        values[switch:, flips] = 1 - values[switch:, flips]
    return values


@pytest.mark.slow
def test_streams_of_a_thousand_looks_give_few_false_alarms(capsys):
    """SIMULATED. Noisy anchors, constant ones, and fresh items, of which nothing moves."""
    rng, alarms, n = np.random.default_rng(5), {"noisy": 0, "constant": 0, "fresh": 0}, 20
    for _ in range(n):
        streams = {
            "noisy": anchor_stream(noisy(1000, 20, rng), rng),
            "constant": anchor_stream(np.tile(rng.random(20) < 0.5, (1000, 1)).astype(float), rng),
            "fresh": fresh_stream([(rng.random(20) < 0.7).astype(float) for _ in range(1000)], rng),
        }
        for name, stream in streams.items():
            alarms[name] += stream.alarm is not None
    with capsys.disabled():
        print(f"\nSIMULATED: false alarms of {n} streams of 1,000 looks: {alarms}")
    assert all(count <= 0.05 * n for count in alarms.values())


def test_a_judge_that_flips_on_some_anchors_is_found_within_a_few_looks():
    rng = np.random.default_rng(7)
    for seed in range(10):
        stream = anchor_stream(noisy(30, 60, np.random.default_rng(seed), switch=20), rng)
        assert stream.alarm is not None
        assert 20 <= stream.alarm <= 26


def test_answers_that_stop_coming_are_a_move():
    values = np.ones((12, 40))
    values[8:, ::2] = np.nan
    stream = anchor_stream(values, np.random.default_rng(0))
    assert stream.alarm is not None
    assert stream.alarm >= 8


def quiet(looks=5, items=40):
    return Stream(np.ones(looks), (items,) * looks)


def alarmed():
    return Stream(np.array([1.0, 5.0, ALARM]), (40,) * 3)


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ((quiet(), quiet(), quiet()), "nobody"),
        ((alarmed(), quiet(), alarmed()), "judge"),
        ((quiet(), alarmed(), quiet()), "people"),
        ((quiet(), quiet(), alarmed()), "systems"),
        ((alarmed(), alarmed(), quiet()), "judge and people"),
        ((quiet(items=5), None, alarmed()), "cannot tell"),
        ((quiet(items=5), None, None), "cannot tell"),
        ((quiet(looks=2), None, None), "cannot tell"),
    ],
)
def test_who_moved_follows_from_the_streams(streams, said):
    assert str(who_moved(*streams)) == said


def test_what_is_open_says_what_is_missing():
    assert "5 items" in who_moved(quiet(items=5)).open
    assert who_moved(quiet()) == Moved(())


def splice(table, rng, who, judges=("GPT-4", "Llama-7B")):
    """Looks at 60 anchors and at fresh answers: 10 of before, 10 of after `who` has moved."""
    as_number = {"True": 1.0, "False": 0.0, "": np.nan}
    before, after = (np.array([as_number[v] for v in table[name]]) for name in judges)
    people = np.array([as_number[v] for v in table["HumanJudgement"]])
    other = np.array([as_number[v] for v in table["Contains"]])
    systems = np.unique(table["system"], return_inverse=True)[1]
    rates = [np.nanmean(before[systems == number]) for number in range(9)]
    known = np.flatnonzero(np.isfinite(people) & np.isfinite(before) & np.isfinite(after))
    anchors = rng.choice(known, 60, replace=False)
    judged, labelled, fresh = [], [], []
    for look in range(20):
        late = look >= 10
        of_judge = after if late and who is Mover.JUDGE else before
        of_people = other if late and who is Mover.PEOPLE else people
        judged.append(of_judge[anchors])
        labelled.append(of_people[anchors])
        worst = np.argsort(rates)[:2] if late and who is Mover.SYSTEMS else np.argsort(rates)[4:]
        pool = np.flatnonzero(np.isin(systems, worst) & np.isfinite(of_judge))
        fresh.append(of_judge[rng.choice(pool, 60)])
    return (
        anchor_stream(np.array(judged), rng),
        anchor_stream(np.array(labelled), rng),
        fresh_stream(fresh, rng),
    )


@needs_nine
@pytest.mark.parametrize("who", [*Mover, None])
def test_spliced_real_judges_are_told_apart(who):
    """Real answers: another judge, another way of labelling, or a worse mix of systems."""
    with gzip.open(NINE / "answers.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    rng, right = np.random.default_rng(11), 0
    for _ in range(40):
        said = who_moved(*splice(table, rng, who)).who
        right += said == ((who,) if who else ())
    assert right >= (36 if who else 38)
