"""Self-test of the shape of verdicts: regimes of planted judges, and what a setting does to them.

Regimes are to be recognised from many items, contrasts to be estimated and tested from few.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from judge_gym.lab.power.trials import Trial
from judge_gym.metrics.cells import CellMeans, mean_scores
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import paired_contrast
from judge_gym.metrics.regimes import UsePerItem, regime_chances
from judge_gym.metrics.shape import COMPARED, Readable, jitter_cells, share_of
from judge_gym.planted.regimes import ABSTAINED, STAGES, IntArray, PlantedChange, RegimeJudge
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


REFERENCE_ITEMS = 200_000
"""Items of the data set whose contrasts stand for the planted ones: its errors are a hundredth of
those of 30 items."""


def change_trials(change: PlantedChange, n_items: int, seed: int) -> Iterator[Trial]:
    """Yield a trial for each contrast of a changed setting; equal seeds give equal trials."""
    rng = np.random.default_rng(derive_seed("selftest", change.name, n_items, seed))
    truth, planted = f"{change.name}, {n_items} items", _planted(change)
    for metric, (before, after) in _measured(*change.answers(n_items, rng)).items():
        estimate = paired_contrast(metric, before, after, rng, "share")
        value = planted[metric]
        yield Trial(truth, metric, seed, value, estimate, value == 0)


def _measured(before: IntArray, after: IntArray) -> Mapping[str, list[CellMeans]]:
    """Return metric → its values under both settings, as the analysis compares them."""
    sides = [_readable(answers) for answers in (before, after)]
    return {
        "contrast": [mean_scores(side.verdicts) for side in sides],
        "contrast_jitter": [_jitter(side) for side in sides],
        **{
            f"contrast_{share.name}": [share_of(share, side) for side in sides]
            for share in COMPARED
        },
    }


def _jitter(side: Readable) -> CellMeans:
    cells = jitter_cells(side.verdicts)
    return CellMeans(cells.value / (STAGES - 1), cells.n)


def _readable(answers: IntArray) -> Readable:
    n_items, replicates = answers.shape
    item = np.repeat(np.arange(n_items), replicates)
    return Readable(
        judge=np.zeros_like(item), item=item, n_judges=1, n_items=n_items,
        stages=answers.ravel(), n_stages=STAGES,
    )  # fmt: skip


@cache
def _planted(change: PlantedChange) -> Mapping[str, float]:
    """Return metric → its contrast on very many items; exactly 0 where nothing changes it."""
    rng = np.random.default_rng(derive_seed("planted", change.name))
    found = {}
    for metric, (before, after) in _measured(*change.answers(REFERENCE_ITEMS, rng)).items():
        both = before.present & after.present
        found[metric] = float((after.value - before.value)[both].mean())
    unmoved = {
        "contrast": not change.shift,
        "contrast_jitter": not change.shift and len(set(change.wide)) == 1,
        "contrast_middle_mass": not change.shift and len(set(change.wide)) == 1,
        "contrast_abstain_share": len(set(change.abstains)) == 1,
        "contrast_singleton_share": len(set(change.wide)) == 1,
        "contrast_set_width": len(set(change.wide)) == 1,
    }
    return {metric: 0.0 if unmoved[metric] else value for metric, value in found.items()}
