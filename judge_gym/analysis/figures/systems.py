"""How rightly each judge ranks systems, by known answers or labels of a part of its items."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.figures.people import labels_of_arms, uses, verdicts_of_people
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of_single
from judge_gym.design.rubric import FIRST, SECOND
from judge_gym.metrics.cells import (
    BoolArray,
    FloatArray,
    IntArray,
    as_written,
    mean_scores,
    positions,
)
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.expert_labels import MIN_LABELLED
from judge_gym.metrics.people import known_stages
from judge_gym.metrics.stratified_labels import NEXT_LABELS
from judge_gym.metrics.system_errors import system_errors
from judge_gym.metrics.system_ranking import (
    NO_SCORE,
    Ranking,
    decided_at_random,
    labels_needed,
    labels_to_buy,
    ranking,
)
from judge_gym.metrics.system_scores import (
    APART,
    OneCorrection,
    SystemScores,
    figures_of_all,
    figures_of_system,
    first_shown_bias,
    one_correction,
)
from judge_gym.store.results import ResultRow

_SYSTEMS = "recorded judgements of several systems with known answers of a part of each"
_PARTLY = f"{_SYSTEMS}, others without a label and pairs that are not decided"
_OF_TWO = f"{_SYSTEMS}, on two stages"

TABLES = (
    FigureTable(
        "Ranking of systems",
        (
            "Whether each judge orders systems as people do. Decided: pairs of systems whose order "
            "is shown, with 95% over all pairs. Inverted: pairs that the judge's own means order "
            "the other way, as expected where labels leave the order open, and as means stand. τ: "
            "of the judge's means with people's. Intervals of both take the judge's means of these "
            "answers as they are, and draw people's. One correction: the p of equal error rates on "
            f"all systems, and the power to find rates {APART:g} apart from their mean."
        ),
        question="right",
        rank=2,
        figures=(
            Figure("pairs_decided", "share", _SYSTEMS),
            Figure("expected_inversions", "pairs", _SYSTEMS),
            Figure("order_inversions", "pairs", _SYSTEMS),
            Figure("ranking_tau", "tau", _SYSTEMS),
            Figure("one_correction", "probability", _SYSTEMS),
            Figure("system_error", "0-1 scale", _SYSTEMS),
            Figure("system_error_shared_correction", "0-1 scale", _SYSTEMS),
            Figure("pairs_decided_next", "pairs", _PARTLY),
            Figure("first_shown_bias", "share", f"{_SYSTEMS}, in pairs"),
            Figure("items_tied", "items", f"{_SYSTEMS}, some of which as many pass as fail"),
        ),
        columns=(
            Column("decided", "pairs_decided"),
            Column("inverted", "expected_inversions"),
            Column("as it stands", "order_inversions", digits=0),
            Column("τ", "ranking_tau"),
            Column("p of one correction", "one_correction", "p"),
            Column("power", "one_correction"),
            Column("error by system", "system_error"),
            Column("with one correction", "system_error_shared_correction"),
            Column("decided next", "pairs_decided_next"),
            Column("if spread evenly", "pairs_decided_next", "floor"),
            Column("prefers what is first", "first_shown_bias"),
            Column("items without a majority", "items_tied", digits=0),
        ),
        formulas=(
            "people's mean of a system = mean of labels + λ·(mean score − mean score of labelled)",
            "decided: |difference| > c·error, c the 95% quantile of the largest |t| of all pairs",
            "error by system = mean over systems of |judge's mean − people's mean|; interval: "
            "jackknife over questions, too high where the error is chance",
            "of pairs of answers, a system's mean is its win rate against the systems that it met: "
            "1 for a pair it wins, 0.5 for a tie",
            "prefers what is first = mean of judge − people, for the answer shown first",
            "decided next = Σ over pairs of Φ(|difference| / error − c), 50 labels later",
        ),
        needs=(f"Needs two systems with {MIN_LABELLED} labels each.",),
        sources=(
            "Prediction-powered means: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453.",
            "Simultaneous intervals: Hothorn, Bretz and Westfall 2008, Biometrical Journal 50.",
        ),
    ),
    FigureTable(
        "Judges by system",
        (
            "A judge's errors on each system: sensitivity, the share of passes among what people "
            "passed, specificity, the share of fails among what people failed, and Youden's J, "
            "their sum less 1. Bias: judge less people. Corrected: people's mean by the judge's "
            "scores and the labels; intervals hold for all systems at once."
        ),
        question="right",
        rank=3,
        figures=(
            Figure("system_corrected", "share", _SYSTEMS),
            Figure("system_judged", "share", _SYSTEMS),
            Figure("system_people", "share", _SYSTEMS),
            Figure("system_bias", "share", _SYSTEMS),
            Figure("system_sensitivity", "share", _OF_TWO),
            Figure("system_specificity", "share", _OF_TWO),
            Figure("system_youden", "share", _OF_TWO),
            Figure("system_readable", "share", _SYSTEMS),
            Figure("system_labels_next", "labels", _PARTLY),
        ),
        columns=(
            Column("people, corrected", "system_corrected"),
            Column("labelled", "system_people"),
            Column("judge", "system_judged"),
            Column("bias", "system_bias"),
            Column("sensitivity", "system_sensitivity"),
            Column("specificity", "system_specificity"),
            Column("J", "system_youden"),
            Column("readable", "system_readable"),
            Column("labels", "system_bias", "n"),
            Column("label next", "system_labels_next", digits=0),
        ),
        formulas=("J = sensitivity + specificity − 1", "bias = mean of judge − people"),
        needs=("Needs a label of each class for J.",),
        in_terminal=False,
    ),
    FigureTable(
        "All systems together",
        (
            "Figures of all systems together, over items with a judgement and a known answer. They "
            "hide how a judge's errors differ between systems."
        ),
        question="right",
        rank=5,
        figures=(
            Figure("scott_pi", "kappa", _OF_TWO),
            Figure("pooled_sensitivity", "share", _OF_TWO),
            Figure("pooled_specificity", "share", _OF_TWO),
            Figure("pooled_judged", "share", _SYSTEMS),
            Figure("pooled_people", "share", _SYSTEMS),
        ),
        columns=(
            Column("π", "scott_pi"),
            Column("sensitivity", "pooled_sensitivity"),
            Column("specificity", "pooled_specificity"),
            Column("judge", "pooled_judged"),
            Column("people", "pooled_people"),
            Column("labels", "pooled_people", "n"),
        ),
        formulas=(
            "π = (observed − expected) / (1 − expected), expected of the mean rate",
            "judge, people = mean; Wilson interval of values of 0 and 1, t interval of graded "
            "ones, both clustered by question",
        ),
        needs=("Needs a label of each class.",),
        sources=("Source of π: Scott 1955, Public Opinion Quarterly 19.",),
        in_terminal=False,
    ),
    FigureTable(
        "Pairs of systems",
        (
            "People's mean of one system less that of the other, as scores and labels tell, with "
            "95% intervals that hold for all pairs of a judge at once. An interval around 0: "
            "labels cannot tell which is better."
        ),
        question="right",
        rank=4,
        figures=(Figure("system_difference", "share", _SYSTEMS),),
        columns=(Column("better by", "system_difference"),),
        formulas=("interval = difference ± c·error, c of all pairs",),
        needs=(f"Needs two systems with {MIN_LABELLED} labels each.",),
        in_terminal=False,
    ),
)


def systems_ranked(group: Group) -> Iterator[ResultRow]:
    """Yield how each judge ranks systems; nothing of one system or of unknown ones.

    Without known answers nothing but the win rates of pairs.
    """
    scores = scores_by_system(group)
    if scores is None:
        return
    if not np.isfinite(scores.people).any():
        yield from _win_rates(scores)
        return
    names = scores.names
    if scores.tied:
        n = scores.tied + int(np.isfinite(scores.people).sum())
        estimate = Estimate("items_tied", scores.tied, None, None, n, n, unit="items")
        yield group.row(estimate, group.own_arms, p_adjusted=None)
    for number, judge in enumerate(group.judges):
        arms = group.own_arms[number]
        judged = scores.judged(number)
        found = ranking(judged, group.rng("system_ranking", judge=judge.model))
        for estimate in _of_judge(found):
            yield group.row(estimate, [arms], judge=judge.model)
        if scores.of_pairs:
            for estimate in (scores.first_shown_bias(number), *_next_pairs(found)):
                yield group.row(estimate, [arms], p_adjusted=None, judge=judge.model)
        else:
            test = one_correction(judged, group.rng("one_correction", judge=judge.model))
            for estimate in (*_of_errors(judged, found, test), *figures_of_all(judged)):
                yield group.row(estimate, [arms], judge=judge.model)
            for estimate, about in _next_labels(found, names):
                yield group.row(estimate, [arms], p_adjusted=None, judge=judge.model, **about)
        for system, name in enumerate(names):
            for estimate in (_corrected(found, system), *figures_of_system(judged, system)):
                yield group.row(estimate, [arms], judge=judge.model, system=name)
        for estimate, first, second in _pairs(found, names):
            yield group.row(estimate, [arms], judge=judge.model, system=first, rival=second)


def _win_rates(scores: "ScoresBySystem") -> Iterator[ResultRow]:
    group = scores.group
    for number, judge in enumerate(group.judges if scores.of_pairs else ()):
        judged = scores.judged(number)
        for system, name in enumerate(scores.names):
            rate = next(
                one for one in figures_of_system(judged, system) if one.metric == "system_judged"
            )
            yield group.row(rate, [group.own_arms[number]], judge=judge.model, system=name)


@dataclass(frozen=True, eq=False)
class ScoresBySystem:
    """What judges and people say of the items of several systems, `names` in order.

    `people` are on 0 to 1, NaN without a label; `tied` items have as many for one verdict as for
    the other. `of_items` has the system of each item, or a row with the two of each pair.
    """

    group: Group
    people: FloatArray
    tied: int
    of_items: np.ndarray
    names: list[str]

    @property
    def of_pairs(self) -> bool:
        """Whether items are pairs of answers of two systems."""
        return self.of_items.ndim == 2

    @cached_property
    def placed(self) -> BoolArray:
        """Which of the group's items have a system; of pairs two that differ."""
        if self.of_pairs:
            first, second = self.of_items.T
            return np.asarray((first != "") & (second != "") & (first != second))
        return np.asarray(self.of_items != "")

    @cached_property
    def _questions(self) -> IntArray:
        return self.group.questions(self.placed)

    def judged(self, number: int) -> SystemScores:
        """Return a judge's mean scores beside people's, of the items that have a system."""
        own = mean_scores(self.group.own.of_judges([number]))
        score = np.where(own.present[0], own.value[0], np.nan)
        if self.of_pairs:
            first, second = np.searchsorted(self.names, self.of_items[self.placed]).T
            return SystemScores.of_pairs(
                first.astype(np.int64),
                second.astype(np.int64),
                cluster=self._questions,
                # The first stage, 0, chooses the first answer.
                judge=1 - score[self.placed],
                people=1 - self.people[self.placed],
                n_systems=len(self.names),
                binary=self.group.n_stages == 2,
            )
        return SystemScores(
            system=np.searchsorted(self.names, self.of_items[self.placed]).astype(np.int64),
            cluster=self._questions,
            judge=score[self.placed],
            people=self.people[self.placed],
            n_systems=len(self.names),
            binary=self.group.n_stages == 2,
        )

    def first_shown_bias(self, number: int) -> Estimate:
        """Return how much more often than people a judge of pairs prefers what is shown first."""
        group = self.group
        _, rows = select(group.data.samples, [group.own_arms[number]])
        place = np.searchsorted(group.items, rows.item)
        questions = group.questions(np.ones(len(group.items), dtype=np.bool_))
        judge = np.full(len(rows.item), np.nan)
        scored = rows.stages > 0
        judge[scored] = positions(rows.stages[scored], group.n_stages)
        judge = 1 - as_written(judge, rows.score)
        people = 1 - self.people[place]
        listed = rows.shown_first == 1
        judge, people = (np.where(listed, of, 1 - of) for of in (judge, people))
        return first_shown_bias(judge, people, questions[place])


