"""Figures that the report shows beside the stored ones: by item, by bin of probes, by set, by cell.

They are plain values, and nothing here is stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, combinations_with_replacement

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.analysis.data import Arms, rows_at, select
from judge_gym.analysis.groups import Group, generator_of
from judge_gym.metrics.cells import (
    CellMeans,
    FloatArray,
    IntArray,
    Samples,
    SetCounts,
    Verdicts,
    item_means,
    pignistic,
    pignistic_weights,
    set_counts,
    set_sizes,
)
from judge_gym.metrics.consistency import FAR_APART, ReplicateConflict, replicate_conflict
from judge_gym.metrics.entrenchment import realised_agreement
from judge_gym.metrics.estimate import t_interval
from judge_gym.metrics.inference import permutation_p
from judge_gym.metrics.permutation import SINGLE_EPSILON, permutation_null
from judge_gym.metrics.polarization import jensen_shannon
from judge_gym.model_names import pair_of
from judge_gym.records.shown import stages_of
from judge_gym.store.judgement_texts import divided_cells

PERMUTATIONS_SHOWN = 500
"""Random deals behind the floor of one item and pair."""
STEPS = 4
"""Stated shares are binned at 0, 1/4, 1/2, 3/4 and 1, because judges state round ones."""


@dataclass(frozen=True)
class ItemDivergence:
    """How far two families stand apart on one item, in bits from 0 to 1.

    `floor` is the mean over random deals of the cell's verdicts, `p` the share of deals that
    reach `divergence`. `item` is the item's number in the data.
    """

    item: int
    pair: str
    divergence: float
    floor: float
    p: float


@dataclass(frozen=True)
class Mean:
    """A mean over items of shares from 0 to 1; the ends are None without an interval."""

    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class ArmConfidence:
    """A judge's stated confidence under one rubric: by item, and the mean over paired items.

    `mean` is None when no item was probed under both this rubric and its own.
    """

    by_item: Mapping[int, float]
    mean: Mean | None


@dataclass(frozen=True)
class ProbeBin:
    """The probes of a judge nearest to one quarter: stated and realised shares over items."""

    judge: str
    nearest: float
    stated: float
    realised: Mean
    probes: int


@dataclass(frozen=True)
class SetShare:
    """The share of a judge's verdicts that name just these stages; None: all other sets."""

    stages: tuple[int, ...] | None
    judge: str
    share: float


class Overlap(StrEnum):
    """How two sets of stages overlap."""

    SAME = "the same"
    NESTED = "nested"
    PARTLY = "partly"
    APART = "apart"


@dataclass(frozen=True)
class OverlapShare:
    """The share of pairs of verdicts on one item that overlap so, on average over items.

    `judges` are one judge twice where its own verdicts are paired.
    """

    judges: tuple[str, str]
    overlap: Overlap
    share: float


@dataclass(frozen=True)
class OutcomeShare:
    """The share of a judge's samples that ended so: a stage from 1, or a status."""

    category: int | str
    share: float
    samples: int


def divergence_by_item(
    group: Group, pairs: Sequence[str], at_most: int
) -> Sequence[ItemDivergence]:
    """Return the divergence of these pairs of families on each item, with floor and p.

    Items are those that every judge scored, the furthest apart on average first, `at_most` of
    them. Each cell has its own seeded generator, so that leaving one out changes no other.
    """
    by_pair = {pair: both for pair, both in _family_pairs(group) if pair in pairs}
    apart = {pair: _apart(*by_pair[pair]) for pair in pairs}
    order = np.argsort(-np.mean(list(apart.values()), axis=0), kind="stable")
    shown = [int(item) for item in order if group.common[item]][:at_most]
    cells = []
    for item in shown:
        for pair in pairs:
            rng = generator_of(f"cell {item}", {**group.scope, "pair": pair})
            floor, p = _floor(*by_pair[pair], item, rng)
            number = int(group.items[item])
            cells.append(ItemDivergence(number, pair, float(apart[pair][item]), floor, p))
    return cells


def _family_pairs(group: Group) -> Iterator[tuple[str, tuple[Verdicts, IntArray]]]:
    """Yield the name of each pair of families, its verdicts and the family (0, 1) of each judge."""
    judge_families = [group.judges[judge].experiment.family for judge in group.present]
    for pair in combinations(sorted(set(judge_families)), 2):
        places = [place for place, family in enumerate(judge_families) if family in pair]
        judges = [group.present[place] for place in places]
        family = np.array([pair.index(judge_families[place]) for place in places])
        yield pair_of(*pair), (group.compared.of_judges(judges), family)


