"""Planted judges of texts that people labelled, with the exact values of a calibration's figures.

A text has a true value on a scale. People's labels and the judge's scores miss it at random: a
judge reads a text once, and a run repeats that reading or reads anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.planted.judging import FloatArray, IntArray
from judge_gym.seeds import derive_seed

PEOPLE = 3
RUNS = 3
LABELS = (30, 100, 200)
"""Labelled texts of a data set."""


@dataclass(frozen=True)
class LabelledJudge:
    """A scale in points, how often each value is the true one, and who misses it how often.

    `slips` is the share of people's labels that miss, `errs` that of the judge's readings: by one
    step where `nearby`, else to any other value. A run reads anew with probability `fresh`. A
    text is lost with probability `lost`, and so is each answer to the others.
    """

    name: str
    about: str
    points: tuple[float, ...]
    shares: tuple[float, ...]
    slips: float
    errs: float
    nearby: bool = False
    fresh: float = 0.2
    lost: float = 0.03

    @cached_property
    def people_read(self) -> FloatArray:
        """Return the probability of each label of a true value, K x K."""
        return self._missed(self.slips)

    @cached_property
    def judge_reads(self) -> FloatArray:
        """Return the probability of each reading of a true value, K x K."""
        return self._missed(self.errs)

    def _missed(self, share: float) -> FloatArray:
        steps = np.abs(np.subtract.outer(*[np.arange(len(self.points))] * 2))
        others = (steps == 1 if self.nearby else steps > 0).astype(np.float64)
        others *= share / others.sum(axis=1, keepdims=True)
        return np.asarray(others + (1 - share) * np.eye(len(steps)))

    def planted(self, near: float) -> Mapping[str, float]:
        """Return the exact value of each figure; scores within `near` points meet a label."""
        points = np.array(self.points)
        apart = np.subtract.outer(points, points)
        together = (np.abs(apart) <= near).astype(np.float64)
        people, judge = self.people_read, self.judge_reads
        true = np.array(self.shares)

        def same_text(first: FloatArray, second: FloatArray, of: FloatArray) -> float:
            return float(np.einsum("t,ta,tb,ab->", true, first, second, of))

        def agreement(first: FloatArray, second: FloatArray) -> float:
            chance = (true @ first) @ apart**2 @ (true @ second)
            return 1 - same_text(first, second, apart**2) / float(chance)

        repeats = (1 - self.fresh) ** 2
        two_runs = (1 - repeats) * same_text(judge, judge, apart**2)
        two_texts = float((true @ judge) @ apart**2 @ (true @ judge))
        of_people, of_judge = agreement(people, people), agreement(people, judge)
        return {
            "readable_rate": (1 - self.lost) ** 2,
            "labels_met": same_text(people, judge, together),
            "label_agreement": of_judge,
            "people_agreement": of_people,
            "judge_agreement": of_judge,
            "judge_agreement_excess": of_judge - of_people,
            "discrimination": 1 - two_runs / two_texts,
            "runs_near": repeats + (1 - repeats) * same_text(judge, judge, together),
        }


GRADES = (0.0, 25.0, 50.0, 75.0, 100.0)
POINTS = tuple(float(points) for points in range(0, 101, 5))
LABELLED_JUDGES = (
    LabelledJudge(
        "verdicts", "half of the texts are good; people miss 10%, the judge 10%",
        (0.0, 100.0), (0.5, 0.5), slips=0.1, errs=0.1,
    ),
    LabelledJudge(
        "rare verdicts", "10% of the texts are bad; people miss 3%, the judge 5%; runs repeat",
        (0.0, 100.0), (0.1, 0.9), slips=0.03, errs=0.05, fresh=0.0,
    ),
    LabelledJudge(
        "grades", "five grades; people miss by one in 20%, the judge in 30%",
        GRADES, (0.1, 0.2, 0.3, 0.25, 0.15), slips=0.2, errs=0.3, nearby=True,
    ),
    LabelledJudge(
        "points", "steps of 5 points; people and the judge seldom miss, 5% and 8%, but by much",
        POINTS, (1 / 21,) * 21, slips=0.05, errs=0.08,
    ),
    LabelledJudge(
        "chance", "five grades; people miss 10%, the judge's scores do not depend on the text",
        GRADES, (0.2,) * 5, slips=0.1, errs=0.8, fresh=0.5,
    ),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DrawnLabels:
    """One data set of n texts, in points.

    `labels` is people x n, NaN where one gave none; `scores` runs x n; `answered` the answers
    with a score, of `RUNS` (n,), which are drawn apart: `scores` has no gaps.
    """

    labels: FloatArray
    scores: FloatArray
    answered: IntArray


def draw_labels(judge: LabelledJudge, n: int, seed: int) -> DrawnLabels:
    """Return one data set; equal seeds give equal data on every machine.

    The last person labels every other text.
    """
    rng = np.random.default_rng(derive_seed("labelled", judge.name, n, seed))
    true = rng.choice(len(judge.points), size=n, p=judge.shares)

    def read(table: FloatArray) -> IntArray:
        below = table[true].cumsum(axis=1)[:, :-1]
        return np.asarray((rng.random((n, 1)) > below).sum(axis=1))

    points = np.array(judge.points)
    labels = np.stack([points[read(judge.people_read)] for _ in range(PEOPLE)])
    labels[-1, 1::2] = np.nan
    first = read(judge.judge_reads)
    runs = [
        np.where(rng.random(n) < judge.fresh, read(judge.judge_reads), first) for _ in range(RUNS)
    ]
    answered = rng.binomial(RUNS, 1 - judge.lost, size=n) * (rng.random(n) >= judge.lost)
    return DrawnLabels(labels, points[np.stack(runs)], answered.astype(np.int64))
