"""Planted people for the self-test: labels beside a judge's, and labels of a part of the items.

People read as a judge without a leaning does, so that judge 0 is one more person where it does not
lean. Half of them leave out every fifth item, so that items have unequal numbers of labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.metrics.belief import belief_distance
from judge_gym.metrics.cells import BoolArray, FloatArray, Verdicts, pignistic, scores
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate
from judge_gym.metrics.expert_labels import (
    Labelled,
    Screened,
    prediction_powered_difference,
    prediction_powered_mean,
    rogan_gladen,
    rogan_gladen_difference,
)
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.people import (
    alternative_annotator,
    distance_to_people,
    labels_of,
    ordinal_distance,
    overlap,
    with_people,
)
from judge_gym.metrics.stratified_labels import stratified_mean
from judge_gym.planted.truths import StudyDesign, Truth, draw

PEOPLE = 6
LEAST_ITEMS = 10
"""Fewest items of a person here; 30 are needed of a sweep."""
OTHERS = 3
"""Items without a label, for each with one."""


@dataclass(frozen=True, eq=False)
class PeopleStudy:
    """Labels of people and verdicts of judge 0 on the same items; then of one person and judge 0
    on the items of two systems, even and odd, of which the first `n_labelled` are labelled."""

    people: Verdicts
    judge: Verdicts
    person: Verdicts
    screened: Verdicts
    n_labelled: int


def simulated_people(truth: Truth, design: StudyDesign, seed: int) -> PeopleStudy:
    """Return the people of one data set; equal seeds give equal data on every machine."""
    leaning = truth.leaning[0]
    beside = replace(
        truth, name=f"{truth.name}, people", leaning=(leaning, *(0.0,) * PEOPLE), lost=0.0
    )
    every = _drawn(beside, design, seed)
    first = np.arange(len(every)) % design.replicates == 0
    person = every.judge - 1
    left_out = (person >= PEOPLE // 2) & ((every.item + 2 * person) % 5 == 0)
    people = every.rows(first & ~left_out).of_judges(range(1, PEOPLE + 1))
    two = replace(truth, name=f"{truth.name}, labels", leaning=(leaning, 0.0), lost=0.0)
    more = replace(design, items=2 * design.items * (OTHERS + 1), replicates=1)
    labels = _drawn(two, more, seed)
    return PeopleStudy(
        people,
        every.of_judges([0]),
        labels.of_judges([1]),
        labels.of_judges([0]),
        2 * design.items,
    )


def _drawn(truth: Truth, design: StudyDesign, seed: int) -> Verdicts:
    data = draw(truth, design, seed)
    return Verdicts(
        judge=data.judge,
        item=data.item,
        stages=data.own.stages,
        n_judges=data.n_judges,
        n_items=data.n_items,
        n_stages=data.n_stages,
    )


def beside_people(study: PeopleStudy, rng: np.random.Generator) -> Sequence[Estimate]:
    """Return the advantage and the lead of the alt-test, and the distances to people.

    The lead is that of people over the judge, with the p of the person who is beaten most clearly,
    at epsilon 0: where the judge is one more person, no null is false.
    """
    sets, (people, judge) = labels_of(study.people, study.judge)
    test = alternative_annotator(people, judge, overlap(sets), 0.0, rng, min_items=LEAST_ITEMS)
    lead = replace(test.lead, p=min(person.p_adjusted for person in test.people))
    stages = np.arange(study.people.n_stages, dtype=np.float64)
    apart = distance_to_people(people, judge, 1 - overlap(sets), "people_distance", "share")
    by_order = distance_to_people(
        people, judge, ordinal_distance(sets, stages), "people_distance_ordinal", "0-1 scale"
    )
    belief = belief_distance(cell_masses(with_people(study.people, study.judge))).overall
    return (
        test.advantage,
        lead,
        apart.distance,
        apart.excess,
        by_order.distance,
        by_order.excess,
        belief,
    )


def corrected(study: PeopleStudy, rng: np.random.Generator) -> Sequence[Estimate]:
    """Return the corrected mean and share (of the upper half of the scale) of the first system,
    and the difference of the second, which is 0."""
    half = study.person.n_stages // 2
    of_person, of_judge = (
        pignistic(verdicts)[0][0][:, half:].sum(axis=1)
        for verdicts in (study.person, study.screened)
    )
    label, judged = scores(study.person), scores(study.screened)
    even = np.arange(len(label)) % 2 == 0
    halves = [_labelled(study, label, judged, chosen) for chosen in (even, ~even)]
    marked = [_screened(study, of_person, of_judge, chosen) for chosen in (even, ~even)]
    mean, share = halves[0], _labelled(study, of_person, of_judge, even)
    return (
        prediction_powered_mean(mean.expert, mean.judge, mean.judge_alone, bounds=UNIT_INTERVAL),
        stratified_mean(mean),
        prediction_powered_mean(share.expert, share.judge, share.judge_alone, bounds=UNIT_INTERVAL),
        rogan_gladen(marked[0]),
        prediction_powered_difference(*halves, scale=UNIT_INTERVAL),
        rogan_gladen_difference(*marked),
    )


def _labelled(
    study: PeopleStudy, person: FloatArray, judge: FloatArray, chosen: BoolArray
) -> Labelled:
    labelled = np.arange(len(person)) < study.n_labelled
    kept = chosen & labelled
    return Labelled(person[kept], judge[kept], judge[chosen & ~labelled])


def _screened(
    study: PeopleStudy, person: FloatArray, judge: FloatArray, chosen: BoolArray
) -> Screened:
    labelled = np.arange(len(person)) < study.n_labelled
    truly, not_truly = (chosen & labelled & side for side in (person > 0.5, person < 0.5))
    others = chosen & ~labelled
    return Screened(
        float(judge[others].sum()),
        int(others.sum()),
        float(judge[truly].sum()),
        int(truly.sum()),
        float((1 - judge[not_truly]).sum()),
        int(not_truly.sum()),
    )
