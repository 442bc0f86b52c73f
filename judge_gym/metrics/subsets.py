"""How wide verdicts are: the share of the scale a judge leaves open."""

from dataclasses import replace

import numpy as np

from judge_gym.metrics.cells import FloatArray, Verdicts, item_means, set_sizes
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable


def subset_width(verdicts: Verdicts) -> Estimate:
    """Return the mean of (|A| - 1)/(S - 1), in [0, 1]: 0 names one stage, 1 the whole scale.

    Cell means, averaged over the judges of an item, then over the items that all judges
    scored; t interval over items. Needs one item.
    """
    width = (set_sizes(verdicts.stages) - 1) / (verdicts.n_stages - 1)
    return _mean("subset_width", verdicts, width)


def subset_information(verdicts: Verdicts) -> Estimate:
    """Return the mean of log2|A| / log2 S, in [0, 1]: the share of the scale's bits left open.

    Averaged as in `subset_width`. Source: Hartley 1928.
    """
    openness = np.log2(set_sizes(verdicts.stages)) / np.log2(verdicts.n_stages)
    return _mean("subset_information", verdicts, openness)


def _mean(metric: str, verdicts: Verdicts, values: FloatArray) -> Estimate:
    common = verdicts.common_items()
    if not common.any():
        return not_estimable(metric, "no item was scored by every judge", n=len(verdicts))
    cells = verdicts.means(values)
    per_item, _ = item_means(cells.value, cells.present & common)
    n = int(cells.n[:, common].sum())
    estimate = mean_over_items(metric, per_item, n=n, unit="share", bounds=UNIT_INTERVAL)
    return replace(estimate, method="mean over items all judges scored, t interval")
