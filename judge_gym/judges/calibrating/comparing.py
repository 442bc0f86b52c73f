"""An old judge and a new one on one corpus: may the new one take its place?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge_gym.calibration.checks import Margins
from judge_gym.calibration.replacing import Replacement, compare_judges
from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.metrics.cells import FloatArray
from judge_gym.seeds import derive_seed


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
