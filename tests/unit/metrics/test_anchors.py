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
    fresh_change,
    fresh_stream,
    latest_change,
    who_moved,
)
from support.references import SHARED


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
    assert _from_others(values, np.ones((3, 3), bool)) == pytest.approx(expected)


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
    """SIMULATED. Noisy anchors, constant ones, fresh items; of each, nothing moves.

    Also how often somebody is said to move by all three, and how often an interval of the change
    of noisy anchors ever misses 0, though their mean stays.
    """
    rng, n = np.random.default_rng(5), 40
    alarms = dict.fromkeys(("noisy", "constant", "fresh", "anybody", "interval"), 0)
    for _ in range(n):
        values = noisy(1000, 20, rng)
        streams = {
            "noisy": anchor_stream(values, rng),
            "constant": anchor_stream(np.tile(rng.random(20) < 0.5, (1000, 1)).astype(float), rng),
            "fresh": fresh_stream([(rng.random(20) < 0.7).astype(float) for _ in range(1000)], rng),
        }
        for name, stream in streams.items():
            alarms[name] += stream.alarm is not None
        alarms["anybody"] += bool(who_moved(*streams.values()).who)
        changes = [latest_change(values[:end]) for end in range(2, 1001)]
        alarms["interval"] += any(one.lower > 0 or one.upper < 0 for one in changes)
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


def test_distances_leave_out_looks_at_which_an_anchor_was_not_asked():
    values, asked = np.array([[0.0], [0.5], [1.0]]), np.array([[True], [False], [True]])
    assert _from_others(values, asked)[[0, 2], 0] == pytest.approx([1, 1])


def test_anchors_asked_by_turns_are_compared_with_their_own_answers():
    """Even looks ask one half, odd ones the other: what was not asked is no lost answer."""
    rng = np.random.default_rng(3)
    asked = (np.arange(24)[:, None] + np.arange(60)) % 2 == 0
    same = np.tile(np.arange(60) % 3 == 0, (24, 1)).astype(float)
    other = same.copy()
    other[12:, :30] = 1 - other[12:, :30]
    steady, moved = (anchor_stream(np.where(asked, of, np.nan), rng, asked) for of in (same, other))
    assert steady.items == (30, 0, *(30,) * 22)  # the second half is new at the second look
    assert steady.alarm is None
    assert moved.alarm is not None
    assert moved.alarm >= 12


def test_an_anchor_asked_for_the_first_time_is_no_comparison():
    stream = anchor_stream(np.eye(4), np.random.default_rng(0), np.eye(4, dtype=bool))
    assert stream.e == pytest.approx([1, 1, 1, 1])


def test_the_interval_of_a_change_by_hand():
    values = np.array([[0.0, 1.0, np.nan, 0.5], [0.5, 1.0, 1.0, np.nan], [1.0, 0.0, 1.0, np.nan]])
    found = latest_change(values)
    # 1 - 0.25, 0 - 1 and 1 - 1; the second comparison has 0.05 / 6, so half of it is ln(2 / α) / 6.
    assert found.anchors == 3
    assert found.mean == pytest.approx((0.75 - 1 + 0) / 3)
    assert found.upper - found.mean == pytest.approx((np.log(240) / 6) ** 0.5)
    assert found.lower == -1
    assert latest_change(values[:1]) is None


def test_a_change_of_a_real_size_lies_outside_of_no_change():
    values = np.full((5, 400), 0.3)
    values[-1] = 0.6
    found = latest_change(values)
    assert (found.lower > 0, found.lower < 0.3 < found.upper) == (True, True)


def quiet(looks=5, items=40):
    return Stream(np.ones(looks), (items,) * looks)


def alarmed():
    return Stream(np.array([1.0, 5.0, 3 * ALARM]), (40,) * 3)


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


def test_the_more_streams_are_watched_the_more_each_has_to_show():
    just = Stream(np.array([1.0, 5.0, 1.5 * ALARM]), (40,) * 3)
    assert str(who_moved(just)) == "judge"
    assert str(who_moved(just, quiet(), quiet())) == "nobody"


def test_what_is_open_says_what_is_missing():
    assert "5 items" in who_moved(quiet(items=5)).open
    assert who_moved(quiet()) == Moved(())


def looks(anchors, pools, rng):
    """Streams of 20 looks: `anchors` and `pools` are of before and of after the middle one."""
    of_judge, of_people = ([of[look >= 10] for look in range(20)] for of in anchors)
    fresh = [rng.choice(pools[look >= 10], 60) for look in range(20)]
    streams = (anchor_stream(np.array(of), rng) for of in (of_judge, of_people))
    return (*streams, fresh_stream(fresh, rng))


