"""The alternative annotator test and the distance to people, by hand and as published."""

import csv
import gzip
from pathlib import Path

import krippendorff
import numpy as np
import pytest

from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.metrics.people import (
    Labels,
    agreement_beside_people,
    alternative_annotator,
    benjamini_yekutieli,
    distance_to_people,
    labels_of,
    negative_square,
    ordinal_distance,
    overlap,
    same,
)

ALTTEST = Path(__file__).parents[4] / "shared" / "data" / "alttest"


def people_of(table):
    """Labels of a table, people x items; None where a person gave none."""
    cells = [
        (person, item, label)
        for person, row in enumerate(table)
        for item, label in enumerate(row)
        if label is not None
    ]
    person, item, label = np.array(cells).T
    return Labels(judge=person, item=item, label=label, n_judges=len(table), n_items=len(table[0]))


def judge_of(row):
    return people_of([row])


def published():
    if not ALTTEST.is_dir():
        return []
    with (ALTTEST / "reference.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def read():
    kept = {}

    def rows_of(name):
        if name not in kept:
            with gzip.open(ALTTEST / f"{name}.csv.gz", "rt", newline="") as file:
                kept[name] = list(csv.DictReader(file))
        return kept[name]

    return rows_of


@pytest.mark.parametrize("line", published(), ids=lambda line: f"{line['dataset']}-{line['model']}")
def test_the_published_figures_of_calderon_et_al(line, read):
    rows = read(line["dataset"])
    items = {item: place for place, item in enumerate(sorted({row["item"] for row in rows}))}
    names = sorted({row["label"] for row in rows})

    def labels(chosen):
        raters = sorted({row["annotator"] for row in chosen})
        return Labels(
            judge=np.array([raters.index(row["annotator"]) for row in chosen]),
            item=np.array([items[row["item"]] for row in chosen]),
            label=np.array([names.index(row["label"]) for row in chosen]),
            n_judges=len(raters),
            n_items=len(items),
        )

    people = labels([row for row in rows if row["kind"] == "human"])
    judge = labels([row for row in rows if row["annotator"] == line["model"]])
    alignment = (
        same(len(names))
        if line["score"] == "accuracy"
        else negative_square(np.array(names, dtype=np.float64))
    )
    rng = np.random.default_rng(1)
    found = alternative_annotator(people, judge, alignment, float(line["epsilon"]), rng)
    assert found.winning_rate.estimate == pytest.approx(float(line["winning_rate"]), abs=1e-6)
    assert found.advantage.estimate == pytest.approx(
        float(line["advantage_probability"]), abs=5.1e-7
    )
    assert found.advantage.lower < found.advantage.estimate < found.advantage.upper


def test_who_is_left_out_is_compared_with_the_others_on_each_item(rng):
    # Item 0: the others say (0, 1), (1, 0) and (0, 0) to persons 0, 1 and 2; the judge says 0.
    people = people_of([[0, 0, 1], [0, 1, 1], [1, None, 0]])
    found = alternative_annotator(people, judge_of([0, 0, 0]), same(2), 0.2, rng, min_items=2)
    first, second, third = found.people
    # person 0: item 0 both agree with one of two; item 1 person and judge disagree with the other;
    # item 2 the others say 1 and 0: person 1/2, judge 1/2
    assert (first.advantage, first.lead) == (1, 0)
    # person 1: item 0 a tie; item 1 the judge agrees with the other and the person does not;
    # item 2 a tie
    assert (second.advantage, second.lead) == (1, pytest.approx(-1 / 3))
    # person 2: item 0 the judge agrees with both, the person with none; item 2 neither agrees
    assert (third.advantage, third.lead) == (1, pytest.approx(-1 / 2))
    assert found.advantage.estimate == 1
    assert "no interval" in found.advantage.reason


def test_p_values_are_adjusted_for_any_dependence():
    # Benjamini and Yekutieli: p · m · (1 + 1/2 + 1/3) / rank, made monotone
    harmonic = 1 + 1 / 2 + 1 / 3
    assert benjamini_yekutieli([0.03, 0.01, 0.5]) == pytest.approx(
        [0.03 * 3 / 2 * harmonic, 0.01 * 3 * harmonic, 0.5 * harmonic]
    )


def test_people_with_few_items_are_left_out_and_their_labels_count(rng):
    people = people_of([[0] * 40, [1] * 40, [0] * 10 + [None] * 30])
    found = alternative_annotator(people, judge_of([0] * 40), same(2), 0.1, rng)
    assert [test.person for test in found.people] == [0, 1]
    left_out, few = found.winning_rate.remarks
    assert (left_out.kind, left_out.number) == (RemarkKind.PEOPLE_LEFT_OUT, 1)
    # Two are left, and a share of two people is 0, a half or 1.
    assert (few.kind, few.number, few.advised) == (RemarkKind.FEW_PEOPLE, 2, 3)
    # person 1 agrees with nobody, and on 10 items the judge agrees with person 2 and 0
    assert found.people[1].advantage == 1
    few = alternative_annotator(people, judge_of([0] * 40), same(2), 0.1, rng, min_items=50)
    assert few.winning_rate.estimate is None
    assert "the most of one person are 40" in few.winning_rate.reason


def test_replicates_of_a_judge_are_draws_of_it(rng):
    people = people_of([[0] * 4, [0] * 4])
    twice = Labels(
        judge=np.zeros(8, dtype=int),
        item=np.repeat(np.arange(4), 2),
        label=np.array([0, 1] * 4),
        n_judges=1,
        n_items=4,
    )
    found = alternative_annotator(people, twice, same(2), 0.1, rng, min_items=2)
    assert found.advantage.estimate == 0.5
    assert found.people[0].lead == 0.5


def test_sets_of_labels_align_by_their_overlap():
    def verdicts(stages):
        n = len(stages)
        return Verdicts(
            judge=np.zeros(n, dtype=int), item=np.arange(n), stages=np.array(stages),
            n_judges=1, n_items=n, n_stages=3,
        )  # fmt: skip

    sets, (first, second) = labels_of(verdicts([0b001, 0b011]), verdicts([0b110, 0b011]))
    assert sets.tolist() == [0b001, 0b011, 0b110]
    assert (first.label.tolist(), second.label.tolist()) == ([0, 1], [2, 1])
    assert overlap(sets) == pytest.approx(
        np.array([[1, 1 / 2, 0], [1 / 2, 1, 1 / 3], [0, 1 / 3, 1]])
    )
    # {1} to {1, 2}: 0 and 1/2 of the scale; {1, 2} to {2, 3}: 1/2, 1, 0 and 1/2
    assert ordinal_distance(sets, np.arange(3.0))[0] == pytest.approx([0, 1 / 4, 3 / 4])
    assert ordinal_distance(sets, np.arange(3.0))[1, 2] == pytest.approx(1 / 2)


def test_the_floor_is_what_each_person_has_to_the_others():
    people = people_of([[0, 0], [0, 1], [1, 1]])
    found = distance_to_people(people, judge_of([0, 1]), 1 - same(2), "people_distance", "share")
    # On both items two of three people are as the judge, and two of three pairs of people differ.
    assert found.distance.estimate == pytest.approx(1 / 3)
    assert found.distance.floor == pytest.approx(2 / 3)
    assert found.excess.estimate == pytest.approx(-1 / 3)


def test_one_more_person_is_at_the_floor():
    """A judge drawn like the people has excess 0 on average, whatever their number."""
    rng = np.random.default_rng(4)
    excess = []
    for _ in range(300):
        share = rng.beta(1, 1, 30)
        table = (rng.random((4, 30)) < share).astype(int)
        gaps = [
            [None if rng.random() < 0.2 else label for label in row] for row in table[1:].tolist()
        ]
        found = distance_to_people(
            people_of(gaps), judge_of(table[0].tolist()), 1 - same(2), "people_distance", "share"
        )
        excess.append(found.excess.estimate)
    assert np.mean(excess) == pytest.approx(0, abs=3 * np.std(excess) / len(excess) ** 0.5)


def test_without_two_people_there_is_no_floor():
    found = distance_to_people(people_of([[0]]), judge_of([0]), same(2), "people_distance", "share")
    assert "no item has the labels of two people" in found.distance.reason
    assert found.excess.estimate is None


def test_agreement_beside_people_is_krippendorffs_alpha_of_people(rng):
    truth = rng.normal(size=40)
    people = truth + rng.normal(scale=0.7, size=(3, 40))
    found = agreement_beside_people(people[:, :, None], people[0][:, None], rng)
    # the package divides the expected distance by N - 1, this by N
    alpha = krippendorff.alpha(people, level_of_measurement="interval")
    assert found.people.estimate == pytest.approx(1 - (1 - alpha) * 120 / 119)
    assert found.excess.estimate == pytest.approx(found.judge.estimate - found.people.estimate)


def test_a_judge_that_ignores_the_item_has_no_agreement_with_people(rng):
    people = rng.normal(size=40) + rng.normal(scale=0.7, size=(3, 40))
    constant = agreement_beside_people(people[:, :, None], np.full((40, 1), people.mean()), rng)
    assert constant.judge.estimate == pytest.approx(0, abs=1e-9)
    assert constant.excess.upper < 0


def test_one_more_person_agrees_as_people_do(rng):
    covered = 0
    for _ in range(300):
        every = rng.normal(size=50) + rng.normal(scale=0.7, size=(4, 50))
        found = agreement_beside_people(every[:3, :, None], every[3][:, None], rng).excess
        covered += found.lower <= 0 <= found.upper
    assert covered >= 0.93 * 300


def test_agreement_beside_people_needs_items_with_two_of_them(rng):
    alone = np.full((2, 9, 1), np.nan)
    alone[0] = 1.0
    found = agreement_beside_people(alone, np.ones((9, 1)), rng)
    assert found.excess.estimate is None
    assert "needs 4 items with two people, and there are 0" in found.excess.reason
