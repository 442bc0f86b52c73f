"""What the shape of planted judges' verdicts should be found to be.

The same quantities as those of `figures.shape` and their contrasts, from the exact probability of
each verdict on the stored texts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean

import numpy as np

from judge_gym.analysis.figures.regimes import CANNOT_TELL
from judge_gym.analysis.figures.roles import OWN, WRITES
from judge_gym.analysis.groups import MIXED, without
from judge_gym.analysis.recoveries import (
    EXPECTED,
    Expect,
    PlantedGroup,
    PlantedJudge,
    PlantedSweep,
    abstention_of,
    ends_of_contrast,
    items_of_contrast,
    sets_of,
)
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.polarization import entropy
from judge_gym.metrics.regimes import UsePerItem, regime_of
from judge_gym.metrics.shape import (
    ABSTAIN_SHARE,
    ADJACENT_SHARE,
    COMPARED,
    EXPECTED_STAGE,
    SHARES,
    Share,
)
from judge_gym.planted.expected import stated_probability
from judge_gym.store.results import ResultRow

Of = Callable[[PlantedJudge, Iterable[int]], float | None]
"""A figure of one judge, over items."""


def _share(share: Share) -> Of:
    def value(judge: PlantedJudge, items: Iterable[int]) -> float | None:
        if share is ABSTAIN_SHARE:
            return abstention_of(judge, items)
        found = [_share_at(share, judge, item) for item in items]
        kept = [one for one in found if one is not None]
        return fmean(kept) if kept else None

    return value


def _share_at(share: Share, judge: PlantedJudge, item: int) -> float | None:
    sets = sets_of(judge, item)
    stages = np.array([sum(1 << stage for stage in chosen) for chosen in sets])
    p = np.array(list(sets.values())) * share.applies(stages)
    values = share.of(stages, judge.experiment.scale_size)
    return float(p @ values / p.sum()) if p.sum() else None


def _entropy(judge: PlantedJudge, items: Iterable[int]) -> float | None:
    used = _distributions(judge, items).mean(axis=0)
    return float(entropy(used) / np.log2(len(used)))


def _distributions(judge: PlantedJudge, items: Iterable[int]) -> FloatArray:
    """Return the exact pignistic distribution of a judge's verdicts, items x stages."""
    stages = np.arange(judge.experiment.scale_size)
    return np.array(
        [
            sum(p * np.isin(stages, chosen) / len(chosen) for chosen, p in sets.items())
            for sets in (sets_of(judge, item) for item in items)
        ]
    )


def _stated(judge: PlantedJudge, items: Iterable[int]) -> float | None:
    return fmean(
        stated_probability(
            judge.family,
            judge.cases[item],
            own_rubric=judge.own.own_words,
            sets=sets_of(judge, item),
        )
        for item in items
    )


_OF_JUDGE: Mapping[str, Of] = {
    **{share.name: _share(share) for share in SHARES},
    "stage_entropy": _entropy,
}
_OF_CONTRAST: Mapping[str, Of] = {
    **{f"contrast_{one.name}": _share(one) for one in (*COMPARED, ADJACENT_SHARE)},
    "contrast_confidence": _stated,
}


def planted_value(sweep: PlantedSweep, row: ResultRow) -> float | None:
    """Return what a figure should come to; None where nothing planted says so."""
    if expect := _EXPECTED.get(row.metric.removesuffix(MIXED)):
        expectation = expect(sweep, row)
        return None if expectation is None else expectation.value
    if of := _OF_JUDGE.get(row.metric):
        judge = sweep.judge(row.scope)
        return None if judge is None else of(judge, _items(row.metric, judge))
    if row.metric.startswith(_ROLES):
        return _role_effect(sweep, row)
    of = _OF_CONTRAST.get(row.metric)
    before, after = ends_of_contrast(sweep, row.scope) if of else (None, None)
    if of is None or before is None or after is None:
        return None
    compared = items_of_contrast(row.scope, _items(row.metric, before), _items(row.metric, after))
    if not all(compared):
        return None
    values = [of(one, own) for one, own in zip((before, after), compared, strict=True)]
    return None if None in values else float(np.diff(np.array(values, dtype=np.float64))[0])


_ROLES = "role_effect"
_OF_ROLES: Mapping[str, Of] = {
    _ROLES: _share(EXPECTED_STAGE),
    **{name.replace("contrast", _ROLES): of for name, of in _OF_CONTRAST.items()},
}


def _role_effect(sweep: PlantedSweep, row: ResultRow) -> float | None:
    """Return the planted effect of who writes or who scores; None without a full crossing."""
    setting = without(row.scope, "axis", "from", "to")
    cells = {
        (judge.experiment.model, judge.own.owner): judge
        for group in sweep.groups.values()
        if without(group.scope, "rubric") == setting
        for judge in group.judges
    }
    judges, writers = ({cell[place] for cell in cells} for place in (0, 1))
    if not cells or len(cells) < len(judges) * len(writers):
        return None
    items = set.intersection(*(set(_items(row.metric, judge)) for judge in cells.values()))
    of, place = _OF_ROLES[row.metric], 1 if row.scope["axis"] == WRITES else 0
    ends: dict[str, list[float]] = defaultdict(list)
    for cell, judge in cells.items():
        end = cell[place]
        if row.scope["axis"] == OWN:
            end = "own" if cell[0] == cell[1] else "another's"
        if not items or (value := of(judge, sorted(items))) is None:
            return None
        scale = judge.experiment.scale_size - 1 if row.metric == _ROLES else 1
        ends[end].append(value / scale)
    return fmean(ends[row.scope["to"]]) - fmean(ends[row.scope["from"]])


_EXPECTED: Mapping[str, Expect] = {
    name: EXPECTED[name] for name in ("contrast", "polarization_pair")
}


def _items(metric: str, judge: PlantedJudge) -> Iterable[int]:
    """Return the items that a figure is over: of verdicts those that have one."""
    return judge.cases if metric.endswith(ABSTAIN_SHARE.name) else judge.own.scored


def planted_regime(sweep: PlantedSweep, row: ResultRow) -> str | None:
    """Return the regime of a judge by the rule, on the exact distributions of its verdicts."""
    group, judge = sweep.group(row.scope), sweep.judge(row.scope)
    if group is None or judge is None:
        return None
    items = sorted(judge.cases)
    scored = np.array([item in judge.own.scored for item in items])
    use = UsePerItem(
        distribution=np.where(scored[:, None], _distributions(judge, items), np.nan),
        abstained=np.array([abstention_of(judge, [item]) for item in items]),
        reference=_reference(group, judge, items),
    )
    return regime_of(use) or CANNOT_TELL


def _reference(group: PlantedGroup, judge: PlantedJudge, items: list[int]) -> FloatArray:
    """Return the mean position of the other judges, in [0, 1]; NaN without another."""
    others = [other for other in group.judges if other is not judge]
    if not others:
        return np.full(len(items), np.nan)
    scale = np.linspace(0, 1, judge.experiment.scale_size)
    return np.asarray(np.mean([_distributions(other, items) @ scale for other in others], axis=0))
