"""Self-test of the figures of a calibration: planted judges of texts that people labelled."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.lab.power.trials import Trial
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.people import agreement_beside_people
from judge_gym.metrics.points import NEAR, Scores, discrimination, runs_near
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.planted.labelled import RUNS, DrawnLabels, LabelledJudge, draw_labels
from judge_gym.seeds import derive_seed


def label_trials(judge: LabelledJudge, n: int, seed: int) -> Iterator[Trial]:
    """Yield a trial per figure on one data set of n labelled texts; equal seeds, equal trials."""
    rng = np.random.default_rng(derive_seed("selftest", judge.name, n, seed))
    planted = judge.planted(NEAR)
    for name, estimate in _figures(draw_labels(judge, n, seed), rng):
        found = replace(estimate, metric=name)
        yield Trial(f"{judge.name}, {n} labels", name, seed, planted[name], found)


def _figures(drawn: DrawnLabels, rng: np.random.Generator) -> Iterator[tuple[str, Estimate]]:
    label, score = drawn.labels[0], drawn.scores[0]
    once = np.ones(len(label), dtype=np.int64)
    yield "readable_rate", clustered_share("readable_rate", drawn.answered, RUNS * once)
    met = (np.abs(label - score) <= NEAR).astype(np.int64)
    yield "labels_met", clustered_share("labels_met", met, once)
    yield "label_agreement", label_agreement(label, score)
    beside = agreement_beside_people(drawn.labels[:, :, None], score[:, None], rng)
    yield "people_agreement", beside.people
    yield "judge_agreement", beside.judge
    yield "judge_agreement_excess", beside.excess
    runs = _runs(drawn.scores)
    yield "discrimination", discrimination(runs, rng)
    yield "runs_near", runs_near(runs, NEAR)


def _runs(scores: FloatArray) -> Scores:
    runs, n = scores.shape
    return Scores(
        judge=np.zeros(runs * n, dtype=np.int64), item=np.tile(np.arange(n), runs),
        points=scores.ravel(), n_judges=1, n_items=n,
    )  # fmt: skip
