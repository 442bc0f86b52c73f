"""One judge beside another on one corpus, or beside the labels of the same texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.calibration.checks import Margins, span
from judge_gym.calibration.comparisons import Replacement, compare_judges
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.formats import plain
from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.calibrating.assessing import known_points, points_of
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.seeds import derive_seed

_HALF_WAY = 49.999
"""Points within which the mean of a judge's verdicts is on the label's side."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Items that both judges gave a score, with their mean points, and what follows from them."""

    items: Sequence[Item]
    old: FloatArray
    new: FloatArray
    replacement: Replacement


def compare(
    judges: tuple[Judge, Judge],
    items: Sequence[Item],
    results: tuple[Sequence[JudgeResult], Sequence[JudgeResult]],
    margins: Margins,
) -> Comparison:
    """Return what the results of the old judge and of the new one say, each on its own scale."""
    means = [_means(judge, some) for judge, some in zip(judges, results, strict=True)]
    both = [item for item in items if all(item.key in side for side in means)]
    old, new = (np.array([side[item.key] for item in both], dtype=np.float64) for side in means)
    rng = np.random.default_rng(derive_seed("comparison", *(judge.key for judge in judges)))
    return Comparison(both, old, new, compare_judges(old, new, margins, rng))


def _means(judge: Judge, results: Sequence[JudgeResult]) -> dict[str, float]:
    by_item: dict[str, list[JudgeResult]] = {}
    for result in results:
        by_item.setdefault(result.item_key, []).append(result)
    points = {key: points_of(judge, some) for key, some in by_item.items()}
    return {key: float(np.mean(given)) for key, given in points.items() if given}


@dataclass(frozen=True)
class Agreement:
    """Of the texts with a label: how many have a score, and how these agree."""

    labels: int
    scored: int
    met: Estimate | None
    """The share of labels met; None without a text that has both."""
    concordance: Estimate | None
    """Lin's concordance; for two verdicts it is Cohen's κ."""
    near: float
    """Points of 100 within which a score meets its label."""

    def __str__(self) -> str:
        """Return the figures in words, or that there are too few labels for any."""
        if not self.labels:
            return ""
        missing = self.labels - self.scored
        without = f" {missing} labelled texts have no score." if missing else ""
        if self.met is None or self.concordance is None:
            return f"Agreement with labels: none to say.{without}"
        count = round((self.met.estimate or 0.0) * self.scored)
        how = "" if self.near == _HALF_WAY else f" within {plain(self.near)} points of 100"
        said = f"Agreement with labels: {count} of {self.scored} met{how}"
        if self.scored < LEAST_LABELS:
            return f"{said}; too few to say more: {LEAST_LABELS} labels are the fewest.{without}"
        return f"{said} (share {span(self.met)}); concordance {span(self.concordance)}.{without}"


def agreement(judge: Judge, texts: Sequence[Item], results: Sequence[JudgeResult]) -> Agreement:
    """Return how the results on these texts, each given once, agree with their labels."""
    by_text: dict[str, list[JudgeResult]] = {}
    for one in results:
        # A text that is in several rows has the same results in each.
        by_text.setdefault(one.item_key, []).append(one)
    near = _HALF_WAY if judge.verdict_scores else Margins().near
    labelled = [item for item in texts if item.truth is not None]
    pairs = [
        (known_points(judge, item), float(np.mean(points)))
        for item in labelled
        if (points := points_of(judge, by_text.get(item.key, [])))
    ]
    if not pairs:
        return Agreement(len(labelled), 0, None, None, near)
    labels, judged = np.array(pairs, dtype=np.float64).T
    met = (np.abs(labels - judged) <= near).astype(np.int64)
    rng = np.random.default_rng(derive_seed("labels", judge.key))
    return Agreement(
        len(labelled),
        len(pairs),
        clustered_share("labels_met", met, np.ones_like(met)),
        label_agreement(labels, judged, rng),
        near,
    )
