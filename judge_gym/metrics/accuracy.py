"""Accuracy against a known answer (benchmark) or an index such as V-Dem's (control).

Pairs of answers are judged in both orders, so that a preference for the first or the second answer
is not counted as accuracy.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge_gym.counting import there_are
from judge_gym.metrics.cells import (
    BoolArray,
    CellMeans,
    FloatArray,
    IntArray,
    Verdicts,
    distinct_rows,
    item_means,
    mean_scores,
    scores,
    set_sizes,
    sums_by,
)
from judge_gym.metrics.consistency import clustered_share
from judge_gym.metrics.estimate import (
    ALL_AGREE,
    EPSILON,
    NO_SPREAD,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    Interval,
    ItemValues,
    by,
    caution_below,
    linearised_ratio,
    mean_over_items,
    normal_quantile,
    not_estimable,
    resampled_interval,
    wilson,
    with_interval,
)
from judge_gym.metrics.inference import paired_contrast

OF_PAIRS = "right less wrong"
"""The unit of `pair_balance`."""


def order_inconsistency(verdicts: Verdicts, reversed_order: BoolArray) -> Estimate:
    """Return the share of pairs whose verdicts differ between the two orders, in [0, 1].

    `verdicts` are point verdicts of one judge in the rubric's own order, `reversed_order` says
    which were given with the pair turned round. A pair counts when it has one verdict in each
    order; a tie against a winner is a difference. Wilson interval over pairs; needs one pair.
    """
    stage = [
        np.bincount(
            verdicts.item[chosen], weights=verdicts.stages[chosen], minlength=verdicts.n_items
        )
        for chosen in (~reversed_order, reversed_order)
    ]
    counts = [
        np.bincount(verdicts.item[chosen], minlength=verdicts.n_items)
        for chosen in (~reversed_order, reversed_order)
    ]
    once = (counts[0] == 1) & (counts[1] == 1)
    metric = "order_inconsistency"
    if not once.any():
        because = "no pair has one verdict in each order"
        return not_estimable(metric, because, n=len(verdicts), unit="share")
    differs = once & (stage[0] != stage[1])
    share = clustered_share(metric, differs.astype(np.int64), once.astype(np.int64))
    return replace(share, n=2 * int(once.sum()), method="share of pairs, Wilson interval")


def votes(stages: IntArray, truth: IntArray, n_stages: int) -> IntArray:
    """Return +1 for a point verdict at the truth, else 0 for the midpoint (a tie) or none, else -1.

    `stages` are bitmasks, 0 where a judgement gave no verdict; `truth` is a stage, the midpoint
    where a tie is right.
    """
    tie = 1 << (n_stages // 2) if n_stages % 2 else 0
    right = stages == 1 << (truth - 1)
    return np.where(right, 1, np.where((stages == 0) | (stages == tie), 0, -1)).astype(np.int64)


def judged_in_each_order(item: IntArray, listed: BoolArray, n_items: int) -> BoolArray:
    """Return which items have a judgement, readable or not, in each of the two orders."""
    counts = [np.bincount(item[order], minlength=n_items) for order in (listed, ~listed)]
    return np.asarray((counts[0] > 0) & (counts[1] > 0))


def pair_balance(
    item: IntArray, vote: IntArray, right_first: BoolArray, scored: BoolArray
) -> Estimate:
    """Return the share of pairs judged right less the share judged wrong, in [-1, 1].

    `vote` is that of `votes`, `right_first` says whether the better text was shown first, and
    `scored` whether there is a verdict. A pair counts +1 when right in both orders, or right once
    and tied once, -1 for the mirror image, else 0, so that ties are no errors. The floor is what
    the judge's habit of place alone would score: 0 for pairs judged in both orders, however often
    it ties. t interval over pairs; where all count the same, the bounds of Wilson's interval.
    Needs one verdict.
    """
    metric, unit = "pair_balance", OF_PAIRS
    pairs, place = np.unique(item, return_inverse=True)
    if not scored.any():
        return not_estimable(metric, no_verdict(len(item)), n=len(item), unit=unit)
    counts = np.sign(np.bincount(place, weights=vote))
    estimate = mean_over_items(
        metric, counts, n=np.bincount(place), unit=unit, bounds=SIGNED_UNIT, items=pairs
    )
    if np.ptp(counts) == 0:
        level, missed = counts[0], 1 - wilson(len(pairs), len(pairs))[0]
        half = missed * (1 + abs(level))
        estimate = with_interval(
            replace(estimate, because=""), (level - half, level + half), SIGNED_UNIT
        )
    side = np.where(right_first, 1, -1) * scored
    habit = float((side * vote).sum() / scored.sum())
    due = habit * np.bincount(place, weights=side) / np.maximum(np.bincount(place, scored), 1)
    method = "mean over pairs of +1, 0 or -1, t interval; floor by the habit of place"
    return replace(estimate, floor=float(due.mean()), method=method)


def no_verdict(judgements: int) -> str:
    """Return why a judge without readable answers has no accuracy."""
    return f"none of its {judgements} judgements has a verdict that could be read"


ADVISED_ITEMS = 100


def truth_stages(index: FloatArray, n_stages: int) -> IntArray:
    """Return the stage 1 + round(v·(S - 1)) of an index v in [0, 1]; halves round up."""
    if not ((index >= 0) & (index <= 1)).all():
        raise ValueError("an index lies in [0, 1]")
    return 1 + np.floor(index * (n_stages - 1) + 0.5).astype(np.int64)


def share_correct(verdicts: Verdicts, truth: IntArray) -> Estimate:
    """Return the share of point verdicts at the true stage, in [0, 1].

    `truth` holds a stage 1..S per item. Wilson interval clustered by item (plain Wilson with
    one verdict per item). The floor is what guessing scores, `_by_chance`; there is none where
    the truth is one stage throughout. Read it beside `cohens_kappa`. Needs one verdict, and point
    verdicts only; 100 items advised.
    """
    obstacle = _not_points(verdicts)
    if obstacle:
        return not_estimable("accuracy", obstacle, n=len(verdicts), unit="share")
    share = _share_holding("accuracy", verdicts, truth)
    return replace(share, floor=_by_chance(_confusion_by_item(verdicts, truth).sum(axis=0)))


def _by_chance(joint: FloatArray) -> float | None:
    """Return the share that guessing gets right, from counts, true stages x stages given.

    The larger of two guessers without knowledge of the items: one that draws evenly from the
    stages that are true of some item, and one that gives the judge's own verdicts in random order
    (the expected agreement of Cohen 1960). The first covers judges with useless stages or ties,
    the second judges that lean to the most frequent stage. None with one true stage: naming it is
    then no guess.
    """
    total = joint.sum()
    true, given = joint.sum(axis=1) / total, joint.sum(axis=0) / total
    occurring = np.count_nonzero(true)
    return float(max(1 / occurring, true @ given)) if occurring > 1 else None


def accuracy_by_pair(
    verdicts: Verdicts, truth: IntArray, rng: np.random.Generator
) -> dict[tuple[int, int], Estimate]:
    """Return the accuracy of the second judge less that of the first, for each pair; in [-1, 1].

    Paired over the items that both judged: t interval, and p by sign flips, which is the exact
    McNemar test when each judged an item once. Not adjusted for the number of pairs. Needs point
    verdicts and one such item; 100 advised.
    """
    metric, pairs = "accuracy_difference", combinations(range(verdicts.n_judges), 2)
    obstacle = _not_points(verdicts)
    if obstacle:
        absent = not_estimable(metric, obstacle, n=len(verdicts), unit="share")
        return dict.fromkeys(pairs, absent)
    holds = (verdicts.stages >> (_true_stage(verdicts, truth) - 1)) & 1
    cells = verdicts.means(holds.astype(np.float64))
    judged = [CellMeans(cells.value[[j]], cells.n[[j]]) for j in range(verdicts.n_judges)]
    return {
        (i, j): caution_below(
            paired_contrast(metric, judged[i], judged[j], rng, "share"), ADVISED_ITEMS
        )
        for i, j in pairs
    }


def cohens_kappa(
    verdicts: Verdicts, truth: IntArray, rng: np.random.Generator, *, quadratic: bool = False
) -> Estimate:
    """Return Cohen's κ of point verdicts against the true stages, in [-1, 1]; 0 is chance.

    1 - Σ w·observed / Σ w·expected, w = 1 off the diagonal, or (i - j)² when `quadratic`
    (Cohen 1960, 1968). Replicates are pooled; interval: t with the standard error of resampling
    items. Needs point verdicts and two true stages; 100 items advised.
    """
    metric = "cohens_kappa_quadratic" if quadratic else "cohens_kappa"
    obstacle = _not_points(verdicts)
    if obstacle:
        return not_estimable(metric, obstacle, n=len(verdicts))
    tables, judged = _confusion_by_item(verdicts, truth), np.unique(verdicts.item)
    cluster, n_items = verdicts.cluster(judged), len(tables)
    if cluster is not None:  # those of a question are resampled together
        tables = sums_by(cluster, tables)
    estimate = kappa_of_tables(tables, rng, quadratic=quadratic)
    method = f"pooled replicates; {estimate.method}{by(cluster)}" if estimate.method else ""
    return caution_below(
        replace(estimate, method=method, n_items=n_items, remarks=()), ADVISED_ITEMS
    )


def stage_error(verdicts: Verdicts, truth: IntArray) -> Estimate:
    """Return the mean distance of point verdicts from the true stages, in stages, in [0, S - 1].

    Of all verdicts alike, as `share_correct` is, so that both are of the same answers: Σ distances
    / Σ verdicts, with the t interval of a ratio over items (Cochran 1977, Sampling Techniques,
    section 6.4). Needs one verdict, and point verdicts only; 100 items advised.
    """
    metric, unit = "stage_error", "stages"
    obstacle = _not_points(verdicts)
    if obstacle:
        return not_estimable(metric, obstacle, n=len(verdicts), unit=unit)
    stage = np.bitwise_count(verdicts.stages - 1).astype(np.int64) + 1
    distance = np.abs(stage - _true_stage(verdicts, truth))
    given = np.bincount(verdicts.item, minlength=verdicts.n_items)
    judged = np.flatnonzero(given)
    n, cluster = given[judged], verdicts.cluster(judged)
    sums = np.bincount(verdicts.item, weights=distance, minlength=verdicts.n_items)[judged]
    bounds, ratios = (0.0, float(verdicts.n_stages - 1)), linearised_ratio(sums, n)
    estimate = mean_over_items(
        metric, ratios, n=int(n.sum()), unit=unit, bounds=bounds, cluster=cluster
    )
    values = ItemValues(judged, sums / n, n, bounds)
    method = f"mean over verdicts, t interval of a ratio over items{by(cluster)}"
    return caution_below(replace(estimate, values=values, method=method), ADVISED_ITEMS)


def kappa_of_tables(
    tables: FloatArray, rng: np.random.Generator, *, quadratic: bool = False
) -> Estimate:
    """Return the κ of `cohens_kappa` from counts, items x true stages x stages given.

    An item may hold several decisions, which are resampled together.
    """
    metric, n = "cohens_kappa_quadratic" if quadratic else "cohens_kappa", int(tables.sum())
    stages = np.arange(tables.shape[-1])
    distance = (stages[:, None] - stages).astype(np.float64)
    cost = distance**2 if quadratic else (distance != 0).astype(np.float64)

    true_stages = np.count_nonzero(tables.sum(axis=(0, 2)))
    if true_stages < 2:
        # Whatever the judge says is then as good as chance: κ would be 0, or 0 / 0.
        because = "the truth is the same stage throughout"
        return not_estimable(metric, because, n=n, n_items=len(tables))
    # Few tables differ: counting how often each was drawn is quicker than weighing items.
    different, kind = distinct_rows(tables.reshape(len(tables), -1))

    def kappa(weights: FloatArray) -> FloatArray:
        joint = (weights @ different).reshape(-1, *tables.shape[1:])
        total = joint.sum(axis=(1, 2))
        product = joint.sum(axis=2)[:, :, None] * joint.sum(axis=1)[:, None, :]
        expected = (cost * product).sum(axis=(1, 2)) / total
        observed = (cost * joint).sum(axis=(1, 2))
        ratio = np.divide(observed, expected, where=expected > 0, out=np.full(len(joint), np.nan))
        return np.asarray(1 - ratio)

    value = float(kappa(np.bincount(kind).astype(np.float64)[None])[0])
    method = "t interval, items resampled"
    estimate = Estimate(metric, value, None, None, n, len(tables), method=method, unit="kappa")
    interval = resampled_interval(kappa, len(tables), rng, kind)
    absent = ALL_AGREE if value >= 1 - EPSILON else NO_SPREAD
    return caution_below(
        with_interval(estimate, interval, SIGNED_UNIT, absent=absent), ADVISED_ITEMS
    )


@dataclass(frozen=True, eq=False)
class SetUtilities:
    """Utilities of subset verdicts: `discounted` is 1/|A| if A holds the truth, else 0.

    `u65` and `u80` give a set of two 0.65 and 0.80: reward for caution, between 1/|A| and mere
    coverage. A correct point verdict earns 1 by all three.
    """

    discounted: FloatArray
    u65: FloatArray
    u80: FloatArray


def set_utilities(stages: IntArray, truth: IntArray) -> SetUtilities:
    """Return the utilities of verdicts (bitmasks) against one true stage (1..S) each.

    With x = 1/|A|: u65 = 1.6x - 0.6x², u80 = 2.2x - 1.2x². Source: Zaffalon, Corani and Maua
    2012, International Journal of Approximate Reasoning 53.
    """
    x = ((stages >> (truth - 1)) & 1) / set_sizes(stages)
    return SetUtilities(x, 1.6 * x - 0.6 * x**2, 2.2 * x - 1.2 * x**2)


def subset_accuracy(verdicts: Verdicts, truth: IntArray) -> list[Estimate]:
    """Return coverage (the truth is in the set) and the three utilities, each in [0, 1].

    Coverage: share of verdicts, Wilson clustered by item; wide sets cover the truth without skill,
    so it is never reported alone. Utilities: cell means, judges averaged within the item, t
    interval over items. Needs one verdict; 100 items advised.
    """
    utilities = set_utilities(verdicts.stages, _true_stage(verdicts, truth))
    figures = [_share_holding("coverage", verdicts, truth)]
    for name in ("discounted", "u65", "u80"):
        cells = verdicts.means(getattr(utilities, name))
        per_item, _ = item_means(cells.value, cells.present)
        figure = mean_over_items(
            f"accuracy_{name}", per_item, n=len(verdicts), unit="utility", bounds=UNIT_INTERVAL
        )
        figures.append(caution_below(figure, ADVISED_ITEMS))
    return figures


def both_orders_correct(
    item: IntArray,
    vote: IntArray,
    listed: BoolArray,
    n_items: int,
    scored: BoolArray | None = None,
) -> Estimate:
    """Return the share of items judged in both orders that are judged correctly, in [0, 1].

    A judgement in one order votes as `votes` says; an item is correct when the mean votes of its
    two orders sum above 0, so a judge that always picks the first gets none. `listed` says
    whether a judgement is of the order in the file. An item of one order is left out: there the
    judge's habit of place may have decided. Wilson interval over items. `scored` says which
    judgements have a verdict (all, when None): it needs one, and an item in both orders; 100
    items advised. Source: Tan et al. 2024 (JudgeBench).
    """
    metric = "accuracy_both_orders"
    judged = judged_in_each_order(item, listed, n_items)
    n, pairs = int(judged[item].sum()), int(judged.sum())
    mute = scored is not None and not scored.any()
    if mute or not pairs:
        because = no_verdict(len(item)) if mute else "no pair is judged in both orders"
        return not_estimable(metric, because, n=n, n_items=pairs, unit="share")
    toward = np.zeros(n_items)
    for order in (listed, ~listed):
        given = np.bincount(item[order], minlength=n_items)
        toward += np.bincount(item[order], vote[order], n_items) / np.maximum(given, 1)
    correct = judged & (toward > 0)
    share = clustered_share(metric, correct.astype(np.int64), judged.astype(np.int64))
    method = "share of items, Wilson interval"
    return caution_below(replace(share, n=n, method=method), ADVISED_ITEMS)


def control_error(verdicts: Verdicts, index: FloatArray) -> Estimate:
    """Return the mean of |s01 - v|, v the index in [0, 1] of each item; on the 0-1 scale.

    s01 is the verdict on the 0-1 scale. Errors of single verdicts, averaged by cell, over the
    judges of an item, then over items; t interval over items. Needs one verdict.
    """
    cells = verdicts.means(np.abs(scores(verdicts) - index[verdicts.item]))
    per_item, kept = item_means(cells.value, cells.present)
    estimate = mean_over_items(
        "control_error",
        per_item,
        n=cells.n.sum(axis=0)[kept],
        unit="0-1 scale",
        bounds=UNIT_INTERVAL,
        items=kept,
        cluster=verdicts.cluster(kept),
    )
    return caution_below(estimate, ADVISED_ITEMS)


def control_rank_correlation(verdicts: Verdicts, index: FloatArray) -> Estimate:
    """Return Spearman's ρ over items between the mean score and the index, in [-1, 1].

    Interval: Fisher's z with variance (1 + ρ²/2)/(n - 3) (Bonett and Wright 2000). Needs 4
    items, and scores and indices that vary; 100 items advised.
    """
    metric, n = "control_rank_correlation", len(verdicts)
    cells = mean_scores(verdicts)
    score, kept = item_means(cells.value, cells.present)
    truth, n_items = index[kept], len(score)
    if n_items < 4:
        because = f"it needs 4 items, and {there_are(n_items)}"
        return not_estimable(metric, because, n=n, n_items=n_items)
    if np.ptp(score) <= EPSILON or np.ptp(truth) <= EPSILON:
        because = "the mean scores, or the indices, are the same for all items"
        return not_estimable(metric, because, n=n, n_items=n_items)
    return caution_below(_spearman(metric, score, truth, n, "items"), ADVISED_ITEMS)


def rank_correlation(
    metric: str,
    first: FloatArray,
    second: FloatArray,
    *,
    n: int,
    units: str = "items",
    clusters: int | None = None,
) -> Estimate:
    """Return Spearman's ρ of two arrays over the same units (named for reasons), in [-1, 1].

    Interval as in `control_rank_correlation`. Needs 4 units, and values that vary. Of units in
    `clusters`, such as answers to one question, the interval is that of as many units as there are
    clusters, which is never too narrow; it needs 4 of them.
    """
    if clusters is not None and clusters < 4 <= len(first):
        because = f"it needs {units} of 4 questions, and {there_are(clusters)}"
        return not_estimable(metric, because, n=n, n_items=len(first))
    if len(first) < 4:
        because = f"it needs 4 {units} in common, and {there_are(len(first))}"
        return not_estimable(metric, because, n=n, n_items=len(first))
    if np.ptp(first) <= EPSILON or np.ptp(second) <= EPSILON:
        because = f"one of the two is the same for all {units}"
        return not_estimable(metric, because, n=n, n_items=len(first))
    return _spearman(metric, first, second, n, units, clusters)


def _spearman(
    metric: str,
    first: FloatArray,
    second: FloatArray,
    n: int,
    units: str,
    clusters: int | None = None,
) -> Estimate:
    """Return ρ of arrays that vary, with its interval: that of as many units as clusters."""
    rho = float(np.clip(np.corrcoef(_ranks(first), _ranks(second))[0, 1], -1.0, 1.0))
    method = f"Spearman over {units}, Bonett-Wright interval"
    estimate = Estimate(metric, rho, None, None, n, len(first), method=method, unit="rho")
    absent = "the ranks agree perfectly"
    return with_interval(
        estimate, _rank_interval(rho, clusters or len(first)), SIGNED_UNIT, absent=absent
    )


def _rank_interval(rho: float, n_items: int) -> Interval | None:
    if abs(rho) >= 1 - EPSILON:
        return None
    half = normal_quantile() * ((1 + rho * rho / 2) / (n_items - 3)) ** 0.5
    return float(np.tanh(np.arctanh(rho) - half)), float(np.tanh(np.arctanh(rho) + half))


def _ranks(values: FloatArray) -> FloatArray:
    """Return ranks from 1, ties sharing their mean."""
    # Means of cells that should tie can differ in the last bit.
    _, inverse, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])


def _true_stage(verdicts: Verdicts, truth: IntArray) -> IntArray:
    """Return the true stage of each verdict's item; ValueError for one that is not on the scale."""
    stage = truth[verdicts.item]
    if not ((stage >= 1) & (stage <= verdicts.n_stages)).all():
        raise ValueError(f"truth holds a stage outside 1..{verdicts.n_stages}")
    return stage


