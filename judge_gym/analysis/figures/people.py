"""Judges beside people: the alternative annotator test and the distance to people's labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.data import JudgeArm, PeopleLabels
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.annotations import Annotation, Annotations, as_number
from judge_gym.metrics.accuracy import cohens_kappa, share_correct
from judge_gym.metrics.agreement import NO_SHARED_ITEM, krippendorff_alpha
from judge_gym.metrics.belief import belief_distance
from judge_gym.metrics.cells import FloatArray, Verdicts
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.masses import cell_masses
from judge_gym.metrics.people import (
    AlternativeAnnotator,
    alternative_annotator,
    distance_to_people,
    known_stages,
    labels_of,
    mean_values,
    negative_square,
    ordinal_distance,
    overlap,
    same,
    with_people,
)
from judge_gym.seeds import derive_seed
from judge_gym.store.results import ResultRow

ALT_TEST = "Source: Calderon, Reichart and Dror 2025, ACL (alternative annotator test)."
_LABELS = "labels of people for its items (judge-gym data import-annotations)"

TABLES = (
    FigureTable(
        "Judges beside people",
        (
            "Whether a judge may stand in for one of the people who labelled its items. Winning "
            "rate: share of people whom it is shown to match, given what they cost; 0.5 passes. "
            "Advantage: probability that it agrees with the other people at least as well as a "
            "person. Lead: share of items on which a person agrees better less the share on which "
            "the judge does."
        ),
        question="right",
        rank=60,
        figures=(
            Figure("alt_test_winning_rate", "share", _LABELS),
            Figure("alt_test_advantage", "probability", _LABELS),
            Figure("alt_test_lead", "share", _LABELS),
        ),
        columns=(
            Column("winning rate", "alt_test_winning_rate"),
            Column("advantage", "alt_test_advantage"),
            Column("lead of people", "alt_test_lead"),
            Column("items", "alt_test_advantage", "items"),
        ),
        formulas=(
            "of person j on item i: W = 1 if the judge's label agrees with the others' at least as "
            "well as that of j; advantage = mean over people of the mean of W",
            "winning rate = share of people with the null (W of the person less W of the judge ≥ ε)"
            " rejected: one-sided t test over items, Benjamini-Yekutieli at 5%",
        ),
        needs=(
            "Needs two people an item, and a person with 30 such items. Advantage: t interval, "
            "items resampled, people fixed.",
        ),
        sources=(ALT_TEST,),
    ),
    FigureTable(
        "Distance to people",
        (
            "How far a judgement is from the labels of people, beside how far a person is from "
            "the others; an excess below 0 is nearer to people than they are to each other. Sets "
            "count by their overlap, and by distance along the scale. Distance of sets is 0 for a "
            "judge whose verdicts are spread as people's labels."
        ),
        question="right",
        rank=70,
        figures=(
            Figure("people_distance", "share", _LABELS),
            Figure("people_distance_excess", "share", _LABELS),
            Figure("people_distance_ordinal", "share", _LABELS),
            Figure("people_distance_ordinal_excess", "share", _LABELS),
            Figure("people_belief_distance", "squared distance", _LABELS),
        ),
        columns=(
            Column("distance", "people_distance"),
            Column("of people", "people_distance", "floor"),
            Column("excess", "people_distance_excess"),
            Column("by stages", "people_distance_ordinal"),
            Column("of people", "people_distance_ordinal", "floor"),
            Column("excess", "people_distance_ordinal_excess"),
            Column("of sets", "people_belief_distance"),
            Column("items", "people_distance", "items"),
        ),
        formulas=(
            "distance = mean over items, judgements A and people B of 1 − |A∩B|/|A∪B|; by stages "
            "|s − t|/(S − 1)",
            "of people = the same for the label of each person and those of the others; excess = "
            "distance − of people, item by item",
        ),
        needs=(
            "Needs an item with two people and a judgement; distance of sets two replicates. 30 "
            "items advised: at 16 an excess of nothing is significant in 7% of data sets.",
        ),
    ),
    FigureTable(
        "Agreement with the majority",
        (
            "Verdicts against the label that most people gave an item, of two people or more: "
            "the share that is it, and Cohen's kappa. Items without a most frequent label are left "
            "out; of two people, those on which they differ."
        ),
        question="right",
        rank=75,
        figures=(
            Figure("majority_accuracy", "share", _LABELS),
            Figure("majority_kappa", "kappa", _LABELS),
        ),
        columns=(
            Column("majority", "majority_accuracy"),
            Column("kappa", "majority_kappa"),
            Column("items", "majority_accuracy", "items"),
        ),
        formulas=(
            "majority = share of verdicts at the label that more people gave than any other",
        ),
        needs=("Needs an item with two people, point verdicts and point labels.",),
    ),
    FigureTable(
        "Agreement of people",
        "Agreement of the people with each other beyond chance: Krippendorff's alpha.",
        question="right",
        rank=80,
        figures=(Figure("people_alpha_ordinal", "agreement beyond chance", _LABELS),),
        columns=(
            Column("alpha", "people_alpha_ordinal"),
            Column("items", "people_alpha_ordinal", "items"),
            Column("labels", "people_alpha_ordinal", "n"),
        ),
        in_terminal=False,
        formulas=("α = 1 − observed / expected squared distance of mean ranks",),
        needs=("Needs an item that two people labelled, and two stages in use.",),
        sources=("Source: Krippendorff 2019, Content Analysis, chapter 12.",),
    ),
)


@dataclass(frozen=True)
class LabelComparison:
    """How labels are compared: the score and epsilon of the alternative annotator test.

    `values` are the numbers of the labels, one each; None where they have no order.
    """

    score: str
    epsilon: float
    values: FloatArray | None


@dataclass(frozen=True)
class PeopleFigures:
    """The figures of a judge beside people."""

    test: AlternativeAnnotator
    distances: tuple[Estimate, ...]

    @property
    def figures(self) -> tuple[Estimate, ...]:
        """Every figure."""
        return (self.test.winning_rate, self.test.advantage, self.test.lead, *self.distances)


def beside_people(
    people: Verdicts, judge: Verdicts, how: LabelComparison, rng: np.random.Generator
) -> PeopleFigures:
    """Return the figures of one judge; people and judge number items alike."""
    sets, (given, judged) = labels_of(people, judge)
    alignment = overlap(sets)
    if how.score == "accuracy":
        alignment = same(len(sets))
    elif how.score == "neg_rmse" and how.values is not None:
        alignment = negative_square(mean_values(sets, how.values))
    test = alternative_annotator(given, judged, alignment, how.epsilon, rng)
    apart = distance_to_people(given, judged, 1 - overlap(sets), "people_distance", "share")
    distances = [apart.distance, apart.excess]
    if how.values is not None and np.ptp(how.values) > 0:
        by_order = distance_to_people(
            given,
            judged,
            ordinal_distance(sets, how.values),
            "people_distance_ordinal",
            "0-1 scale",
        )
        distances += [by_order.distance, by_order.excess]
    return PeopleFigures(test, (*distances, _belief_distance(people, judge)))


def _belief_distance(people: Verdicts, judge: Verdicts) -> Estimate:
    """Return the distance between the labels of people, taken as one rater's, and of the judge."""
    both = with_people(people, judge)
    metric = "people_belief_distance"
    if not (both.sizes() >= 2).all(axis=0).any():
        because = "no item has two people and two replicates of the judge"
        return not_estimable(metric, because, n=len(both), unit="squared distance")
    return replace(belief_distance(cell_masses(both)).overall, metric=metric)