def splice(judge, people, mix, rng, who, count=60):
    """The streams if `who` moved in the middle; each argument is of before and of after, by item.

    `mix` says which items fresh ones are drawn from.
    """
    judge, people, mix = (
        of if who is mover else (of[0], of[0])
        for of, mover in zip((judge, people, mix), (Mover.JUDGE, Mover.PEOPLE, Mover.SYSTEMS),
                             strict=True)
    )  # fmt: skip
    known = np.flatnonzero(np.isfinite(np.array([*judge, *people])).all(axis=0))
    anchors = rng.choice(known, count, replace=False)
    pools = [of[within & np.isfinite(of)] >= 1 for of, within in zip(judge, mix, strict=True)]
    sides = [[one[anchors] for one in of] for of in (judge, people)]
    return looks(sides, [pool.astype(float) for pool in pools], rng)


def by_rate(passes, systems):
    """Items of the five systems with the highest pass rates, and of the two with the lowest."""
    names = np.unique(systems)
    order = names[np.argsort([np.nanmean(passes[systems == name]) for name in names])]
    return np.isin(systems, order[-5:]), np.isin(systems, order[:2])


def columns(name, file):
    with gzip.open(SHARED / "data" / name / file, "rt", newline="") as opened:
        rows = list(csv.DictReader(opened))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def numbers(values, scale):
    return np.array([scale.get(value, np.nan) for value in values])


def nine_systems():
    """Verdicts of two judges; the labels of after are those of a rule, as there is one person."""
    table, scale = columns("judging_judges", "answers.csv.gz"), {"True": 1.0, "False": 0.0}
    judge = [numbers(table[name], scale) for name in ("GPT-4", "Llama-7B")]
    people = [numbers(table[name], scale) for name in ("HumanJudgement", "Contains")]
    return judge, people, by_rate(judge[0], table["system"])


def pairs():
    """Which of two answers is better, by two judges and by two people; 0 is a tie."""
    table, scale = columns("pandalm", "pairs.csv.gz"), {"1": 1.0, "2": 0.0, "0": 0.5, "Tie": 0.5}
    judge = [numbers(table[name], scale) for name in ("gpt-3.5-turbo", "pandalm-7b")]
    people = [numbers(table[name], scale) for name in ("annotator1", "annotator3")]
    return judge, people, by_rate(judge[0], table["pair"])


def grades():
    """Four grades of passages by two submissions; labels and passages stay as they are."""
    table, scale = columns("llmjudge", "labels.csv.gz"), {str(n): n / 3 for n in range(4)}
    judge = [numbers(table[name], scale) for name in ("Olz-gpt4o", "RMITIR-llama38b")]
    everything = np.ones(len(judge[0]), dtype=bool)
    return judge, (judge[0], judge[0]), (everything, everything)


@pytest.mark.skipif(not (SHARED / "data").exists(), reason="needs ../shared/data")
@pytest.mark.parametrize(
    ("source", "who"),
    [
        *((source, who) for source in (nine_systems, pairs) for who in (*Mover, None)),
        (grades, Mover.JUDGE),
        (grades, None),
    ],
)
def test_spliced_real_judges_are_told_apart(source, who):
    """Real answers: another judge, another one who labels, or a worse mix of systems."""
    judge, people, mix = source()
    rng, right = np.random.default_rng(11), 0
    for _ in range(40):
        said = who_moved(*splice(judge, people, mix, rng, who)).who
        right += said == ((who,) if who else ())
    assert right >= (36 if who else 38)


def test_the_interval_of_a_change_of_fresh_items_by_hand():
    looks = [np.repeat([0.0, 1.0], 20), np.repeat([0.0, 1.0], [10, 30])]
    found = fresh_change(looks)
    # 0.75 - 0.5; the first comparison has 0.05 / 2: √(ln(80)·(1/40 + 1/40) / 2).
    assert (found.mean, found.anchors) == (0.25, 40)
    assert found.upper - found.mean == pytest.approx((np.log(80) / 40) ** 0.5)
    # Of two parts, each at half the level.
    assert fresh_change(looks, 2).upper - 0.25 == pytest.approx((np.log(160) / 40) ** 0.5)
    assert fresh_change(looks[:1]) is None
    assert fresh_change([*looks, np.empty(0)]) is None


@pytest.mark.slow
def test_graded_fresh_items_move_where_their_mean_does():
    rng = np.random.default_rng(7)

    def alarms(shift, runs):
        found = []
        for seed in range(runs):
            means = [0.5 + shift * (look > 3) for look in range(8)]
            looks = [np.clip(rng.normal(mean, 0.2, 40), 0, 1) for mean in means]
            found.append(fresh_stream(looks, np.random.default_rng(seed)).alarm is not None)
        return np.mean(found)

    assert alarms(0.2, 20) == 1
    assert alarms(0, 100) <= 0.05
