"""Self-test of figures over facets: total error, variances by facet, effective votes."""

from collections.abc import Iterator

import numpy as np

from judge_gym.lab.power.pooled import pooled
from judge_gym.lab.power.trials import Trial
from judge_gym.metrics.error_correlation import effective_votes, votes_between_families
from judge_gym.metrics.estimate import not_estimable
from judge_gym.metrics.facets import (
    ITEM,
    JUDGE,
    WORDING,
    FacetCells,
    FacetTable,
    complete_table,
    facet_components,
)
from judge_gym.planted.facets import DrawnFacets, FacetTruth, draw_errors, draw_facets

_NAMES = (ITEM, JUDGE, WORDING)
_FAMILIES = np.array([0, 0, 1, 1, 2, 2])
_SHARED = 0.5


def facet_trials(truth: FacetTruth, seed: int) -> Iterator[Trial]:
    """Yield a trial per figure on one data set; equal seeds give equal trials."""
    data = draw_facets(truth, seed)
    cells = FacetCells.of(_NAMES, data.codes, data.score)
    for name, table in (
        ("total_error", _over_judges(data, cells.means)),
        ("total_error_with_judges", cells.means),
    ):
        yield Trial(truth.name, name, seed, 0.0, pooled(name, table), null=True)
    planted = truth.variances
    estimates = {one.metric: one for one in facet_components(cells)[0]}
    for name in planted:
        metric = f"variance of {name}"
        estimate = estimates.get(name, not_estimable(metric, "the crossing is not complete"))
        yield Trial(truth.name, metric, seed, planted[name], estimate)
    if not truth.lost and not truth.skewed:
        yield from _votes(truth, seed)


def _over_judges(data: DrawnFacets, means: FacetTable) -> FacetTable:
    """Return the means over these judges, less their own effects: the planted mean is 0."""
    block, (_, judges, _) = complete_table(means)
    values = block.values.mean(axis=1) - data.judge_effects[judges].mean()
    return FacetTable((ITEM, WORDING), values)


def _votes(truth: FacetTruth, seed: int) -> Iterator[Trial]:
    """Yield the votes of four judges with errors in common, and of six judges of three families."""
    errors = draw_errors(truth.items, np.zeros(4, dtype=np.int64), _SHARED, seed)
    _, votes = effective_votes(errors, np.zeros(truth.items))
    yield Trial(truth.name, "effective_votes", seed, 4 / (1 + 3 * _SHARED), votes)
    scores = draw_errors(truth.items, _FAMILIES, _SHARED, seed, common=1.0)
    _, votes = votes_between_families(scores, _FAMILIES)
    # Three of the fifteen pairs are of one family.
    planted = 6 / (1 + 5 * _SHARED * 3 / 15)
    yield Trial(truth.name, "effective_votes_by_family", seed, planted, votes)