def of_data_set(given: Annotations) -> Iterator[tuple[str, PeopleFigures]]:
    """Yield each judge of a data set beside its people, by name.

    Seeded by the names of set and judge, so that the same file gives the same figures.
    """
    items = sorted({row.item for row in given.rows})
    people, judges = given.of_kind("person"), given.of_kind("judge")
    numbers = [as_number(label) for label in given.labels]
    ordered = given.described.score == "neg_rmse" and None not in numbers
    how = LabelComparison(
        given.described.score,
        given.described.epsilon,
        np.array(numbers, dtype=np.float64) if ordered else None,
    )
    for name in sorted({row.annotator for row in judges}):
        rng = np.random.default_rng(derive_seed("annotations", given.name, name))
        rows = [row for row in judges if row.annotator == name]
        yield (
            name,
            beside_people(
                _verdicts(people, items, given.labels),
                _verdicts(rows, items, given.labels),
                how,
                rng,
            ),
        )


def _verdicts(rows: Sequence[Annotation], items: Sequence[str], labels: Sequence[str]) -> Verdicts:
    """Return labels as sets of the numbers of `labels`; annotators are numbered by name."""
    annotators = sorted({row.annotator for row in rows})
    who = {name: number for number, name in enumerate(annotators)}
    item = {key: number for number, key in enumerate(items)}
    bit = {label: 1 << number for number, label in enumerate(labels)}
    return Verdicts(
        judge=np.array([who[row.annotator] for row in rows], dtype=np.int64),
        item=np.array([item[row.item] for row in rows], dtype=np.int64),
        stages=np.array([sum(bit[label] for label in row.labels) for row in rows], dtype=np.int64),
        n_judges=len(annotators),
        n_items=len(items),
        n_stages=max(2, len(labels)),
    )