def _share_holding(metric: str, verdicts: Verdicts, truth: IntArray) -> Estimate:
    holds = (verdicts.stages >> (_true_stage(verdicts, truth) - 1)) & 1
    successes = np.bincount(verdicts.item, weights=holds, minlength=verdicts.n_items)
    trials = np.bincount(verdicts.item, minlength=verdicts.n_items)
    judged = np.flatnonzero(trials)
    hits, cluster = successes.astype(np.int64)[judged], verdicts.cluster(judged)
    share = clustered_share(metric, hits, trials[judged], cluster)
    values = ItemValues(judged, hits / trials[judged], trials[judged], UNIT_INTERVAL)
    return caution_below(replace(share, values=values), ADVISED_ITEMS)


def _confusion_by_item(verdicts: Verdicts, truth: IntArray) -> FloatArray:
    """Return items with a verdict x true stage x verdict stage: counts."""
    size = verdicts.n_stages
    stage = np.bitwise_count(verdicts.stages - 1)
    items, position = np.unique(verdicts.item, return_inverse=True)
    code = (position * size + _true_stage(verdicts, truth) - 1) * size + stage
    counts = np.bincount(code, minlength=len(items) * size * size)
    return counts.reshape(len(items), size, size).astype(np.float64)


def _not_points(verdicts: Verdicts) -> str:
    if not len(verdicts):
        return "there is no verdict"
    wide = int((set_sizes(verdicts.stages) > 1).sum())
    if wide:
        return f"{wide} of {len(verdicts)} verdicts name several stages; see subset_accuracy"
    return ""
