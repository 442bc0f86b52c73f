"""Figures of a judge corrected by labels of a part of its items, and what to label next.

Labels are those of people under the judge's rubric, or the known answers. Where every item has
one, or none, there is nothing to correct.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.analysis.figures.people import labels_of_arms, uses, verdicts_of_people
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import known_truth, parts_of
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, numbered, pignistic
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    Estimate,
    Remark,
    RemarkKind,
    effective_counts,
    expected_half_width,
    remarked,
)
from judge_gym.metrics.expert_labels import (
    Labelled,
    Screened,
    prediction_powered_difference,
    prediction_powered_mean,
    rogan_gladen,
    rogan_gladen_difference,
)
from judge_gym.metrics.stratified_labels import NEXT_LABELS, next_labels, stratified_mean
from judge_gym.metrics.system_ranking import Ranking, ranking
from judge_gym.metrics.system_scores import SystemScores
from judge_gym.store.results import ResultRow

POWERED = (
    "Sources: Angelopoulos et al. 2023, Science 382; Angelopoulos, Duchi and Zrnic 2023 for the"
    " weight λ."
)
RANDOM_PART = (
    "Needs 20 labelled items, a random part of all, and two others; labels that crowd at one end"
    " without being at the ends of the scale give no interval."
)
_LABELS = "labels, of people or known answers, for a part of the items"

TABLES = (
    FigureTable(
        "Corrected by labels",
        (
            "The mean score (0-1 scale) and the share of each stage that the labels of a part of "
            "the items would give for all of them, and the difference between categories of "
            "items. By stratum: labels drawn at random within each stage of the judge. The rest "
            "by Se and Sp: of the items without a label alone, by the judge's sensitivity and "
            "specificity on the others (Rogan-Gladen)."
        ),
        question="right",
        rank=90,
        figures=(
            Figure("corrected_mean", "0-1 scale", _LABELS),
            Figure("corrected_mean_stratified", "0-1 scale", _LABELS),
            Figure("corrected_share", "share", _LABELS),
            Figure("corrected_share_rogan_gladen", "share", _LABELS),
            Figure(
                "corrected_difference",
                "0-1 scale",
                "labels for a part of the items, and items of several categories",
            ),
            Figure(
                "corrected_difference_rogan_gladen",
                "share",
                "labels for a part of the items, of several categories, and two stages",
            ),
        ),
        columns=(
            Column("mean", "corrected_mean"),
            Column("by stratum", "corrected_mean_stratified"),
            Column("share", "corrected_share"),
            Column("rest by Se and Sp", "corrected_share_rogan_gladen"),
            Column("difference", "corrected_difference"),
            Column("rest by Se and Sp", "corrected_difference_rogan_gladen"),
            Column("items", "corrected_mean", "items"),
        ),
        formulas=(
            "corrected = λ · mean of the judge on the other items + mean (label − λ · judge) on "
            "labelled items",
            "by stratum = Σ W · mean label of the items that the judge gave a stage, W their share",
            "by Se and Sp: (AP + Sp − 1)/(Se + Sp − 1); of a difference ΔAP/(Se + Sp − 1); AP is "
            "the share that the judge marks of the items without a label",
        ),
        needs=(
            RANDOM_PART,
            "By Se and Sp: 5 labelled items of each class, and one Se and Sp for all items; "
            "exploratory below 60 labels, where its interval is wide (coverage 95 to 100%).",
        ),
        sources=(
            POWERED,
            "Rogan and Gladen 1978; interval of Lang and Reiczigel 2014, Preventive Veterinary "
            "Medicine 113. Strata: Cochran 1977, section 5.4.",
        ),
    ),
    FigureTable(
        "What to label next",
        (
            "Of the next labels, how many to draw at random among the items that the judge gave "
            "each stage, and the half-width of the interval of the mean by stratum expected now, "
            "with labels at random and with this plan. Read the mean by stratum afterwards."
        ),
        question="right",
        rank=100,
        figures=(
            Figure("labels_next", "labels", _LABELS),
            Figure("labels_half_width", "0-1 scale", _LABELS),
        ),
        columns=(
            Column("labels", "labels_next", digits=0),
            Column("half-width", "labels_half_width", digits=3),
        ),
        in_terminal=False,
        formulas=(
            "labels in proportion to W · s: the share of items and the spread of labels",
            "half-width = t · √(Σ W²·s²/n + Σ W·(mean − overall mean)²/N), labels n, items N",
        ),
        needs=("Needs two labels, and items without one.",),
        sources=("Source: Neyman 1934, Journal of the Royal Statistical Society 97.",),
    ),
)


MOST_SYSTEMS = 6
"""Most categories of items that are compared with each other."""


@dataclass(frozen=True, eq=False)
class _Known:
    """Labels of a group's items: shares of the stages, items x stages, NaN without a label."""

    shares: FloatArray
    people: str = ""
    """The set of labels; empty for the known answers."""

    @property
    def labelled(self) -> BoolArray:
        return np.isfinite(self.shares[:, 0])


