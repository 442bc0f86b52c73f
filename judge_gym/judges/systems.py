"""What a judge and people say of systems, by items of one system or pairs of two."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, numbered
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, not_estimable, rescaled
from judge_gym.metrics.expert_labels import are_shares
from judge_gym.metrics.system_ranking import MIN_SCORES, Ranking, labels_needed, ranking
from judge_gym.metrics.system_scores import SystemScores
from judge_gym.records.items import Item, question_numbers

MIN_ALONE = 2
"""Fewest labels of a system, of as many questions, that its figure by labels alone needs."""
Ways = tuple[Estimate, Estimate, Estimate]
"""The same figure by the judge alone, by labels alone, and by both."""
_BY_JUDGE, _BY_LABELS, _BY_APART = "the judge's scores alone", "labels alone", "scores less labels"
_OVER_QUESTIONS = "t interval over questions"


def systems_of(items: Sequence[Item]) -> list[str]:
    """Return the systems that items are of, or the categories of those that name none."""
    return sorted({name for item in items for name in item.systems})


def draw_to_compare(items: Sequence[Item]) -> str:
    """Return how labels are drawn to compare the systems of items; "" where there are not two.

    A pair is evidence on both of its systems, so that no draw of systems is at random within each.
    """
    if len(systems_of(items)) < 2:
        return ""
    return "random" if any(item.second_system for item in items) else "ranking"


def share_questions(items: Sequence[Item]) -> bool:
    """Whether several texts, of one system or of two, answer one question."""
    texts: dict[int, str] = {}
    return any(
        texts.setdefault(asked, item.key) != item.key
        for item, asked in zip(items, question_numbers(items), strict=True)
    )


def system_scores(items: Sequence[Item], judged: FloatArray, labels: FloatArray) -> SystemScores:
    """Return scores and labels, both on 0 to 1 by item and NaN without one, by `systems_of`.

    Of pairs 1 is a win of the first. Items answer the questions of `question_numbers`.
    """
    names = systems_of(items)
    of_pairs = any(item.second_system for item in items)
    places = [n for n, item in enumerate(items) if len(item.systems) == 1 + of_pairs]
    asked = np.array(question_numbers(items), dtype=np.int64)
    cluster = numbered(asked[places])
    of = np.array(
        [[names.index(name) for name in items[n].systems] for n in places], dtype=np.int64
    )
    judged, labels = judged[places], labels[places]
    if of_pairs:
        first, second = of.reshape(-1, 2).T
        return SystemScores.of_pairs(
            first, second, cluster=cluster, judge=judged, people=labels, n_systems=len(names),
            binary=False,
        )  # fmt: skip
    return SystemScores(of.ravel(), cluster, judged, labels, len(names), binary=False)


@dataclass(frozen=True, eq=False)
class ComparedSystems:
    """Systems that answered the same questions, or that stand in pairs, by question.

    Figures are on the scale of the judge, from `bounds`; intervals are of each figure by itself. Of
    graded scores or labels alone they are t over questions, paired where systems share these; of
    verdicts and pairs, which may all agree, the variance is that of `ranking`.
    """

    scores: SystemScores
    of_pairs: bool
    bounds: tuple[float, float]
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        judged: FloatArray,
        labels: FloatArray,
        bounds: tuple[float, float],
        rng: np.random.Generator,
    ) -> "ComparedSystems":
        """Return it of scores and labels by item, on the scale of the judge, NaN without one."""
        low, high = bounds
        judged, labels = ((of - low) / (high - low) for of in (judged, labels))
        of_pairs = any(item.second_system for item in items)
        return cls(system_scores(items, judged, labels), of_pairs, bounds, rng)

    @property
    def _unit(self) -> float:
        """The width of the judge's scale: figures are computed on 0 to 1."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def _ways(self) -> tuple[Ranking, Ranking, Ranking]:
        said = self.scores
        # By itself the judge's scores are what is said, where there are some.
        judge = self._alone(said.judge, MIN_SCORES)
        return judge, self._alone(said.people, MIN_ALONE), ranking(said, self.rng)

    def _alone(self, values: FloatArray, least: int) -> Ranking:
        """Return what is said of the systems by these values alone."""
        nothing = np.full(len(values), 0.5)
        graded = not (self.of_pairs or are_shares(values[np.isfinite(values)], UNIT_INTERVAL))
        said = replace(self.scores, people=values, judge=nothing)
        return ranking(said, self.rng, least, shrunk=not graded)

    def bias(self, systems: Sequence[int]) -> Estimate:
        """Return the judge's mean of a system less people's, or of two how these differ."""
        said = self.scores
        found = self._alone((said.judge - said.people + 1) / 2, MIN_ALONE)
        if len(systems) == 1:
            one = rescaled(found.mean_of(systems[0]), 2.0, -1.0)
        else:
            one = rescaled(found.difference_of(*systems), 2.0)
        one = replace(_by(_BY_APART, one), metric="judge_bias")
        return rescaled(one, self._unit)

    def mean(self, system: int) -> Ways:
        """Return the mean of a system; of pairs its win rate."""
        found = [way.mean_of(system) for way in self._ways]
        return self._scaled(found, [system], self.bounds[0])

    def difference(self, first: int, second: int) -> Ways:
        """Return the mean of the second less that of the first; paired by question."""
        found = [way.difference_of(first, second) for way in self._ways]
        return self._scaled(found, [first, second], 0.0)

    def labelled(self, systems: Sequence[int]) -> int:
        """Return how many of the items of these systems have a label."""
        return self._items(np.isfinite(self.scores.people), systems)

    def rows(self, systems: Sequence[int]) -> int:
        """Return how many items are of these systems."""
        return self._items(np.ones(len(self.scores.system), dtype=np.bool_), systems)

    def _items(self, chosen: BoolArray, systems: Sequence[int]) -> int:
        """Return how many of the chosen are of these systems; a pair counts once."""
        own = np.isin(self.scores.system, systems) & chosen
        return int((own.reshape(2, -1).any(axis=0) if self.of_pairs else own).sum())

    def _scaled(self, found: Sequence[Estimate], systems: Sequence[int], lowest: float) -> Ways:
        judge, labels, both = (rescaled(one, self._unit, lowest) for one in found)
        judge, labels = _by(_BY_JUDGE, judge), _by(_BY_LABELS, labels)
        if judge.estimate is None:
            judge = self._own(judge.metric, systems, lowest)
        asked = self.scores.questions(np.isfinite(self.scores.people))[list(systems)]
        n = self.labelled(systems)
        if asked.min() < MIN_ALONE:
            there = " and ".join(map(str, asked))
            because = f"it needs labels of 2 questions of each system, and there are {there}"
            labels = not_estimable(labels.metric, because, n_items=n)
        if because := labels_needed([self.labelled([system]) for system in systems]):
            both = not_estimable(both.metric, because, n_items=n)
        return judge, labels, both

    def _own(self, metric: str, systems: Sequence[int], lowest: float) -> Estimate:
        """Return the judge's own figure of too few answers for an interval."""
        said = self.scores
        means = said.means(said.judge, said.readable)[list(systems)]
        n = self._items(said.readable, systems)
        if not np.isfinite(means).all():
            because = f"the judge scored no answer of {'one of them' if len(means) > 1 else 'it'}"
            return not_estimable(metric, because, n=n, n_items=n)
        value = float(means[-1] - means[0] if len(means) > 1 else means[0])
        because = f"it scored fewer than {MIN_SCORES} answers of a system"
        one = Estimate(metric, value, None, None, n, n, method=_BY_JUDGE, because=because)
        return rescaled(one, self._unit, lowest)


def _by(values: str, found: Estimate) -> Estimate:
    """Return a figure whose method names the values that it is of, where it is of some alone."""
    return replace(found, method=f"{values}; {_OVER_QUESTIONS}") if found.method else found
