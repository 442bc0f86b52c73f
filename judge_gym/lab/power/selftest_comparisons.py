"""Self-test of comparisons over cells, groups and texts: specification curves and joint tests of
polarization, interactions and changes of sign, item functioning, exchanged actors, and effective
votes of right and wrong answers.

Items are cut to those that the analysis uses, with a verdict in every cell where it needs one.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.lab.power.trials import Trial
from judge_gym.metrics.cells import CellMeans, FloatArray, IntArray, Verdicts
from judge_gym.metrics.error_correlation import effective_votes
from judge_gym.metrics.estimate import Estimate, rescaled
from judge_gym.metrics.inference import paired_contrast
from judge_gym.metrics.interactions import PARTS, sign_changes, variance_shares
from judge_gym.metrics.item_functioning import item_functioning, paired_functioning
from judge_gym.metrics.multiverse import Curve, DealtCell, difference_curve, excess_curve
from judge_gym.metrics.polarization import corrected_polarization, mean_jensen_shannon
from judge_gym.planted.comparisons import (
    ActorSwap,
    BinaryErrors,
    Condition,
    Crossing,
    Dealt,
    Functioning,
    Specifications,
    draw_actors,
    draw_binary_errors,
    draw_crossing,
    draw_differences,
    draw_functioning,
    draw_stages,
)
from judge_gym.seeds import derive_seed

Comparison = Crossing | Specifications | Functioning | ActorSwap | BinaryErrors | Dealt


def comparison_trials(truth: Comparison, condition: Condition, seed: int) -> Iterator[Trial]:
    """Yield a trial per figure on one data set; equal seeds give equal trials."""
    rng = np.random.default_rng(derive_seed("selftest", truth.name, condition.name, seed))
    name = f"{truth.name}, {condition.name}"
    match truth:
        case Crossing():
            found = _interactions(truth, condition, seed, rng)
        case Specifications():
            found = _specifications(truth, condition, seed, rng)
        case Functioning():
            found = _functioning(truth, condition, seed)
        case ActorSwap():
            found = _actors(truth, condition, seed, rng)
        case BinaryErrors():
            found = _votes(truth, condition, seed)
        case Dealt():
            found = _polarization(truth, condition, seed, rng)
    for metric, planted, estimate, null in found:
        yield Trial(name, metric, seed, planted, replace(estimate, metric=metric), null)


Found = Iterator[tuple[str, float, Estimate, bool | None]]
"""Metric, planted value, estimate, and whether the null hypothesis of its test is true."""


def _interactions(
    truth: Crossing, condition: Condition, seed: int, rng: np.random.Generator
) -> Found:
    table = draw_crossing(truth, condition, seed)
    table = table[np.isfinite(table).all(axis=(1, 2))]
    shares = variance_shares(table, table.size, rng)
    for part, share, estimate in zip(PARTS, truth.shares, shares, strict=True):
        yield f"interaction_share_{part}", share, estimate, share < 1e-9
    (change,) = sign_changes(table, table.size)
    effects = truth.effects
    one_sign = effects.min() >= -1e-9 or effects.max() <= 1e-9
    yield "effect_over_levels", float(effects.mean()), change.mean, bool(one_sign)
    for metric, estimate, level in (
        ("effect_lowest", change.lowest, change.lowest_at),
        ("effect_highest", change.highest, change.highest_at),
    ):
        yield metric, 0.0, _less(estimate, float(effects[level])), None


def _less(estimate: Estimate, value: float) -> Estimate:
    """Return the estimate less the true value of the level that the data chose."""
    if estimate.estimate is None or estimate.lower is None or estimate.upper is None:
        return estimate
    return rescaled(estimate, start=-value)


def _specifications(
    truth: Specifications, condition: Condition, seed: int, rng: np.random.Generator
) -> Found:
    differences = draw_differences(truth, condition, seed)
    samples = np.isfinite(differences).sum(axis=0).tolist()
    curve = difference_curve(differences, samples, rng, unit="0-1 scale")
    null = not any(truth.differences)
    yield "specification_median", float(np.median(truth.differences)), curve.median, null
    yield from _shares(curve, null)


def _shares(curve: Curve, null: bool) -> Found:
    """Yield the shares of cells, which have a test and no interval."""
    for estimate in (curve.same_sign, curve.significant):
        yield estimate.metric, 0.0, estimate, null


def _polarization(truth: Dealt, condition: Condition, seed: int, rng: np.random.Generator) -> Found:
    cells = [_dealt_cell(stages, truth.n_stages) for stages in draw_stages(truth, condition, seed)]
    curve = excess_curve(cells, mean_jensen_shannon, rng)
    null = not truth.apart
    yield "specification_median", 0.0, curve.median, null
    yield from _shares(curve, null)


def _dealt_cell(stages: IntArray, n_stages: int) -> DealtCell:
    """Return the verdicts on the items on which every judge has one."""
    judge, item, replicate = np.nonzero(stages)
    n_judges, n_items, _ = stages.shape
    verdicts = Verdicts(
        judge=judge, item=item, stages=1 << (stages[judge, item, replicate] - 1),
        n_judges=n_judges, n_items=n_items, n_stages=n_stages,
    )  # fmt: skip
    common = verdicts.common_items()[item]
    kept = verdicts.rows(common)
    return DealtCell(kept, replicate[common], corrected_polarization(kept))


def _functioning(truth: Functioning, condition: Condition, seed: int) -> Found:
    scores, focal = draw_functioning(truth, condition, seed)
    used = np.isfinite(scores).all(axis=0)
    scores, focal = scores[:, used], focal[used]
    estimate = item_functioning(scores[0], scores[1:], focal, scores.size)
    yield "item_functioning", truth.shift, estimate, not truth.shift


def _actors(truth: ActorSwap, condition: Condition, seed: int, rng: np.random.Generator) -> Found:
    before, after, named = draw_actors(truth, condition, seed)
    own = [
        CellMeans(np.nan_to_num(scores[:1]), (np.isfinite(scores[:1]) & named).astype(np.int64))
        for scores in (before, after)
    ]
    contrast = paired_contrast("contrast", own[0], own[1], rng, "0-1 scale")
    yield "contrast_of_actors", truth.own, contrast, not truth.own
    changes: FloatArray = after - before
    changes = changes[:, np.isfinite(changes).all(axis=0) & named]
    estimate = paired_functioning(changes[0], changes[1:], changes.size, rng)
    yield "paired_functioning", truth.own - truth.common, estimate, truth.own == truth.common


def _votes(truth: BinaryErrors, condition: Condition, seed: int) -> Found:
    errors = draw_binary_errors(truth, condition.items, seed)
    _, votes = effective_votes(errors, np.zeros(len(errors)))
    planted = truth.judges / (1 + (truth.judges - 1) * truth.shared)
    yield "effective_votes", planted, votes, None
