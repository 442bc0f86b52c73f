"""Self-test of regimes: planted judges of each, recognised from few items and from many."""

from collections.abc import Iterator

import numpy as np

from judge_gym.lab.power.trials import Trial
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.regimes import UsePerItem, regime_chances
from judge_gym.planted.regimes import ABSTAINED, RegimeJudge
from judge_gym.seeds import derive_seed

REGIME_ITEMS = (9, 16, 30)
ENOUGH_ITEMS = 30
"""Items at which a regime that is distinct should be recognised."""
RECOGNISED = 0.9
"""The least share of data sets of so many items in which it should be."""


def regime_trials(judge: RegimeJudge, n_items: int, seed: int) -> Iterator[Trial]:
    """Yield whether its regime is named, and whether another one is, on one data set.

    Positions are uniform and known. Equal seeds give equal trials.
    """
    rng = np.random.default_rng(derive_seed("selftest", judge.name, n_items, seed))
    position = rng.random(n_items)
    use = UsePerItem(judge.shares(position, rng), np.full(n_items, ABSTAINED), position)
    found = regime_chances(use, rng).regime
    truth = f"{judge.name} judge, {n_items} items"
    least = RECOGNISED if n_items >= ENOUGH_ITEMS else None
    named = found is not None and found.value == judge.name
    other = found is not None and not named
    for metric, decided, null in (
        ("regime_recognised", named, False),
        ("another_regime", other, True),
    ):
        share = Estimate(metric, float(decided), None, None, n_items, n_items, unit="share")
        yield Trial(truth, metric, seed, None, share, null, decided, None if null else least)
