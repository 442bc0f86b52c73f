"""How far a judge's figures of systems are from people's, as judged and with one correction."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray
from judge_gym.metrics.estimate import (
    JACKKNIFE_BLOCKS,
    UNIT_INTERVAL,
    Estimate,
    jackknife_interval,
)
from judge_gym.metrics.system_scores import SystemScores, shared_correction

Figures = Callable[[SystemScores], FloatArray]
_METHOD = "mean distance over systems; jackknife over questions"


def system_errors(judged: SystemScores) -> Iterator[Estimate]:
    """Yield the mean over systems of |judge's figure - people's mean|, in [0, 1].

    Once as judged, and once corrected by `shared_correction`; of the answers with a score and a
    label. Nothing without any. Interval: jackknife over questions, cut to [0, 1]; distances are
    absolute, so that it lies too high where the judge's figures are people's but for chance. It
    holds the true error of a judge that passes a fifth of what people fail in 90 to 99%.
    """
    for metric, figures in (
        ("system_error", _as_judged),
        ("system_error_shared_correction", shared_correction),
    ):
        apart = _apart(judged, figures)
        if not len(apart):
            continue
        left_out = [_apart(part, figures) for part in _without_questions(judged)]
        means = np.array([part.mean() if len(part) else np.nan for part in left_out])
        value = float(apart.mean())
        ends = jackknife_interval(value, means)
        low, high = np.clip(ends, *UNIT_INTERVAL).tolist() if ends else (None, None)
        n = int(judged.labels.sum())
        yield Estimate(metric, value, low, high, n, len(apart), method=_METHOD)


def _as_judged(judged: SystemScores) -> FloatArray:
    return judged.means(judged.judge, judged.readable)


def _apart(judged: SystemScores, figures: Figures) -> FloatArray:
    """Return the distance of each system that has one."""
    apart = np.abs(figures(judged) - judged.means(judged.people, judged.both))
    return np.asarray(apart[np.isfinite(apart)])


def _without_questions(judged: SystemScores) -> Iterator[SystemScores]:
    """Yield the scores without one question; without every so manieth of more than 500."""
    blocks = min(int(judged.cluster.max(initial=-1)) + 1, JACKKNIFE_BLOCKS)
    for block in range(blocks):
        yield _chosen(judged, judged.cluster % blocks != block)


def _chosen(judged: SystemScores, kept: BoolArray) -> SystemScores:
    return replace(
        judged,
        system=judged.system[kept],
        cluster=judged.cluster[kept],
        judge=judged.judge[kept],
        people=judged.people[kept],
    )