@dataclass(frozen=True, eq=False)
class _JudgedItems:
    """What a judge says of a group's items: shares of the stages, and where it says anything."""

    shares: FloatArray
    present: BoolArray
    question: IntArray | None
    """What each item answers, from 0; None where no two share one."""

    @property
    def nearest(self) -> FloatArray:
        """The stage nearest to its mean score of each item, on the 0-1 scale."""
        top = self.shares.shape[1] - 1
        return np.asarray(np.floor(_scores(self.shares) * top + 0.5) / top)

    def design_effect(self, values: FloatArray, chosen: BoolArray) -> float:
        """Return how many of the chosen items count as one in their share; 1 or more."""
        if self.question is None or not chosen.any():
            return 1.0
        of = self.question[chosen]
        _, counted = effective_counts(np.bincount(of, values[chosen]), np.bincount(of))
        return int(chosen.sum()) / counted


def _scores(shares: FloatArray) -> FloatArray:
    stages = shares.shape[1]
    return np.asarray(shares @ (np.arange(stages) / (stages - 1)))


def corrections(group: Group) -> Iterator[ResultRow]:
    """Yield the corrected figures of each judge with labels of a part of its items."""
    shares, present = pignistic(group.own)
    question = group.data.questions(group.items)
    for number, judge in enumerate(group.judges):
        judged = _JudgedItems(shares[number], present[number], question)
        for known in _known(group, number):
            labelled = known.labelled & judged.present
            others = judged.present & ~known.labelled
            if not (labelled.any() and others.any()):
                continue
            scope = {"judge": judge.model} | ({"people": known.people} if known.people else {})
            for estimate, more in _figures(group, known, judged):
                random = remarked(estimate, Remark(RemarkKind.RANDOM_LABELS))
                row = random if estimate.estimate is not None else estimate
                yield group.row(row, [group.own_arms[number]], p_adjusted=None, **scope, **more)


def _known(group: Group, number: int) -> Iterator[_Known]:
    """Yield the labels of a judge's items, set by set, the known answers first."""
    arms = group.own_arms[number]
    truth = known_truth(group, number)
    if truth is not None:
        shares = np.full((len(group.items), group.n_stages), np.nan)
        known = np.flatnonzero(truth > 0)
        shares[known] = 0
        shares[known, truth[known] - 1] = 1
        yield _Known(shares)
    for given in group.data.people:
        if uses(arms, given):
            people = verdicts_of_people(group, given, labels_of_arms(arms))
            shares, present = pignistic(replace(people, judge=people.judge * 0, n_judges=1))
            yield _Known(np.where(present[0][:, None], shares[0], np.nan), given.name)


def _figures(
    group: Group, known: _Known, judged: _JudgedItems
) -> Iterator[tuple[Estimate, dict[str, str]]]:
    every = np.ones(len(group.items), dtype=np.bool_)
    expert, judge = _scores(known.shares), _scores(judged.shares)
    mean = _mean(known, judged, expert, judge)
    yield replace(mean, metric="corrected_mean", unit="0-1 scale"), {}
    by_stage = _part(known, judged, expert, judged.nearest, every)
    stratified = stratified_mean(by_stage, bounds=UNIT_INTERVAL)
    yield replace(stratified, metric="corrected_mean_stratified", unit="0-1 scale"), {}
    for stage in range(1 if group.n_stages == 2 else 0, group.n_stages):
        scope = {"stage": str(stage + 1)}
        shares = known.shares[:, stage], judged.shares[:, stage]
        share = _mean(known, judged, *shares)
        yield replace(share, metric="corrected_share", unit="share"), scope
        screened = rogan_gladen(_screened(known, judged, stage, every))
        yield replace(screened, metric="corrected_share_rogan_gladen"), scope
    yield from _differences(group, known, judged, expert, judge)
    yield from _planned(by_stage, group.n_stages)