def people_figures(group: Group) -> Iterator[ResultRow]:
    """Yield each judge beside the people who labelled its items under its rubric.

    A judge's figures are on the items that it scored, whatever others did; the agreement of the
    people is on all that they labelled.
    """
    for given in group.data.people:
        judged = [number for number, arms in enumerate(group.own_arms) if uses(arms, given)]
        if not judged:
            continue
        labels = labels_of_arms(group.own_arms[judged[0]])
        people = verdicts_of_people(group, given, labels)
        metric = "people_alpha_ordinal"
        alpha = krippendorff_alpha(people, group.rng(metric, people=given.name))
        if alpha.because == NO_SHARED_ITEM:
            alpha = replace(alpha, because="no item has the labels of two people")
        yield group.row(replace(alpha, metric=metric), group.own_arms, people=given.name)
        values = np.arange(1.0, group.n_stages + 1)
        how = LabelComparison(given.score, given.epsilon, values)
        majority = _majority(group, people)
        for number in judged:
            scope = {"judge": group.judges[number].model, "people": given.name}
            rng = group.rng("beside_people", **scope)
            beside = beside_people(people, group.own.of_judges([number]), how, rng)
            for estimate in (*beside.figures, *_with_majority(group, number, majority, scope)):
                yield group.row(estimate, [group.own_arms[number]], p_adjusted=None, **scope)


def _majority(group: Group, people: Verdicts) -> FloatArray | None:
    """Return the stage that most people gave each item; NaN for a tie, of one person, and where
    a person gave it several.

    None where no item has one.
    """
    several = (people.sizes() > 0).sum(axis=0) > 1
    several[people.item[np.bitwise_count(people.stages) > 1]] = False
    if group.is_subset or not several.any():
        return None
    return np.where(several, known_stages(people, by_vote=True), np.nan)


def _with_majority(
    group: Group, number: int, majority: FloatArray | None, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    """Yield a judge's agreement with the most frequent label; nothing without `majority`."""
    if majority is None:
        return
    own = group.own.of_judges([number])
    own = own.rows(np.isfinite(majority)[own.item])
    truth = np.nan_to_num(majority).astype(np.int64)
    yield replace(share_correct(own, truth), metric="majority_accuracy")
    kappa = cohens_kappa(own, truth, group.rng("majority_kappa", **scope))
    yield replace(kappa, metric="majority_kappa")


def uses(arms: Sequence[JudgeArm], given: PeopleLabels) -> bool:
    """Whether a judge was given the rubric whose stages the labels name."""
    return any(arm.rubric_id == given.rubric_id for arm in arms)


def labels_of_arms(arms: Sequence[JudgeArm]) -> tuple[str, ...]:
    """Return the stage labels of a judge's own arm."""
    return arms[0].labels


def verdicts_of_people(group: Group, given: PeopleLabels, labels: Sequence[str]) -> Verdicts:
    """Return people's labels of the group's items as verdicts, people numbered by name."""
    bit = {label: 1 << number for number, label in enumerate(labels)}
    annotators = sorted(set(given.annotator))
    who = {name: number for number, name in enumerate(annotators)}
    verdicts = Verdicts(
        judge=np.array([who[name] for name in given.annotator], dtype=np.int64),
        item=np.minimum(np.searchsorted(group.items, given.item), len(group.items) - 1),
        stages=np.array([sum(bit[label] for label in some) for some in given.labels]),
        n_judges=len(annotators),
        n_items=len(group.items),
        n_stages=group.n_stages,
        question=group.data.questions(group.items),
    )
    return verdicts.rows(np.isin(given.item, group.items))


OF_GROUP = (people_figures,)