def _between(family: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Return the divergence between two families, of p (..., judges, stages)."""

    def apart(p: FloatArray) -> FloatArray:
        first, second = (p[..., family == number, :].mean(axis=-2) for number in (0, 1))
        return jensen_shannon(first, second)

    return apart


def _apart(verdicts: Verdicts, family: IntArray) -> FloatArray:
    p, _ = pignistic(verdicts)
    return np.asarray(_between(family)(p.swapaxes(0, 1)))


def _floor(
    verdicts: Verdicts, family: IntArray, item: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the floor of one item and the share of its deals that stand as far apart."""
    rows = verdicts.rows(verdicts.item == item)
    only = replace(rows, item=np.zeros(len(rows), dtype=np.int64), n_items=1)
    permuted = permutation_null(only, _between(family), rng, PERMUTATIONS_SHOWN)
    divergence = float(_apart(only, family)[0])
    return float(permuted.per_item[0]), permutation_p(divergence, permuted.means, SINGLE_EPSILON)


def confidence_by_arm(group: Group, model: str, rival: str) -> Mapping[str, ArmConfidence]:
    """Return a judge's confidence under its `own` rubric, the `rival`'s and a `sham`, by arm.

    Items are those probed under the own rubric and another, ascending. The mean of the own arm
    is over the items that the rival's has too, that of another arm over those of the own.
    """
    judge = next(judge for judge in group.judges if judge.model == model)
    arms = {
        "own": judge.of_kind("own"),
        "rival": tuple(arm for arm in judge.of_kind("swap") if arm.rubric_owner == rival),
        "sham": judge.of_kind("sham"),
    }
    cells = {arm: _confidence(group, [arms_pooled]) for arm, arms_pooled in arms.items()}
    own = cells["own"].present
    paired = {
        arm: own & (cells["rival"].present if arm == "own" else confidence.present)
        for arm, confidence in cells.items()
    }
    shown = np.flatnonzero(paired["own"] | paired["sham"])
    return {
        arm: ArmConfidence(
            {
                int(item): float(confidence.value[item])
                for item in shown
                if confidence.present[item]
            },
            _mean(confidence.value[paired[arm]]) if paired[arm].any() else None,
        )
        for arm, confidence in cells.items()
    }


def _confidence(group: Group, arms: Arms) -> CellMeans:
    cells = group.answered(arms).confidence()
    return CellMeans(cells.value[0], cells.n[0])


def _mean(shares: FloatArray) -> Mean:
    """Return the mean of shares with its 95% t interval, cut to 0 and 1."""
    value, interval = float(shares.mean()), t_interval(shares)
    if interval is None:
        return Mean(value, None, None)
    return Mean(value, max(0.0, interval[0]), min(1.0, interval[1]))


def stated_and_realised(group: Group, at_most: int) -> Sequence[ProbeBin]:
    """Return the bins of stated shares that hold a probe, of the first `at_most` judges.

    On the items that every judge scored and was probed on.
    """
    verdicts = group.own.of_judges(group.present)
    probes = group.answered(group.own_arms).of_judges(group.present)
    common = verdicts.common_items() & probes.common_items()
    probes = probes.rows(common[probes.item])
    realised = realised_agreement(verdicts, probes)
    bins = np.floor(probes.probability * STEPS + 0.5).astype(np.int64)
    filled = []
    for place, number in enumerate(group.present[:at_most]):
        for step in range(STEPS + 1):
            chosen = (probes.judge == place) & (bins == step)
            if chosen.any():
                rows = probes.rows(chosen)
                filled.append(
                    ProbeBin(
                        judge=group.judges[number].model,
                        nearest=step / STEPS,
                        stated=float(_per_item(rows, rows.probability).mean()),
                        realised=_mean(_per_item(rows, realised[chosen])),
                        probes=len(rows),
                    )
                )
    return filled


def _per_item(samples: Samples, values: FloatArray) -> FloatArray:
    cells = samples.means(values)
    return item_means(cells.value, cells.present)[0]


def set_shares(group: Group, judges: int, at_most: int) -> Sequence[SetShare]:
    """Return the share of each set among the verdicts of the first `judges`.

    The `at_most` sets that are chosen most, narrow ones first; then all others together.
    """
    counted, models = _sets(group, judges)
    totals = counted.counts.sum(axis=1)
    shares = totals / totals.sum(axis=1, keepdims=True)
    mean = shares.mean(axis=0)
    shown = [int(place) for place in np.argsort(-mean, kind="stable")[:at_most] if mean[place] > 0]
    shown.sort(key=lambda place: (int(set_sizes(counted.sets[[place]])[0]), counted.sets[place]))
    set_rows = [
        SetShare(stages_of(int(counted.sets[place])), model, float(judge_shares[place]))
        for place in shown
        for model, judge_shares in zip(models, shares, strict=True)
    ]
    rest = 1 - shares[:, shown].sum(axis=1)
    if rest.max() > 1e-9:
        set_rows += [SetShare(None, *share) for share in zip(models, map(float, rest), strict=True)]
    return set_rows


def set_overlaps(group: Group, judges: int) -> Sequence[OverlapShare]:
    """Return how the verdicts of each two of the first `judges` overlap, one with itself too."""
    counted, models = _sets(group, judges)
    relation = _relations(counted.sets)
    overlaps = []
    for first, second in combinations_with_replacement(range(len(models)), 2):
        weights = _weights(counted.counts, first, second)
        if weights is not None:
            pair = models[first], models[second]
            overlaps += [
                OverlapShare(pair, overlap, float(weights[relation == overlap].sum()))
                for overlap in Overlap
            ]
    return overlaps


def _sets(group: Group, judges: int) -> tuple[SetCounts, list[str]]:
    present = group.present[:judges]
    models = [group.judges[judge].model for judge in present]
    return set_counts(group.compared.of_judges(present)), models


def _relations(sets: IntArray) -> np.ndarray:
    """Return how each two sets overlap, sets x sets."""
    first, second = sets[:, None], sets[None, :]
    both = first & second
    within = (both == first) | (both == second)
    names = np.where(both == 0, Overlap.APART, np.where(within, Overlap.NESTED, Overlap.PARTLY))
    return np.where(first == second, Overlap.SAME, names)


def _weights(counts: IntArray, first: int, second: int) -> FloatArray | None:
    """Return the share of pairs of verdicts on one item by their sets, on average over items.

    A verdict makes no pair with itself. None when no item has a pair.
    """
    counts_first, counts_second = counts[[first, second]].astype(np.float64)
    pairs = counts_first[:, :, None] * counts_second[:, None, :]
    if first == second:
        pairs -= np.einsum("ia,ab->iab", counts_first, np.eye(counts_first.shape[1]))
    totals = pairs.sum(axis=(1, 2))
    kept = totals > 0
    if not kept.any():
        return None
    return np.asarray((pairs[kept] / totals[kept, None, None]).mean(axis=0))


def outcome_shares(group: Group, judge: int, item: int | None = None) -> Sequence[OutcomeShare]:
    """Return how the samples of a judge's own arm ended, all or those of one item of the data.

    Shares sum to 1; empty without samples. Every stage has a row; a set of stages counts in equal
    parts for each of its stages.
    """
    _, rows = select(group.data.samples, [group.own_arms[judge]])
    if item is not None:
        rows = rows_at(rows, rows.item == item)
    samples = len(rows.status)
    if not samples:
        return ()
    scored = rows.stages[rows.status == "scored"]
    stage_counts = pignistic_weights(scored, group.n_stages).sum(axis=0)
    ends = {str(end): int((rows.status == end).sum()) for end in np.unique(rows.status)}
    ends.pop("scored", None)
    stage_rows: list[tuple[int | str, float]] = [
        (stage + 1, stage_counts[stage]) for stage in range(group.n_stages)
    ]
    return [
        OutcomeShare(category, float(count) / samples, samples)
        for category, count in [*stage_rows, *ends.items()]
    ]


@dataclass(frozen=True)
class ConflictingCell:
    """One judge, item and rubric whose replicates exclude each other, by the ids of their rows."""

    arm_id: int
    item_id: int
    conflict: ReplicateConflict


def conflicting_cells(session: Session, sweep: str) -> tuple[Sequence[ConflictingCell], int]:
    """Return the cells with two verdicts that share no stage and lie half the scale apart.

    Of all arms of the sweep; the widest first, then those where more pairs conflict. And
    how many cells have two verdicts.
    """
    divided, repeated = divided_cells(session, sweep)
    cells = [
        ConflictingCell(
            cell.arm_id, cell.item_id, replicate_conflict(cell.verdicts, cell.scale_size)
        )
        for cell in divided
    ]
    return sorted(
        (cell for cell in cells if cell.conflict.widest >= FAR_APART),
        key=lambda cell: (
            *(-cell.conflict.widest, -cell.conflict.share),
            *(cell.arm_id, cell.item_id),
        ),
    ), repeated