def _differences(
    group: Group, known: _Known, judged: _JudgedItems, expert: FloatArray, judge: FloatArray
) -> Iterator[tuple[Estimate, dict[str, str]]]:
    """Yield the difference of each two categories of items, such as the systems that made them."""
    systems = {
        about["category"]: chosen for about, chosen in parts_of(group) if "category" in about
    }
    if not 2 <= len(systems) <= MOST_SYSTEMS:
        return
    ranked = None if judged.question is None else _ranked(known, judged, expert, judge, systems)
    for place, other in combinations(range(len(systems)), 2):
        first, second = (list(systems)[one] for one in (place, other))
        scope = {"category": f"{second} less {first}"}
        parts = [_part(known, judged, expert, judge, systems[name]) for name in (first, second)]
        if ranked is None:
            powered = prediction_powered_difference(*parts, scale=UNIT_INTERVAL)
        else:
            n = parts[0].n + parts[1].n
            powered = replace(ranked.difference_of(place, other), n=n, n_items=n)
        yield replace(powered, metric="corrected_difference", unit="0-1 scale"), scope
        if group.n_stages == 2:
            screened = [_screened(known, judged, 1, systems[name]) for name in (first, second)]
            both = _screened(known, judged, 1, systems[first] | systems[second])
            difference = rogan_gladen_difference(*screened, effects=both.effects)
            yield replace(difference, metric="corrected_difference_rogan_gladen"), scope


def _planned(labelled: Labelled, n_stages: int) -> Iterator[tuple[Estimate, dict[str, str]]]:
    """Yield how many of the next labels go to the items of each stage, and what they bring."""
    plan = next_labels(labelled, NEXT_LABELS)
    if plan is None:
        return
    n, total = labelled.n, int(plan.counts.sum())
    method = "allocation by share of items times spread of labels (Neyman)"
    for score, count in zip(plan.strata, plan.counts, strict=True):
        planned = Estimate(
            "labels_next", float(count), None, None, n, n, method=method, unit="labels",
            because="it is a plan",
        )  # fmt: skip
        yield planned, {"stage": str(round(float(score) * (n_stages - 1)) + 1)}
    widths = {
        "now": plan.now,
        f"{total} more at random": plan.at_random,
        f"{total} more as planned": plan.allocated,
    }
    for part, half in widths.items():
        width = expected_half_width(
            "labels_half_width", half, n=n, n_items=n, method=method, unit="0-1 scale"
        )
        yield width, {"part": part}


def _part(
    known: _Known, judged: _JudgedItems, expert: FloatArray, judge: FloatArray, chosen: BoolArray
) -> Labelled:
    labelled = known.labelled & judged.present & chosen
    others = judged.present & ~known.labelled & chosen
    order = np.concatenate([np.flatnonzero(labelled), np.flatnonzero(others)])
    question = None if judged.question is None else numbered(judged.question[order])
    return Labelled(expert[labelled], judge[labelled], judge[others], question=question)


def _mean(known: _Known, judged: _JudgedItems, expert: FloatArray, judge: FloatArray) -> Estimate:
    """Return the mean of labels for all items; over questions where several items share one."""
    every = np.ones(len(expert), dtype=np.bool_)
    part = _part(known, judged, expert, judge, every)
    if judged.question is None or part.is_too_small:
        return prediction_powered_mean(
            part.expert, part.judge, part.judge_alone, bounds=UNIT_INTERVAL
        )
    mean = _ranked(known, judged, expert, judge, {"": every}).mean_of(0)
    return replace(mean, n=part.n, n_items=part.n)


def _ranked(
    known: _Known,
    judged: _JudgedItems,
    expert: FloatArray,
    judge: FloatArray,
    systems: Mapping[str, BoolArray],
) -> Ranking:
    """Return the means of labels for all items of each system, with errors over questions."""
    system, of = np.nonzero([chosen & judged.present for chosen in systems.values()])
    scores = SystemScores(
        system=system,
        cluster=numbered(of if judged.question is None else judged.question[of]),
        judge=judge[of],
        people=expert[of],
        n_systems=len(systems),
        binary=False,
    )
    return ranking(scores, np.random.default_rng(0))


def _screened(known: _Known, judged: _JudgedItems, stage: int, chosen: BoolArray) -> Screened:
    """Return how a judge marks a stage; an item on which people are split in half is left out."""
    marks = judged.shares[:, stage]
    labels = np.where(known.labelled, known.shares[:, stage], 0.5)
    truly = judged.present & chosen & (labels > 0.5)
    not_truly = judged.present & chosen & (labels < 0.5)
    others = judged.present & chosen & ~known.labelled
    return Screened(
        positive=float(marks[others].sum()),
        tested=int(others.sum()),
        hits=float(marks[truly].sum()),
        truly=int(truly.sum()),
        passes=float((1 - marks[not_truly]).sum()),
        not_truly=int(not_truly.sum()),
        effects=(
            judged.design_effect(marks, others),
            judged.design_effect(marks, truly),
            judged.design_effect(1 - marks, not_truly),
        ),
    )


OF_GROUP = (corrections,)