def scores_by_system(group: Group) -> ScoresBySystem | None:
    """Return the scores of a group by system; None of one system or of a part.

    None of pairs whose two systems are not known.
    """
    truth = group.data.truth
    named = truth.pair or truth.system
    if not named or not group.own_arms[0] or group.is_subset:
        return None
    labels = labels_of_arms(group.own_arms[0])
    is_of_pairs = group.judges[0].experiment.judges_pairs or {FIRST, SECOND} <= set(labels)
    if is_of_pairs and not truth.pair:
        return None
    of_items = np.array([named[item] for item in group.items], dtype=np.str_)
    names = sorted({*of_items.ravel().tolist()} - {""})
    return (
        ScoresBySystem(group, *labels_of_items(group), of_items, names) if len(names) > 1 else None
    )


def labels_of_items(group: Group) -> tuple[FloatArray, int]:
    """Return the label of each item, on 0 to 1, NaN without one, and the number of ties.

    The known answer; without any, what people's labels make: of two stages by vote, else their
    mean. A tie has none. Numbers count as written.
    """
    scores = group.data.truth.score
    written = np.array(scores)[group.items] if scores else np.full(len(group.items), np.nan)
    truth = truth_of_single(group)
    if truth is not None and truth.any():
        known = _near((truth - 1) / (group.n_stages - 1), written, group.n_stages)
        return np.where(truth > 0, known, np.nan), 0
    people = np.full(len(group.items), np.nan)
    labelled = np.zeros(len(group.items), dtype=np.bool_)
    for given in group.data.people:
        if uses(group.own_arms[0], given):
            labels = labels_of_arms(group.own_arms[0])
            verdicts = verdicts_of_people(group, given, labels)
            made = known_stages(verdicts, by_vote=group.n_stages == 2)
            of_stages = (made - 1) / (group.n_stages - 1)
            counted = _near(of_stages, written, group.n_stages)
            people = np.where(np.isfinite(made), counted, people)
            labelled[verdicts.item] = True
    return people, int(np.count_nonzero(labelled & ~np.isfinite(people)))


def _near(of_stages: FloatArray, written: FloatArray, n_stages: int) -> FloatArray:
    """Return what is written, where its stage is the one that was read.

    A mapping may give a number another stage than the nearest; the stage counts then.
    """
    near = np.abs(written - of_stages) <= 1 / (n_stages - 1)
    return as_written(of_stages, np.where(near, written, np.nan))


def _of_judge(found: Ranking) -> Iterator[Estimate]:
    n, pairs = int(found.labels.sum()), len(found.outcomes)
    ranked = int(found.ranked.sum())
    if pairs:
        decided = int(np.count_nonzero(found.outcomes))
        method = f"{decided} of {pairs} pairs, simultaneous 95%"
        yield Estimate("pairs_decided", decided / pairs, None, None, pairs, ranked, method=method)
        yield Estimate("order_inversions", found.inversions, None, None, pairs, ranked)
    else:
        because = labels_needed(sorted(found.labels.tolist())[-2:]) or NO_SCORE
        yield not_estimable("pairs_decided", because, n=n, unit="share")
    yield found.expected_inversions()
    yield found.tau()


def _of_errors(
    judged: SystemScores, found: Ranking, test: OneCorrection | None
) -> Iterator[Estimate]:
    n = int(found.labels.sum())
    if test is not None:
        yield Estimate(
            "one_correction", test.power, None, None, n, judged.n_systems, p=test.p,
            method=f"power of the test of equal error rates; {test.why_not or 'one serves'}",
        )  # fmt: skip
    yield from system_errors(judged)


def _next_labels(found: Ranking, names: list[str]) -> Iterator[tuple[Estimate, dict[str, str]]]:
    """Yield what the next labels are forecast to decide, and how many of each system they are."""
    if not found.left.any() or found.outcomes.all():
        return
    plan, n = labels_to_buy(found, NEXT_LABELS), int(found.labels.sum())
    forecast = Estimate(
        "pairs_decided_next", plan.planned, None, None, int(plan.counts.sum()), len(names),
        floor=plan.evenly, unit="pairs", method=f"forecast; {plan.now:.1f} now",
    )  # fmt: skip
    yield forecast, {}
    for name, count in zip(names, plan.counts.tolist(), strict=True):
        yield (
            Estimate("system_labels_next", count, None, None, n, n, unit="labels"),
            {"system": name},
        )


def _next_pairs(found: Ranking) -> Iterator[Estimate]:
    """Yield what the next labels of pairs, drawn at random, are forecast to decide."""
    more = min(NEXT_LABELS, int(found.left.sum()) // 2)
    if more and not found.outcomes.all():
        yield Estimate(
            "pairs_decided_next", decided_at_random(found, more), None, None, more,
            int(found.ranked.sum()), unit="pairs", method="forecast; labels at random",
        )  # fmt: skip


def _corrected(found: Ranking, system: int) -> Estimate:
    metric, labels = "system_corrected", int(found.labels[system])
    if not found.ranked[system]:
        because = labels_needed([labels]) or NO_SCORE
        return not_estimable(metric, because, n=labels, n_items=labels, unit="share")
    value, lower, upper = (float(of[system]) for of in (found.corrected, found.lower, found.upper))
    method = "labels and scores, prediction-powered; simultaneous over systems, by question"
    return Estimate(metric, value, lower, upper, labels, labels, method=method, unit="share")


def _pairs(found: Ranking, names: list[str]) -> Iterator[tuple[Estimate, str, str]]:
    """Yield the difference of every pair, the better system first."""
    half = found.critical * found.errors
    for first, second, apart, wide in zip(
        *found.pairs, found.differences.tolist(), half.tolist(), strict=True
    ):
        n = int(found.labels[first] + found.labels[second])
        better, worse = (first, second) if apart >= 0 else (second, first)
        value = abs(apart)
        estimate = Estimate(
            "system_difference", value, value - wide, value + wide, n, n,
            method="simultaneous over pairs, by question",
        )  # fmt: skip
        yield estimate, names[better], names[worse]


OF_GROUP = (systems_ranked,)
